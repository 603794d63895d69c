#include "gpu/gather_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cpu/split.hpp"
#include "gpu/prepared.hpp"

namespace treadle::gpu {
namespace {

constexpr std::int64_t kMost = 0x7ff00000;
constexpr std::uint32_t kThreads = 256;

// [bytes of a unit: 1, 2, 4, 8, 16][I32, I64]
#define TREADLE_UNIT(kernel, b) \
  { KernelId::kernel##_##b##_i32, KernelId::kernel##_##b##_i64 }
constexpr KernelId kGather[5][2] = {TREADLE_UNIT(gather, b1), TREADLE_UNIT(gather, b2),
                                    TREADLE_UNIT(gather, b4), TREADLE_UNIT(gather, b8),
                                    TREADLE_UNIT(gather, b16)};
constexpr KernelId kGatherNd[5][2] = {TREADLE_UNIT(gather_nd, b1), TREADLE_UNIT(gather_nd, b2),
                                      TREADLE_UNIT(gather_nd, b4), TREADLE_UNIT(gather_nd, b8),
                                      TREADLE_UNIT(gather_nd, b16)};
constexpr KernelId kGatherElements[4][2] = {
    TREADLE_UNIT(gather_elements, b1), TREADLE_UNIT(gather_elements, b2),
    TREADLE_UNIT(gather_elements, b4), TREADLE_UNIT(gather_elements, b8)};
#undef TREADLE_UNIT

// The logarithm of the largest unit that divides the bytes and both addresses.
int unit_log(std::int64_t bytes, DeviceAddress x, DeviceAddress y) {
  const std::uint64_t all = static_cast<std::uint64_t>(bytes) | x | y | 16;
  return std::countr_zero(all);
}

void check_count(std::int64_t count, const char* what) {
  check(count < kMost, ErrorKind::Unsupported, "{} of {} units, more than 2^31", what, count);
}
tk::tk_divisor divisor(std::int64_t v) {
  return make_divisor(static_cast<std::uint32_t>(std::max<std::int64_t>(v, 1)));
}

}  // namespace

std::string why_no_gather(DType dtype, DType indices) {
  if (dtype == DType::String || is_complex(dtype) || size_of(dtype) > 8)
    return fmt::format("no device kernel gathers {}", name_of(dtype));
  if (indices != DType::I32 && indices != DType::I64)
    return fmt::format("no device kernel gathers by indices of dtype {}", name_of(indices));
  return {};
}

GatherPlan::GatherPlan(std::int64_t axis, const TensorView& x, const TensorView& indices)
    : wide_(indices.dtype == DType::I64) {
  const kernels::Split s = cpu::split_around(x.shape, axis, axis);
  outer_ = s.outer;
  size_ = s.length;
  inner_bytes_ = checked_mul(s.inner, static_cast<std::int64_t>(size_of(x.dtype)));
  many_ = indices.elements();
  check_count(size_, "an axis");
  check_count(checked_mul(checked_mul(outer_, many_), inner_bytes_) >> unit_log(inner_bytes_, 0, 0),
              "a gather");
}

void GatherPlan::run(Queue& queue, DeviceAddress x, DeviceAddress indices, DeviceAddress y,
                     const char* label) const {
  const int log = unit_log(inner_bytes_, x, y);
  const std::int64_t inner = inner_bytes_ >> log, count = outer_ * many_ * inner;
  if (count == 0) return;
  check_count(count, "a gather");
  tk::GatherParams p{};
  p.inner = divisor(inner);
  p.many = divisor(many_);
  p.count = static_cast<tk::tk_i32>(count);
  p.size = static_cast<tk::tk_i32>(size_);
  queue.launch(make_launch(kGather[log][wide_ ? 1 : 0], {groups_of(count, kThreads * 4), 1, 1},
                           {kThreads, 1, 1}, {x, indices, y}, p, label));
}

GatherElementsPlan::GatherElementsPlan(std::int64_t axis, const TensorView& x,
                                       const TensorView& indices) {
  const std::size_t rank = x.shape.size(), at = static_cast<std::size_t>(axis);
  check(rank <= tk::kGatherAxes, ErrorKind::Unsupported, "no device kernel gathers from rank {}",
        rank);
  check_count(x.elements(), "an input");
  check_count(indices.elements(), "a gather");
  const Shape strides = x.shape.strides();
  for (tk::tk_divisor& d : params_.size) d = make_divisor(1);
  for (std::size_t d = 0; d < rank; ++d) {
    check(d == at || indices.shape[d] <= x.shape[d], ErrorKind::Shape,
          "indices {} exceed input {} on axis {}", indices.shape.str(), x.shape.str(), d);
    params_.size[rank - 1 - d] = divisor(indices.shape[d]);
    params_.stride[rank - 1 - d] = d == at ? 0 : static_cast<tk::tk_i32>(strides[d]);
  }
  params_.axis_stride = static_cast<tk::tk_i32>(strides[at]);
  params_.limit = static_cast<tk::tk_i32>(x.shape[at]);
  params_.count = static_cast<tk::tk_i32>(indices.elements());
  kernel_ =
      kGatherElements[std::countr_zero(size_of(x.dtype))][indices.dtype == DType::I64 ? 1 : 0];
}

void GatherElementsPlan::run(Queue& queue, DeviceAddress x, DeviceAddress indices, DeviceAddress y,
                             const char* label) const {
  if (params_.count == 0) return;
  queue.launch(make_launch(kernel_, {groups_of(params_.count, kThreads), 1, 1}, {kThreads, 1, 1},
                           {x, indices, y}, params_, label));
}

GatherNdPlan::GatherNdPlan(std::int64_t batch_dims, const TensorView& x, const TensorView& indices)
    : wide_(indices.dtype == DType::I64) {
  const auto batch = static_cast<std::size_t>(batch_dims);
  check(indices.shape.size() > batch && x.shape.size() >= batch, ErrorKind::Shape,
        "{} batch axes of {} and {}", batch_dims, x.shape.str(), indices.shape.str());
  depth_ = indices.shape.back();
  const std::int64_t axes = static_cast<std::int64_t>(x.shape.size() - batch);
  check(depth_ <= axes, ErrorKind::Shape, "index tuples of {} into {} axes", depth_, axes);
  check(depth_ <= tk::kGatherAxes, ErrorKind::Unsupported,
        "no device kernel gathers by tuples of {}", depth_);
  const auto element = static_cast<std::int64_t>(size_of(x.dtype));
  const Shape strides = x.shape.strides();
  batch_bytes_ = run_bytes_ = element;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (d < batch) {
      check(indices.shape[d] == x.shape[d], ErrorKind::Shape,
            "batch sizes of {} and {} differ on axis {}", x.shape.str(), indices.shape.str(), d);
      continue;
    }
    const std::size_t k = d - batch;
    batch_bytes_ = checked_mul(batch_bytes_, x.shape[d]);
    if (k >= static_cast<std::size_t>(depth_)) {
      run_bytes_ = checked_mul(run_bytes_, x.shape[d]);
    } else {
      limits_[k] = x.shape[d];
      strides_[k] = strides[d] * element;
    }
  }
  for (std::size_t d = 0; d + 1 < indices.shape.size(); ++d) {
    all_tuples_ = checked_mul(all_tuples_, indices.shape[d]);
    if (d >= batch) tuples_ = checked_mul(tuples_, indices.shape[d]);
  }
  const int log = unit_log(run_bytes_, 0, 0);
  check_count(static_cast<std::int64_t>(x.bytes()) >> log, "an input");
  check_count(checked_mul(all_tuples_, run_bytes_) >> log, "a gather");
}

void GatherNdPlan::run(Queue& queue, DeviceAddress x, DeviceAddress indices, DeviceAddress y,
                       const char* label) const {
  const int log = unit_log(run_bytes_, x, y);
  const std::int64_t count = all_tuples_ * (run_bytes_ >> log);
  if (count == 0) return;
  check_count(std::max(count, (batch_bytes_ >> log) * (all_tuples_ / tuples_)), "a gather");
  tk::GatherNdParams p{};
  p.run = divisor(run_bytes_ >> log);
  p.tuples = divisor(tuples_);
  for (std::size_t k = 0; k < tk::kGatherAxes; ++k) {
    p.limit[k] = static_cast<tk::tk_i32>(limits_[k]);
    p.stride[k] = static_cast<tk::tk_i32>(strides_[k] >> log);
  }
  p.depth = static_cast<tk::tk_i32>(depth_);
  p.batch_stride = static_cast<tk::tk_i32>(batch_bytes_ >> log);
  p.count = static_cast<tk::tk_i32>(count);
  queue.launch(make_launch(kGatherNd[log][wide_ ? 1 : 0], {groups_of(count, kThreads), 1, 1},
                           {kThreads, 1, 1}, {x, indices, y}, p, label));
}

}  // namespace treadle::gpu
