#include "gpu/norm_plan.hpp"

#include "base/error.hpp"
#include "base/shape.hpp"

namespace treadle::gpu {
namespace {

// [vector of 1, of 16 bytes]
struct Kernels {
  KernelId warp256[2], warp1024[2], group[2], apply[2], columns, partial;
};
constexpr Kernels kF32{{KernelId::norm_warp256_f32, KernelId::norm_warp256_f32x4},
                       {KernelId::norm_warp1024_f32, KernelId::norm_warp1024_f32x4},
                       {KernelId::norm_group_f32, KernelId::norm_group_f32x4},
                       {KernelId::norm_apply_f32, KernelId::norm_apply_f32x4},
                       KernelId::norm_columns_f32,
                       KernelId::norm_partial_f32};
constexpr Kernels kF16{{KernelId::norm_warp256_f16, KernelId::norm_warp256_f16x8},
                       {KernelId::norm_warp1024_f16, KernelId::norm_warp1024_f16x8},
                       {KernelId::norm_group_f16, KernelId::norm_group_f16x8},
                       {KernelId::norm_apply_f16, KernelId::norm_apply_f16x8},
                       KernelId::norm_columns_f16,
                       KernelId::norm_partial_f16};
const Kernels& kernels_of(DType dtype) {
  return dtype == DType::F16 ? kF16 : kF32;
}

// Positions above which one group a row is too few when there are few rows.
constexpr std::int64_t kLongRow = 16384;

}  // namespace

NormPlan::NormPlan(const kernels::Split& s, DType dtype, bool center, double epsilon)
    : dtype_(dtype) {
  check_split(s);
  if (s.elements() == 0) return;
  tk::NormParams params{};
  params.center = center ? 1 : 0;
  params.count = static_cast<float>(s.length);
  params.epsilon = static_cast<float>(epsilon);
  params.segments = 1;
  vectors_.params = plain_.params = partial_.params = params;
  const Kernels& k = kernels_of(dtype);
  const bool rows = by_rows(s);
  const std::int64_t segments =
      rows && (s.length <= kLongRow || s.outer >= kBusyGroups / 4) ? 1 : column_segments(s, 1, 64);
  if (segments > 1) {
    plan_three(s, segments);
    return;
  }
  steps_ = 1;
  if (!rows) {
    vectors_.kernel = k.columns;
    vectors_.launch = split_columns(s);
    vectors_.params.split = vectors_.launch.params;
    plain_ = vectors_;
    return;
  }
  const bool warp = s.length <= 1024;
  const KernelId* row = s.length <= 256 ? k.warp256 : warp ? k.warp1024 : k.group;
  const std::int64_t full = full_vector(dtype);
  const bool vectors = s.length % full == 0;
  vectors_.launch = split_rows(s, warp ? kGroupThreads : row_threads(s, vectors ? full : 1));
  if (warp) vectors_.launch.groups.x = groups_of(s.outer, tk::kGroup / 32);
  vectors_.params.split = vectors_.launch.params;
  plain_ = vectors_;
  vectors_.kernel = row[vectors ? 1 : 0];
  plain_.kernel = row[0];
}

void NormPlan::plan_three(const kernels::Split& s, std::int64_t segments) {
  const Kernels& k = kernels_of(dtype_);
  steps_ = 3;
  partial_.kernel = k.partial;
  partial_.launch = split_columns(s, 1, segments);
  partial_.launch.groups.y = groups_of(s.length, partial_.launch.params.chunk);
  partial_.params.split = partial_.launch.params;
  partial_.params.segments = static_cast<tk::tk_i32>(partial_.launch.groups.y);
  const auto columns = static_cast<std::size_t>(s.outer * s.inner);
  stats_at_ = columns * partial_.launch.groups.y * 2 * sizeof(float);
  workspace_bytes_ = stats_at_ + columns * 2 * sizeof(float);
  const std::int64_t full = full_vector(dtype_);
  const bool vectors = (s.inner == 1 ? s.length : s.inner) % full == 0;
  for (Form* f : {&vectors_, &plain_}) {
    const std::int64_t v = f == &vectors_ && vectors ? full : 1, count = s.elements() / v;
    check(count < 0x7ff00000, ErrorKind::Unsupported,
          "a norm of {} elements, more than 2^31 in groups of {}", s.elements(), v);
    f->kernel = k.apply[v > 1];
    f->launch.groups.x = groups_of(count, tk::kGroup);
    f->params.split.columns = static_cast<tk::tk_i32>(count);
    f->params.split.n = static_cast<tk::tk_i32>(s.length);
    f->params.split.inner = static_cast<tk::tk_i32>(s.inner);
    f->params.split.width =
        make_divisor(static_cast<std::uint32_t>((s.inner == 1 ? s.length : s.inner) / v));
  }
}

void NormPlan::run(Queue& queue, DeviceAddress x, DeviceAddress y, DeviceAddress workspace,
                   const char* label) const {
  if (steps_ == 0) return;
  const Form& form = is_aligned(x, y) ? vectors_ : plain_;
  if (steps_ == 1) {
    queue.launch(make_launch(form.kernel, form.launch.groups, form.launch.threads, {x, y},
                             form.params, label));
    return;
  }
  const DeviceAddress stats = workspace + stats_at_;
  queue.launch(make_launch(partial_.kernel, partial_.launch.groups, partial_.launch.threads,
                           {x, workspace}, partial_.params, label));
  // Columns are counted one by one here: as many threads.
  const Extent3 threads{tk::kGroup, 1, 1};
  queue.launch(make_launch(KernelId::norm_merge,
                           {groups_of(partial_.params.split.columns, tk::kGroup), 1, 1}, threads,
                           {workspace, stats}, partial_.params, label));
  queue.launch(
      make_launch(form.kernel, form.launch.groups, threads, {x, stats, y}, form.params, label));
}

}  // namespace treadle::gpu
