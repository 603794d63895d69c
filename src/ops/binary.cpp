#include "ops/binary.hpp"

#include <array>
#include <limits>

#include "graph/symbolic.hpp"
#include "ops/checks.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

constexpr std::array<std::string_view, 27> kNames = {"add",
                                                     "sub",
                                                     "mul",
                                                     "div",
                                                     "pow",
                                                     "floor_div",
                                                     "floor_mod",
                                                     "fmod",
                                                     "min",
                                                     "max",
                                                     "squared_difference",
                                                     "atan2",
                                                     "prelu",
                                                     "and",
                                                     "or",
                                                     "xor",
                                                     "bit_and",
                                                     "bit_or",
                                                     "bit_xor",
                                                     "shift_left",
                                                     "shift_right",
                                                     "equal",
                                                     "not_equal",
                                                     "less",
                                                     "less_equal",
                                                     "greater",
                                                     "greater_equal"};
static_assert(kNames[static_cast<std::size_t>(BinaryFn::GreaterEqual)] == "greater_equal");

bool accepts(BinaryFn f, DType t) {
  switch (f) {
    case BinaryFn::And:
    case BinaryFn::Or:
    case BinaryFn::Xor:
      return t == DType::Bool;
    case BinaryFn::BitAnd:
    case BinaryFn::BitOr:
    case BinaryFn::BitXor:
    case BinaryFn::ShiftLeft:
    case BinaryFn::ShiftRight:
      return is_integer(t);
    case BinaryFn::Atan2:
      return is_float(t);
    case BinaryFn::Equal:
    case BinaryFn::NotEqual:
      return !is_complex(t);
    case BinaryFn::Less:
    case BinaryFn::LessEqual:
    case BinaryFn::Greater:
    case BinaryFn::GreaterEqual:
      return is_float(t) || is_integer(t) || t == DType::Bool;
    default:
      return is_float(t) || is_integer(t);
  }
}

// A result that symbols do not decide.
constexpr std::nullopt_t kUnknown = std::nullopt;

// Division towards zero; by zero gives 0.
std::optional<Dim> truncated_div(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) {
    const std::int64_t x = a.value(), y = b.value();
    if (y == 0) return Dim(0);
    return Dim(y == -1 ? wrap_sub<std::int64_t>(0, x) : x / y);
  }
  if (b.is(0)) return Dim(0);
  if (!is_non_negative(b)) return kUnknown;
  if (is_non_negative(a)) return floor_div(a, b);
  return max(floor_div(a, b), min(ceil_div(a, b), Dim(0)));
}

std::optional<Dim> remainder(BinaryFn fn, const Dim& a, const Dim& b) {
  if (b.is(0)) return Dim(0);
  if (a.is_const() && b.is_const()) {
    if (b.is(-1)) return Dim(0);
    const std::int64_t r = a.value() % b.value();
    const bool fix = fn == BinaryFn::FloorMod && r != 0 && (r < 0) != (b.value() < 0);
    return Dim(fix ? r + b.value() : r);
  }
  if (fn == BinaryFn::FloorMod || (is_non_negative(a) && is_non_negative(b))) return mod(a, b);
  return kUnknown;
}

// a < b, where that holds (or not) for all sizes.
std::optional<bool> surely_less(const Dim& a, const Dim& b) {
  if (is_non_negative(b - a - Dim(1))) return true;
  if (is_non_negative(a - b)) return false;
  return kUnknown;
}

std::optional<Dim> compare(BinaryFn fn, const Dim& a, const Dim& b) {
  std::optional<bool> r;
  switch (fn) {
    case BinaryFn::Equal:
    case BinaryFn::NotEqual:
      if (a == b) {
        r = true;
      } else if (surely_less(a, b) == true || surely_less(b, a) == true) {
        r = false;
      }
      if (r && fn == BinaryFn::NotEqual) r = !*r;
      break;
    case BinaryFn::Less:
      r = surely_less(a, b);
      break;
    case BinaryFn::Greater:
      r = surely_less(b, a);
      break;
    case BinaryFn::GreaterEqual:
      if ((r = surely_less(a, b))) r = !*r;
      break;
    case BinaryFn::LessEqual:
      if ((r = surely_less(b, a))) r = !*r;
      break;
    default:
      break;
  }
  return r ? std::optional<Dim>(Dim(*r ? 1 : 0)) : kUnknown;
}

std::optional<Dim> symbolic(BinaryFn fn, const Dim& a, const Dim& b) {
  switch (fn) {
    case BinaryFn::Add:
      return a + b;
    case BinaryFn::Sub:
      return a - b;
    case BinaryFn::Mul:
      return a * b;
    case BinaryFn::Div:
      return truncated_div(a, b);
    case BinaryFn::FloorDiv:
      return b.is(0) ? Dim(0) : floor_div(a, b);
    case BinaryFn::FloorMod:
    case BinaryFn::Fmod:
      return remainder(fn, a, b);
    case BinaryFn::Min:
      return min(a, b);
    case BinaryFn::Max:
      return max(a, b);
    case BinaryFn::SquaredDifference:
      return (a - b) * (a - b);
    default:
      return is_comparison(fn) ? compare(fn, a, b) : kUnknown;
  }
}

// Sets `dims` (or, for comparisons, the value) of the output where sizes decide every element.
void fold_sizes(BinaryFn fn, InputFacts in, Fact& out) {
  if (!is_signed_integer(in[0]->dtype) || (in[0]->is_const() && in[1]->is_const())) return;
  bool known = true;
  Fact folded = out;
  folded.dtype = in[0]->dtype;
  try {
    fold_symbolic_elementwise(in, folded, [&](std::span<const Dim> x) {
      const auto r = symbolic(fn, x[0], x[1]);
      known = known && r.has_value();
      return r.value_or(Dim(0));
    });
  } catch (const Error&) {
    return;  // an expression that overflows is left to run time
  }
  if (!known || !folded.dims) return;
  if (!is_comparison(fn)) {
    out.dims = folded.dims;
    return;
  }
  Tensor value(DType::Bool, concrete(out.shape));
  auto elements = value.mutable_span<bool>();
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = !(*folded.dims)[i].is(0);
  out.value = std::make_shared<const Tensor>(std::move(value));
}

}  // namespace

std::string_view name_of(BinaryFn f) {
  return kNames[static_cast<std::size_t>(f)];
}

void Binary::visit(ParamVisitor& v) const {
  v.param("fn", name_of(fn));
}

std::vector<Fact> Binary::infer(InputFacts in) const {
  need_inputs(in, 2);
  const Fact& x = need(in, 0);
  const Fact& y = need(in, 1);
  check(accepts(fn, x.dtype), ErrorKind::Type, "input 0 'a': {} does not accept dtype {}",
        name_of(fn), name_of(x.dtype));
  const bool fits = fn == BinaryFn::Pow ? accepts(fn, y.dtype) : x.dtype == y.dtype;
  check(fits, ErrorKind::Type, "input 1 'b' has dtype {}, expected {} as input 0 'a'",
        name_of(y.dtype), name_of(x.dtype));
  Fact out = Fact::tensor(is_comparison(fn) ? DType::Bool : x.dtype, broadcast_shape(in));
  fold_sizes(fn, in, out);
  return {std::move(out)};
}

Cost Binary::cost(InputFacts, std::span<const Fact> out) const {
  return {elements(out[0].shape)};
}

std::optional<AxisChange> Binary::change_axes(InputFacts, std::span<const Fact>,
                                              const Perm& perm) const {
  return AxisChange{make_op<Binary>(*this), {perm, perm}};
}

}  // namespace treadle::ops
