#include "gpu/reports.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace treadle::gpu {
namespace {

TEST(GpuReports, AreCollectedOnce) {
  std::size_t blocks = 0;
  Reports reports([&](std::size_t bytes) -> Reports::Block {
    ++blocks;
    const std::shared_ptr<void> host(std::malloc(bytes), std::free);
    return {host, device_address(host.get())};
  });
  EXPECT_EQ(reports.collect(), "");
  EXPECT_TRUE(reports.empty());
  for (int i = 0; i < 100; ++i) EXPECT_NE(reports.take("node " + std::to_string(i)), 0u);
  EXPECT_EQ(blocks, 2u);
  EXPECT_EQ(reports.collect(), "");
  // What tk_report_index does.
  const auto report = [](DeviceAddress slot, tk::tk_i64 index) {
    *static_cast<tk::tk_status*>(device_pointer(slot)) = {1, 0, index, 5};
  };
  const DeviceAddress first = reports.take("node 'g'"), second = reports.take("node 'h'");
  report(second, 6);
  report(first, -9);
  EXPECT_EQ(reports.collect(),
            "node 'g': index -9 is out of range, expected at least -5 and below 5");
  EXPECT_EQ(reports.collect(), "");
  EXPECT_FALSE(reports.empty()) << "a recording keeps its slots";
  // A slot that is given back and taken again has the new label.
  reports.release();
  report(reports.take("node 'k'"), 7);
  EXPECT_EQ(reports.collect(),
            "node 'k': index 7 is out of range, expected at least -5 and below 5");
  EXPECT_EQ(blocks, 2u);
}

}  // namespace
}  // namespace treadle::gpu
