#include "gpu/cumulative_plan.hpp"

#include "cpu/split.hpp"

namespace treadle::gpu {

CumulativePlan::CumulativePlan(const ops::Cumulative& op, DType dtype, const Shape& shape) {
  const kernels::Split s = cpu::split_around(shape, op.axis, op.axis);
  check_split(s);
  empty_ = s.elements() == 0;
  if (empty_) return;
  const bool half = dtype == DType::F16;
  // A thread a column where the columns are many or the rows short, else a group a row.
  const bool rows = s.inner == 1 && s.length > 32;
  if (rows) {
    kernel_ = half ? KernelId::cumulative_rows_f16 : KernelId::cumulative_rows_f32;
    groups_.x = static_cast<std::uint32_t>(s.outer);
  } else {
    kernel_ = half ? KernelId::cumulative_columns_f16 : KernelId::cumulative_columns_f32;
    groups_.x = groups_of(s.outer * s.inner, tk::kGroup);
  }
  params_.width = make_divisor(static_cast<std::uint32_t>(s.inner));
  params_.columns = static_cast<tk::tk_i32>(s.outer * s.inner);
  params_.n = static_cast<tk::tk_i32>(s.length);
  params_.inner = static_cast<tk::tk_i32>(s.inner);
  params_.product = op.fn == ops::CumulativeFn::Prod ? 1 : 0;
  params_.exclusive = op.exclusive ? 1 : 0;
  params_.reverse = op.reverse ? 1 : 0;
}

void CumulativePlan::run(Queue& queue, DeviceAddress x, DeviceAddress y, const char* label) const {
  if (empty_) return;
  queue.launch(make_launch(kernel_, groups_, {tk::kGroup, 1, 1}, {x, y}, params_, label));
}

}  // namespace treadle::gpu
