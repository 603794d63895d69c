#include "tensor/npz.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace treadle {
namespace {

NamedTensors sample() {
  std::vector<float> ramp(1000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i % 7);
  NamedTensors out;
  out.emplace_back("a", Tensor::from<float>({1000}, std::span<const float>(ramp)));
  out.emplace_back("layer/b:0", Tensor::of<std::int64_t>({2}, {1, 2}));
  return out;
}

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t v, std::size_t n = 4) {
  std::memcpy(bytes.data() + at, &v, n);
}

std::size_t find(const std::vector<std::byte>& bytes, std::uint32_t signature, int nth = 0) {
  for (std::size_t i = 0; i + 4 <= bytes.size(); ++i)
    if (std::memcmp(bytes.data() + i, &signature, 4) == 0 && nth-- == 0) return i;
  return bytes.size();
}

std::string error_of(const std::vector<std::byte>& bytes) {
  try {
    read_npz(bytes);
    return "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

constexpr std::uint32_t kCentral = 0x02014b50;

TEST(Npz, WhatIsWrittenReadsBack) {
  for (const bool compress : {false, true}) {
    const auto bytes = write_npz(sample(), compress);
    const auto back = read_npz(bytes);
    ASSERT_EQ(back.size(), 2u);
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].first, sample()[i].first);
      EXPECT_TRUE(back[i].second.identical(sample()[i].second));
    }
    EXPECT_EQ(bytes.size() < 2000u, compress);
  }
  EXPECT_TRUE(read_npz(write_npz({})).empty());
}

TEST(Npz, NamesMustDiffer) {
  NamedTensors twice = sample();
  twice[1].first = "a";
  EXPECT_THROW(write_npz(twice), Error);
}

TEST(Npz, RefusesLies) {
  const auto good = write_npz(sample());
  const std::size_t entry = find(good, kCentral);

  auto bytes = good;
  put(bytes, entry + 16, 1);
  EXPECT_NE(error_of(bytes).find("checksum"), std::string::npos);

  bytes = good;
  put(bytes, entry + 42, 0x7fffffff);
  EXPECT_NE(error_of(bytes).find("outside the file"), std::string::npos);

  bytes = good;
  put(bytes, entry + 20, 0x7fffffff);
  EXPECT_NE(error_of(bytes).find("overlap"), std::string::npos);

  bytes = good;
  put(bytes, entry + 8, 1, 2);
  EXPECT_NE(error_of(bytes).find("encrypted"), std::string::npos);

  bytes = good;
  put(bytes, entry + 10, 12, 2);
  EXPECT_NE(error_of(bytes).find("method 12"), std::string::npos);

  bytes = good;
  put(bytes, find(good, kCentral, 1) + 42, 0);  // both members at one place
  EXPECT_NE(error_of(bytes), "no error");
}

TEST(Npz, RefusesBombs) {
  auto bytes = write_npz(sample(), true);
  put(bytes, find(bytes, kCentral) + 24, 0xfffffff0);
  EXPECT_NE(error_of(bytes).find("cannot be deflated"), std::string::npos);
  bytes = write_npz(sample(), true);
  put(bytes, find(bytes, kCentral) + 24, 100);
  EXPECT_NE(error_of(bytes).find("promised"), std::string::npos);
}

TEST(Npz, EveryTruncationAndFlippedBitIsHandled) {
  const auto whole = write_npz(sample(), true);
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_THROW(read_npz(std::span(whole).first(n)), Error) << n;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    try {
      read_npz(bytes);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace treadle
