#include "ops/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/narrow.hpp"
#include "ops/cast.hpp"
#include "ops/checks.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

void QuantizeLinear::visit(ParamVisitor& v) const {
  v.param("to", to);
  v.param("axis", axis);
  v.param("block_size", block_size);
  v.param("saturate", saturate);
  v.param("precision", precision);
}

void DequantizeLinear::visit(ParamVisitor& v) const {
  v.param("to", to);
  v.param("axis", axis);
  v.param("block_size", block_size);
}

namespace {

bool is_quantised(DType t) {
  if (is_narrow(t)) return t != DType::F8E8M0;
  return is_integer(t) && size_of(t) <= 4 && t != DType::U32;
}

bool agree(const Dim& a, const Dim& b) {
  return !a.is_const() || !b.is_const() || a == b;
}

// Checks scale and zero point against x.
void check_parameters(InputFacts in, std::int64_t axis, std::int64_t block) {
  check(in.size() >= 2 && in.size() <= 3 && in[0] && in[1], ErrorKind::Shape,
        "takes x, scale and an optional zero point, got {} inputs", in.size());
  const SymShape &x = in[0]->shape, &scale = in[1]->shape;
  const DType type = in[1]->dtype;
  check(is_float(type) || type == DType::I32 || type == DType::F8E8M0, ErrorKind::Type,
        "input 1 'scale' has dtype {}, expected a floating-point one, i32 or f8e8m0",
        name_of(type));
  check(block >= 0, ErrorKind::Shape, "block_size is {}, expected no negative number", block);
  if (!scale.empty()) {
    check(axis >= 0 && axis < in[0]->rank(), ErrorKind::Shape,
          "axis {} is out of range for x of shape {}", axis, str(x));
  }
  const auto at = static_cast<std::size_t>(axis);
  if (block > 0) {
    bool fits = scale.size() == x.size() && !x.empty();
    for (std::size_t i = 0; fits && i < x.size(); ++i) {
      fits = agree(scale[i], i == at ? ceil_div(x[i], Dim(block)) : x[i]);
    }
    check(fits, ErrorKind::Shape,
          "input 1 'scale' has shape {}, which does not fit x of shape {} in blocks of {} along "
          "axis {}",
          str(scale), str(x), block, axis);
  } else if (!scale.empty()) {
    check(scale.size() == 1 && agree(scale[0], x[at]), ErrorKind::Shape,
          "input 1 'scale' has shape {}, expected a scalar or [{}], axis {} of x of shape {}",
          str(scale), x[at].str(), axis, str(x));
  }
  if (in.size() < 3 || in[2] == nullptr) return;
  bool same = in[2]->shape.size() == scale.size();
  for (std::size_t i = 0; same && i < scale.size(); ++i) same = agree(in[2]->shape[i], scale[i]);
  check(same, ErrorKind::Shape, "input 2 'zero_point' has shape {}, expected {} as scale has it",
        str(in[2]->shape), str(scale));
}

// Which scale belongs to which element of x: (outer, along the axis, inner).
struct Parameters {
  std::int64_t size = 1, inner = 1;  // of the axis, of what follows it
  std::int64_t blocks = 1;           // scales along the axis
  std::int64_t block_size = 0;
  bool scalar = true;

  Parameters(const Shape& x, const Shape& scale, std::int64_t axis, std::int64_t block)
      : block_size(block), scalar(scale.empty()) {
    if (scalar) return;
    const auto at = static_cast<std::size_t>(axis);
    size = x[at];
    for (std::size_t i = at + 1; i < x.size(); ++i) inner *= x[i];
    if (block > 0) blocks = scale[at];
  }

  std::size_t of(std::int64_t element) const {
    if (scalar) return 0;
    const std::int64_t along = element / inner % size;
    if (block_size == 0) return static_cast<std::size_t>(along);
    const std::int64_t outer = element / inner / size;
    return static_cast<std::size_t>((outer * blocks + along / block_size) * inner +
                                    element % inner);
  }
};

std::vector<float> floats(const TensorView& v) {
  Tensor wide(DType::F32, v.shape);
  convert_elements(v, wide.view());
  const auto values = wide.span<float>();
  return {values.begin(), values.end()};
}

// Zero points widened; zeros when omitted.
template <typename W>
std::vector<W> zero_points(const TensorView* v, std::size_t count) {
  if (v == nullptr) return std::vector<W>(count, W{0});
  Tensor wide(DTypeOf<W>::value, v->shape);
  convert_elements(*v, wide.view());
  const auto values = wide.span<W>();
  return {values.begin(), values.end()};
}

// x / scale, rounded to the precision asked for.
float quotient(float x, float scale, DType precision) {
  const float q = x / scale;
  if (precision == DType::F16) return static_cast<float>(Half(q));
  if (precision == DType::BF16) return static_cast<float>(BFloat16(q));
  return q;
}

// Calls f with a byte or integer of the type that holds elements of an integer dtype.
template <typename F>
void dispatch_stored(DType t, F&& f) {
  dispatch(is_narrow(t) ? byte_of_narrow_integer(t) : t, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) f(T{});
  });
}

// Least and largest value of an integer type that one quantises to.
std::pair<double, double> limits_of(DType t) {
  if (is_narrow(t)) return {narrow_min(t), narrow_max(t)};
  std::pair<double, double> out;
  dispatch_stored(t, [&]<typename T>(T) {
    out = {static_cast<double>(std::numeric_limits<T>::min()),
           static_cast<double>(std::numeric_limits<T>::max())};
  });
  return out;
}

// The operator with its axis where the permutation puts it; scales in blocks have x's axes.
template <typename Op>
std::optional<AxisChange> with_axis_moved(const Op& op, InputFacts in, const Perm& perm) {
  AxisChange change{nullptr, std::vector<std::optional<Perm>>(in.size())};
  change.inputs[0] = perm;
  auto moved = std::make_shared<Op>(op);
  if (op.block_size > 0) {
    for (auto& p : change.inputs) p = perm;
  }
  if (op.block_size > 0 || in[1]->rank() > 0) {
    moved->axis = permuted_axes({op.axis}, perm).front();
  }
  change.op = std::move(moved);
  return change;
}

}  // namespace

std::optional<AxisChange> QuantizeLinear::change_axes(InputFacts in, std::span<const Fact>,
                                                      const Perm& perm) const {
  return with_axis_moved(*this, in, perm);
}

std::optional<AxisChange> DequantizeLinear::change_axes(InputFacts in, std::span<const Fact>,
                                                        const Perm& perm) const {
  return with_axis_moved(*this, in, perm);
}

std::vector<Fact> QuantizeLinear::infer(InputFacts in) const {
  check_parameters(in, axis, block_size);
  const DType t = in[0]->dtype;
  check(is_float(t) || t == DType::I32, ErrorKind::Type,
        "input 0 'x' has dtype {}, expected a floating-point one or i32", name_of(t));
  check(is_quantised(to), ErrorKind::Type, "cannot quantise to {}", name_of(to));
  check(is_float(precision), ErrorKind::Type, "cannot divide in {}", name_of(precision));
  if (in.size() > 2 && in[2] != nullptr) {
    check(in[2]->dtype == to, ErrorKind::Type, "input 2 'zero_point' has dtype {}, expected {}",
          name_of(in[2]->dtype), name_of(to));
  }
  return {Fact::tensor(to, in[0]->shape)};
}

void QuantizeLinear::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const TensorView &x = ctx.in(0), &y = ctx.output(0);
  const TensorView* zero_input = ctx.inputs() > 2 ? ctx.input(2) : nullptr;
  const std::vector<float> values = floats(x), scale = floats(ctx.in(1));
  const Parameters parameters(x.shape, ctx.in(1).shape, axis, block_size);
  if (is_narrow_float(to)) {
    const std::vector<float> zero = zero_points<float>(zero_input, scale.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t k = parameters.of(static_cast<std::int64_t>(i));
      const float v = quotient(values[i], scale[k], precision) + zero[k];
      y.as<std::uint8_t>()[i] = narrow_code(to, v, {saturate, {}});
    }
    return;
  }
  const std::vector<std::int64_t> zero = zero_points<std::int64_t>(zero_input, scale.size());
  const auto [low, high] = limits_of(to);
  dispatch_stored(to, [&, low = low, high = high]<typename T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t k = parameters.of(static_cast<std::int64_t>(i));
      const auto q = static_cast<double>(quotient(values[i], scale[k], precision));
      const double rounded = std::isnan(q) ? 0 : std::nearbyint(q);
      y.as<T>()[i] = static_cast<T>(std::clamp(rounded + static_cast<double>(zero[k]), low, high));
    }
  });
}

std::vector<Fact> DequantizeLinear::infer(InputFacts in) const {
  check_parameters(in, axis, block_size);
  const DType t = in[0]->dtype;
  check(is_quantised(t), ErrorKind::Type,
        "input 0 'x' has dtype {}, expected an integer of 8, 16 or 32 bits or a narrow type",
        name_of(t));
  check(is_float(to) && in[1]->dtype != DType::I32, ErrorKind::Type,
        "cannot dequantise to {} with a scale of {}", name_of(to), name_of(in[1]->dtype));
  if (in.size() > 2 && in[2] != nullptr) {
    check(in[2]->dtype == t, ErrorKind::Type, "input 2 'zero_point' has dtype {}, expected {}",
          name_of(in[2]->dtype), name_of(t));
  }
  return {Fact::tensor(to, in[0]->shape)};
}

void DequantizeLinear::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const TensorView &x = ctx.in(0), &y = ctx.output(0);
  const TensorView* zero_input = ctx.inputs() > 2 ? ctx.input(2) : nullptr;
  const std::vector<float> scale = floats(ctx.in(1));
  const Parameters parameters(x.shape, ctx.in(1).shape, axis, block_size);
  Tensor wide(DType::F32, x.shape);
  const auto out = wide.mutable_span<float>();
  const auto scaled = [&](auto&& offset) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t k = parameters.of(static_cast<std::int64_t>(i));
      out[i] = static_cast<float>(offset(i, k)) * scale[k];
    }
  };
  if (is_narrow_float(x.dtype)) {
    const auto& values = narrow_values(x.dtype);
    const std::vector<float> zero = zero_points<float>(zero_input, scale.size());
    scaled([&](std::size_t i, std::size_t k) { return values[x.as<std::uint8_t>()[i]] - zero[k]; });
  } else {
    const std::vector<std::int64_t> zero = zero_points<std::int64_t>(zero_input, scale.size());
    dispatch_stored(x.dtype, [&]<typename T>(T) {
      scaled([&](std::size_t i, std::size_t k) {
        return static_cast<std::int64_t>(x.as<T>()[i]) - zero[k];
      });
    });
  }
  convert_elements(wide.view(), y);
}

}  // namespace treadle::ops
