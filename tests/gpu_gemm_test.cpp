#include <limits>

#include "gpu/gemm_plan.hpp"
#include "gpu_product_util.hpp"

namespace treadle::test {
namespace {

using gpu::GemmDesc;
using gpu::GemmPlan;
using kernels::Act;

double at(const std::vector<double>& v, std::int64_t i) {
  return v[static_cast<std::size_t>(i)];
}

// Elements from the first to the last that the strides reach, plus one.
std::int64_t extent(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t column,
                    const std::array<std::int64_t, 2>& batch,
                    const std::array<std::int64_t, 2>& strides) {
  const auto last = [](std::int64_t n) { return std::max<std::int64_t>(n, 1) - 1; };
  return last(rows) * row + last(columns) * column + last(batch[0]) * strides[0] +
         last(batch[1]) * strides[1] + 1;
}

struct Operands {
  Tensor a, b;
};
Operands operands(const GemmDesc& d, DType type, std::uint32_t seed) {
  const std::int64_t padding = d.b_padded ? 3 : 0;
  return {random_tensor(type, {extent(d.M, d.a_m, d.K, d.a_k, d.batch, d.a_batch)}, seed),
          random_tensor(type, {extent(d.K, d.b_k, d.N, d.b_n, d.batch, d.b_batch) + padding},
                        seed + 1)};
}

// y contiguous over batches, rows and columns.
Tensor reference(const GemmDesc& d, const Operands& in, const EpilogueData& e) {
  const std::vector<double> a = in.a.to_f64(), b = in.b.to_f64(), residual = e.residual.to_f64();
  Tensor y(DType::F64, {d.batch[0] * d.batch[1] * d.M, d.N});
  for (std::int64_t row = 0; row < y.shape()[0]; ++row) {
    const std::int64_t m = row % d.M, b1 = row / d.M % d.batch[1], b0 = row / d.M / d.batch[1];
    for (std::int64_t n = 0; n < d.N; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < d.K; ++k) {
        sum += at(a, b0 * d.a_batch[0] + b1 * d.a_batch[1] + m * d.a_m + k * d.a_k) *
               at(b, b0 * d.b_batch[0] + b1 * d.b_batch[1] + k * d.b_k + n * d.b_n);
      }
      y.mutable_span<double>()[static_cast<std::size_t>(row * d.N + n)] =
          e.finish(sum, row, n, residual);
    }
  }
  return y;
}

void put_y_batches(GemmDesc& d, const EpilogueDesc& e) {
  const std::int64_t y = e.y_stride ? e.y_stride : d.N;
  const std::int64_t r = e.residual_stride ? e.residual_stride : d.N;
  d.y_batch = {d.batch[1] * d.M * y, d.M * y};
  d.residual_batch = {d.batch[1] * d.M * r, d.M * r};
}

Tensor run(const GemmDesc& d, DType type, const Operands& in, const EpilogueData& e,
           const std::string& variant, std::int64_t first = 0) {
  const GemmPlan plan(d, type, e.desc, variant);
  ProductRun product(type, d.batch[0] * d.batch[1] * d.M, d.N, e.desc.y_stride, first);
  return product(plan, in.a, in.b, e);
}

void check_all_variants(GemmDesc d, DType type, const EpilogueDesc& epilogue, std::uint32_t seed,
                        std::int64_t first = 0) {
  put_y_batches(d, epilogue);
  const Operands in = operands(d, type, seed);
  const std::int64_t rows = d.batch[0] * d.batch[1] * d.M;
  const EpilogueData e(epilogue, type, rows, d.N, seed);
  const Tensor want = reference(d, in, e);
  std::vector<std::string> variants{""};
  for (const std::string& name : gpu::gemm_variants(d, type)) {
    variants.push_back(name);
    if (d.batch[0] * d.batch[1] == 1 && d.K > 64) variants.push_back(name + "/2");
    if (d.batch[0] * d.batch[1] == 1 && d.K > 160) variants.push_back(name + "/5");
  }
  for (const std::string& variant : variants) {
    expect_product(
        run(d, type, in, e, variant, first), want, type,
        fmt::format("{}x{}x{} batch {}x{} strides {} {} {} {}, {} {}", d.M, d.N, d.K, d.batch[0],
                    d.batch[1], d.a_m, d.a_k, d.b_k, d.b_n, variant, name_of(type)));
  }
}

TEST(GpuGemm, EveryVariantAndTransposition) {
  std::uint32_t seed = 100;
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size s :
       {Size{1, 1, 1}, Size{1, 40, 70}, Size{3, 33, 200}, Size{8, 100, 36}, Size{33, 65, 17},
        Size{64, 64, 64}, Size{130, 20, 40}, Size{5, 129, 100}, Size{17, 1, 1025}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const DType type = transpose_a == (s.m % 2 == 0) ? DType::F32 : DType::F16;
        check_all_variants(gpu::matrix_product(s.m, s.n, s.k, transpose_a, transpose_b), type, {},
                           ++seed);
      }
    }
  }
}

TEST(GpuGemm, AnyStrides) {
  GemmDesc d;
  d.M = 19;
  d.N = 37;
  d.K = 70;
  d.a_m = 3;
  d.a_k = 64;
  d.b_k = 2;
  d.b_n = 150;
  check_all_variants(d, DType::F32, {}, 201);
  d.a_m = 0;  // every row the same
  d.b_n = 1;
  d.b_k = 40;
  check_all_variants(d, DType::F16, {}, 202);
  d.M = 4;
  d.a_m = 71;
  d.a_k = 1;
  check_all_variants(d, DType::F32, {}, 203);
  d.b_k = 0;  // every row of b the same
  check_all_variants(d, DType::F32, {}, 204);
}

TEST(GpuGemm, Batches) {
  std::uint32_t seed = 300;
  for (const std::int64_t m : {1, 6, 20}) {
    GemmDesc d = gpu::matrix_product(m, 24, 36);
    d.batch = {2, 3};
    d.a_batch = {3 * m * 36, m * 36};
    d.b_batch = {3 * 24 * 36, 24 * 36};
    check_all_variants(d, DType::F32, {}, ++seed);
    d.b_batch = {24 * 36, 0};
    check_all_variants(d, DType::F16, {}, ++seed);
    d.b_batch = {0, 24 * 36};
    check_all_variants(d, DType::F32, {}, ++seed);
    d.b_batch = {0, 0};  // becomes one product
    check_all_variants(d, DType::F32, {}, ++seed);
    d.a_batch = {0, m * 36};
    d.b_batch = {24 * 36 + 1, 0};
    check_all_variants(d, DType::F32, {}, ++seed);
  }
}

// Batches over which the right-hand side is the same are rows of one product, whose K may be split.
TEST(GpuGemm, SharedRightSideIsOneProduct) {
  GemmDesc d = gpu::matrix_product(4, 16, 2048);
  d.batch = {2, 3};
  d.a_batch = {3 * 4 * 2048, 4 * 2048};
  put_y_batches(d, {});
  EXPECT_EQ(GemmPlan(d, DType::F32, {}, "tile_32x32/4").workspace_bytes(), 24u * 16 * 4 * 4);
  d.b_batch = {1, 0};
  EXPECT_THROW(GemmPlan(d, DType::F32, {}, "tile_32x32/4"), Error);
}

TEST(GpuGemm, Epilogues) {
  std::uint32_t seed = 400;
  for (int act = 0; act <= static_cast<int>(Act::Elu); ++act) {
    EpilogueDesc e;
    e.bias = true;
    e.act = static_cast<Act>(act);
    e.a = 0.25f;
    e.b = 0.5f;
    e.residual = act % 2 ? ResidualAt::BeforeAct : ResidualAt::AfterAct;
    if (act % 3 == 0) {
      e.y_stride = 50;
      e.residual_stride = 44;
    }
    check_all_variants(gpu::matrix_product(7, 40, 100), DType::F32, e, ++seed,
                       e.y_stride ? act % 2 ? 4 : 5 : 0);
    check_all_variants(gpu::matrix_product(1, 37, 30), DType::F16, e, ++seed, 0);
  }
}

TEST(GpuGemm, PackedRightSide) {
  const Tensor b = random_tensor(DType::F32, {11, 70}, 500);  // transposed
  for (const DType type : {DType::F32, DType::F16}) {
    const auto bytes = gpu::pack_matrix(b.span<float>().data(), 70, 11, 1, 70, type);
    EXPECT_EQ(bytes.size(), 70u * 12 * size_of(type));
    GemmDesc plain = gpu::matrix_product(3, 11, 70, false, true);
    const Tensor a = random_tensor(type, {3, 70}, 501);
    const EpilogueData e({}, type, 3, 11, 1);
    const Tensor want = reference(plain, {a, b}, e);
    GemmDesc d = gpu::matrix_product(3, 11, 70);
    d.b_k = gpu::packed_stride(11);
    d.b_padded = true;
    for (const std::string& variant : gpu::gemm_variants(d, type)) {
      expect_product(run(d, type, {a, bytes_tensor(type, bytes)}, e, variant), want, type, variant);
    }
  }
}

TEST(GpuGemm, NoTermsGiveTheEpilogue) {
  GemmDesc d = gpu::matrix_product(5, 6, 0);
  d.a_m = d.b_k = 1;
  EpilogueDesc e;
  e.bias = true;
  check_all_variants(d, DType::F32, e, 600);
  d = gpu::matrix_product(0, 6, 3);
  EXPECT_TRUE(GemmPlan(d, DType::F32).prepare({}, 0, "test").empty());
}

TEST(GpuGemm, TheSameBitsEveryTime) {
  const GemmDesc d = gpu::matrix_product(40, 50, 300);
  const Operands in = operands(d, DType::F32, 700);
  const EpilogueData e({}, DType::F32, d.M, d.N, 1);
  for (const char* variant : {"tile_32x32", "tile_64x64/3", ""}) {
    EXPECT_EQ(run(d, DType::F32, in, e, variant).to_f64(),
              run(d, DType::F32, in, e, variant).to_f64());
  }
}

TEST(GpuGemm, NanStaysInItsRow) {
  const GemmDesc d = gpu::matrix_product(6, 9, 40);
  Operands in = operands(d, DType::F32, 800);
  in.a.mutable_span<float>()[2 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
  const EpilogueData e({}, DType::F32, d.M, d.N, 1);
  const Tensor want = reference(d, in, e);
  for (const std::string& variant : gpu::gemm_variants(d, DType::F32)) {
    expect_product(run(d, DType::F32, in, e, variant), want, DType::F32, variant);
  }
}

TEST(GpuGemm, Errors) {
  const GemmDesc d = gpu::matrix_product(9, 9, 9);
  EXPECT_THROW(GemmPlan(d, DType::I8), Error);
  EXPECT_THROW(GemmPlan(d, DType::F32, {}, "gemv_8"), Error);
  EXPECT_THROW(GemmPlan(d, DType::F32, {}, "tile_32x32/x"), Error);
  GemmDesc large = d;
  large.M = std::int64_t{1} << 31;
  EXPECT_THROW(GemmPlan(large, DType::F32), Error);
  large = d;
  large.a_m = -1;
  EXPECT_THROW(GemmPlan(large, DType::F32), Error);
}

}  // namespace
}  // namespace treadle::test
