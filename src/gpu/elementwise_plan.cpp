#include "gpu/elementwise_plan.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.hpp"
#include "gpu/copy_plan.hpp"
#include "gpu/elementwise_ops.hpp"
#include "gpu/kernels/elementwise_params.hpp"

namespace treadle::gpu {

namespace {

constexpr std::int64_t kMost = 0x7ff00000;
constexpr std::uint32_t kThreads = 256;

static_assert(static_cast<int>(DType::Bool) == tk::kTypeBool &&
              static_cast<int>(DType::I64) == tk::kTypeI64 &&
              static_cast<int>(DType::U64) == tk::kTypeU64 &&
              static_cast<int>(DType::F32) == tk::kTypeF32);

}  // namespace

ElementwisePlan::ElementwisePlan(DType out, const Shape& shape, std::optional<ops::Strided> to)
    : shape_(shape), out_{out, {}, 0} {
  const std::string why = why_no_element(out);
  check(why.empty(), ErrorKind::Unsupported, "{}", why);
  out_.strides = to ? to->strides : ops::row_major(std::span(shape.begin(), shape.end()));
  if (to) out_.offset = to->offset;
  check(out_.strides.size() == shape.size(), ErrorKind::Shape,
        "{} strides for a tensor of shape {}", out_.strides.size(), shape.str());
}

int ElementwisePlan::input(DType dtype, const Shape& shape) {
  const std::string why = why_no_element(dtype);
  check(why.empty(), ErrorKind::Unsupported, "{}", why);
  check(inputs_.size() < tk::kElementwiseInputs, ErrorKind::Unsupported,
        "a chain of elementwise functions with more than {} inputs",
        static_cast<int>(tk::kElementwiseInputs));
  check(shape.rank() == shape_.rank(), ErrorKind::Shape, "shape {} does not broadcast to {}",
        shape.str(), shape_.str());
  Operand o{dtype, ops::row_major(std::span(shape.begin(), shape.end())), 0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    check(shape[i] == shape_[i] || shape[i] == 1, ErrorKind::Shape,
          "shape {} does not broadcast to {}", shape.str(), shape_.str());
    if (shape[i] != shape_[i]) o.strides[i] = 0;
  }
  inputs_.push_back(std::move(o));
  return static_cast<int>(inputs_.size()) - 1;
}

void ElementwisePlan::add(int op, int operand, int second, double a, double b) {
  check(steps_.size() < tk::kElementwiseSteps, ErrorKind::Unsupported,
        "a chain of more than {} elementwise functions", static_cast<int>(tk::kElementwiseSteps));
  steps_.push_back({static_cast<tk::tk_u32>(op | operand << 8 | second << 16),
                    static_cast<float>(a), static_cast<float>(b)});
  vector_steps_ = vector_steps_ && op < tk::kOpVectorEnd;
}

bool ElementwisePlan::has_float_input() const {
  return std::ranges::any_of(inputs_, [](const Operand& o) { return is_float(o.dtype); });
}

void ElementwisePlan::unary(const ops::Unary& op) {
  const DType dtype = inputs_.at(0).dtype;
  const std::string why = why_no_unary(op, dtype);
  check(why.empty(), ErrorKind::Unsupported, "{}", why);
  if (!is_float(dtype) && op.fn == ops::UnaryFn::Clip) {
    add(tk::kOpMax, tk::kOperandConstant, 0, op.a);
    add(tk::kOpMin, tk::kOperandConstant, 0, op.b);
  } else if (const int code = unary_code(op.fn); is_float(dtype) || !keeps_integers(op.fn)) {
    add(code, 0, 0, op.a, op.b);
  }
}

void ElementwisePlan::binary(ops::BinaryFn fn, int input, bool input_first) {
  const std::string why = why_no_binary(fn, inputs_.at(0).dtype);
  check(why.empty(), ErrorKind::Unsupported, "{}", why);
  const int code = binary_code(fn, input_first);
  check(code >= 0, ErrorKind::Unsupported, "no device kernel computes {} with swapped operands",
        ops::name_of(fn));
  add(code, input);
}

void ElementwisePlan::select(int a, int b) {
  add(tk::kOpSelect, a, b);
}

void ElementwisePlan::save() {
  add(tk::kOpSave);
}

bool ElementwisePlan::is_empty() const {
  return std::ranges::find(shape_, 0) != shape_.end();
}

void ElementwisePlan::check_sizes() const {
  if (!is_empty()) merged_axes();
}

// Axis 0 is the fastest of the output; neighbours that are one for every operand are one.
std::vector<ElementwisePlan::Axis> ElementwisePlan::merged_axes() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape_) {
    check(size <= kMost / count, ErrorKind::Unsupported,
          "an elementwise function on more than 2^31 elements");
    count *= size;
  }
  std::vector<Axis> axes;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    if (shape_[i] == 1) continue;
    Axis a{shape_[i], {}};
    for (const Operand& o : inputs_) a.strides.push_back(o.strides[i]);
    a.strides.push_back(out_.strides[i]);
    if (!axes.empty()) {
      Axis& inner = axes.back();
      bool one = true;
      for (std::size_t k = 0; k < a.strides.size(); ++k) {
        one = one && a.strides[k] == inner.strides[k] * inner.size;
      }
      if (one) {
        inner.size *= a.size;
        continue;
      }
    }
    axes.push_back(std::move(a));
  }
  if (axes.empty()) axes.push_back({1, std::vector<std::int64_t>(inputs_.size() + 1, 1)});
  check(axes.size() <= tk::kElementwiseAxes, ErrorKind::Unsupported,
        "an elementwise function over {} axes that do not merge, at most {}", axes.size(),
        static_cast<int>(tk::kElementwiseAxes));
  for (std::size_t k = 0; k <= inputs_.size(); ++k) {
    std::int64_t span = 0;
    for (const Axis& a : axes) {
      check(std::abs(a.strides[k]) <= kMost / a.size, ErrorKind::Unsupported,
            "an elementwise function on more than 2^31 elements");
      span += std::abs(a.strides[k]) * a.size;
    }
    check(span <= kMost, ErrorKind::Unsupported,
          "an elementwise function on more than 2^31 elements");
  }
  return axes;
}

bool ElementwisePlan::fits_vectors(const std::vector<Axis>& axes, std::int64_t width,
                                   std::span<const DeviceAddress> inputs, DeviceAddress out) const {
  if (!vector_steps_ || width == 0 || axes[0].size % width != 0) return false;
  for (std::size_t k = 0; k <= inputs_.size(); ++k) {
    const bool is_out = k == inputs_.size();
    const Operand& o = is_out ? out_ : inputs_[k];
    const std::int64_t inner = axes[0].strides[k];
    if (o.dtype != out_.dtype || (inner != 1 && (is_out || inner != 0))) return false;
    if (inner == 0) continue;
    if (((is_out ? out : inputs[k]) & 15) != 0 || o.offset % width != 0) return false;
    for (std::size_t i = 1; i < axes.size(); ++i) {
      if (axes[i].strides[k] % width != 0) return false;
    }
  }
  return true;
}

tk::ElementwiseParams ElementwisePlan::fill_params(const std::vector<Axis>& axes,
                                                   std::int64_t width) const {
  tk::ElementwiseParams p{};
  p.rank = static_cast<tk::tk_i32>(axes.size());
  p.inputs = static_cast<tk::tk_i32>(inputs_.size());
  p.steps = static_cast<tk::tk_i32>(steps_.size());
  std::ranges::copy(steps_, p.step);
  std::int64_t count = 1;
  for (auto& d : p.size) d = make_divisor(1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t size = axes[i].size / (i == 0 ? width : 1);
    p.size[i] = make_divisor(static_cast<std::uint32_t>(size));
    count *= size;
  }
  p.count = static_cast<tk::tk_i32>(count);
  for (std::size_t k = 0; k <= inputs_.size(); ++k) {
    const bool is_out = k == inputs_.size();
    const std::size_t slot = is_out ? std::size_t{tk::kElementwiseInputs} : k;
    const Operand& o = is_out ? out_ : inputs_[k];
    p.base[slot] = o.offset;
    p.type[slot] = static_cast<tk::tk_i32>(o.dtype);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      p.stride[slot][i] = static_cast<tk::tk_i32>(axes[i].strides[k]);
    }
  }
  return p;
}

PreparedLaunches ElementwisePlan::prepare(std::span<const DeviceAddress> inputs, DeviceAddress out,
                                          const char* label) const {
  check(!inputs_.empty() && inputs.size() == inputs_.size(), ErrorKind::Internal,
        "an elementwise function of {} inputs got {}", inputs_.size(), inputs.size());
  PreparedLaunches launches;
  if (is_empty()) return launches;
  const std::vector<Axis> axes = merged_axes();
  const std::int64_t width = out_.dtype == DType::F32                                ? 4
                             : out_.dtype == DType::F16 || out_.dtype == DType::BF16 ? 8
                                                                                     : 0;
  const bool vectors = fits_vectors(axes, width, inputs, out);
  const tk::ElementwiseParams p = fill_params(axes, vectors ? width : 1);
  const KernelId kernel = !vectors ? (has_float_input() ? KernelId::elementwise_any_float
                                                        : KernelId::elementwise_any_int)
                          : out_.dtype == DType::F32 ? KernelId::elementwise_f32
                          : out_.dtype == DType::F16 ? KernelId::elementwise_f16
                                                     : KernelId::elementwise_bf16;
  const auto at = [&](std::size_t k) { return inputs[k < inputs.size() ? k : 0]; };
  launches.emplace_back(kernel, Extent3{groups_of(p.count, kThreads)}, Extent3{kThreads},
                        std::initializer_list<DeviceAddress>{at(0), at(1), at(2), at(3), out}, p,
                        label);
  return launches;
}

void ElementwisePlan::run(Queue& queue, std::span<const DeviceAddress> inputs, DeviceAddress out,
                          const char* label) const {
  gpu::run(queue, prepare(inputs, out, label));
}

}  // namespace treadle::gpu
