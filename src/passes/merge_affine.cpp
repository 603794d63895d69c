// (x·a)·b → x·(a·b), (x+a)+b → x+(a+b), (x·a)/b, (x−a)+b and so on with constants a, b; and
// (x+a)·b → x·b + a·b. Shortens the chain, or moves an addition behind a multiplication, which may
// go into the weights before it.
//
// Only when the inner result has no other use, and a and b have at most one axis that is not 1; the
// last only where it keeps_digits.
#include "passes/channel_constant.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::Binary;
using ops::BinaryFn;

struct Step {
  BinaryFn fn;  // Add or Mul
  ValueId x;
  Tensor c;
};

// v = x ∘ c with a known c, subtraction and division turned into addition and multiplication.
std::optional<Step> step_of(const Graph& g, ValueId v) {
  const auto* op = made_by<Binary>(g, v);
  if (op == nullptr || !is_float(g.fact(v).dtype)) return std::nullopt;
  const ValueId a = input_of(g, v, 0), b = input_of(g, v, 1);
  const Tensor* ca = constant(g, a);
  const Tensor* cb = constant(g, b);
  if ((ca == nullptr) == (cb == nullptr)) return std::nullopt;
  const bool left = ca != nullptr;
  const Tensor& c = left ? *ca : *cb;
  const ValueId x = left ? b : a;
  if (!g.fact(x).same_type(g.fact(v))) return std::nullopt;
  switch (op->fn) {
    case BinaryFn::Add:
    case BinaryFn::Mul:
      return Step{op->fn, x, c};
    case BinaryFn::Sub:
      if (left) return std::nullopt;
      return Step{BinaryFn::Add, x, evaluate_constant(ops::Unary(ops::UnaryFn::Neg), {c})};
    case BinaryFn::Div: {
      const auto inverse = left ? std::nullopt : reciprocal(c);
      if (!inverse) return std::nullopt;
      return Step{BinaryFn::Mul, x, *inverse};
    }
    default:
      return std::nullopt;
  }
}

bool small(const Tensor& c) {
  int wide = 0;
  for (const std::int64_t d : c.shape()) wide += d != 1;
  return wide <= 1;
}

}  // namespace

std::optional<Patch> merge_affine(const Graph& g, const Node& n) {
  const ValueId out = output_of(n);
  if (!is_float(g.fact(out).dtype)) return std::nullopt;
  const bool known = constant(g, n.inputs[0]) != nullptr;
  const ValueId mid = n.inputs[known ? 1 : 0];
  if (made_by<Binary>(g, mid) == nullptr || !used_once(g, mid)) return std::nullopt;
  const auto outer = step_of(g, out);
  if (!outer) return std::nullopt;
  const auto inner = step_of(g, mid);
  if (!inner || !small(outer->c) || !small(inner->c)) return std::nullopt;
  if (outer->fn == BinaryFn::Add && inner->fn == BinaryFn::Mul) return std::nullopt;
  if (outer->fn != inner->fn && is_16_bit_float(g.fact(out).dtype)) return std::nullopt;

  const auto both = folded(outer->fn, inner->c, outer->c, Of::Elements);
  if (!both || !small(*both)) return std::nullopt;
  if (outer->fn != inner->fn && !keeps_digits(g, inner->x, *both)) return std::nullopt;
  Patch patch(g);
  ValueId made;
  if (outer->fn == inner->fn) {
    made = patch.add1(n.name, make_op<Binary>(outer->fn),
                      {inner->x, patch.constant(n.name + ".constant", *both)});
  } else {
    const ValueId product = patch.add1(n.name + ".scaled", make_op<Binary>(BinaryFn::Mul),
                                       {inner->x, patch.constant(n.name + ".scale", outer->c)});
    made = patch.add1(n.name, make_op<Binary>(BinaryFn::Add),
                      {product, patch.constant(n.name + ".shift", *both)});
  }
  return replacing(g, std::move(patch), out, made);
}

}  // namespace treadle::passes
