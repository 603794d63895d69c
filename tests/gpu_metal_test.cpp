// The Metal backend itself: what is not a kernel's. Needs TREADLE_DEVICE=metal, but for the first
// two.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "gpu/block_plan.hpp"
#include "gpu/conv_plan.hpp"
#include "gpu/gemm_plan.hpp"
#include "gpu/kernels/copy_params.hpp"
#include "gpu/kernels/index_params.hpp"
#include "gpu/lower.hpp"
#include "gpu/metal/hazards.hpp"
#include "gpu/prepared.hpp"
#include "gpu_product_util.hpp"

namespace treadle::gpu {
namespace {

using test::gpu_device;

template <typename F>
std::pair<ErrorKind, std::string> error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return {e.kind(), e.what()};
  }
  return {ErrorKind::Internal, "no error"};
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuMetalHazards, ABarrierComesOnlyWhereLaunchesMeet) {
  using metal::Access;
  metal::Hazards h;
  const auto reads = [](DeviceAddress b, DeviceAddress e) { return Access{b, e, false}; };
  const auto writes = [](DeviceAddress b, DeviceAddress e) { return Access{b, e, true}; };
  const auto conflict = [&](std::vector<Access> next) { return h.conflict(next); };
  h.add(std::vector{reads(0, 100), writes(100, 200)});
  EXPECT_FALSE(conflict({reads(0, 100), writes(200, 300)})) << "another branch on the same input";
  EXPECT_TRUE(conflict({reads(150, 160), writes(300, 400)})) << "reads what was written";
  EXPECT_TRUE(conflict({writes(199, 201)})) << "overwrites what was written";
  EXPECT_TRUE(conflict({writes(50, 51)})) << "overwrites what is read";
  h.barrier();
  EXPECT_FALSE(conflict({reads(150, 160), writes(50, 51)})) << "after a barrier";
  h.add(std::vector{reads(150, 160), writes(50, 51)});
  EXPECT_TRUE(conflict({reads(50, 51)}));
  // The host must wait for all of the encoder, whatever barriers it has.
  EXPECT_TRUE(h.pending(reads(100, 101)));
  EXPECT_FALSE(h.pending(reads(0, 50)));
  EXPECT_TRUE(h.pending(writes(0, 50)));
  h.clear();
  EXPECT_FALSE(h.pending(writes(0, 1000)));
}

TEST(GpuMetalAbsent, ReasonIsGivenAndThrown) {
  const std::string why = why_no_metal();
  if (why.empty()) GTEST_SKIP() << "there is a Metal device";
  const auto [kind, text] = error_of([] { device_from_name("metal"); });
  EXPECT_EQ(kind, ErrorKind::Device);
  EXPECT_EQ(text, why);
  EXPECT_TRUE(metal_device_name().empty());
}

constexpr std::int32_t kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(std::int32_t);

class GpuMetal : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* kind = std::getenv("TREADLE_DEVICE");
    if (kind == nullptr || std::string_view(kind) != "metal") GTEST_SKIP() << "not on Metal";
    queue_ = make_queue(gpu_device());
  }
  static std::unique_ptr<Queue> make_queue(Device& device) {
    return std::unique_ptr<Queue>(dynamic_cast<Queue*>(device.make_queue().release()));
  }
  static DeviceBufferPtr buffer() { return gpu_device().allocate(kBytes, "a test"); }

  static void fill(Queue& queue, const DeviceBufferPtr& to, std::uint32_t value) {
    const tk::FillParams p{{value, 0, 0, 0}, kCount};
    queue.launch(make_launch(KernelId::fill_b4, {4}, {256}, {to->address()}, p, "a fill"));
  }
  void copy(DeviceAddress from, const DeviceBufferPtr& to) { copy(*queue_, from, to); }
  static void copy(Queue& queue, DeviceAddress from, const DeviceBufferPtr& to) {
    tk::CopyParams p{};
    for (tk::tk_divisor& size : p.size) size = make_divisor(1);
    p.size[0] = make_divisor(kCount);
    p.from_stride[0] = p.to_stride[0] = 1;
    p.count = kCount;
    p.rank = 1;
    queue.launch(make_launch(KernelId::copy_nd_b4, {1}, {256}, {from, to->address()}, p, "a copy"));
  }

  std::unique_ptr<Queue> queue_;
};

using Numbers = std::vector<std::int32_t>;

TEST_F(GpuMetal, AnUploadDoesNotOvertakeWhatReadsTheOldBytes) {
  const Numbers one(kCount, 1), two(kCount, 2);
  const auto a = buffer(), b = buffer(), c = buffer();
  Numbers of_b(kCount), of_c(kCount);
  queue_->upload(a->address(), one.data(), kBytes);
  copy(a->address(), b);
  queue_->upload(a->address(), two.data(), kBytes);
  copy(a->address(), c);
  queue_->download(of_b.data(), b->address(), kBytes);
  queue_->download(of_c.data(), c->address(), kBytes);
  queue_->sync();
  EXPECT_EQ(of_b, one);
  EXPECT_EQ(of_c, two);
  EXPECT_EQ(queue_->counters().syncs, 1);
  EXPECT_EQ(queue_->counters().launches, 2) << "the backend's own copies are none of the caller's";
}

TEST_F(GpuMetal, ADownloadIsOfItsMoment) {
  const auto a = buffer();
  // An odd part: copied by bytes.
  std::vector<std::uint8_t> part(7);
  Numbers first(kCount), last(kCount);
  fill(*queue_, a, 5);
  queue_->download(first.data(), a->address(), kBytes);
  queue_->download(part.data(), a->address() + 1, part.size());
  fill(*queue_, a, 6);
  queue_->download(last.data(), a->address(), kBytes);
  const Numbers seven(kCount, 7);
  queue_->upload(a->address(), seven.data(), kBytes);
  queue_->sync();
  EXPECT_EQ(first, Numbers(kCount, 5));
  EXPECT_EQ(part, (std::vector<std::uint8_t>{0, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(last, Numbers(kCount, 6));
  queue_->download(last.data(), a->address(), kBytes);
  EXPECT_EQ(last, seven) << "nothing to wait for";
}

TEST_F(GpuMetal, AReplayTakesNoMemoryForItsCopies) {
  const auto a = buffer(), b = buffer();
  Numbers in(kCount), first(kCount), last(kCount);
  queue_->begin_recording();
  fill(*queue_, a, 5);
  queue_->download(first.data(), a->address(), kBytes);
  queue_->upload(a->address(), in.data(), kBytes);
  copy(a->address(), b);
  queue_->download(last.data(), b->address(), kBytes);
  const auto recording = queue_->end_recording();
  std::size_t held = 0;
  for (int run = 0; run < 5; ++run) {
    in.assign(kCount, run);
    queue_->replay(*recording);
    queue_->sync();
    EXPECT_EQ(first, Numbers(kCount, 5));
    EXPECT_EQ(last, in);
    // The first run finds how much it takes, and leaves one block of that size to the next.
    if (run == 1) held = gpu_device().peak_bytes();
  }
  EXPECT_EQ(gpu_device().peak_bytes(), held);
  EXPECT_GE(gpu_device().bytes_in_use(), 4 * kBytes);
}

TEST_F(GpuMetal, LaunchesOnOtherValuesOfABufferDoNotMeet) {
  // What the session says of values holds for addresses in them; others are of the whole buffer.
  const auto arena = gpu_device().allocate(4 * kBytes, "an arena");
  const auto out = buffer();
  const Numbers one(kCount, 1);
  Numbers got(kCount);
  queue_->upload(arena->address(), one.data(), kBytes);
  const std::array<DeviceRange, 2> values{
      {{arena->address(), kBytes}, {arena->address() + 2 * kBytes, kBytes}}};
  queue_->work_on(values);
  copy(arena->address(), out);
  const std::vector<char> text(kBytes, 9);
  queue_->upload(arena->address() + 2 * kBytes, text.data(), kBytes);
  // At once: no launch touches that value.
  std::vector<char> there(kBytes);
  queue_->download(there.data(), arena->address() + 2 * kBytes, kBytes);
  EXPECT_EQ(there, text);
  queue_->download(got.data(), out->address(), kBytes);
  EXPECT_NE(got, one) << "the launch has not run yet";
  queue_->sync();
  EXPECT_EQ(got, one);
}

TEST_F(GpuMetal, ConstantsAtAPageAreNotCopied) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto whole =
      std::make_shared<Tensor>(Tensor::zeros(DType::I32, Shape{std::int64_t{1} << 18}));
  auto numbers = whole->mutable_span<std::int32_t>();
  if (device_address(numbers.data()) % page != 0) GTEST_SKIP() << "large tensors have no pages";
  std::fill(numbers.begin(), numbers.end(), 3);
  const std::size_t before = gpu_device().bytes_in_use();
  const auto keep = [&](std::size_t first, std::size_t bytes) {
    return upload_kept(gpu_device(), *queue_, numbers.data() + first, bytes, whole, "a constant");
  };
  auto wrapped = keep(0, whole->bytes());
  EXPECT_EQ(wrapped->address(), device_address(numbers.data()));
  EXPECT_EQ(gpu_device().bytes_in_use(), before);
  EXPECT_GT(whole.use_count(), 1);
  const auto out = buffer();
  copy(wrapped->address(), out);
  Numbers got(kCount);
  queue_->download(got.data(), out->address(), kBytes);
  queue_->sync();
  EXPECT_EQ(got, Numbers(kCount, 3));
  // In the middle of a page, less than pages of its own, a second time: a copy.
  const std::size_t most = whole->bytes() - 64;
  EXPECT_NE(keep(16, most)->address(), device_address(numbers.data() + 16));
  EXPECT_NE(keep(page / 4, 4 * page)->address(), device_address(numbers.data() + page / 4));
  EXPECT_NE(keep(0, whole->bytes())->address(), wrapped->address());
  // Some of the bytes of another constant, from a page on.
  EXPECT_NE(keep(page / 4, whole->bytes() / 2)->address(),
            device_address(numbers.data() + page / 4));
  wrapped = nullptr;
  EXPECT_EQ(whole.use_count(), 1);
}

std::filesystem::path archive_path() {
  return std::filesystem::temp_directory_path() / ("treadle_archive_" + std::to_string(getpid()));
}

TEST_F(GpuMetal, AnArchiveKeepsKernels) {
  const std::filesystem::path path = archive_path();
  std::filesystem::remove(path);
  // A kernel that is not in the archive is added and has it written anew.
  std::filesystem::file_time_type written;
  for (int times = 0; times < 2; ++times) {
    const auto device = make_metal_device({path.string()});
    EXPECT_EQ(make_metal_device({path.string()}).get(), device.get());
    const auto queue = make_queue(*device);
    const auto a = device->allocate(kBytes, "a test");
    fill(*queue, a, 5);
    Numbers got(kCount);
    queue->download(got.data(), a->address(), kBytes);
    queue->sync();
    EXPECT_EQ(got, Numbers(kCount, 5));
    EXPECT_GT(std::filesystem::file_size(path), 0u);
    if (times == 0) {
      written = std::filesystem::last_write_time(path) - std::chrono::hours(1);
      std::filesystem::last_write_time(path, written);
    }
    EXPECT_EQ(std::filesystem::last_write_time(path), written) << "added in turn " << times;
  }
  std::ofstream(path) << "no archive";
  const auto [kind, text] = error_of([&] { make_metal_device({path.string()}); });
  EXPECT_EQ(kind, ErrorKind::Device);
  EXPECT_TRUE(has(text, path.string())) << text;
  std::filesystem::remove(path);
}

TEST_F(GpuMetal, AnArchiveThatCannotBeWrittenIsAWarning) {
  const std::string path = archive_path().string() + "_folder/archive";
  const auto device = make_metal_device({path});
  const auto queue = make_queue(*device);
  const auto a = device->allocate(kBytes, "a test"), b = device->allocate(kBytes, "a test");
  Numbers got(kCount);
  testing::internal::CaptureStderr();
  fill(*queue, a, 5);
  queue->download(got.data(), a->address(), kBytes);
  queue->sync();
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_EQ(got, Numbers(kCount, 5));
  EXPECT_TRUE(warning.starts_with("warning: ") && has(warning, path)) << warning;
  // Once, also when there is more to write.
  testing::internal::CaptureStderr();
  copy(*queue, a->address(), b);
  queue->sync();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(GpuMetal, AnIndexOutOfRangeIsThrownWhateverTheArchive) {
  const auto device = make_metal_device({archive_path().string() + "_folder/archive"});
  const auto queue = make_queue(*device);
  const auto x = device->allocate(20, "x"), at = device->allocate(8, "indices"),
             y = device->allocate(8, "y");
  const std::array<std::int32_t, 2> indices{3, 7};
  queue->upload(at->address(), indices.data(), 8);
  // y[j] = x[indices[j]]: outer and inner size 1, two indices, an axis of 5.
  const tk::GatherParams params{{1, 0, 0}, {2, 0, 1}, 2, 5};
  queue->begin_recording();
  queue->launch(make_launch(KernelId::gather_b4_i32, {1}, {32},
                            {x->address(), at->address(), y->address()}, params, "node 'g'"));
  const auto recording = queue->end_recording();
  for (int i = 0; i < 2; ++i) {
    queue->replay(*recording);
    const auto [kind, text] = error_of([&] { queue->sync(); });
    EXPECT_EQ(kind, ErrorKind::Device);
    EXPECT_EQ(text, "node 'g': index 7 is out of range, expected at least -5 and below 5");
    queue->sync();
  }
}

TEST_F(GpuMetal, ARecordingHoldsItsKernels) {
  // They are compiled for it, not by its first replay: the archive shows which there are.
  const std::filesystem::path path = archive_path();
  std::filesystem::remove(path);
  const auto device = make_metal_device({path.string()});
  const auto queue = make_queue(*device);
  const auto a = device->allocate(kBytes, "a test");
  queue->begin_recording();
  fill(*queue, a, 5);
  const auto recording = queue->end_recording();
  queue->sync();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(queue->counters().launches, 0);
  Numbers got(kCount);
  queue->replay(*recording);
  queue->download(got.data(), a->address(), kBytes);
  queue->sync();
  EXPECT_EQ(got, Numbers(kCount, 5));
  std::filesystem::remove(path);
}

// What a plan makes on `device` of a product or convolution: rows x columns.
template <typename Plan>
Tensor result_of(Device& device, const Plan& plan, DType type, const Tensor& left,
                 const Tensor& right, std::int64_t rows, std::int64_t columns) {
  const test::EpilogueData plain({}, type, rows, columns, 5);
  return test::ProductRun(type, rows, columns, 0, 0, device)(plan, left, right, plain);
}

TEST_F(GpuMetal, OwnProductsAgreeWithThePortableKernels) {
  const auto portable = make_metal_device({"", false}), own = make_metal_device();
  ASSERT_NE(portable.get(), own.get());
  // m, n, k: tiles, then rows few enough for gemv; columns that are whole vectors, and others.
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{130, 70, 45},
                                {33, 129, 64},
                                {1, 200, 1100},
                                {1, 37, 75},
                                {4, 96, 514},
                                {3, 50, 33},
                                {8, 33, 260},
                                {6, 64, 1024}}) {
    for (const DType type : {DType::F32, DType::F16}) {
      const GemmDesc d = matrix_product(m, n, k);
      const Tensor a = test::random_tensor(type, {m, k}, 1);
      const Tensor b = test::random_tensor(type, {k, n}, 2);
      for (const std::string& variant : gemm_variants(d, type)) {
        for (const char* splits : {"", "/3"}) {
          const GemmPlan plan(d, type, {}, variant + splits);
          const auto run = [&](Device& device) {
            return result_of(device, plan, type, a, b, m, n);
          };
          const std::string what = fmt::format("{}x{}x{} {}", m, n, k, plan.name());
          const Tensor want = run(*portable), got = run(*own);
          const double part = type == DType::F32 ? 1e-6 : 1e-3;
          test::expect_close(got, want, part, 4e-6 * static_cast<double>(k) + part, what);
          test::expect_close(run(*own), got, 0, 0, what + " again");
        }
      }
    }
  }
}

// The portable kernel adds the same terms in the same order: the same bits.
TEST_F(GpuMetal, OwnProductsOf4BitsAreThePortableOnes) {
  const auto portable = make_metal_device({"", false}), own = make_metal_device();
  for (const BlockDesc d :
       {BlockDesc{1, 40, 75, 16, 4, true}, BlockDesc{1, 33, 2100, 128, 4, false},
        BlockDesc{3, 64, 4100, 32, 4, true}, BlockDesc{4, 30, 64, 16, 4, false},
        BlockDesc{5, 70, 301, 64, 4, true}, BlockDesc{8, 32, 256, 256, 4, true}}) {
    const std::int64_t blocks = (d.K + d.block_size - 1) / d.block_size;
    std::mt19937 random(static_cast<unsigned>(d.K));
    const auto bytes = [&](std::int64_t n) {
      std::vector<std::uint8_t> v(static_cast<std::size_t>(n));
      for (std::uint8_t& b : v) b = static_cast<std::uint8_t>(random());
      return v;
    };
    const auto numbers = bytes(d.N * blocks * d.block_size / 2),
               zeros = bytes(d.N * (blocks + 1) / 2 + d.N);
    const Tensor scales = test::random_tensor(DType::F32, {d.N * blocks}, 7);
    const Tensor packed = test::bytes_tensor(
        DType::U8, pack_blocks(d, numbers.data(), scales.span<float>(), zeros.data()));
    for (const DType type : {DType::F32, DType::F16}) {
      const Tensor x = test::random_tensor(type, {d.M, d.K}, 8);
      const BlockPlan plan(d, type, {}, "gemv");
      const auto run = [&](Device& device) {
        return result_of(device, plan, type, x, packed, d.M, d.N);
      };
      test::expect_close(run(*own), run(*portable), 0, 0,
                         fmt::format("{}x{}x{} {}", d.M, d.N, d.K, plan.name()));
    }
  }
}

TEST_F(GpuMetal, DepthwiseWithAHaloIsThePortableOne) {
  const auto portable = make_metal_device({"", false}), own = make_metal_device();
  int kernels = 0;
  for (const DType type : {DType::F32, DType::F16}) {
    for (const std::int64_t k : {3, 5}) {
      for (const std::int64_t stride : {1, 2}) {
        // Tiles and slabs of channels that are full and that are not; padding that differs.
        kernels::ConvDesc d;
        d.N = 2;
        d.H = 21;
        d.W = 13;
        d.Cin = d.Cout = d.group = 40;
        d.kH = d.kW = k;
        d.stride_h = d.stride_w = stride;
        d.pad_top = 1;
        d.pad_left = 2;
        d.H_out = (d.H + 3 - k) / stride + 1;
        d.W_out = (d.W + 4 - k) / stride + 1;
        const Tensor x = test::random_tensor(type, {d.N, d.H, d.W, d.Cin}, 3);
        const Tensor w = test::random_tensor(DType::F32, {d.Cout * k * k}, 4);
        for (const std::string& variant : conv_variants(d, type)) {
          if (!variant.starts_with(fmt::format("depthwise_{}x{}s{}_v", k, k, stride))) continue;
          const ConvPlan plan(d, type, {}, variant);
          const Tensor packed = plan.pack(w.span<float>().data(), kernels::oihw_strides(d));
          const auto run = [&](Device& device) {
            return result_of(device, plan, type, x, packed, d.N * d.H_out * d.W_out, d.Cout);
          };
          test::expect_close(run(*own), run(*portable), 0, 0, variant);
          ++kernels;
        }
      }
    }
  }
  EXPECT_GE(kernels, 23) << "entries of depthwise_halo in gpu/metal/own.inc";
}

TEST_F(GpuMetal, Errors) {
  for (const std::size_t bytes : {std::size_t{1} << 60, ~std::size_t{0}}) {
    const auto [kind, text] = error_of([&] { gpu_device().allocate(bytes, "too much"); });
    EXPECT_EQ(kind, ErrorKind::Memory);
    EXPECT_TRUE(has(text, "too much") && has(text, std::to_string(bytes))) << text;
  }
  const auto a = buffer();
  Numbers numbers(kCount);
  const auto beyond =
      error_of([&] { queue_->upload(a->address() + 4, numbers.data(), kBytes); }).second;
  EXPECT_TRUE(has(beyond, "has 4000")) << beyond;
  EXPECT_TRUE(has(error_of([&] { copy(8, a); }).second, "in no buffer"));
  queue_->begin_recording();
  EXPECT_TRUE(has(error_of([&] { queue_->sync(); }).second, "while recording"));
  EXPECT_TRUE(has(error_of([&] { queue_->begin_recording(); }).second, "already recording"));
  const auto recording = queue_->end_recording();
  EXPECT_TRUE(has(error_of([&] { queue_->end_recording(); }).second, "not recording"));
  const auto sim = make_sim_device()->make_queue();
  sim->begin_recording();
  const auto foreign = sim->end_recording();
  EXPECT_TRUE(has(error_of([&] { queue_->replay(*foreign); }).second, "another device"));
}

}  // namespace
}  // namespace treadle::gpu
