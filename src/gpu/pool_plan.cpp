#include "gpu/pool_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "gpu/copy_plan.hpp"
#include "gpu/kernels/pool_params.hpp"

namespace treadle::gpu {

namespace {

constexpr std::int64_t kMost = 0x7ff00000;
constexpr std::uint32_t kThreads = 256;
// From here on there are threads enough to give each of them two outputs.
constexpr std::int64_t kManyThreads = 132 * 2048;
// A plane of fewer cells is pooled faster than reduced.
constexpr std::int64_t kSmallPlane = 16;

// [sum, max][F32, F16]. `square`: by window and stride, 2/2, 3/1, 3/2, of one and two outputs a
// thread.
struct Family {
  KernelId one, vector, pair, square[3][2];
};
#define TREADLE_SQUARE(kind, type, size) \
  { KernelId::pool_##kind##_##type##_##size##o1, KernelId::pool_##kind##_##type##_##size##o2 }
#define TREADLE_POOL(kind, type)                                            \
  {                                                                         \
    KernelId::pool_##kind##_##type##_v1, KernelId::pool_##kind##_##type,    \
        KernelId::pool_##kind##_##type##_x2, {                              \
      TREADLE_SQUARE(kind, type, 2x2s2), TREADLE_SQUARE(kind, type, 3x3s1), \
          TREADLE_SQUARE(kind, type, 3x3s2)                                 \
    }                                                                       \
  }
constexpr Family kFamilies[2][2] = {{TREADLE_POOL(sum, f32), TREADLE_POOL(sum, f16)},
                                    {TREADLE_POOL(max, f32), TREADLE_POOL(max, f16)}};
#undef TREADLE_POOL
#undef TREADLE_SQUARE

// The index of a window in Family::square, or -1.
int square_of(const tk::PoolParams& p, std::int64_t depth) {
  const bool flat = p.in[0] == 1 && p.window[0] == 1 && p.before[0] == 0 && depth == 1;
  const bool dense = p.dilation[1].divisor == 1 && p.dilation[2].divisor == 1;
  if (!flat || !dense || p.window[1] != p.window[2] || p.stride[1] != p.stride[2]) return -1;
  if (p.window[2] == 2) return p.stride[2] == 2 ? 0 : -1;
  return p.window[2] == 3 && p.stride[2] <= 2 ? p.stride[2] : -1;
}

tk::tk_i32 narrow(std::int64_t value) {
  check(value >= -kMost && value <= kMost, ErrorKind::Unsupported,
        "a pool with a size of {}, beyond 2^31", value);
  return static_cast<tk::tk_i32>(value);
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  check(a == 0 || b <= kMost / a, ErrorKind::Unsupported, "a pool of more than 2^31 elements");
  return a * b;
}

tk::tk_divisor divisor(std::int64_t value) {
  return make_divisor(static_cast<std::uint32_t>(std::max<std::int64_t>(value, 1)));
}

}  // namespace

std::string why_no_pool(const ops::Pool& op, DType dtype, int rank) {
  if (dtype != DType::F32 && dtype != DType::F16)
    return fmt::format("no device kernel pools {}", name_of(dtype));
  if (rank > 5) return "no device kernel pools over more than three axes";
  if (op.kind == ops::PoolKind::Lp) return "no device kernel computes Lp pools";
  return {};
}

PoolPlan::PoolPlan(const ops::Pool& op, DType dtype, const Shape& x, bool sum)
    : dtype_(dtype), max_(op.kind == ops::PoolKind::Max), indices_(op.with_indices) {
  const std::string why = why_no_pool(op, dtype, x.rank());
  check(why.empty(), ErrorKind::Unsupported, "{}", why);
  const auto spatial = static_cast<std::size_t>(x.rank()) - 2;
  check(x.rank() >= 3 && op.kernel.size() == spatial && op.strides.size() == spatial &&
            op.dilations.size() == spatial,
        ErrorKind::Shape, "a pool over {} axes of a tensor of shape {}", op.kernel.size(), x.str());
  set_windows(op, x);
  set_layout(op, x);
  params_.divide = sum ? tk::kPoolSum : op.count_include_pad ? tk::kPoolPadded : tk::kPoolInside;
  find_global(op, x, sum);
}

void PoolPlan::set_windows(const ops::Pool& op, const Shape& x) {
  tk::PoolParams& p = params_;
  for (std::size_t i = 0; i < 3; ++i) {
    p.in[i] = p.window[i] = p.stride[i] = p.padded[i] = 1;
    p.dilation[i] = divisor(1);
  }
  output_ = x;
  const std::size_t missing = 3 - op.kernel.size();
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    const auto axis = static_cast<std::size_t>(ops::spatial_axis(op.layout, static_cast<int>(i)));
    const bool given = op.padding.mode == ops::AutoPad::Explicit;
    const ops::ConcreteWindow w = ops::window(x[axis], op.kernel[i], op.strides[i], op.dilations[i],
                                              op.padding.mode, given ? op.padding.before.at(i) : 0,
                                              given ? op.padding.after.at(i) : 0, op.ceil_mode);
    const std::size_t k = missing + i;
    p.in[k] = narrow(x[axis]);
    p.window[k] = narrow(op.kernel[i]);
    p.stride[k] = narrow(op.strides[i]);
    p.dilation[k] = divisor(narrow(op.dilations[i]));
    p.before[k] = narrow(w.before);
    p.padded[k] = narrow(x[axis] + w.after);
    narrow(product(w.out, op.strides[i]) + product(op.kernel[i], op.dilations[i]) + w.before +
           x[axis] + w.after);
    out_[k] = w.out;
    output_[axis] = w.out;
  }
}

void PoolPlan::set_layout(const ops::Pool& op, const Shape& x) {
  tk::PoolParams& p = params_;
  const bool last = op.layout == ops::Layout::ChannelsLast;
  const std::int64_t channels = x[static_cast<std::size_t>(ops::channel_axis(op.layout, x.rank()))];
  columns_ = last ? channels : 1;
  images_ = last ? x[0] : product(x[0], channels);
  std::int64_t from = std::max<std::int64_t>(columns_, 1), to = from;
  for (std::size_t k = 3; k-- > 0;) {
    p.from_stride[k] = narrow(from);
    p.to_stride[k] = narrow(to);
    from = product(from, p.in[k]);
    to = product(to, out_[k]);
  }
  p.from_image = from;
  p.to_image = to;
  p.width = narrow(out_[2]);
  p.image_channels = narrow(columns_);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t k = op.storage_order == 1 ? i : 2 - i;
    p.index_stride[k] = narrow(stride);
    stride = product(stride, p.in[k]);
  }
  p.plane = narrow(stride);
}

void PoolPlan::find_global(const ops::Pool& op, const Shape& x, bool sum) {
  for (std::size_t k = 0; k < 3; ++k) {
    const bool whole = out_[k] == 1 && params_.before[k] == 0 && params_.dilation[k].divisor == 1 &&
                       params_.window[k] == params_.in[k] && params_.padded[k] == params_.in[k];
    if (!whole) return;
  }
  if (indices_ || params_.plane < kSmallPlane || x.elements() == 0) return;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    axes.push_back(ops::spatial_axis(op.layout, static_cast<int>(i)));
  }
  const ops::ReduceFn fn = max_  ? ops::ReduceFn::Max
                           : sum ? ops::ReduceFn::Sum
                                 : ops::ReduceFn::Mean;
  reduce_.emplace(fn, dtype_, x, axes);
}

std::size_t PoolPlan::workspace_bytes() const {
  return reduce_ ? reduce_->workspace_bytes() : 0;
}

void PoolPlan::run(Queue& queue, const PoolAddresses& at, const char* label) const {
  if (reduce_) {
    reduce_->run(queue, at.x, at.y, at.workspace, label);
  } else {
    gpu::run(queue, prepare(at, label));
  }
}

PreparedLaunches PoolPlan::prepare(const PoolAddresses& at, const char* label) const {
  PreparedLaunches out;
  if (output_.elements() == 0) return out;
  const std::size_t half = dtype_ == DType::F16 ? 1 : 0;
  const std::int64_t full = half != 0 ? 8 : 4;
  const bool vectors = !indices_ && columns_ % full == 0 && ((at.x | at.y) & 15) == 0;
  const std::int64_t columns = vectors ? columns_ / full : columns_;
  const std::int64_t rows = product(product(images_, out_[0]), out_[1]);
  const std::int64_t all = product(product(rows, out_[2]), columns);
  const int square = vectors ? square_of(params_, out_[0]) : -1;
  const bool overlaps = params_.dilation[2].divisor == 1 && params_.stride[2] < params_.window[2];
  const bool pair = vectors && (overlaps || square >= 0) &&
                    pairs_.value_or(all / 2 >= kManyThreads && (half == 0 || square <= 0));
  const std::int64_t blocks = pair ? (out_[2] + 1) / 2 : out_[2];
  tk::PoolParams p = params_;
  p.columns = divisor(columns);
  p.blocks = divisor(blocks);
  p.height = divisor(out_[1]);
  p.depth = divisor(out_[0]);
  p.count = narrow(product(product(rows, blocks), columns));
  const Extent3 groups{groups_of(p.count, kThreads)}, threads{kThreads};
  if (indices_) {
    const KernelId kernel = half != 0 ? KernelId::pool_argmax_f16 : KernelId::pool_argmax_f32;
    out.emplace_back(kernel, groups, threads,
                     std::initializer_list<DeviceAddress>{at.x, at.y, at.indices}, p, label);
    return out;
  }
  const Family& f = kFamilies[max_ ? 1 : 0][half];
  const KernelId kernel = square >= 0 ? f.square[square][pair ? 1 : 0]
                          : !vectors  ? f.one
                          : pair      ? f.pair
                                      : f.vector;
  out.emplace_back(kernel, groups, threads, std::initializer_list<DeviceAddress>{at.x, at.y}, p,
                   label);
  return out;
}

}  // namespace treadle::gpu
