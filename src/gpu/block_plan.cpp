#include "gpu/block_plan.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "gpu/kernels/block_params.hpp"

namespace treadle::gpu {

namespace {

constexpr std::int64_t kLimit = (std::int64_t{1} << 31) - 256;
constexpr std::int64_t kMostRows = 8;
// Of dequantised weights at a time.
constexpr std::int64_t kPartBytes = 32 << 20;
constexpr std::int64_t kPartColumns = 128;  // a part has a multiple of them
constexpr std::int64_t kMostParts = 4096;
constexpr Tile kVectors[] = {
    {"1", 1, tk::kGemvColumns, 256, 256, 8, 1},
    {"4", 4, tk::kGemvColumns, 256, 256, 4, 1},
    {"8", 8, tk::kGemvColumns, 256, 256, 2, 1},
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Where things lie in what pack_blocks() makes; each begins at a multiple of 16 bytes.
struct Layout {
  std::int64_t numbers, words, blocks, stride, words_per_block;
  std::int64_t scales, zeros, bytes;

  explicit Layout(const BlockDesc& d)
      : numbers(32 / d.bits),
        words(divide_up(d.K, numbers)),
        blocks(divide_up(d.K, d.block_size)),
        stride(packed_stride(d.N)),
        words_per_block(d.block_size / numbers) {
    const std::int64_t each = checked_mul(stride, blocks);
    scales = checked_mul(checked_mul(stride, words), 4);
    zeros = checked_add(scales, checked_mul(each, 4));
    bytes = checked_add(zeros, d.zeros ? each : 0);
  }

  tk::BlockParams params(const BlockDesc& d) const {
    tk::BlockParams p{};
    p.scales_at = scales / 4;
    p.zeros_at = zeros / 4;
    p.stride = static_cast<tk::tk_i32>(stride);
    p.words = static_cast<tk::tk_i32>(words);
    p.block_shift = std::countr_zero(static_cast<std::uint64_t>(words_per_block));
    p.zeros = d.zeros;
    return p;
  }
};

void check_desc(const BlockDesc& d, DType type) {
  check(type == DType::F32 || type == DType::F16, ErrorKind::Unsupported,
        "product with weights in blocks on a device: dtype {}, expected f32 or f16", name_of(type));
  check(d.bits == 4 || d.bits == 8, ErrorKind::Unsupported,
        "product with weights in blocks on a device: {} bits, expected 4 or 8", d.bits);
  check(d.M >= 0 && d.N >= 0 && d.K > 0 && std::max({d.M, d.N, d.K}) < kLimit, ErrorKind::Shape,
        "product with weights in blocks on a device: sizes M {}, N {}, K {}, expected 0 to {}, K "
        "from 1",
        d.M, d.N, d.K, kLimit - 1);
  check(d.block_size >= 16 && std::has_single_bit(static_cast<std::uint64_t>(d.block_size)),
        ErrorKind::Shape,
        "product with weights in blocks on a device: blocks of {}, expected a power of two from 16",
        d.block_size);
}

// Enough groups to fill the device, while each has work.
TileChoice choose_vectors(const BlockDesc& d) {
  const Tile& tile = kVectors[d.M > 4 ? 2 : d.M > 1 ? 1 : 0];
  const std::int64_t groups = divide_up(d.N, tile.n);
  int splits = 1;
  while (splits < 8 && groups * splits < 132 && d.K >= std::int64_t{2048} * splits) splits *= 2;
  return split_evenly(tile, d.K, splits);
}

// The columns of a part.
std::int64_t choose_columns(const BlockDesc& d, DType type) {
  const std::int64_t row = checked_mul(d.K, static_cast<std::int64_t>(size_of(type)));
  const std::int64_t most = std::max<std::int64_t>(1, kPartBytes / row / kPartColumns);
  return std::min(most * kPartColumns, packed_stride(d.N));
}

DeviceAddress shifted(DeviceAddress at, std::int64_t bytes) {
  return at == 0 ? 0 : at + static_cast<DeviceAddress>(bytes);
}

std::int64_t rounded(std::int64_t bytes) {
  return divide_up(bytes, 256) * 256;
}

}  // namespace

std::vector<std::byte> pack_blocks(const BlockDesc& d, const std::uint8_t* numbers,
                                   std::span<const float> scales, const std::uint8_t* zeros) {
  const Layout l(d);
  std::vector<std::byte> out(static_cast<std::size_t>(l.bytes));
  const std::int64_t row = l.blocks * l.words_per_block * 4;
  const std::int64_t zero_bytes = divide_up(l.blocks * d.bits, 8);
  // Few words of each column at a time: lines a power of two apart share a set of the cache.
  constexpr std::int64_t kWords = 8;
  for (std::int64_t first = 0; first < l.words; first += kWords) {
    const std::int64_t last = std::min(first + kWords, l.words);
    for (std::int64_t n = 0; n < d.N; ++n) {
      for (std::int64_t w = first; w < last; ++w) {
        std::memcpy(out.data() + (w * l.stride + n) * 4, numbers + n * row + w * 4, 4);
      }
    }
  }
  for (std::int64_t n = 0; n < d.N; ++n) {
    for (std::int64_t b = 0; b < l.blocks; ++b) {
      const std::int64_t to = b * l.stride + n, at = b * d.bits;
      std::memcpy(out.data() + l.scales + to * 4,
                  &scales[static_cast<std::size_t>(n * l.blocks + b)], 4);
      if (!d.zeros) continue;
      out[static_cast<std::size_t>(l.zeros + to)] =
          static_cast<std::byte>(zeros[n * zero_bytes + at / 8] >> (at % 8) & ((1 << d.bits) - 1));
    }
  }
  return out;
}

BlockPlan::BlockPlan(const BlockDesc& desc, DType type, const EpilogueDesc& epilogue,
                     std::string_view variant)
    : desc_(desc), type_(type), epilogue_(epilogue) {
  check_desc(desc, type);
  check_epilogue(epilogue, desc.N);
  const bool few = variant.empty() ? desc.M <= kMostRows : variant == "gemv";
  if (few) {
    check(desc.M <= kMostRows, ErrorKind::Unsupported, "block_gemv of {} rows, expected up to {}",
          desc.M, kMostRows);
    choice_ = choose_vectors(desc);
    name_ = tile_variant("block_gemv_", choice_);
    kernel_ = kernel_named(
        fmt::format("block_gemv_{}_b{}_{}", choice_.tile->name, desc.bits, name_of(type)));
  } else {
    columns_ = choose_columns(desc, type);
    if (variant.starts_with("unpack/")) {
      std::int64_t most = 0;
      std::from_chars(variant.data() + 7, variant.data() + variant.size(), most);
      columns_ = std::min(columns_, most / 4 * 4);
    }
    check((variant.empty() || variant.starts_with("unpack")) && columns_ > 0,
          ErrorKind::Unsupported, "a product with weights in blocks has no variant '{}'", variant);
    const std::int64_t parts = divide_up(desc.N, columns_);
    check(parts <= kMostParts, ErrorKind::Unsupported,
          "a product with weights in blocks takes {} parts, at most {} are made", parts,
          kMostParts);
    name_ = fmt::format("block_unpack/{}", parts);
    kernel_ = kernel_named(fmt::format("block_unpack_b{}_{}", desc.bits, name_of(type)));
  }
  check(kernel_ != KernelId::kCount, ErrorKind::Internal, "no kernel for {}", name_);
}

GemmPlan BlockPlan::product_of(std::int64_t columns) const {
  GemmDesc d = matrix_product(desc_.M, columns, desc_.K);
  d.b_k = packed_stride(columns);
  d.b_padded = true;
  EpilogueDesc e = epilogue_;
  if (e.y_stride == 0) e.y_stride = desc_.N;
  if (e.residual_stride == 0) e.residual_stride = desc_.N;
  return {d, type_, e};
}

std::size_t BlockPlan::workspace_bytes() const {
  if (desc_.M == 0 || desc_.N == 0) return 0;
  if (columns_ == 0) {
    return choice_.splits <= 1
               ? 0
               : static_cast<std::size_t>(
                     checked_mul(checked_mul(desc_.M, desc_.N), choice_.splits * std::int64_t{4}));
  }
  const std::int64_t part =
      checked_mul(checked_mul(desc_.K, columns_), static_cast<std::int64_t>(size_of(type_)));
  const std::int64_t last = desc_.N % columns_;
  std::size_t product = 0;
  if (desc_.N >= columns_) product = product_of(columns_).workspace_bytes();
  if (last != 0) product = std::max(product, product_of(last).workspace_bytes());
  return static_cast<std::size_t>(rounded(part)) + product;
}

void BlockPlan::prepare_few(const ProductAddresses& given, DeviceAddress workspace,
                            const char* label, PreparedLaunches& all) const {
  const ProductAddresses at = filled(given, epilogue_);
  const Layout l(desc_);
  tk::BlockGemvParams p{};
  p.blocks = l.params(desc_);
  tk::GemmParams& g = p.gemm;
  g.M = static_cast<tk::tk_i32>(desc_.M);
  g.N = static_cast<tk::tk_i32>(desc_.N);
  g.K = static_cast<tk::tk_i32>(desc_.K);
  g.a_m = g.K;
  g.a_k = 1;
  g.a_along_k = 1;
  g.a_vectors = desc_.K % 4 == 0 && at.left % (4 * size_of(type_)) == 0;
  g.epilogue = epilogue_params(epilogue_, type_, desc_.N, desc_.N, 4, at);
  const std::uint32_t groups = groups_of(desc_.N, choice_.tile->n);
  g.tiles = make_divisor(groups);
  g.rows = g.batches = make_divisor(1);
  g.batch = 1;
  g.splits = choice_.splits;
  g.split_k = static_cast<tk::tk_i32>(choice_.split_k);
  const bool split = choice_.splits > 1;
  all.push_back({kernel_,
                 {groups, 1, static_cast<std::uint32_t>(g.splits)},
                 {static_cast<std::uint32_t>(choice_.tile->threads)},
                 {at.left, at.right, at.bias, at.slope, at.residual,
                  split ? workspace : unused_floats(at.y), at.y},
                 p,
                 label});
  if (split) {
    all.push_back(
        sum_of_splits(epilogue_, type_, desc_.M, desc_.N, choice_.splits, workspace, at, label));
  }
}

void BlockPlan::prepare_part(std::int64_t first, const ProductAddresses& at,
                             DeviceAddress workspace, const char* label,
                             PreparedLaunches& all) const {
  const Layout l(desc_);
  const std::int64_t columns = std::min(columns_, desc_.N - first), padded = packed_stride(columns);
  const std::int64_t threads = checked_mul(l.words, padded / 4);
  check(threads < kLimit, ErrorKind::Unsupported,
        "a product with weights in blocks: {} threads dequantise a part", threads);
  tk::BlockUnpackParams p{};
  p.groups = make_divisor(static_cast<std::uint32_t>(padded / 4));
  p.blocks = l.params(desc_);
  p.threads = static_cast<tk::tk_i32>(threads);
  p.first = static_cast<tk::tk_i32>(first);
  p.K = static_cast<tk::tk_i32>(desc_.K);
  p.b_k = static_cast<tk::tk_i32>(padded);
  all.push_back({kernel_, {groups_of(threads, 256)}, {256}, {at.right, workspace}, p, label});
  const auto size = static_cast<std::int64_t>(size_of(type_));
  ProductAddresses part = at;
  part.right = workspace;
  part.y = shifted(at.y, first * size);
  part.residual = shifted(at.residual, first * size);
  part.bias = shifted(at.bias, first * 4);
  part.slope = shifted(at.slope, first * 4);
  const std::int64_t own = rounded(desc_.K * columns_ * size);
  for (PreparedLaunch& launch : product_of(columns).prepare(part, shifted(workspace, own), label)) {
    all.push_back(std::move(launch));
  }
}

PreparedLaunches BlockPlan::prepare(const ProductAddresses& at, DeviceAddress workspace,
                                    const char* label) const {
  PreparedLaunches all;
  if (desc_.M == 0 || desc_.N == 0) return all;
  if (columns_ == 0) {
    prepare_few(at, workspace, label, all);
    return all;
  }
  for (std::int64_t first = 0; first < desc_.N; first += columns_) {
    prepare_part(first, at, workspace, label, all);
  }
  return all;
}

void BlockPlan::run(Queue& queue, const ProductAddresses& at, DeviceAddress workspace,
                    const char* label) const {
  for (const PreparedLaunch& l : prepare(at, workspace, label)) queue.launch(l.get());
}

}  // namespace treadle::gpu
