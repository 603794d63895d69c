#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/elementwise.hpp"
#include "cpu/translators.hpp"
#include "ops/binary.hpp"
#include "ops/unary.hpp"

namespace treadle::cpu {

using kernels::ElementwiseProgram;
using kernels::ElementwiseStep;
using kernels::Fn1;
using kernels::Fn2;

namespace {

std::optional<Fn1> fast_form(ops::UnaryFn fn) {
  switch (fn) {
#define TREADLE_FN1(name)  \
  case ops::UnaryFn::name: \
    return Fn1::name;
#include "kernels/math/functions.inc"
#undef TREADLE_FN1
    default:
      return std::nullopt;
  }
}

std::optional<Fn2> fast_form(ops::BinaryFn fn) {
  switch (fn) {
#define TREADLE_FN2(name)   \
  case ops::BinaryFn::name: \
    return Fn2::name;
#include "kernels/math/functions.inc"
#undef TREADLE_FN2
    default:
      return std::nullopt;
  }
}

// The value of a constant with one f32 element.
std::optional<float> one_value(const Tensor* t) {
  if (!t || t->dtype() != DType::F32 || t->elements() != 1) return std::nullopt;
  return t->span<float>()[0];
}

}  // namespace

std::optional<ElementwiseStep> elementwise_step(const Operator& op, int x, int y) {
  if (const auto* u = op.as<ops::Unary>()) {
    const auto fn = fast_form(u->fn);
    if (!fn || std::isnan(u->a) || std::isnan(u->b)) return std::nullopt;
    return ElementwiseStep::unary(*fn, x, static_cast<float>(u->a), static_cast<float>(u->b));
  }
  if (const auto* b = op.as<ops::Binary>()) {
    if (const auto fn = fast_form(b->fn)) return ElementwiseStep::binary(*fn, x, y);
  }
  return std::nullopt;
}

std::optional<ElementwiseStep> elementwise_step(const Graph& graph, const Node& node, int x,
                                                int y) {
  const auto step = elementwise_step(*node.op, x, y);
  const bool is_square = step && !step->is_unary && step->fn2 == Fn2::Pow &&
                         one_value(graph.fact(node.inputs[1]).value.get()) == 2.0f;
  return is_square ? ElementwiseStep::unary(Fn1::Square, x) : step;
}

KernelPtr elementwise_kernel(std::string_view name, ElementwiseProgram program) {
  return kernel(name, [program = std::move(program)](const BindContext& ctx) {
    std::vector<Shape> shapes;
    for (const TensorView* in : ctx.in) shapes.push_back(in->shape);
    kernels::BoundElementwise run(program, ctx.out[0]->shape, shapes);
    return bound([run = std::move(run)](RunContext& c) {
      const float* in[ElementwiseProgram::kMaxInputs];
      for (std::size_t i = 0; i < c.in.size(); ++i) in[i] = c.in[i]->as<const float>();
      run.run({in, c.in.size()}, c.out[0]->as<float>(), c.parallel);
    });
  });
}

Translation translate_unary(const TranslateContext& ctx) {
  if (ctx.in(0).dtype != DType::F32 || ctx.out().dtype != DType::F32) return {};
  const auto step = elementwise_step(*ctx.node.op, 0);
  if (!step) return {};
  return {elementwise_kernel("unary_f32", ElementwiseProgram(1, {*step})), 0};
}

Translation translate_binary(const TranslateContext& ctx) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (ctx.in(i).dtype != DType::F32) return {};
  }
  if (ctx.out().dtype != DType::F32) return {};
  const auto step = elementwise_step(ctx.graph, ctx.node, 0, 1);
  if (!step) return {};
  const int inplace = ctx.in(0).shape == ctx.out().shape ? 0 : -1;
  return {elementwise_kernel("binary_f32", ElementwiseProgram(2, {*step})), inplace};
}

ChainLimits chain_limits() {
  return {ElementwiseProgram::kMaxInputs, ElementwiseProgram::kMaxSteps,
          [](const Operator& op, DType dtype, bool) {
            return dtype == DType::F32 && elementwise_step(op, 0);
          }};
}

Translation translate_chain(const TranslateContext& ctx) {
  const Chain& chain = *ctx.chain;
  const int inputs = static_cast<int>(chain.inputs.size());
  std::vector<ElementwiseStep> steps;
  int before = 0;
  for (const Chain::Link& link : chain.links) {
    const int x = link.operand_first ? link.operand : before;
    const int y = link.operand_first ? before : link.operand;
    steps.push_back(elementwise_step(ctx.graph, ctx.graph.node(link.node), x, y).value());
    before = inputs + static_cast<int>(steps.size()) - 1;
  }
  // What the graph computes rather than holds, of the result's size.
  const auto reusable = std::ranges::find_if(chain.inputs, [&](ValueId v) {
    return ctx.graph.fact(v).shape == ctx.out().shape && !ctx.graph.fact(v).value;
  });
  const auto inplace = static_cast<int>(reusable - chain.inputs.begin());
  return {elementwise_kernel("chain_f32", ElementwiseProgram(inputs, std::move(steps))),
          inplace < inputs ? inplace : -1};
}

}  // namespace treadle::cpu
