#include "gpu/gemm_plan.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "gpu/store_as.hpp"

namespace treadle::gpu {

namespace {

constexpr Tile kTiles[] = {
    {"128x128", 128, 128, 8, 256, 2, 0.65},
    {"64x64", 64, 64, 16, 128, 4, 0.59},
    {"32x64", 32, 64, 16, 128, 5, 0.45},
    {"32x32", 32, 32, 32, 64, 8, 0.40},
};
// Tiles of one row of groups of 256 threads; they take what there is of M.
constexpr Tile kVectors[] = {
    {"1", 1, tk::kGemvColumns, 32, 256, 8, 1},
    {"4", 4, tk::kGemvColumns, 32, 256, 4, 1},
    {"8", 8, tk::kGemvColumns, 32, 256, 2, 1},
};
constexpr std::int64_t kLimit = std::int64_t{1} << 31;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

void check_desc(const GemmDesc& d, DType type) {
  check(type == DType::F32 || type == DType::F16, ErrorKind::Unsupported,
        "matrix product on a device: dtype {}, expected f32 or f16", name_of(type));
  for (const std::int64_t size : {d.M, d.N, d.K, d.batch[0], d.batch[1]}) {
    check(size >= 0 && size < kLimit - 256, ErrorKind::Shape,
          "matrix product on a device: a size of {}, expected 0 to 2^31 - 257", size);
  }
  for (const std::int64_t stride : {d.a_m, d.a_k, d.b_k, d.b_n}) {
    check(stride >= 0 && stride < kLimit, ErrorKind::Shape,
          "matrix product on a device: a stride of {}, expected 0 to 2^31 - 1", stride);
  }
}

// A batch over which b is the same and a, y and the residual go on evenly is more rows.
GemmDesc merged(GemmDesc d, const EpilogueDesc& e) {
  const std::int64_t y = e.y_stride != 0 ? e.y_stride : d.N;
  const std::int64_t residual = e.residual_stride != 0 ? e.residual_stride : d.N;
  for (int i = 0; i < 2; ++i) {
    const std::size_t inner = 1;
    const bool even = d.b_batch[inner] == 0 && d.a_batch[inner] == d.M * d.a_m &&
                      d.y_batch[inner] == d.M * y &&
                      (e.residual == ResidualAt::None || d.residual_batch[inner] == d.M * residual);
    if (d.batch[inner] != 1 && !(even && d.batch[inner] * d.M < kLimit - 256)) break;
    d.M *= d.batch[inner];
    // The outer batch takes the place of the inner one.
    d.batch = {1, d.batch[0]};
    d.a_batch = {0, d.a_batch[0]};
    d.b_batch = {0, d.b_batch[0]};
    d.y_batch = {0, d.y_batch[0]};
    d.residual_batch = {0, d.residual_batch[0]};
  }
  return d;
}

bool is_one(const GemmDesc& d) {
  return d.batch[0] * d.batch[1] == 1;
}

ProductShape product_of(const GemmDesc& d) {
  return {d.M, d.N, d.K, d.batch[0] * d.batch[1]};
}

// Enough groups to fill the device, while each has work.
TileChoice choose_vectors(const GemmDesc& d, const Tile& tile) {
  const std::int64_t groups = d.batch[0] * d.batch[1] * divide_up(d.N, tile.n);
  const int least = tile.m > 4 ? 512 : 1024;  // positions of K
  int splits = 1;
  while (is_one(d) && splits < 8 && groups * splits < 132 && d.K >= least * splits) splits *= 2;
  return split_evenly(tile, d.K, splits);
}

KernelId kernel_of(std::string_view stem, std::string_view tile, DType type) {
  return kernel_named(fmt::format("{}_{}_{}", stem, tile, name_of(type)));
}

std::span<const Tile> vectors_for(const GemmDesc& d) {
  if (d.b_n != 1 || d.M > 8) return {};
  const std::size_t first = d.M > 4 ? 2 : d.M > 1 ? 1 : 0;
  return std::span(kVectors).subspan(first, 1);
}

bool fours(const std::array<std::int64_t, 2>& strides) {
  return strides[0] % 4 == 0 && strides[1] % 4 == 0;
}

void put_batches(const GemmDesc& d, tk::GemmParams& p) {
  for (std::size_t i = 0; i < 2; ++i) {
    p.a_batch[i] = d.a_batch[i];
    p.b_batch[i] = d.b_batch[i];
    p.y_batch[i] = d.y_batch[i];
    p.residual_batch[i] = d.residual_batch[i];
  }
  p.batches = make_divisor(static_cast<std::uint32_t>(d.batch[1]));
  p.batch = static_cast<tk::tk_i32>(d.batch[0] * d.batch[1]);
}

// Sizes, strides, and how the operands are read.
void put_operands(const GemmDesc& d, DType type, const ProductAddresses& at, tk::GemmParams& p) {
  p.M = static_cast<tk::tk_i32>(d.M);
  p.N = static_cast<tk::tk_i32>(d.N);
  p.K = static_cast<tk::tk_i32>(d.K);
  p.a_m = static_cast<tk::tk_i32>(d.a_m);
  p.a_k = static_cast<tk::tk_i32>(d.a_k);
  p.b_k = static_cast<tk::tk_i32>(d.b_k);
  p.b_n = static_cast<tk::tk_i32>(d.b_n);
  p.a_along_k = d.a_k <= d.a_m || d.M == 1;
  p.b_along_n = d.b_n <= d.b_k || d.K == 1;
  const std::size_t four = 4 * size_of(type);
  const std::int64_t a_next = p.a_along_k ? d.a_m : d.a_k, a_size = p.a_along_k ? d.K : d.M;
  p.a_vectors = (p.a_along_k ? d.a_k : d.a_m) == 1 && a_next % 4 == 0 && a_size % 4 == 0 &&
                fours(d.a_batch) && at.left % four == 0;
  const std::int64_t b_next = p.b_along_n ? d.b_k : d.b_n, b_size = p.b_along_n ? d.N : d.K;
  p.b_vectors = (p.b_along_n ? d.b_n : d.b_k) == 1 && b_next % 4 == 0 &&
                (b_size % 4 == 0 || (d.b_padded && p.b_along_n)) && fours(d.b_batch) &&
                at.right % four == 0;
}

}  // namespace

GemmDesc matrix_product(std::int64_t M, std::int64_t N, std::int64_t K, bool transpose_a,
                        bool transpose_b) {
  GemmDesc d;
  d.M = M;
  d.N = N;
  d.K = K;
  d.a_m = transpose_a ? 1 : K;
  d.a_k = transpose_a ? M : 1;
  d.b_k = transpose_b ? 1 : N;
  d.b_n = transpose_b ? K : 1;
  return d;
}

GemmPlan::GemmPlan(const GemmDesc& desc, DType type, const EpilogueDesc& epilogue,
                   std::string_view variant)
    : type_(type), epilogue_(epilogue) {
  check_desc(desc, type);
  check_epilogue(epilogue, desc.N);
  desc_ = merged(desc, epilogue);
  const std::span<const Tile> vectors = vectors_for(desc_);
  if (variant.empty()) {
    gemv_ = !vectors.empty();
    choice_ = gemv_ ? choose_vectors(desc_, vectors[0])
                    : choose_tile(kTiles, product_of(desc_), is_one(desc_));
  } else {
    choice_ = find_tile(vectors, "gemv_", variant, desc_.K);
    gemv_ = choice_.tile != nullptr;
    if (!gemv_) choice_ = find_tile(kTiles, "tile_", variant, desc_.K);
    check(choice_.tile != nullptr && (choice_.splits == 1 || is_one(desc_)), ErrorKind::Unsupported,
          "this matrix product of {} has no variant '{}'", name_of(type), variant);
  }
  name_ = tile_variant(gemv_ ? "gemv_" : "tile_", choice_);
  kernel_ = kernel_of(gemv_ ? "gemv" : "gemm", choice_.tile->name, type);
  check(kernel_ != KernelId::kCount, ErrorKind::Internal, "no kernel for {}", name_);
}

std::size_t GemmPlan::workspace_bytes() const {
  if (choice_.splits <= 1) return 0;
  return static_cast<std::size_t>(
      checked_mul(checked_mul(desc_.M, desc_.N), choice_.splits * std::int64_t{4}));
}

PreparedLaunches GemmPlan::prepare(const ProductAddresses& addresses, DeviceAddress workspace,
                                   const char* label) const {
  const GemmDesc& d = desc_;
  PreparedLaunches all;
  const std::int64_t batch = d.batch[0] * d.batch[1];
  if (d.M == 0 || d.N == 0 || batch == 0) return all;
  const ProductAddresses at = filled(addresses, epilogue_);
  const Tile& tile = *choice_.tile;
  const std::int64_t tiles_m = gemv_ ? 1 : divide_up(d.M, tile.m), tiles_n = divide_up(d.N, tile.n);
  const std::int64_t groups = checked_mul(checked_mul(batch, tiles_m), tiles_n);
  check(groups < kLimit, ErrorKind::Unsupported, "matrix product on a device: {} tiles", groups);
  tk::GemmParams p{};
  put_batches(d, p);
  put_operands(d, type_, at, p);
  p.epilogue = epilogue_params(epilogue_, type_, d.N, d.N, 4, at);
  // Every row of every batch begins as aligned as the first.
  if (!fours(d.y_batch) || (epilogue_.residual != ResidualAt::None && !fours(d.residual_batch))) {
    p.epilogue.vectors = 0;
  }
  p.tiles = make_divisor(static_cast<std::uint32_t>(tiles_n));
  p.rows = make_divisor(static_cast<std::uint32_t>(tiles_m));
  p.splits = choice_.splits;
  p.split_k = static_cast<tk::tk_i32>(choice_.split_k);
  const bool split = choice_.splits > 1;
  all.push_back({kernel_,
                 {static_cast<std::uint32_t>(groups), 1, static_cast<std::uint32_t>(p.splits)},
                 {static_cast<std::uint32_t>(tile.threads)},
                 {at.left, at.right, at.bias, at.slope, at.residual,
                  split ? workspace : unused_floats(at.y), at.y},
                 p,
                 label});
  if (split) {
    all.push_back(sum_of_splits(epilogue_, type_, d.M, d.N, choice_.splits, workspace, at, label));
  }
  return all;
}

void GemmPlan::run(Queue& queue, const ProductAddresses& at, DeviceAddress workspace,
                   const char* label) const {
  for (const PreparedLaunch& l : prepare(at, workspace, label)) queue.launch(l.get());
}

std::vector<std::string> gemm_variants(const GemmDesc& desc, DType type) {
  check_desc(desc, type);
  std::vector<std::string> names;
  for (const Tile& tile : vectors_for(merged(desc, {}))) {
    names.push_back(std::string("gemv_") + tile.name);
  }
  for (const Tile& tile : kTiles) names.push_back(std::string("tile_") + tile.name);
  return names;
}

std::int64_t packed_stride(std::int64_t N) {
  return divide_up(N, 4) * 4;
}

std::vector<std::byte> pack_matrix(const float* from, std::int64_t K, std::int64_t N,
                                   std::ptrdiff_t row, std::ptrdiff_t column, DType type) {
  const std::int64_t stride = packed_stride(N);
  std::vector<std::byte> packed(static_cast<std::size_t>(checked_mul(K, stride)) * size_of(type));
  for (std::int64_t k = 0; k < K; ++k) {
    for (std::int64_t n = 0; n < N; ++n) {
      store_as(type, packed.data(), k * stride + n, from[k * row + n * column]);
    }
  }
  return packed;
}

}  // namespace treadle::gpu
