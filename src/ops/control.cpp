#include "ops/control.hpp"

#include <limits>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "ops/stack.hpp"
#include "tensor/limit.hpp"

namespace treadle::ops {
namespace {

std::vector<std::string> texts(const std::vector<Fact>& facts) {
  std::vector<std::string> out;
  for (const Fact& f : facts) out.push_back(f.str());
  return out;
}

void check_body(const Graph& body, std::size_t inputs, std::size_t outputs, const char* what) {
  check(body.inputs().size() == inputs, ErrorKind::Shape, "{} takes {} inputs, got {}", what,
        body.inputs().size(), inputs);
  check(body.outputs().size() == outputs, ErrorKind::Shape, "{} gives {} outputs, expected {}",
        what, body.outputs().size(), outputs);
}

// A Bool of one element.
bool truth(const Value& v, const char* what) {
  const Tensor& t = v.tensor();
  check(t.dtype() == DType::Bool && t.elements() == 1, ErrorKind::Type,
        "{} is {}{}, expected one bool", what, name_of(t.dtype()), t.shape().str());
  return t.span<bool>()[0];
}

std::vector<Value> run_body(EvalContext& ctx, std::size_t which, std::vector<Value> inputs,
                            std::size_t outputs) {
  std::vector<Value> out = ctx.run_subgraph(which, std::move(inputs));
  check(out.size() == outputs, ErrorKind::Internal, "a body gave {} outputs, expected {}",
        out.size(), outputs);
  return out;
}

// The shape of a stacked output when nothing was stacked.
Shape empty_shape(EvalContext& ctx, const Fact& fact, std::size_t axis) {
  Shape shape;
  for (std::size_t i = 0; i < fact.shape.size(); ++i) {
    std::int64_t size = 0;
    if (i != axis) {
      try {
        size = ctx.value_of(fact.shape[i]);
      } catch (Error&) {
        // Only an iteration would tell.
        size = 0;
      }
    }
    shape.push_back(size);
  }
  return shape;
}

// What a Loop's body takes as an optional, but an iteration gave itself.
Value as_carried(const Fact& wanted, Value v) {
  const bool wrap = wanted.kind == Fact::Kind::Optional && v.kind() != Value::Kind::Optional;
  return wrap ? Value::optional(std::move(v)) : v;
}

// A carried value after the last iteration; an optional that no iteration replaced must hold one.
Value as_final(const Fact& wanted, Value v, std::size_t k) {
  const bool open = wanted.kind != Fact::Kind::Optional && v.kind() == Value::Kind::Optional;
  if (!open) return v;
  check(v.held() != nullptr, ErrorKind::Shape,
        "loop-carried value {} is an empty optional, and no iteration ran", k);
  return *v.held();
}

}  // namespace

void If::visit(ParamVisitor& v) const {
  v.param("then", *then_branch);
  v.param("else", *else_branch);
  v.param("facts", texts(facts));
}

std::vector<Fact> If::infer(InputFacts in) const {
  check(!in.empty() && in[0], ErrorKind::Shape, "the condition is missing");
  check(in[0]->kind == Fact::Kind::Tensor && in[0]->dtype == DType::Bool, ErrorKind::Type,
        "the condition is {}, expected bool", in[0]->str());
  check_body(*then_branch, in.size() - 1, facts.size(), "then_branch");
  check_body(*else_branch, in.size() - 1, facts.size(), "else_branch");
  return facts;
}

void If::eval(EvalContext& ctx) const {
  const bool taken = truth(ctx.input_value(0), "the condition");
  std::vector<Value> inputs;
  for (std::size_t i = 1; i < ctx.inputs(); ++i) inputs.push_back(ctx.input_value(i));
  auto out = run_body(ctx, taken ? 0 : 1, std::move(inputs), facts.size());
  for (std::size_t k = 0; k < out.size(); ++k) ctx.set_output(k, std::move(out[k]));
}

OperatorPtr If::with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const {
  check(graphs.size() == 2, ErrorKind::Internal, "If has 2 subgraphs, got {}", graphs.size());
  auto op = std::make_shared<If>(*this);
  op->then_branch = std::move(graphs[0]);
  op->else_branch = std::move(graphs[1]);
  return op;
}

void Loop::visit(ParamVisitor& v) const {
  v.param("body", *body);
  v.param("carried", carried);
  v.param("facts", texts(facts));
}

std::vector<Fact> Loop::infer(InputFacts in) const {
  check(carried >= 0 && static_cast<std::size_t>(carried) <= facts.size() &&
            in.size() >= static_cast<std::size_t>(carried) + 2,
        ErrorKind::Shape, "{} inputs do not fit {} carried values", in.size(), carried);
  check(!in[0] || in[0]->dtype == DType::I64, ErrorKind::Type, "the trip count is {}, expected i64",
        in[0] ? in[0]->str() : "");
  check(!in[1] || in[1]->dtype == DType::Bool, ErrorKind::Type,
        "the condition is {}, expected bool", in[1] ? in[1]->str() : "");
  check_body(*body, in.size(), facts.size() + 1, "the body");
  return facts;
}

void Loop::eval(EvalContext& ctx) const {
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  if (ctx.input(0)) {
    const auto count = ctx.input_value(0).tensor().to_i64();
    check(count.size() == 1, ErrorKind::Shape, "the trip count has {} elements, expected 1",
          count.size());
    trips = count[0];
  }
  bool go_on = !ctx.input(1) || truth(ctx.input_value(1), "the condition");
  const auto n = static_cast<std::size_t>(carried);
  std::vector<Value> state, captured;
  for (std::size_t i = 2; i < ctx.inputs(); ++i) {
    (i < n + 2 ? state : captured).push_back(ctx.input_value(i));
  }
  std::vector<Stack> stacks(facts.size() - n);
  for (std::int64_t i = 0; i < trips && go_on; ++i) {
    WorkLimit::count_iteration();
    std::vector<Value> inputs{Tensor::scalar<std::int64_t>(i), Tensor::scalar<bool>(go_on)};
    for (std::size_t k = 0; k < n; ++k) {
      inputs.push_back(as_carried(body->fact(body->inputs()[k + 2]), std::move(state[k])));
    }
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    state.clear();
    auto out = run_body(ctx, 0, std::move(inputs), facts.size() + 1);
    go_on = truth(out[0], "the body's condition");
    for (std::size_t k = 0; k < n; ++k) state.push_back(std::move(out[k + 1]));
    for (std::size_t k = 0; k < stacks.size(); ++k) stacks[k].push(out[n + 1 + k].tensor());
  }
  for (std::size_t k = 0; k < n; ++k) {
    ctx.set_output(k, as_final(facts[k], std::move(state[k]), k));
  }
  for (std::size_t k = 0; k < stacks.size(); ++k) {
    const Fact& f = facts[n + k];
    ctx.set_output(n + k, stacks[k].empty() ? Tensor(f.dtype, empty_shape(ctx, f, 0))
                                            : stacks[k].take(0, false));
  }
}

OperatorPtr Loop::with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const {
  check(graphs.size() == 1, ErrorKind::Internal, "Loop has 1 subgraph, got {}", graphs.size());
  auto op = std::make_shared<Loop>(*this);
  op->body = std::move(graphs[0]);
  return op;
}

void Scan::visit(ParamVisitor& v) const {
  v.param("body", *body);
  v.param("states", states);
  v.param("input_axes", input_axes);
  v.param("input_reversed", input_reversed);
  v.param("output_axes", output_axes);
  v.param("output_reversed", output_reversed);
  v.param("facts", texts(facts));
}

std::vector<Fact> Scan::infer(InputFacts in) const {
  const std::size_t scanned = input_axes.size();
  check(states >= 0 && in.size() >= static_cast<std::size_t>(states) + scanned && scanned > 0,
        ErrorKind::Shape, "{} inputs do not fit {} states and {} scanned inputs", in.size(), states,
        scanned);
  check(input_reversed.size() == scanned && output_reversed.size() == output_axes.size() &&
            static_cast<std::size_t>(states) + output_axes.size() == facts.size(),
        ErrorKind::Shape, "axes and directions do not fit {} outputs", facts.size());
  for (std::size_t i = 0; i < scanned; ++i) {
    const Fact* f = in[static_cast<std::size_t>(states) + i];
    check(f && f->kind == Fact::Kind::Tensor && input_axes[i] >= 0 && input_axes[i] < f->rank(),
          ErrorKind::Shape, "scanned input {} has no axis {}", i, input_axes[i]);
  }
  for (std::size_t k = 0; k < output_axes.size(); ++k) {
    const Fact& f = facts[static_cast<std::size_t>(states) + k];
    check(output_axes[k] >= 0 && output_axes[k] < f.rank(), ErrorKind::Shape,
          "scan output {} has no axis {}", k, output_axes[k]);
  }
  check_body(*body, in.size(), facts.size(), "the body");
  return facts;
}

void Scan::eval(EvalContext& ctx) const {
  const auto n = static_cast<std::size_t>(states);
  const std::size_t scanned = input_axes.size();
  std::vector<Value> state, captured;
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < ctx.inputs(); ++i) {
    if (i < n)
      state.push_back(ctx.input_value(i));
    else if (i < n + scanned)
      rows.push_back(ctx.input_value(i).tensor());
    else
      captured.push_back(ctx.input_value(i));
  }
  std::int64_t steps = -1;
  for (std::size_t i = 0; i < scanned; ++i) {
    const Shape& shape = rows[i].shape();
    check(input_axes[i] < shape.rank(), ErrorKind::Shape,
          "scanned input {} has shape {}, no axis {}", i, shape.str(), input_axes[i]);
    const std::int64_t size = shape[static_cast<std::size_t>(input_axes[i])];
    check(steps < 0 || size == steps, ErrorKind::Shape,
          "scanned input {} has {} steps on axis {}, the first has {}", i, size, input_axes[i],
          steps);
    steps = size;
  }
  std::vector<Stack> stacks(facts.size() - n);
  for (std::int64_t t = 0; t < steps; ++t) {
    WorkLimit::count_iteration();
    std::vector<Value> inputs = std::move(state);
    state.clear();
    for (std::size_t i = 0; i < scanned; ++i) {
      const std::int64_t at = input_reversed[i] ? steps - 1 - t : t;
      inputs.push_back(slice_at(rows[i], static_cast<int>(input_axes[i]), at));
    }
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    auto out = run_body(ctx, 0, std::move(inputs), facts.size());
    for (std::size_t k = 0; k < n; ++k) state.push_back(std::move(out[k]));
    for (std::size_t k = 0; k < stacks.size(); ++k) stacks[k].push(out[n + k].tensor());
  }
  for (std::size_t k = 0; k < n; ++k) ctx.set_output(k, std::move(state[k]));
  for (std::size_t k = 0; k < stacks.size(); ++k) {
    const Fact& f = facts[n + k];
    const auto axis = static_cast<std::size_t>(output_axes[k]);
    ctx.set_output(n + k, stacks[k].empty()
                              ? Tensor(f.dtype, empty_shape(ctx, f, axis))
                              : stacks[k].take(static_cast<int>(axis), output_reversed[k] != 0));
  }
}

OperatorPtr Scan::with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const {
  check(graphs.size() == 1, ErrorKind::Internal, "Scan has 1 subgraph, got {}", graphs.size());
  auto op = std::make_shared<Scan>(*this);
  op->body = std::move(graphs[0]);
  return op;
}

}  // namespace treadle::ops
