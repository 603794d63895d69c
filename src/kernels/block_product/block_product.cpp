#include "kernels/block_product/block_product.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/half.hpp"
#include "base/shape.hpp"
#include "kernels/block_product/kernel.hpp"
#include "kernels/gemm/driver.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/pack.hpp"

namespace treadle::kernels {

#define TREADLE_BLOCK_PRODUCT(space, set) \
  namespace space {                       \
  BlockKernels block_product();           \
  }
#include "kernels/block_product/table.inc"
#undef TREADLE_BLOCK_PRODUCT

const BlockKernels& block_kernels() {
#define TREADLE_BLOCK_PRODUCT(space, set)                             \
  static const BlockKernels space##_kernels = space::block_product(); \
  if (active_isa() == Isa::set) return space##_kernels;
#include "kernels/block_product/table.inc"
#undef TREADLE_BLOCK_PRODUCT
  return generic_kernels;
}

namespace {

static_assert(std::endian::native == std::endian::little, "words are read from bytes");

// Work below this many multiply-adds is not worth a second thread (about 20 µs).
constexpr std::int64_t kMinTask = 1 << 19;
constexpr std::int64_t kLineFloats = 16;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
// Rounded so that what follows stays aligned to cache lines when the workspace is.
std::int64_t rounded(std::int64_t floats) {
  return checked_add(floats, kLineFloats - 1) / kLineFloats * kLineFloats;
}

// Where things lie in the packed form, in panels of `lanes` columns.
struct Layout {
  std::int64_t lanes, panels, words, blocks, words_per_block;
  std::size_t scales, zeros, bytes;

  explicit Layout(const BlockShape& s)
      : lanes(block_kernels().lanes),
        panels(ceil_div(s.N, lanes)),
        words(s.words()),
        blocks(s.blocks()),
        words_per_block(s.block_size / (32 / s.bits)) {
    const std::int64_t columns = checked_mul(panels, lanes);
    const std::int64_t numbers = checked_mul(checked_mul(columns, words), 4);
    const std::int64_t each = checked_mul(columns, blocks);
    scales = static_cast<std::size_t>(numbers);
    zeros = static_cast<std::size_t>(checked_add(numbers, checked_mul(each, 4)));
    bytes = zeros + (s.zeros ? static_cast<std::size_t>(each) : 0);
  }

  BlockPanel panel(const BlockShape& s, const void* packed, std::int64_t index) const {
    const auto* p = static_cast<const std::byte*>(packed);
    BlockPanel out;
    out.words = reinterpret_cast<const std::uint32_t*>(p) + index * words * lanes;
    out.scales = reinterpret_cast<const float*>(p + scales) + index * blocks * lanes;
    if (s.zeros) {
      out.zeros = reinterpret_cast<const std::int8_t*>(p + zeros) + index * blocks * lanes;
    }
    out.words_per_block = words_per_block;
    return out;
  }
};

float scale_at(const BlockSource& source, std::int64_t i) {
  if (source.scale_type == DType::F32) return static_cast<const float*>(source.scales)[i];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(source.scales)[i];
  return source.scale_type == DType::F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

// Column j of a panel whose arrays begin at `words`, `scales` and `zeros`; n is its number.
void pack_column(const BlockShape& s, const Layout& l, const BlockSource& source, std::int64_t n,
                 std::uint32_t* words, float* scales, std::int8_t* zeros) {
  const std::uint8_t* from = source.numbers + n * l.blocks * l.words_per_block * 4;
  // The highest bit of each number turned over makes n into n − 2^(bits − 1).
  const std::uint32_t tops = s.bits == 2 ? 0xaaaaaaaau : s.bits == 4 ? 0x88888888u : 0x80808080u;
  for (std::int64_t i = 0; i < l.words; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, from + i * 4, 4);
    words[i * l.lanes] = word ^ tops;
  }
  const std::int64_t zero_bytes = ceil_div(l.blocks * s.bits, 8);
  const int middle = 1 << (s.bits - 1);
  for (std::int64_t b = 0; b < l.blocks; ++b) {
    scales[b * l.lanes] = scale_at(source, n * l.blocks + b);
    if (!s.zeros) continue;
    const std::int64_t at = b * s.bits;
    const int number = source.zeros[n * zero_bytes + at / 8] >> (at % 8) & (2 * middle - 1);
    zeros[b * l.lanes] = static_cast<std::int8_t>(number - middle);
  }
}

// How a product of many rows is cut: parts of columns and of K that are unpacked at a time.
struct Cut {
  std::int64_t columns, k, parts;

  explicit Cut(const BlockShape& s) {
    const DotKernels& dot = dot_kernels();
    const std::int64_t unit = 32 / s.bits;
    k = ceil_div(std::min<std::int64_t>(s.K, 2 * dot.k_block), unit) * unit;
    const std::int64_t most = cache_sizes().l2 / 2 / 4 / k;
    columns = std::max<std::int64_t>(1, most / dot.main_width()) * dot.main_width();
    parts = ceil_div(s.N, columns);
  }
};

// Floats of a thread's part of the workspace.
std::int64_t slot_floats(const Cut& cut) {
  return rounded(checked_mul(cut.k, cut.columns));
}

GemmArgs part_of(const BlockProductArgs& args, const Cut& cut, std::int64_t part) {
  const std::int64_t column = part * cut.columns;
  GemmArgs g;
  g.m = args.rows;
  g.n = std::min(cut.columns, args.shape.N - column);
  g.lda = args.shape.K;
  g.c = args.y ? args.y + column : nullptr;  // null while sizes are asked for
  g.ldc = args.shape.N;
  return g;
}

// Numbers [k, k + count) along K of g.n columns from `column` on, as pack_panels() has them.
void unpack(const BlockProductArgs& args, const Layout& l, std::int64_t column, std::int64_t n,
            std::int64_t k, std::int64_t count, float* out) {
  const BlockKernels& kernels = block_kernels();
  const BlockUnpackFn one = kernels.unpack[block_kind(args.shape.bits)];
  for (std::int64_t at = 0; at < n;) {
    const int width = dot_kernels().panel_width(n - at);
    for (int j = 0; j < width; j += kernels.lanes) {
      one(l.panel(args.shape, args.packed, (column + at + j) / l.lanes), k, count,
          out + at * count + j, width);
    }
    at += width;
  }
}

// All rows of a part of the columns.
void multiply_part(const BlockProductArgs& args, const Layout& l, const Cut& cut, std::int64_t part,
                   float* workspace, void* strips, Parallel& parallel) {
  GemmArgs g = part_of(args, cut, part);
  for (std::int64_t k = 0; k < args.shape.K; k += cut.k) {
    g.k = std::min(cut.k, args.shape.K - k);
    unpack(args, l, part * cut.columns, g.n, k, g.k, workspace);
    g.a = args.x + k;
    g.packed_b = workspace;
    g.accumulate = k > 0;
    if (k + g.k == args.shape.K) g.epilogue = columns_from(args.epilogue, part * cut.columns);
    gemm(g, strips, parallel);
  }
}

// Bytes of strips that gemm() needs for any part.
std::size_t strip_bytes(const BlockProductArgs& args, const Cut& cut, int threads) {
  GemmArgs g = part_of(args, cut, 0);
  g.k = cut.k;
  return gemm_workspace_bytes(g, threads);
}

bool part_per_thread(const Cut& cut, int threads) {
  return threads > 1 && cut.parts >= threads;
}

void multiply_many(const BlockProductArgs& args, void* workspace, Parallel& parallel) {
  const Layout l(args.shape);
  const Cut cut(args.shape);
  const int threads = parallel.threads();
  const std::int64_t slot = slot_floats(cut);
  auto* const scratch = static_cast<float*>(workspace);
  if (!part_per_thread(cut, threads)) {
    for (std::int64_t i = 0; i < cut.parts; ++i) {
      multiply_part(args, l, cut, i, scratch, scratch + slot, parallel);
    }
    return;
  }
  const auto strips = static_cast<std::int64_t>(strip_bytes(args, cut, 1) / sizeof(float));
  const std::int64_t step = slot + rounded(strips);
  parallel.run(threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      float* const own = scratch + t * step;
      for (std::int64_t i = cut.parts * t / threads; i < cut.parts * (t + 1) / threads; ++i) {
        multiply_part(args, l, cut, i, own, own + slot, serial());
      }
    }
  });
}

// Few rows, in tiles of nearly equal height.
class FewRows {
 public:
  FewRows(const BlockProductArgs& args, float* x)
      : args_(args), l_(args.shape), x_(x), tiles_(ceil_div(args.rows, block_kernels().rows)) {}

  static std::int64_t padded_k(const BlockShape& s) { return s.words() * (32 / s.bits); }

  // Each tile's rows side by side, position by position of K, zeros behind them.
  void gather() {
    const std::int64_t K = args_.shape.K, padded = padded_k(args_.shape);
    for (std::int64_t i = 0; i < tiles_; ++i) {
      const std::int64_t first = begin(i), height = begin(i + 1) - first;
      float* const to = x_ + first * padded;
      for (std::int64_t r = 0; r < height; ++r) {
        const float* from = args_.x + (first + r) * K;
        for (std::int64_t k = 0; k < K; ++k) to[k * height + r] = from[k];
      }
      std::fill(to + K * height, to + padded * height, 0.0f);
    }
  }

  void run(std::int64_t first, std::int64_t last) const {
    const BlockKernels& kernels = block_kernels();
    const std::int64_t padded = padded_k(args_.shape);
    for (std::int64_t p = first; p < last; ++p) {
      const BlockPanel panel = l_.panel(args_.shape, args_.packed, p);
      for (std::int64_t i = 0; i < tiles_; ++i) {
        const std::int64_t row = begin(i), height = begin(i + 1) - row;
        float sums[kMaxDotRows * kLineFloats];
        kernels.dot[block_kind(args_.shape.bits)][args_.shape.zeros][height](
            panel, l_.words, x_ + row * padded, sums);
        finish(p * l_.lanes, row, static_cast<int>(height), sums);
      }
    }
    if (!is_pass(args_.epilogue.act)) return;
    const std::int64_t column = first * l_.lanes;
    for (std::int64_t i = 0; i < tiles_; ++i) {
      float* c[kMaxDotRows];
      const float* residual[kMaxDotRows] = {};
      const std::int64_t row = begin(i), height = begin(i + 1) - row;
      locate(row, height, c, residual);
      finish_rows(args_.epilogue, c, residual, height, column,
                  std::min(last * l_.lanes, args_.shape.N) - column);
    }
  }

 private:
  std::int64_t begin(std::int64_t tile) const { return args_.rows * tile / tiles_; }

  void locate(std::int64_t row, std::int64_t height, float** c, const float** residual) const {
    const Epilogue& e = args_.epilogue;
    for (std::int64_t r = 0; r < height; ++r) {
      c[r] = args_.y + (row + r) * args_.shape.N;
      if (e.residual) residual[r] = e.residual + (row + r) * e.residual_stride;
    }
  }

  void finish(std::int64_t column, std::int64_t row, int height, const float* sums) const {
    const Epilogue& e = args_.epilogue;
    const bool pass = is_pass(e.act);
    float* c[kMaxDotRows];
    const float* residual[kMaxDotRows] = {};
    locate(row, height, c, residual);
    DotTile tile;
    tile.c = c;
    tile.residual = e.residual && (!pass || e.residual_before_act) ? residual : nullptr;
    tile.residual_before_act = e.residual_before_act;
    tile.bias = e.bias ? e.bias + column : nullptr;
    tile.slope = e.slope ? e.slope + column : nullptr;
    tile.column = column;
    tile.n = std::min(l_.lanes, args_.shape.N - column);
    tile.act = pass ? Act::None : e.act;
    tile.act_a = e.a;
    tile.act_b = e.b;
    finish_sums(tile, sums, height, static_cast<int>(l_.lanes));
  }

  const BlockProductArgs& args_;
  const Layout l_;
  float* const x_;
  const std::int64_t tiles_;
};

}  // namespace

std::size_t packed_block_bytes(const BlockShape& shape) {
  return Layout(shape).bytes;
}

void pack_blocks(const BlockShape& s, const BlockSource& source, void* out, Parallel& parallel) {
  const Layout l(s);
  auto* const bytes = static_cast<std::byte*>(out);
  const std::int64_t grain = std::max<std::int64_t>(1, kMinTask / (l.words * l.lanes));
  parallel.run(l.panels, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      auto* const words = reinterpret_cast<std::uint32_t*>(bytes) + p * l.words * l.lanes;
      auto* const scales = reinterpret_cast<float*>(bytes + l.scales) + p * l.blocks * l.lanes;
      auto* const zeros =
          s.zeros ? reinterpret_cast<std::int8_t*>(bytes + l.zeros) + p * l.blocks * l.lanes
                  : nullptr;
      const std::int64_t width = std::min(l.lanes, s.N - p * l.lanes);
      if (width < l.lanes) {
        std::fill_n(words, l.words * l.lanes, 0u);
        std::fill_n(scales, l.blocks * l.lanes, 0.0f);
        if (zeros) std::fill_n(zeros, l.blocks * l.lanes, std::int8_t{0});
      }
      for (std::int64_t j = 0; j < width; ++j) {
        pack_column(s, l, source, p * l.lanes + j, words + j, scales + j,
                    zeros ? zeros + j : nullptr);
      }
    }
  });
}

bool is_block_gemv(const BlockProductArgs& args) {
  return args.rows <= 2 * block_kernels().rows;
}

std::size_t block_product_workspace_bytes(const BlockProductArgs& args, int threads) {
  std::int64_t floats = 0;
  if (is_block_gemv(args)) {
    floats = checked_mul(args.rows, FewRows::padded_k(args.shape));
  } else {
    const Cut cut(args.shape);
    const bool split = part_per_thread(cut, threads);
    const auto strips =
        static_cast<std::int64_t>(strip_bytes(args, cut, split ? 1 : threads) / sizeof(float));
    floats = checked_mul(slot_floats(cut) + rounded(strips), split ? threads : 1);
  }
  return static_cast<std::size_t>(checked_mul(floats, sizeof(float)));
}

void block_product(const BlockProductArgs& args, void* workspace, Parallel& parallel) {
  if (args.rows <= 0 || args.shape.N <= 0) return;
  if (!is_block_gemv(args)) {
    multiply_many(args, workspace, parallel);
    return;
  }
  FewRows rows(args, static_cast<float*>(workspace));
  rows.gather();
  const std::int64_t lanes = block_kernels().lanes;
  const std::int64_t work = args.rows * args.shape.K * lanes;
  parallel.run(ceil_div(args.shape.N, lanes), std::max<std::int64_t>(1, kMinTask / work),
               [&](std::int64_t begin, std::int64_t end) { rows.run(begin, end); });
}

}  // namespace treadle::kernels
