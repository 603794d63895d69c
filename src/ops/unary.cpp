#include "ops/unary.hpp"

#include <array>

#include "graph/symbolic.hpp"
#include "ops/checks.hpp"

namespace treadle::ops {
namespace {

constexpr std::array<std::string_view, 46> kNames = {
    "abs",      "neg",          "sign",       "reciprocal",  "floor",
    "ceil",     "round",        "sqrt",       "rsqrt",       "square",
    "exp",      "log",          "erf",        "sin",         "cos",
    "tan",      "asin",         "acos",       "atan",        "sinh",
    "cosh",     "tanh",         "asinh",      "acosh",       "atanh",
    "relu",     "leaky_relu",   "elu",        "selu",        "celu",
    "sigmoid",  "hard_sigmoid", "hard_swish", "silu",        "softplus",
    "softsign", "mish",         "gelu",       "gelu_tanh",   "thresholded_relu",
    "shrink",   "clip",         "not",        "bitwise_not", "is_nan",
    "is_inf"};
static_assert(kNames[static_cast<std::size_t>(UnaryFn::IsInf)] == "is_inf");

bool has_a(UnaryFn f) {
  switch (f) {
    case UnaryFn::LeakyRelu:
    case UnaryFn::Elu:
    case UnaryFn::Celu:
    case UnaryFn::Silu:
    case UnaryFn::ThresholdedRelu:
      return true;
    default:
      return false;
  }
}

bool has_a_and_b(UnaryFn f) {
  switch (f) {
    case UnaryFn::Selu:
    case UnaryFn::HardSigmoid:
    case UnaryFn::Shrink:
    case UnaryFn::Clip:
    case UnaryFn::IsInf:
      return true;
    default:
      return false;
  }
}

bool accepts(UnaryFn f, DType t) {
  switch (f) {
    case UnaryFn::Not:
      return t == DType::Bool;
    case UnaryFn::BitwiseNot:
      return is_integer(t);
    case UnaryFn::Abs:
    case UnaryFn::Neg:
    case UnaryFn::Sign:
    case UnaryFn::Floor:
    case UnaryFn::Ceil:
    case UnaryFn::Round:
    case UnaryFn::Square:
    case UnaryFn::Erf:
    case UnaryFn::Relu:
    case UnaryFn::Shrink:
    case UnaryFn::Clip:
      return is_float(t) || is_integer(t);
    default:
      return is_float(t);
  }
}

bool gives_bool(UnaryFn f) {
  return f == UnaryFn::Not || f == UnaryFn::IsNaN || f == UnaryFn::IsInf;
}

void fold_symbolic(UnaryFn fn, InputFacts in, Fact& out) {
  std::function<Dim(std::span<const Dim>)> f;
  switch (fn) {
    case UnaryFn::Neg:
      f = [](auto x) { return Dim(0) - x[0]; };
      break;
    case UnaryFn::Abs:
      f = [](auto x) { return max(x[0], Dim(0) - x[0]); };
      break;
    case UnaryFn::Square:
      f = [](auto x) { return x[0] * x[0]; };
      break;
    case UnaryFn::Relu:
      f = [](auto x) { return max(x[0], Dim(0)); };
      break;
    case UnaryFn::Floor:
    case UnaryFn::Ceil:
    case UnaryFn::Round:
      f = [](auto x) { return x[0]; };
      break;
    default:
      return;
  }
  if (is_signed_integer(out.dtype)) fold_symbolic_elementwise(in, out, f);
}

}  // namespace

std::string_view name_of(UnaryFn f) {
  return kNames[static_cast<std::size_t>(f)];
}

void Unary::visit(ParamVisitor& v) const {
  v.param("fn", name_of(fn));
  if (has_a(fn) || has_a_and_b(fn)) v.param("a", a);
  if (has_a_and_b(fn)) v.param("b", b);
}

std::vector<Fact> Unary::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(accepts(fn, x.dtype), ErrorKind::Type, "input 0 'x': {} does not accept dtype {}",
        name_of(fn), name_of(x.dtype));
  Fact out = Fact::tensor(gives_bool(fn) ? DType::Bool : x.dtype, x.shape);
  fold_symbolic(fn, in, out);
  return {std::move(out)};
}

Cost Unary::cost(InputFacts, std::span<const Fact> out) const {
  return {elements(out[0].shape)};
}

std::optional<AxisChange> Unary::change_axes(InputFacts, std::span<const Fact>,
                                             const Perm& perm) const {
  return AxisChange{make_op<Unary>(*this), {perm}};
}

}  // namespace treadle::ops
