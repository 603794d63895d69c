#include "ops/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

void QuantizeLinear::visit(ParamVisitor& v) const {
  v.param("to", to);
  v.param("axis", axis);
  v.param("block_size", block_size);
}

void DequantizeLinear::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("block_size", block_size);
}

namespace {

bool is_quantised(DType t) {
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
  check(is_float(in[1]->dtype), ErrorKind::Type,
        "input 1 'scale' has dtype {}, expected a floating-point one", name_of(in[1]->dtype));
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

template <typename T>
float as_float(T v) {
  return static_cast<float>(v);
}

std::vector<float> floats(const TensorView& v) {
  std::vector<float> out(static_cast<std::size_t>(v.elements()));
  dispatch(v.dtype, [&]<typename T>(T) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = as_float(v.as<const T>()[i]);
  });
  return out;
}

// Zero points widened; zeros when omitted.
std::vector<std::int64_t> zero_points(const TensorView* v, std::size_t count) {
  std::vector<std::int64_t> out(count, 0);
  if (v == nullptr) return out;
  dispatch(v->dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<std::int64_t>(v->as<const T>()[i]);
      }
    }
  });
  return out;
}

template <typename T>
T quantised(float x, float scale, std::int64_t zero_point) {
  const double rounded = std::nearbyint(static_cast<double>(x / scale));
  if (std::isnan(rounded)) return static_cast<T>(zero_point);
  const double v = rounded + static_cast<double>(zero_point);
  if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

}  // namespace

std::vector<Fact> QuantizeLinear::infer(InputFacts in) const {
  check_parameters(in, axis, block_size);
  const DType t = in[0]->dtype;
  check(is_float(t) || t == DType::I32, ErrorKind::Type,
        "input 0 'x' has dtype {}, expected a floating-point one or i32", name_of(t));
  check(is_quantised(to), ErrorKind::Type, "cannot quantise to {}", name_of(to));
  if (in.size() > 2 && in[2] != nullptr) {
    check(in[2]->dtype == to, ErrorKind::Type, "input 2 'zero_point' has dtype {}, expected {}",
          name_of(in[2]->dtype), name_of(to));
  }
  return {Fact::tensor(to, in[0]->shape)};
}

void QuantizeLinear::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const TensorView &x = ctx.in(0), &y = ctx.output(0);
  const std::vector<float> values = floats(x), scale = floats(ctx.in(1));
  const std::vector<std::int64_t> zero =
      zero_points(ctx.inputs() > 2 ? ctx.input(2) : nullptr, scale.size());
  const Parameters parameters(x.shape, ctx.in(1).shape, axis, block_size);
  dispatch(to, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t k = parameters.of(static_cast<std::int64_t>(i));
        y.as<T>()[i] = quantised<T>(values[i], scale[k], zero[k]);
      }
    }
  });
}

std::vector<Fact> DequantizeLinear::infer(InputFacts in) const {
  check_parameters(in, axis, block_size);
  const DType t = in[0]->dtype;
  check(is_quantised(t), ErrorKind::Type,
        "input 0 'x' has dtype {}, expected an integer of 8, 16 or 32 bits", name_of(t));
  if (in.size() > 2 && in[2] != nullptr) {
    check(in[2]->dtype == t, ErrorKind::Type, "input 2 'zero_point' has dtype {}, expected {}",
          name_of(in[2]->dtype), name_of(t));
  }
  return {Fact::tensor(in[1]->dtype, in[0]->shape)};
}

void DequantizeLinear::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const TensorView &x = ctx.in(0), &y = ctx.output(0);
  const std::vector<float> scale = floats(ctx.in(1));
  const std::vector<std::int64_t> zero =
      zero_points(ctx.inputs() > 2 ? ctx.input(2) : nullptr, scale.size());
  const std::vector<std::int64_t> values = zero_points(&x, static_cast<std::size_t>(x.elements()));
  const Parameters parameters(x.shape, ctx.in(1).shape, axis, block_size);
  dispatch(y.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t k = parameters.of(static_cast<std::int64_t>(i));
        const auto offset = static_cast<float>(values[i] - zero[k]);
        y.as<T>()[i] = static_cast<T>(offset * scale[k]);
      }
    }
  });
}

}  // namespace treadle::ops
