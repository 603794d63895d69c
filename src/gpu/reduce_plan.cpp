#include "gpu/reduce_plan.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "cpu/split.hpp"

namespace treadle::gpu {
namespace {

using ops::ReduceFn;

// Kernels of a fold: [F32, F16][rows, columns][vector of 1, of 16 bytes].
struct Fold {
  KernelId kernels[2][2][2];
};
#define TREADLE_FOLD(fold)                                                                \
  Fold {                                                                                  \
    {                                                                                     \
      {{KernelId::reduce_##fold##_rows_f32, KernelId::reduce_##fold##_rows_f32x4},        \
       {KernelId::reduce_##fold##_columns_f32, KernelId::reduce_##fold##_columns_f32x4}}, \
      {                                                                                   \
        {KernelId::reduce_##fold##_rows_f16, KernelId::reduce_##fold##_rows_f16x8}, {     \
          KernelId::reduce_##fold##_columns_f16, KernelId::reduce_##fold##_columns_f16x8  \
        }                                                                                 \
      }                                                                                   \
    }                                                                                     \
  }
constexpr int kSum = 0, kMax = 1, kProd = 2, kLogSumExp = 3;
constexpr Fold kFolds[] = {TREADLE_FOLD(sum), TREADLE_FOLD(max), TREADLE_FOLD(prod),
                           TREADLE_FOLD(log_sum_exp)};
#undef TREADLE_FOLD

struct Meaning {
  int fold;
  int take = tk::kTakeValue;
  int after = tk::kAfterNone;
  bool flip = false;
};
Meaning meaning_of(ReduceFn fn) {
  switch (fn) {
    case ReduceFn::Sum:
      return {kSum};
    case ReduceFn::Mean:
      return {kSum, tk::kTakeValue, tk::kAfterMean};
    case ReduceFn::SumSquare:
      return {kSum, tk::kTakeSquare};
    case ReduceFn::L1:
      return {kSum, tk::kTakeMagnitude};
    case ReduceFn::L2:
      return {kSum, tk::kTakeSquare, tk::kAfterSqrt};
    case ReduceFn::LogSum:
      return {kSum, tk::kTakeValue, tk::kAfterLog};
    case ReduceFn::Prod:
      return {kProd};
    case ReduceFn::LogSumExp:
      return {kLogSumExp};
    case ReduceFn::Min:
    case ReduceFn::All:
      return {kMax, tk::kTakeValue, tk::kAfterNone, true};
    case ReduceFn::Max:
    case ReduceFn::Any:
      break;
  }
  return {kMax};
}

constexpr tk::tk_u32 kSign = 0x80000000u;

// Sizes with neighbours merged that are both reduced or both kept; those of size 1 are left out.
struct Run {
  std::int64_t size;
  bool reduced;
};
std::vector<Run> runs_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool reduced =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (shape[i] == 1) continue;
    if (!runs.empty() && runs.back().reduced == reduced) {
      runs.back().size = checked_mul(runs.back().size, shape[i]);
    } else {
      runs.push_back({shape[i], reduced});
    }
  }
  return runs;
}

kernels::Split split_of(const std::vector<Run>& runs, std::size_t at) {
  kernels::Split s;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::int64_t& size = i < at ? s.outer : i == at ? s.length : s.inner;
    size = checked_mul(size, runs[i].size);
  }
  return s;
}

// Warps that share a row.
int warps_of(const kernels::Split& s, std::int64_t vector) {
  int warps = 1;
  const std::int64_t enough = s.outer < 8 * kBusyGroups ? 2 : 8;  // loads of each thread
  while (warps < 8 && s.length > 32 * vector * enough * warps) warps *= 2;
  return warps;
}

std::int64_t row_segments(const kernels::Split& s, std::int64_t vector, std::int64_t most) {
  const std::int64_t groups = groups_of(s.outer, 8 / warps_of(s, vector));
  const std::int64_t enough = s.length / (tk::kGroup * vector * 4);
  return std::clamp<std::int64_t>(std::min(kBusyGroups / groups, enough), 1, most);
}

SplitLaunch row_launch(const kernels::Split& s, std::int64_t vector, int warps,
                       std::int64_t segments) {
  SplitLaunch l = split_rows(s, tk::kGroup);
  l.groups.x = groups_of(s.outer, 8 / warps);
  l.groups.y = static_cast<std::uint32_t>(segments);
  const std::int64_t vectors = (s.length + vector - 1) / vector;
  l.params.chunk = static_cast<tk::tk_i32>((vectors + segments - 1) / segments * vector);
  return l;
}

}  // namespace

std::string why_no_reduce(ReduceFn fn, DType dtype) {
  if (dtype == DType::F32 || dtype == DType::F16) return {};
  if (dtype == DType::Bool && meaning_of(fn).fold == kMax) return {};
  return fmt::format("no device kernel reduces {} by {}", name_of(dtype), ops::name_of(fn));
}

ReducePlan::ReducePlan(ReduceFn fn, DType dtype, const Shape& shape,
                       const std::vector<std::int64_t>& axes)
    : dtype_(dtype) {
  const Meaning m = meaning_of(fn);
  std::vector<Run> runs = runs_of(shape, axes);
  std::int64_t results = 1, each = 1;
  for (const Run& r : runs) {
    std::int64_t& count = r.reduced ? each : results;
    count = checked_mul(count, r.size);
  }
  if (results == 0) return;
  fold_ = m.fold;
  params_.take = m.take;
  params_.flip = m.flip ? kSign : 0;
  params_.count = static_cast<float>(each);
  const auto reduced = [](const Run& r) { return r.reduced; };
  if (std::none_of(runs.begin(), runs.end(), reduced)) add({1, 1, results}, false);
  while (std::any_of(runs.begin(), runs.end(), reduced)) {
    std::size_t at = runs.size();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].reduced && (at == runs.size() || runs[i].size > runs[at].size)) at = i;
    }
    const kernels::Split s = split_of(runs, at);
    if (s.outer * s.inner > 0) add(s, true);
    runs[at] = {1, false};
  }
  workspace_bytes_ = passes_.back().to;
  for (Pass* last : {&passes_.back().vectors, &passes_.back().plain}) {
    last->params.after = m.after;
    last->params.out = dtype == DType::F16    ? tk::kOutHalf
                       : dtype == DType::Bool ? tk::kOutByte
                                              : tk::kOutFloat;
  }
}

ReducePlan::Pass ReducePlan::pass(const kernels::Split& s, std::int64_t vector,
                                  std::int64_t segments) const {
  const DType dtype = passes_.empty() ? dtype_ : DType::F32;
  const bool rows = by_rows(s);
  Pass p{};
  p.params = params_;
  if (rows) {
    p.params.warps = warps_of(s, vector);
    p.launch = row_launch(s, vector, p.params.warps, segments);
  } else {
    p.launch = split_columns(s, vector, segments);
  }
  p.params.split = p.launch.params;
  p.kernel = dtype == DType::Bool
                 ? (rows ? KernelId::reduce_max_rows_u8 : KernelId::reduce_max_columns_u8)
                 : kFolds[fold_].kernels[dtype == DType::F16][rows ? 0 : 1][vector > 1];
  return p;
}

void ReducePlan::add(const kernels::Split& s, bool split) {
  check_split(s);
  const DType dtype = passes_.empty() ? dtype_ : DType::F32;
  const std::int64_t full = full_vector(dtype);
  const bool fits =
      dtype != DType::Bool && (by_rows(s) ? s.length % full == 0 : s.inner % full == 0);
  // Columns go by vectors where each thread of a busy device then has some to do.
  const bool many = by_rows(s) || s.outer * s.length * s.inner >= kBusyGroups * tk::kGroup * full;
  const std::int64_t vector = fits && many ? full : 1, most = split ? 64 : 1;
  const std::int64_t segments =
      by_rows(s) ? row_segments(s, vector, most) : column_segments(s, vector, most);
  passes_.push_back({pass(s, vector, segments), pass(s, 1, segments), workspace_bytes_});
  params_.take = tk::kTakeValue;
  const std::int64_t floats = checked_mul(s.outer * s.inner, segments);
  workspace_bytes_ += (static_cast<std::size_t>(floats) * sizeof(float) + 63) / 64 * 64;
  if (segments > 1) add({s.outer, segments, s.inner}, false);
}

void ReducePlan::run(Queue& queue, DeviceAddress x, DeviceAddress y, DeviceAddress workspace,
                     const char* label) const {
  DeviceAddress from = x;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const Step& step = passes_[i];
    const Pass& p = is_aligned(from) ? step.vectors : step.plain;
    const DeviceAddress to = i + 1 == passes_.size() ? y : workspace + step.to;
    queue.launch(
        make_launch(p.kernel, p.launch.groups, p.launch.threads, {from, to}, p.params, label));
    from = to;
  }
}

ArgReducePlan::ArgReducePlan(const ops::ArgReduce& op, DType dtype, const Shape& shape)
    : kernel_(dtype == DType::F16 ? KernelId::arg_reduce_f16 : KernelId::arg_reduce_f32) {
  const kernels::Split s = cpu::split_around(shape, op.axis, op.axis);
  empty_ = s.outer * s.inner == 0;
  if (empty_) return;
  check(s.length > 0, ErrorKind::Shape, "axis {} of {} is empty and has no extreme", op.axis,
        shape.str());
  launch_ = split_columns(s);
  params_.split = launch_.params;
  params_.flip = op.max ? 0 : kSign;
  params_.last = op.select_last ? 1 : 0;
}

void ArgReducePlan::run(Queue& queue, DeviceAddress x, DeviceAddress y, const char* label) const {
  if (empty_) return;
  queue.launch(make_launch(kernel_, launch_.groups, launch_.threads, {x, y}, params_, label));
}

}  // namespace treadle::gpu
