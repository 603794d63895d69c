// If, Loop.
#include "ops/control.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "formats/control.hpp"
#include "formats/onnx/ops/control_bodies.hpp"
#include "formats/options.hpp"
#include "graph/basic_ops.hpp"
#include "ops/build.hpp"
#include "ops/failure.hpp"
#include "ops/shape_of.hpp"
#include "ops/unify.hpp"

namespace treadle::onnx {
namespace {

using formats::Carried;
using formats::known_truth;
using ops::SymbolNames;

// Both branches of an If. One that does not fit the sizes at hand (it is written for others) gives
// what the other one does, and fails when it is taken. Throws when neither fits.
std::pair<Body, Body> both_branches(NodeContext& c) {
  std::optional<Error> why;
  auto a = c.try_body("then_branch", {}, why);
  std::optional<Error> why_not;
  auto b = c.try_body("else_branch", {}, why_not);
  if (!a && !b) throw *why;
  const auto failing = [](const Graph& other, const Error& error) {
    std::vector<Fact> facts;
    for (ValueId v : other.outputs()) facts.push_back(ops::type_only(other.fact(v)));
    Body body{std::make_shared<Graph>(), {}};
    body.graph->limits = other.limits;
    auto outputs = body.graph->add("unfit", make_op<ops::Failure>(error, std::move(facts)), {});
    body.graph->set_outputs(std::move(outputs), other.output_names());
    return body;
  };
  if (!a) a = failing(*b->graph, *why);
  if (!b) b = failing(*a->graph, *why_not);
  return {*std::move(a), *std::move(b)};
}

// Whether the value follows from sizes alone, whatever the elements of inputs are.
bool follows_from_sizes(const Graph& g, ValueId value) {
  std::vector<NodeId> pending{value.node};
  std::set<NodeId> seen(pending.begin(), pending.end());
  while (!pending.empty()) {
    const Node& n = g.node(pending.back());
    pending.pop_back();
    if (n.op->as<Source>() || !n.op->pure()) return false;
    if (n.op->as<ops::ShapeOf>() || n.op->as<ops::SizeOf>()) continue;
    for (ValueId v : n.inputs)
      if (v.present() && seen.insert(v.node).second) pending.push_back(v.node);
  }
  return true;
}

// Throws NeedsSizes when the branches' outputs differ in rank and sizes would tell which it is.
void check_ranks(const Graph& outer, ValueId condition, const Graph& a, const Graph& b) {
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const Fact &f = a.fact(a.outputs()[k]), &other = b.fact(b.outputs()[k]);
    const bool same = f.kind != Fact::Kind::Tensor || other.kind != Fact::Kind::Tensor ||
                      f.rank() == other.rank();
    if (same || !follows_from_sizes(outer, condition)) continue;
    throw formats::NeedsSizes(
        fmt::format("output {} is {} or {}: which, follows from the sizes of the model's inputs; "
                    "give them (--shape)",
                    k, f.str(), other.str()));
  }
}

// How often a Loop's body runs, when that is known.
Dim trip_count(NodeContext& c, const Body& body) {
  const Graph& g = *body.graph;
  const auto start = c.has(1) ? known_truth(c.fact(1)) : std::optional(true);
  const ValueId condition = g.outputs()[0];
  const bool goes_on = condition == g.inputs()[1] || known_truth(g.fact(condition)) == true;
  if (start == false) return 0;
  if (start == true && goes_on && c.has(0)) {
    const auto count = c.symbolic(0);
    if (count && count->size() == 1) {
      if (const auto n = (*count)[0].as_const()) return std::max<std::int64_t>(*n, 0);
      return max((*count)[0], Dim(0));
    }
  }
  return c.graph().fresh_symbol(c.name() + ".trips");
}

}  // namespace

std::vector<ValueId> import_if(NodeContext& c) {
  const ValueId condition = c.in(0);
  const Fact& f = c.fact(0);
  check(f.kind == Fact::Kind::Tensor && f.dtype == DType::Bool, ErrorKind::Type,
        "the condition is {}, expected bool", f.str());
  if (const auto known = known_truth(f)) {
    return c.inline_body(*known ? "then_branch" : "else_branch", {});
  }
  auto [then_body, else_body] = both_branches(c);
  const Graph& a = *then_body.graph;
  const Graph& b = *else_body.graph;
  check(a.outputs().size() == b.outputs().size(), ErrorKind::Parse,
        "then_branch gives {} outputs, else_branch {}", a.outputs().size(), b.outputs().size());
  check_ranks(c.graph(), condition, a, b);
  auto [op, inputs] =
      formats::make_if(c.graph(), c.name(), condition, std::move(then_body), std::move(else_body));
  return c.add(std::move(op), std::move(inputs));
}

std::vector<ValueId> import_loop(NodeContext& c) {
  const auto [body_inputs, body_outputs] = c.body_arity("body");
  const std::size_t n = std::max<std::size_t>(c.inputs(), 2) - 2;
  check(body_inputs == n + 2, ErrorKind::Parse, "the body has {} inputs, expected {}", body_inputs,
        n + 2);
  check(body_outputs >= n + 1, ErrorKind::Parse, "the body has {} outputs, expected {} or more",
        body_outputs, n + 1);
  Carried carried;
  for (std::size_t k = 0; k < n; ++k) carried.facts.push_back(ops::type_only(c.fact(k + 2)));
  // Both are rank 0, or 1 where an old model makes them so; the body sees scalars.
  const Body body =
      import_widened(c, body_maker(c),
                     {Fact::tensor(DType::I64, {}), Fact::tensor(DType::Bool, {})}, carried, {}, 1);
  SymbolNames visible = visible_symbols(c, body);
  auto op = std::make_shared<ops::Loop>();
  op->carried = static_cast<std::int64_t>(n);
  op->facts = carried_outputs(c, carried, visible);
  if (body_outputs > n + 1) {
    const Dim trips = trip_count(c, body);
    for (std::size_t k = n; k + 1 < body_outputs; ++k) {
      const Fact& f = body.graph->fact(body.graph->outputs()[k + 1]);
      check(f.kind == Fact::Kind::Tensor, ErrorKind::Type,
            "scan output {} is {}, expected a tensor", k - n, f.str());
      Fact out = ops::outward(f, c.graph(), visible, fmt::format("{}:{}", c.name(), k));
      out.shape.insert(out.shape.begin(), trips);
      op->facts.push_back(std::move(out));
    }
  }
  op->body = body.graph;
  std::vector<ValueId> inputs{c.has(0) ? c.in(0) : ValueId{}, c.has(1) ? c.in(1) : ValueId{}};
  for (std::size_t k = 0; k < n; ++k) inputs.push_back(c.in(k + 2));
  inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  return c.add(std::move(op), std::move(inputs));
}

}  // namespace treadle::onnx
