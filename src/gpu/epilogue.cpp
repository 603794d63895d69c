#include "gpu/epilogue.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/shape.hpp"

namespace treadle::gpu {

namespace {

using kernels::Act;

static_assert(static_cast<int>(Act::Clip) == tk::kActClip &&
              static_cast<int>(Act::PRelu) == tk::kActPRelu &&
              static_cast<int>(Act::HardSwish) == tk::kActHardSwish &&
              static_cast<int>(Act::Gelu) == tk::kActGelu &&
              static_cast<int>(Act::Elu) == tk::kActElu);
static_assert(static_cast<int>(ResidualAt::BeforeAct) == tk::kResidualBeforeAct &&
              static_cast<int>(ResidualAt::AfterAct) == tk::kResidualAfterAct);

void check_stride(const char* what, std::int64_t stride, std::int64_t columns) {
  check(stride == 0 || (stride >= columns && stride < (std::int64_t{1} << 29)), ErrorKind::Shape,
        "rows of the {} lie {} elements apart, expected {} to 2^29 - 1", what, stride, columns);
}

}  // namespace

EpilogueDesc epilogue_desc(const cpu::OwnedEpilogue& e) {
  EpilogueDesc d;
  d.bias = !e.bias.empty();
  if (e.residual) d.residual = e.residual_before_act ? ResidualAt::BeforeAct : ResidualAt::AfterAct;
  d.act = e.act;
  d.a = e.a;
  d.b = e.b;
  return d;
}

void check_epilogue(const EpilogueDesc& desc, std::int64_t columns) {
  check_stride("result", desc.y_stride, columns);
  check_stride("residual", desc.residual_stride, columns);
}

tk::EpilogueParams epilogue_params(const EpilogueDesc& desc, DType type, std::int64_t columns,
                                   std::int64_t stride, int vector, const ProductAddresses& at) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  tk::EpilogueParams e{};
  e.act = static_cast<int>(desc.act);
  e.a = desc.a;
  e.b = desc.b;
  if (desc.act == Act::None || desc.act == Act::Relu) {
    e.a = desc.act == Act::Relu ? 0 : -kInfinity;
    e.b = kInfinity;
  }
  if (desc.act == Act::Clip) {
    // No value is beyond a bound that is NaN.
    if (std::isnan(e.a)) e.a = -kInfinity;
    if (std::isnan(e.b)) e.b = kInfinity;
  }
  e.bias = desc.bias;
  e.residual = static_cast<int>(desc.residual);
  e.y_stride = static_cast<tk::tk_i32>(desc.y_stride != 0 ? desc.y_stride : stride);
  e.residual_stride =
      static_cast<tk::tk_i32>(desc.residual_stride != 0 ? desc.residual_stride : stride);

  const auto aligned = [&](DeviceAddress address, std::size_t element) {
    return address % (element * static_cast<std::size_t>(vector) > 16
                          ? 16
                          : element * static_cast<std::size_t>(vector)) ==
           0;
  };
  const std::size_t element = size_of(type);
  e.vectors = columns % vector == 0 && e.y_stride % vector == 0 && aligned(at.y, element);
  if (desc.residual != ResidualAt::None) {
    e.vectors = e.vectors && e.residual_stride % vector == 0 && aligned(at.residual, element);
  }
  if (desc.bias) e.vectors = e.vectors && aligned(at.bias, sizeof(float));
  if (desc.act == Act::PRelu) e.vectors = e.vectors && aligned(at.slope, sizeof(float));
  return e;
}

ProductAddresses filled(const ProductAddresses& at, const EpilogueDesc& desc) {
  ProductAddresses r = at;
  if (!desc.bias) r.bias = unused_floats(at.left);
  if (desc.act != Act::PRelu) r.slope = unused_floats(at.left);
  if (desc.residual == ResidualAt::None) r.residual = at.left;
  return r;
}

PreparedLaunch sum_of_splits(const EpilogueDesc& desc, DType type, std::int64_t rows,
                             std::int64_t columns, int splits, DeviceAddress workspace,
                             const ProductAddresses& at, const char* label) {
  constexpr std::uint32_t kThreads = 128;
  const std::int64_t fours = (columns + 3) / 4, threads = checked_mul(rows, fours);
  check(threads < (std::int64_t{1} << 31), ErrorKind::Unsupported,
        "{} x {} results are too many for a product in parts", rows, columns);
  tk::SplitSumParams p{};
  p.step = checked_mul(rows, columns);
  p.epilogue = epilogue_params(desc, type, columns, columns, 4, at);
  p.columns = make_divisor(static_cast<std::uint32_t>(fours));
  p.threads = static_cast<tk::tk_i32>(threads);
  p.N = static_cast<tk::tk_i32>(columns);
  p.splits = splits;
  const KernelId kernel = type == DType::F32   ? KernelId::split_sum_f32
                          : type == DType::F16 ? KernelId::split_sum_f16
                                               : KernelId::split_sum_bf16;
  return {kernel,     {groups_of(threads, kThreads)},
          {kThreads}, {workspace, at.bias, at.slope, at.residual, at.y},
          p,          label};
}

}  // namespace treadle::gpu
