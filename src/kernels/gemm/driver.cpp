#include "kernels/gemm/driver.hpp"

#include <algorithm>

namespace treadle::kernels {
namespace {

constexpr std::int64_t kMaxPointers = 4096;
constexpr std::int64_t kRowUnit = 24;  // a multiple of the tiles' heights
constexpr std::int64_t kMaxTaps = kMaxPointers / kRowUnit;
// Work below this many multiply-adds is not worth a second thread (about 20 µs).
constexpr std::int64_t kMinTask = 1 << 19;
// Rows shorter than this are joined for activations, up to so many values, to fill vectors.
constexpr std::int64_t kShortRow = 16, kJoined = 512;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
std::int64_t round_up(std::int64_t a, std::int64_t unit) {
  return ceil_div(a, unit) * unit;
}

// How the loops are cut.
struct Plan {
  std::int64_t taps_per_range = 1;
  std::int64_t parts_per_tap = 1;
  std::int64_t block_rows = 0;
  std::int64_t row_blocks = 0;
  std::int64_t column_step = 0;  // columns of a task, a multiple of the main panel width
  std::int64_t column_blocks = 0;
  std::int64_t ranges = 0;
};

Plan make_plan(const DotProblem& p, int threads) {
  const DotKernels& kernels = *p.kernels;
  Plan plan;
  if (p.k > kernels.k_block) {
    plan.parts_per_tap = (p.k + kernels.k_block / 2) / kernels.k_block;
    plan.ranges = p.taps * plan.parts_per_tap;
  } else {
    const std::int64_t most =
        std::clamp<std::int64_t>(kernels.k_block / std::max<std::int64_t>(p.k, 1), 1, kMaxTaps);
    const std::int64_t ranges = ceil_div(p.taps, most);
    plan.taps_per_range =
        std::max<std::int64_t>(1, ceil_div(p.taps, std::max<std::int64_t>(1, ranges)));
    plan.ranges = std::max<std::int64_t>(1, ceil_div(p.taps, plan.taps_per_range));
  }
  // Where all of B stays in the second-level cache, few rows keep A in the first; else enough rows
  // to amortise fetching B from further away.
  const std::int64_t range_bytes =
      4 * std::max<std::int64_t>(16, std::min(p.k * plan.taps_per_range, kernels.k_block * 3 / 2));
  const bool b_stays = 4 * p.taps * p.k * p.columns <= cache_sizes().l2 / 2;
  std::int64_t limit = cache_sizes().l2 / 4 / range_bytes;
  limit = std::min(limit, b_stays ? 2 * kRowUnit : kMaxBlockRows);
  limit = std::min(limit, kMaxPointers / plan.taps_per_range);
  const std::int64_t wanted_tasks = threads == 1 ? 1 : 4 * threads;
  limit = std::min(limit, std::max(2 * kRowUnit, ceil_div(p.rows, wanted_tasks)));
  limit = std::max(limit / kRowUnit * kRowUnit, kRowUnit);
  plan.row_blocks = ceil_div(p.rows, limit);
  plan.block_rows = std::min(p.rows, round_up(ceil_div(p.rows, plan.row_blocks), kRowUnit));
  plan.row_blocks = ceil_div(p.rows, plan.block_rows);

  const std::int64_t width = kernels.main_width();
  const std::int64_t panels = ceil_div(p.columns, width);
  std::int64_t splits = threads == 1 ? 1 : ceil_div(wanted_tasks, plan.row_blocks);
  const std::int64_t work =
      std::max<std::int64_t>(1, p.rows * p.columns * p.taps * std::max<std::int64_t>(p.k, 1));
  splits = std::clamp<std::int64_t>(std::min(splits, work / kMinTask), 1, panels);
  plan.column_step = ceil_div(panels, splits) * width;
  plan.column_blocks = ceil_div(p.columns, plan.column_step);
  // A last block of one register may begin inside a panel: it joins the block before.
  const std::int64_t last = p.columns - (plan.column_blocks - 1) * plan.column_step;
  if (plan.column_blocks > 1 && last <= kernels.lanes) --plan.column_blocks;
  return plan;
}

KRange range_of(const DotProblem& p, const Plan& plan, std::int64_t index) {
  if (plan.parts_per_tap > 1) {
    const std::int64_t tap = index / plan.parts_per_tap, part = index % plan.parts_per_tap;
    const std::int64_t begin = p.k * part / plan.parts_per_tap;
    return {tap, 1, begin, p.k * (part + 1) / plan.parts_per_tap - begin};
  }
  const std::int64_t tap = index * plan.taps_per_range;
  return {tap, std::min(plan.taps_per_range, p.taps - tap), 0, p.k};
}

struct Block {
  const DotProblem& p;
  const Plan& plan;
  const DotRows& source;
  const float* inputs[kMaxPointers];
  float* c[kMaxBlockRows];
  const float* residual[kMaxBlockRows];

  Block(const DotProblem& problem, const Plan& cut, const DotRows& rows)
      : p(problem), plan(cut), source(rows) {}

  void locate(std::int64_t first, std::int64_t count) {
    std::int64_t index[kMaxBlockRows];
    source.outputs(first, count, index);
    const Epilogue& e = *p.epilogue;
    for (std::int64_t r = 0; r < count; ++r) {
      c[r] = p.c + index[r] * p.ldc;
      residual[r] = e.residual ? e.residual + index[r] * e.residual_stride : nullptr;
    }
  }

  void set_epilogue(DotTile& tile, std::int64_t column, bool pass) const {
    const Epilogue& e = *p.epilogue;
    tile.bias = e.bias ? e.bias + column : nullptr;
    tile.slope = e.slope ? e.slope + column : nullptr;
    tile.residual_before_act = e.residual_before_act;
    tile.act = pass ? Act::None : e.act;
    tile.act_a = e.a;
    tile.act_b = e.b;
  }

  // The tiles of one panel, of nearly equal height; they fetch the panel behind it.
  void sweep_rows(DotTile& tile, const DotKernels& kernels, int vectors, std::int64_t count,
                  bool use_residual, std::int64_t panel_floats) {
    const std::int64_t tiles = ceil_div(count, kernels.rows[vectors]);
    const std::int64_t lines = tiles < 2 ? 0 : panel_floats / 16 / tiles;
    const std::int64_t behind = p.taps * p.k * vectors * kernels.lanes;
    for (std::int64_t i = 0, r = 0; i < tiles; ++i) {
      const std::int64_t height = (count - r) / (tiles - i);
      tile.a = inputs + r;
      tile.c = c + r;
      tile.residual = use_residual ? residual + r : nullptr;
      tile.next = tile.b + behind + i * lines * 16;
      tile.prefetch_lines = lines;
      kernels.tile[vectors][height](tile);
      r += height;
    }
  }

  // All tiles of `count` rows and columns [begin, end) over one range of K.
  void sweep(const KRange& range, std::int64_t count, std::int64_t begin, std::int64_t end,
             bool first, bool last) {
    const DotKernels& kernels = *p.kernels;
    const bool pass = is_pass(p.epilogue->act);
    const bool use_residual =
        last && p.epilogue->residual && !(pass && !p.epilogue->residual_before_act);
    DotTile tile;
    tile.tap_stride = count;
    tile.taps = range.taps;
    tile.k = range.size;
    tile.add_c = p.add_c || !first;
    for (std::int64_t column = begin; column < end;) {
      const int width = kernels.panel_width(p.columns - column);
      const int vectors = width / kernels.lanes;
      tile.column = column;
      tile.n = std::min<std::int64_t>(width, p.columns - column);
      tile.b = p.packed + column * p.taps * p.k + (range.tap * p.k + range.begin) * width;
      if (last) set_epilogue(tile, column, pass);
      sweep_rows(tile, kernels, vectors, count, use_residual, range.taps * range.size * width);
      column += width;
    }
  }

  void run(std::int64_t task, int slot) {
    const std::int64_t first = task / plan.column_blocks * plan.block_rows;
    const std::int64_t count = std::min(plan.block_rows, p.rows - first);
    const std::int64_t column_block = task % plan.column_blocks;
    const std::int64_t begin = column_block * plan.column_step;
    const bool is_last = column_block + 1 == plan.column_blocks;
    const std::int64_t end = is_last ? p.columns : begin + plan.column_step;
    locate(first, count);
    for (std::int64_t i = 0; i < plan.ranges; ++i) {
      const KRange range = range_of(p, plan, i);
      if (range.taps > 0) source.inputs(first, count, range, inputs, slot);
      sweep(range, count, begin, end, i == 0, i + 1 == plan.ranges);
    }
    if (!is_pass(p.epilogue->act)) return;
    finish_rows(*p.epilogue, c, residual, count, begin, end - begin);
  }
};

}  // namespace

void DotRows::outputs(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  for (std::int64_t r = 0; r < count; ++r) out[r] = first + r;
}

std::int64_t max_k_range(const DotKernels& kernels) {
  return kernels.k_block * 3 / 2 + 1;
}

void finish_rows(const Epilogue& e, float* const* rows, const float* const* residual,
                 std::int64_t count, std::int64_t first, std::int64_t n) {
  if (n <= 0) return;
  if (n >= kShortRow) {
    for (std::int64_t r = 0; r < count; ++r) act_row(e.act, rows[r] + first, n, e.a, e.b);
  } else {
    alignas(64) float joined[kJoined];
    const std::int64_t most = kJoined / n;
    for (std::int64_t r = 0; r < count; r += most) {
      const std::int64_t some = std::min(most, count - r);
      for (std::int64_t k = 0; k < some; ++k) std::copy_n(rows[r + k] + first, n, joined + k * n);
      act_row(e.act, joined, some * n, e.a, e.b);
      for (std::int64_t k = 0; k < some; ++k) std::copy_n(joined + k * n, n, rows[r + k] + first);
    }
  }
  if (!e.residual || e.residual_before_act) return;
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t j = first; j < first + n; ++j) rows[r][j] += residual[r][j];
  }
}

void dot_blocked(const DotProblem& given, const DotRows& rows, Parallel& parallel) {
  if (given.rows <= 0 || given.columns <= 0) return;
  DotProblem problem = given;
  if (problem.taps <= 0 || problem.k <= 0) {
    problem.taps = 0;
    problem.k = 0;
  }
  const int threads = parallel.threads();
  const Plan plan = make_plan(problem, threads);
  const std::int64_t tasks = plan.row_blocks * plan.column_blocks;
  const auto run_tasks = [&](std::int64_t begin, std::int64_t end, int slot) {
    Block block(problem, plan, rows);
    for (std::int64_t task = begin; task < end; ++task) block.run(task, slot);
  };
  const std::int64_t work =
      problem.rows * problem.columns * problem.taps * std::max<std::int64_t>(problem.k, 1);
  const std::int64_t per_task = std::max<std::int64_t>(1, work / tasks);
  const std::int64_t grain = ceil_div(kMinTask, per_task);
  if (threads == 1 || tasks <= grain) {
    run_tasks(0, tasks, 0);
  } else if (!problem.needs_slots) {
    parallel.run(tasks, grain, [&](std::int64_t b, std::int64_t e) { run_tasks(b, e, 0); });
  } else {
    const std::int64_t slots = std::min<std::int64_t>(threads, tasks);
    parallel.run(slots, 1, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t s = b; s < e; ++s) {
        run_tasks(tasks * s / slots, tasks * (s + 1) / slots, static_cast<int>(s));
      }
    });
  }
}

}  // namespace treadle::kernels
