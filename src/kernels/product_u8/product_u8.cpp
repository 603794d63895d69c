#include "kernels/product_u8/product_u8.hpp"

#include <algorithm>

#include "base/cpu_features.hpp"

namespace treadle::kernels {
namespace {

constexpr std::int64_t kMaxPointers = 4096;
constexpr std::int64_t kMaxRows = 384;
constexpr std::int64_t kRowUnit = 24;  // a multiple of the tiles' heights
// Work below this many multiply-adds is not worth a second thread (about 20 µs).
constexpr std::int64_t kMinTask = 1 << 21;

static_assert(kMostU8Taps * kMaxTileU8Rows <= kMaxPointers);

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// How the loops are cut. K is not: a panel of it stays in the second-level cache.
struct Plan {
  std::int64_t block_rows = 0, row_blocks = 0;
  std::int64_t column_step = 0, column_blocks = 0;
};

Plan make_plan(const ProductU8& p, int threads) {
  const PackedU8& w = *p.weights;
  const std::int64_t taps = std::max<std::int64_t>(1, w.taps * w.parts);
  const std::int64_t row_bytes = std::max<std::int64_t>(16, w.taps * w.k);
  // Where all weights stay in the second-level cache, few rows keep theirs in the first; else
  // enough rows to amortise fetching weights from further away.
  const bool stays = static_cast<std::int64_t>(w.group_bytes) <= cache_sizes().l2 / 2;
  std::int64_t limit = std::min(cache_sizes().l2 / 4 / row_bytes, stays ? 2 * kRowUnit : kMaxRows);
  const std::int64_t wanted_tasks = threads == 1 ? 1 : 4 * threads;
  limit = std::min(limit, std::max(2 * kRowUnit, ceil_div(p.rows, wanted_tasks)));
  limit = std::max(limit / kRowUnit * kRowUnit, kRowUnit);
  limit = std::min(limit, kMaxPointers / taps);
  Plan plan;
  plan.row_blocks = ceil_div(p.rows, limit);
  plan.block_rows = ceil_div(p.rows, plan.row_blocks);
  if (plan.block_rows > kRowUnit)
    plan.block_rows = std::min(limit, ceil_div(plan.block_rows, kRowUnit) * kRowUnit);
  plan.row_blocks = ceil_div(p.rows, plan.block_rows);

  const std::int64_t width = w.kernels->lanes * w.kernels->main_vectors;
  const std::int64_t panels = ceil_div(w.columns, width);
  const std::int64_t work = p.rows * w.columns * taps * std::max<std::int64_t>(w.k, 1);
  std::int64_t splits = threads == 1 ? 1 : ceil_div(wanted_tasks, plan.row_blocks);
  splits = std::clamp<std::int64_t>(std::min(splits, work / kMinTask), 1, panels);
  plan.column_step = ceil_div(panels, splits) * width;
  plan.column_blocks = ceil_div(w.columns, plan.column_step);
  // A last block of one register may begin inside a panel: it joins the block before.
  const std::int64_t last = w.columns - (plan.column_blocks - 1) * plan.column_step;
  if (plan.column_blocks > 1 && last <= w.kernels->lanes) --plan.column_blocks;
  return plan;
}

std::ptrdiff_t element_bytes(StoreU8 store) {
  return store == StoreU8::Byte ? 1 : 4;
}

struct Block {
  const ProductU8& p;
  const Plan& plan;
  const RowsU8& source;
  const std::uint8_t* inputs[kMaxPointers];
  void* c[kMaxRows];

  Block(const ProductU8& product, const Plan& cut, const RowsU8& rows)
      : p(product), plan(cut), source(rows) {}

  void locate(std::int64_t first, std::int64_t count) {
    const PackedU8& w = *p.weights;
    if (w.taps > 0 && w.k > 0) source.inputs(first, count, inputs);
    const std::int64_t pointers = w.taps * count;
    for (std::int64_t part = 1; part < w.parts; ++part)
      std::copy_n(inputs, pointers, inputs + part * pointers);
    const std::ptrdiff_t step = p.ldc * element_bytes(p.finish.store);
    char* const to = static_cast<char*>(p.c) + first * step;
    for (std::int64_t r = 0; r < count; ++r) c[r] = to + r * step;
  }

  // All rows of a panel, in tiles of nearly equal height.
  void sweep_rows(TileU8& tile, int vectors, std::int64_t count) {
    const KernelsU8& kernels = *p.weights->kernels;
    const std::int64_t tiles = ceil_div(count, kernels.rows[vectors]);
    for (std::int64_t i = 0, r = 0; i < tiles; ++i) {
      const std::int64_t height = (count - r) / (tiles - i);
      tile.a = inputs + r;
      tile.c = c + r;
      kernels.tile[vectors][height](tile);
      r += height;
    }
  }

  void run(std::int64_t task) {
    const PackedU8& w = *p.weights;
    const std::int64_t first = task / plan.column_blocks * plan.block_rows;
    const std::int64_t count = std::min(plan.block_rows, p.rows - first);
    const std::int64_t block = task % plan.column_blocks;
    const bool is_last = block + 1 == plan.column_blocks;
    const std::int64_t end = is_last ? w.columns : (block + 1) * plan.column_step;
    locate(first, count);
    const std::int64_t panel_rows = w.parts * w.taps * ((w.k + 3) / 4) * 4;
    const std::int8_t* const b = w.data.data() + p.group * static_cast<std::int64_t>(w.group_bytes);
    TileU8 tile;
    tile.tap_stride = count;
    tile.taps = w.k > 0 ? w.taps * w.parts : 0;
    tile.k = w.k;
    tile.flip = p.flip;
    tile.store = p.finish.store;
    tile.low = p.finish.low;
    tile.high = p.finish.high;
    tile.zero = p.finish.zero;
    for (std::int64_t column = block * plan.column_step; column < end;) {
      const int width = w.kernels->panel_width(w.columns - column);
      tile.column = column;
      tile.n = std::min<std::int64_t>(width, w.columns - column);
      tile.b = b + column * panel_rows;
      tile.start = p.finish.start + p.group * w.padded + column;
      tile.factor = p.finish.factor ? p.finish.factor + p.group * w.padded + column : nullptr;
      sweep_rows(tile, width / w.kernels->lanes, count);
      column += width;
    }
  }
};

class MatrixRowsU8 final : public RowsU8 {
 public:
  MatrixRowsU8(const std::uint8_t* a, std::ptrdiff_t lda) : a_(a), lda_(lda) {}
  void inputs(std::int64_t first, std::int64_t count, const std::uint8_t** out) const override {
    for (std::int64_t r = 0; r < count; ++r) out[r] = a_ + (first + r) * lda_;
  }

 private:
  const std::uint8_t* a_;
  std::ptrdiff_t lda_;
};

}  // namespace

void product_u8(const ProductU8& p, const RowsU8& rows, Parallel& parallel) {
  const PackedU8& w = *p.weights;
  if (p.rows <= 0 || w.columns <= 0) return;
  const Plan plan = make_plan(p, parallel.threads());
  const std::int64_t tasks = plan.row_blocks * plan.column_blocks;
  const auto run_tasks = [&](std::int64_t begin, std::int64_t end) {
    Block block(p, plan, rows);
    for (std::int64_t task = begin; task < end; ++task) block.run(task);
  };
  const std::int64_t work = p.rows * w.columns * w.taps * std::max<std::int64_t>(w.k, 1);
  const std::int64_t grain = ceil_div(kMinTask, std::max<std::int64_t>(1, work / tasks));
  if (parallel.threads() == 1 || tasks <= grain)
    run_tasks(0, tasks);
  else
    parallel.run(tasks, grain, run_tasks);
}

void gemm_u8(const GemmU8& g, Parallel& parallel) {
  ProductU8 p;
  p.weights = g.weights;
  p.rows = g.m;
  p.flip = g.flip;
  p.c = g.c;
  p.ldc = g.ldc;
  p.finish = g.finish;
  product_u8(p, MatrixRowsU8(g.a, g.lda), parallel);
}

}  // namespace treadle::kernels
