#include "cpu/epilogue.hpp"

#include "base/error.hpp"

namespace treadle::cpu {

OwnedEpilogue::OwnedEpilogue(const FusedEpilogue* fused, const Tensor* own_bias) {
  if (own_bias) bias = own_bias->to_f32();
  if (!fused) return;
  if (fused->bias) {
    const auto more = fused->bias->to_f32();
    if (bias.empty()) bias.assign(more.size(), 0.0f);
    check(bias.size() == more.size(), ErrorKind::Internal, "fused biases of {} and {} elements",
          bias.size(), more.size());
    for (std::size_t i = 0; i < more.size(); ++i) bias[i] += more[i];
  }
  if (fused->slope) slope = fused->slope->to_f32();
  residual = fused->residual.present();
  residual_before_act = fused->residual_before_act;
  act = fused->act;
  a = fused->a;
  b = fused->b;
}

kernels::Epilogue OwnedEpilogue::with(const float* residual_data, std::ptrdiff_t stride) const {
  kernels::Epilogue e;
  e.bias = bias.empty() ? nullptr : bias.data();
  e.slope = slope.empty() ? nullptr : slope.data();
  e.residual = residual ? residual_data : nullptr;
  e.residual_stride = stride;
  e.residual_before_act = residual_before_act;
  e.act = act;
  e.a = a;
  e.b = b;
  return e;
}

}  // namespace treadle::cpu
