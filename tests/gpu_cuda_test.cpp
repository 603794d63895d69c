// The CUDA device. Without one the tests of the device itself are skipped, unless
// TREADLE_DEVICE=cuda asks for it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "gpu/cuda/context.hpp"
#include "gpu/cuda/device.hpp"
#include "gpu/cuda/driver.hpp"
#include "gpu/cuda/fatbin.hpp"
#include "gpu/kernels/index_params.hpp"
#include "gpu/kernels/params.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Kind and text of the Error that `body` throws; an empty text when it throws none.
template <typename Body>
std::pair<ErrorKind, std::string> error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return {e.kind(), e.what()};
  }
  return {ErrorKind::Internal, ""};
}

TEST(CudaDriver, MissingLibraryIsAReason) {
  const cuda::DriverOrReason loaded = cuda::load_driver("libtreadle-there-is-no-such.so.1");
  EXPECT_EQ(loaded.driver, nullptr);
  EXPECT_EQ(loaded.devices, 0);
  EXPECT_TRUE(has(loaded.why_not, "no CUDA driver")) << loaded.why_not;
  EXPECT_TRUE(has(loaded.why_not, "libtreadle-there-is-no-such.so.1")) << loaded.why_not;
}

TEST(CudaDriver, LibraryWithoutTheFunctionsIsAReason) {
  const cuda::DriverOrReason loaded = cuda::load_driver("libm.so.6");
  EXPECT_EQ(loaded.driver, nullptr);
  EXPECT_TRUE(has(loaded.why_not, "libm.so.6 has no cuInit")) << loaded.why_not;
}

TEST(CudaDriver, TextOfAnErrorWithoutDriver) {
  EXPECT_EQ(cuda::Driver().text_of(700), "CUDA error 700");
}

TEST(CudaArchitectures, WhichDeviceTheyRunOn) {
  EXPECT_TRUE(cuda::runs_on("sm_80", 8, 0));
  EXPECT_TRUE(cuda::runs_on("sm_80", 8, 6));
  EXPECT_FALSE(cuda::runs_on("sm_80", 7, 5));
  EXPECT_FALSE(cuda::runs_on("sm_80", 9, 0));
  EXPECT_FALSE(cuda::runs_on("sm_86", 8, 0));
  EXPECT_TRUE(cuda::runs_on("sm_90a", 9, 0));
  EXPECT_FALSE(cuda::runs_on("sm_90a", 10, 0));
  EXPECT_TRUE(cuda::runs_on("sm_120", 12, 1));
  EXPECT_TRUE(cuda::runs_on("compute_90", 9, 0));
  EXPECT_TRUE(cuda::runs_on("compute_90", 12, 0));
  EXPECT_FALSE(cuda::runs_on("compute_90", 8, 9));
  EXPECT_TRUE(cuda::runs_on("sm_80 sm_90a compute_90", 10, 3));
  EXPECT_FALSE(cuda::runs_on("sm_80 sm_90a", 7, 0));
  EXPECT_FALSE(cuda::runs_on("", 9, 0));
  EXPECT_FALSE(cuda::runs_on("sm_ nothing", 9, 0));
}

TEST(CudaArchitectures, FatBinaryIsThereWhenTheyAreNamed) {
  EXPECT_EQ(cuda_architectures().empty(), cuda::embedded_fatbins().empty());
  if (cuda_architectures().empty()) GTEST_SKIP() << why_no_cuda();
  // The magic number of the file format.
  for (const void* fatbin : cuda::embedded_fatbins()) {
    std::uint32_t magic = 0;
    std::memcpy(&magic, fatbin, sizeof magic);
    EXPECT_EQ(magic, 0xba55ed50u);
  }
}

TEST(CudaAbsent, ReasonIsGivenAndThrown) {
  const std::string why = why_no_cuda();
  if (why.empty()) GTEST_SKIP() << "there is a CUDA device";
  const auto [kind, text] = error_of([] { make_cuda_device(); });
  EXPECT_EQ(kind, ErrorKind::Device);
  EXPECT_EQ(text, why);
}

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = why_no_cuda();
    const char* asked = std::getenv("TREADLE_DEVICE");
    if (!why.empty() && asked && std::string_view(asked) == "cuda") {
      FAIL() << "TREADLE_DEVICE=cuda: " << why;
    }
    if (!why.empty()) GTEST_SKIP() << why;
    device_ = make_cuda_device();
    queue_ = make_queue(*device_);
  }

  static std::unique_ptr<Queue> make_queue(Device& device) {
    return std::unique_ptr<Queue>(dynamic_cast<Queue*>(device.make_queue().release()));
  }

  // Declared so that the device goes first.
  std::unique_ptr<Queue> queue_;
  std::shared_ptr<Device> device_;
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> v(count);
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

TEST_F(CudaDevice, NameSaysWhatItIs) {
  EXPECT_EQ(device_->kind(), "cuda");
  EXPECT_TRUE(has(device_->name(), "(sm_")) << device_->name();
  EXPECT_TRUE(has(device_->name(), " GiB)")) << device_->name();
  const std::vector<std::string> names = cuda::device_names();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names[0], device_->name());
  std::printf("%s\n", device_->name().c_str());
}

TEST_F(CudaDevice, OneObjectADevice) {
  EXPECT_EQ(make_cuda_device().get(), device_.get());
}

TEST_F(CudaDevice, OrdinalOutOfRange) {
  for (const int ordinal : {-1, 1000}) {
    const auto [kind, text] = error_of([&] { make_cuda_device(ordinal); });
    EXPECT_EQ(kind, ErrorKind::Device);
    EXPECT_TRUE(has(text, std::to_string(ordinal))) << text;
  }
}

TEST_F(CudaDevice, RoundTripThroughPageableAndStagingMemory) {
  const std::vector<float> from = numbers(100'003);
  const std::size_t bytes = from.size() * sizeof(float);
  const DeviceBufferPtr buffer = device_->allocate(bytes, "x");
  EXPECT_EQ(buffer->address() % 256, 0u);
  EXPECT_EQ(buffer->bytes(), bytes);
  const auto staging = device_->allocate_staging(bytes);
  queue_->upload(buffer->address(), from.data(), bytes);
  queue_->download(staging->data(), buffer->address(), bytes);
  queue_->sync();
  EXPECT_EQ(std::memcmp(staging->data(), from.data(), bytes), 0);
  std::memset(staging->data(), 7, bytes);
  std::vector<float> to(from.size());
  queue_->upload(buffer->address(), staging->data(), bytes);
  queue_->download(to.data(), buffer->address(), bytes);
  queue_->sync();
  EXPECT_EQ(std::memcmp(staging->data(), to.data(), bytes), 0);
  const DeviceCounters c = queue_->counters();
  EXPECT_EQ(c.copies_to_device, 2);
  EXPECT_EQ(c.copies_to_host, 2);
  EXPECT_EQ(c.bytes_to_device, static_cast<std::int64_t>(2 * bytes));
  EXPECT_EQ(c.bytes_to_host, static_cast<std::int64_t>(2 * bytes));
  EXPECT_EQ(c.syncs, 2);
  EXPECT_EQ(c.launches, 0);
}

TEST_F(CudaDevice, CountsMemory) {
  const std::size_t before = device_->bytes_in_use();
  DeviceBufferPtr a = device_->allocate(1000, "a");
  const DeviceBufferPtr b = device_->allocate(24, "b");
  EXPECT_EQ(device_->bytes_in_use(), before + 1024);
  a.reset();
  EXPECT_EQ(device_->bytes_in_use(), before + 24);
  EXPECT_GE(device_->peak_bytes(), before + 1024);
  EXPECT_NE(device_->allocate(0, "empty")->address(), 0u);
}

TEST_F(CudaDevice, OutOfMemoryNamesTheValueAndTheSizes) {
  const std::size_t bytes = std::size_t{1} << 50;
  const auto [kind, text] = error_of([&] { device_->allocate(bytes, "value 'huge'"); });
  EXPECT_EQ(kind, ErrorKind::Memory);
  for (const std::string& part :
       {std::string("value 'huge'"), std::to_string(bytes), std::string("free"), device_->name()}) {
    EXPECT_TRUE(has(text, part)) << part << " in " << text;
  }
  // The device works on.
  EXPECT_NE(device_->allocate(16, "small")->address(), 0u);
}

TEST_F(CudaDevice, RecordingIsReplayedWithTheSameAddresses) {
  const std::size_t bytes = 64 * sizeof(float);
  const DeviceBufferPtr buffer = device_->allocate(bytes, "x");
  const auto in = device_->allocate_staging(bytes), out = device_->allocate_staging(bytes);
  queue_->begin_recording();
  queue_->upload(buffer->address(), in->data(), bytes);
  queue_->download(out->data(), buffer->address(), bytes);
  EXPECT_EQ(error_of([&] { queue_->sync(); }).first, ErrorKind::Device);
  EXPECT_EQ(error_of([&] { queue_->begin_recording(); }).first, ErrorKind::Device);
  const auto recording = queue_->end_recording();
  EXPECT_EQ(queue_->counters().copies_to_device, 0);
  for (const int value : {1, 2, 3}) {
    std::memset(in->data(), value, bytes);
    queue_->replay(*recording);
    queue_->sync();
    EXPECT_EQ(std::memcmp(in->data(), out->data(), bytes), 0) << value;
  }
  EXPECT_EQ(queue_->counters().copies_to_device, 3);
  EXPECT_EQ(queue_->counters().bytes_to_host, static_cast<std::int64_t>(3 * bytes));
  EXPECT_EQ(queue_->counters().syncs, 3);
  EXPECT_EQ(error_of([&] { queue_->end_recording(); }).first, ErrorKind::Device);
}

// Copies `count` floats, a power of two that is 2^log2.
Launch copy_floats(DeviceAddress from, DeviceAddress to, int log2, const tk::CopyParams& params) {
  const auto groups = static_cast<std::uint32_t>(((1 << log2) + 255) / 256);
  return make_launch(KernelId::copy_nd_b4, {groups}, {64}, {from, to}, params, "node 'copy'");
}
tk::CopyParams copy_params(int log2) {
  tk::CopyParams p{};
  // A divisor 2^n is the shift alone.
  for (tk::tk_divisor& size : p.size) size = {1, 0, 0};
  p.size[0] = {1u << log2, 0, static_cast<tk::tk_u32>(log2)};
  p.rank = 1;
  p.from_stride[0] = p.to_stride[0] = 1;
  p.count = 1 << log2;
  return p;
}

TEST_F(CudaDevice, LaunchesRunAtOnceAndRecorded) {
  constexpr int kLog2 = 12;
  const std::vector<float> from = numbers(1 << kLog2);
  const std::size_t bytes = from.size() * sizeof(float);
  const DeviceBufferPtr a = device_->allocate(bytes, "a"), b = device_->allocate(bytes, "b");
  std::vector<float> to(from.size());
  queue_->upload(a->address(), from.data(), bytes);
  {
    // Parameters are copied by launch().
    const tk::CopyParams params = copy_params(kLog2);
    queue_->launch(copy_floats(a->address(), b->address(), kLog2, params));
  }
  queue_->download(to.data(), b->address(), bytes);
  queue_->sync();
  EXPECT_EQ(to, from);

  const auto out = device_->allocate_staging(bytes);
  tk::CopyParams reversed = copy_params(kLog2);
  reversed.from_base = reversed.count - 1;
  reversed.from_stride[0] = -1;
  queue_->begin_recording();
  queue_->launch(copy_floats(a->address(), b->address(), kLog2, reversed));
  queue_->download(out->data(), b->address(), bytes);
  const auto recording = queue_->end_recording();
  EXPECT_EQ(queue_->counters().launches, 1);
  for (int i = 0; i < 2; ++i) queue_->replay(*recording);
  queue_->sync();
  const std::vector<float> want(from.rbegin(), from.rend());
  EXPECT_EQ(std::memcmp(out->data(), want.data(), bytes), 0);
  EXPECT_EQ(queue_->counters().launches, 3);
}

TEST_F(CudaDevice, BadIndexIsThrownByTheNextSyncAlone) {
  const std::vector<float> x = numbers(5);
  const auto indices_memory = device_->allocate_staging(8), y_memory = device_->allocate_staging(8);
  auto* const indices = static_cast<std::int32_t*>(indices_memory->data());
  auto* const y = static_cast<float*>(y_memory->data());
  indices[0] = 3;
  indices[1] = 7;
  const DeviceBufferPtr dx = device_->allocate(20, "x"), di = device_->allocate(8, "indices"),
                        dy = device_->allocate(8, "y");
  // y[j] = x[indices[j]]: outer and inner size 1, two indices, an axis of 5.
  const tk::GatherParams params{{1, 0, 0}, {2, 0, 1}, 2, 5};
  const auto gather = [&](const char* label) {
    queue_->launch(make_launch(KernelId::gather_b4_i32, {1}, {32},
                               {dx->address(), di->address(), dy->address()}, params, label));
  };
  const auto expect_report = [&](const std::string& want) {
    const auto [kind, text] = error_of([&] { queue_->sync(); });
    EXPECT_EQ(kind, ErrorKind::Device);
    EXPECT_EQ(text, want);
  };
  queue_->upload(dx->address(), x.data(), 20);
  queue_->upload(di->address(), indices, 8);
  gather("node 'g'");
  expect_report("node 'g': index 7 is out of range, expected at least -5 and below 5");
  queue_->sync();

  queue_->begin_recording();
  queue_->upload(di->address(), indices, 8);
  gather("node 'recorded'");
  queue_->download(y, dy->address(), 8);
  const auto recording = queue_->end_recording();
  for (int i = 0; i < 2; ++i) {
    indices[0] = -6;
    indices[1] = 0;
    queue_->replay(*recording);
    expect_report("node 'recorded': index -6 is out of range, expected at least -5 and below 5");
    indices[0] = -1;
    queue_->replay(*recording);
    queue_->sync();
    EXPECT_EQ(y[0], 5.0f);
    EXPECT_EQ(y[1], 1.0f);
  }
}

TEST_F(CudaDevice, EmptyRecording) {
  queue_->begin_recording();
  const auto recording = queue_->end_recording();
  queue_->replay(*recording);
  queue_->sync();
}

TEST_F(CudaDevice, QueueDestroyedWhileRecording) {
  queue_->begin_recording();
  queue_.reset();
  queue_ = make_queue(*device_);
  queue_->sync();
}

TEST_F(CudaDevice, ObjectsMayGoInAnyOrder) {
  const std::vector<float> from = numbers(256);
  auto buffer = device_->allocate(1024, "x");
  auto staging = device_->allocate_staging(1024);
  device_.reset();
  queue_->upload(buffer->address(), from.data(), 1024);
  queue_->download(staging->data(), buffer->address(), 1024);
  queue_->begin_recording();
  auto recording = queue_->end_recording();
  queue_->sync();
  EXPECT_EQ(std::memcmp(staging->data(), from.data(), 1024), 0);
  queue_.reset();
  buffer.reset();
  recording.reset();
}

TEST_F(CudaDevice, ThreadsWithQueuesOfTheirOwn) {
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto queue = make_queue(*device_);
      const std::vector<float> from(1000, static_cast<float>(t));
      for (int i = 0; i < 50; ++i) {
        std::vector<float> to(from.size());
        const auto buffer = device_->allocate(from.size() * sizeof(float), "x");
        queue->upload(buffer->address(), from.data(), buffer->bytes());
        queue->download(to.data(), buffer->address(), buffer->bytes());
        queue->sync();
        right[t] += to == from;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 50));
}

}  // namespace
}  // namespace treadle::gpu
