// Unary operators and activations.
#include <array>
#include <limits>

#include "formats/onnx/ops/math_helpers.hpp"
#include "formats/onnx/types.hpp"
#include "ops/bit_cast.hpp"
#include "ops/cast.hpp"

namespace treadle::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Named {
  std::string_view op_type;
  UnaryFn fn;
};

constexpr std::array kPlain = {
    Named{"Abs", UnaryFn::Abs},
    Named{"Neg", UnaryFn::Neg},
    Named{"Sign", UnaryFn::Sign},
    Named{"Reciprocal", UnaryFn::Reciprocal},
    Named{"Floor", UnaryFn::Floor},
    Named{"Ceil", UnaryFn::Ceil},
    Named{"Round", UnaryFn::Round},
    Named{"Sqrt", UnaryFn::Sqrt},
    Named{"Exp", UnaryFn::Exp},
    Named{"Log", UnaryFn::Log},
    Named{"Erf", UnaryFn::Erf},
    Named{"Sin", UnaryFn::Sin},
    Named{"Cos", UnaryFn::Cos},
    Named{"Tan", UnaryFn::Tan},
    Named{"Asin", UnaryFn::Asin},
    Named{"Acos", UnaryFn::Acos},
    Named{"Atan", UnaryFn::Atan},
    Named{"Sinh", UnaryFn::Sinh},
    Named{"Cosh", UnaryFn::Cosh},
    Named{"Tanh", UnaryFn::Tanh},
    Named{"Asinh", UnaryFn::Asinh},
    Named{"Acosh", UnaryFn::Acosh},
    Named{"Atanh", UnaryFn::Atanh},
    Named{"Relu", UnaryFn::Relu},
    Named{"Sigmoid", UnaryFn::Sigmoid},
    Named{"HardSwish", UnaryFn::HardSwish},
    Named{"Softplus", UnaryFn::Softplus},
    Named{"Softsign", UnaryFn::Softsign},
    Named{"Mish", UnaryFn::Mish},
    Named{"Not", UnaryFn::Not},
    Named{"BitwiseNot", UnaryFn::BitwiseNot},
    Named{"IsNaN", UnaryFn::IsNaN},
};

// Attributes that are UnaryFn parameters, with their defaults.
struct Parametric {
  std::string_view op_type;
  UnaryFn fn;
  std::string_view a;
  double a_default;
  std::string_view b;
  double b_default;
};

constexpr std::array kParametric = {
    Parametric{"LeakyRelu", UnaryFn::LeakyRelu, "alpha", 0.01, "", 0},
    Parametric{"Elu", UnaryFn::Elu, "alpha", 1, "", 0},
    Parametric{"Selu", UnaryFn::Selu, "alpha", 1.67326319217681884765625, "gamma",
               1.05070102214813232421875},
    Parametric{"Celu", UnaryFn::Celu, "alpha", 1, "", 0},
    Parametric{"HardSigmoid", UnaryFn::HardSigmoid, "alpha", 0.2, "beta", 0.5},
    Parametric{"Swish", UnaryFn::Silu, "alpha", 1, "", 0},
    Parametric{"QuickGelu", UnaryFn::Silu, "alpha", 1.702, "", 0},
    Parametric{"ThresholdedRelu", UnaryFn::ThresholdedRelu, "alpha", 1, "", 0},
    Parametric{"Shrink", UnaryFn::Shrink, "bias", 0, "lambd", 0.5},
};

// The bound as a double, where a double holds it and `x` shares its dtype.
std::optional<double> exact_bound(NodeContext& c, std::size_t i, double fallback) {
  if (!c.has(i)) return fallback;
  const auto t = c.constant(i);
  if (!t || t->elements() != 1 || t->dtype() != c.fact(0).dtype) return std::nullopt;
  if (is_float(t->dtype())) return t->to_f64()[0];
  if (!is_integer(t->dtype())) return std::nullopt;
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const std::int64_t v = t->to_i64()[0];
  if (v < -kExact || v > kExact) return std::nullopt;
  return static_cast<double>(v);
}

}  // namespace

std::vector<ValueId> import_unary(NodeContext& c) {
  for (const Named& n : kPlain) {
    if (n.op_type == c.proto().op_type) return {unary(c, n.fn, c.in(0))};
  }
  fail(ErrorKind::Internal, "no elementwise function for {}", c.proto().op_type);
}

std::vector<ValueId> import_activation(NodeContext& c) {
  for (const Parametric& p : kParametric) {
    if (p.op_type != c.proto().op_type) continue;
    const double a = c.float_attr(p.a, p.a_default);
    const double b = p.b.empty() ? 0 : c.float_attr(p.b, p.b_default);
    return {unary(c, p.fn, c.in(0), a, b)};
  }
  fail(ErrorKind::Internal, "no activation function for {}", c.proto().op_type);
}

std::vector<ValueId> import_is_inf(NodeContext& c) {
  const auto positive = c.int_attr("detect_positive", 1);
  const auto negative = c.int_attr("detect_negative", 1);
  return {unary(c, UnaryFn::IsInf, c.in(0), positive != 0, negative != 0)};
}

std::vector<ValueId> import_gelu(NodeContext& c) {
  const std::string form = c.string_attr("approximate", "none");
  check(form == "none" || form == "tanh", ErrorKind::Parse,
        "attribute 'approximate' is '{}', expected none or tanh", form);
  return {unary(c, form == "tanh" ? UnaryFn::GeluTanh : UnaryFn::Gelu, c.in(0))};
}

std::vector<ValueId> import_bias_gelu(NodeContext& c) {
  const bool fast = c.proto().op_type == "FastGelu";
  const ValueId x = c.has(1) ? binary(c, BinaryFn::Add, c.in(0), c.in(1)) : c.in(0);
  return {unary(c, fast ? UnaryFn::GeluTanh : UnaryFn::Gelu, x)};
}

std::vector<ValueId> import_swiglu(NodeContext& c) {
  const ValueId gate = unary(c, UnaryFn::Silu, c.in(0), c.float_attr("alpha", 1.0));
  return {binary(c, BinaryFn::Mul, gate, c.in(1))};
}

std::vector<ValueId> import_clip(NodeContext& c) {
  if (c.opset() < 11) {
    const double low = c.float_attr("min", -kInfinity), high = c.float_attr("max", kInfinity);
    return {unary(c, UnaryFn::Clip, c.in(0), low, high)};
  }
  const auto low = exact_bound(c, 1, -kInfinity), high = exact_bound(c, 2, kInfinity);
  if (low && high) return {unary(c, UnaryFn::Clip, c.in(0), *low, *high)};
  ValueId x = c.in(0);
  if (c.has(1)) x = binary(c, BinaryFn::Max, x, c.in(1));
  if (c.has(2)) x = binary(c, BinaryFn::Min, x, c.in(2));
  return {x};
}

namespace {

// The attributes of Cast and CastLike that narrow floats have.
ValueId cast_rounded(NodeContext& c, DType to) {
  NarrowRounding rounding;
  rounding.saturate = c.int_attr("saturate", 1) != 0;
  const std::string mode = c.string_attr("round_mode", "up");
  constexpr std::array<std::string_view, 3> kModes = {"up", "down", "nearest"};
  const auto at = std::find(kModes.begin(), kModes.end(), mode);
  check(at != kModes.end(), ErrorKind::Parse,
        "attribute 'round_mode' is '{}', expected up, down or nearest", mode);
  rounding.power = static_cast<PowerRounding>(at - kModes.begin());
  if (!is_narrow_float(to) || c.fact(0).dtype == to) return cast(c, c.in(0), to);
  return c.add1(make_op<ops::Cast>(to, rounding), {c.in(0)});
}

}  // namespace

std::vector<ValueId> import_cast(NodeContext& c) {
  if (c.opset() >= 6) return {cast_rounded(c, dtype_of_onnx(c.int_attr("to", std::nullopt)))};
  // Opset 1 names the type.
  constexpr std::array<std::string_view, 17> kNames = {
      "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
      "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
      "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  const std::string to = c.string_attr("to", std::nullopt);
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == to) return {cast(c, c.in(0), dtype_of_onnx(static_cast<std::int64_t>(i)))};
  }
  fail(ErrorKind::Parse, "attribute 'to' is '{}', expected the name of an element type", to);
}

std::vector<ValueId> import_cast_like(NodeContext& c) {
  return {cast_rounded(c, dtype_of(c, c.in(1)))};
}

std::vector<ValueId> import_bit_cast(NodeContext& c) {
  const DType to = dtype_of_onnx(c.int_attr("to", std::nullopt));
  return {c.add1(make_op<ops::BitCast>(to), {c.in(0)})};
}

}  // namespace treadle::onnx
