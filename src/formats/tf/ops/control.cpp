// Functional control flow, and calls. (Frames and Switch are read by scope.cpp.)
#include <algorithm>

#include "base/error.hpp"
#include "formats/tf/loops.hpp"
#include "formats/tf/ops/operators.hpp"

namespace treadle::tf {

// Nodes of TensorFlow 1 control flow do not come here.
std::vector<ValueId> import_frame(NodeContext& c) {
  fail(ErrorKind::Internal, "{} is read without its loop or condition", c.node().op);
}

std::vector<ValueId> import_call(NodeContext& c) {
  return c.functions().call(c.function_attr("f"), c.builder(), c.given());
}

std::vector<ValueId> import_while(NodeContext& c) {
  const std::string_view cond = c.function_attr("cond"), body = c.function_attr("body");
  LoopParts parts;
  parts.name = c.fresh_name();
  parts.init = c.given();
  parts.condition = [&](Builder& b, std::span<const ValueId> v) {
    return c.functions().call(cond, b, v);
  };
  parts.step = [&](Builder& b, std::span<const ValueId> v) {
    return c.functions().call(body, b, v);
  };
  return add_loop(c.builder(), c.functions(), parts);
}

std::vector<ValueId> import_function_if(NodeContext& c) {
  const std::string_view then_f = c.function_attr("then_branch"),
                         else_f = c.function_attr("else_branch");
  Graph& g = c.graph();
  ValueId condition = c.in(0);
  check(c.fact(0).rank() == 0 && c.fact(0).dtype != DType::String, ErrorKind::Unsupported,
        "input 0 'cond' is {}, expected a bool or a number", c.fact(0).str());
  condition = ops::cast(g, c.fresh_name(), condition, DType::Bool);
  const std::vector<ValueId> arguments(c.given().begin() + 1, c.given().end());
  if (const auto known = formats::known_truth(g.fact(condition)))
    return c.functions().call(*known ? then_f : else_f, c.builder(), arguments);
  const auto body = [&](std::string_view function) {
    return c.functions().body(c.builder(), {}, [&](Builder& b, std::span<const ValueId>) {
      std::vector<ValueId> captured;
      for (ValueId v : arguments) captured.push_back(b.capture(v));
      return c.functions().call(function, b, captured);
    });
  };
  auto then_body = body(then_f), else_body = body(else_f);
  check(then_body.graph->outputs().size() == else_body.graph->outputs().size(), ErrorKind::Parse,
        "then_branch gives {} outputs, else_branch {}", then_body.graph->outputs().size(),
        else_body.graph->outputs().size());
  const std::string name = c.fresh_name();
  auto [op, inputs] =
      formats::make_if(g, name, condition, std::move(then_body), std::move(else_body));
  return g.add(name, std::move(op), std::move(inputs));
}

namespace {

// Calls the function of `functions` that the index chooses, which is `first` for the first one, or
// lower, and any higher one for the last. Each If halves them: n nest log2 n deep.
std::vector<ValueId> choose(NodeContext& c, Builder& b, ValueId index,
                            std::span<const ValueId> arguments,
                            std::span<const std::string_view> functions, std::int32_t first) {
  if (functions.size() == 1) return c.functions().call(functions[0], b, arguments);
  Graph& g = b.graph;
  const std::size_t half = functions.size() / 2;
  const std::int32_t middle = first + static_cast<std::int32_t>(half);
  const std::string name = fmt::format("{}/{}", c.name(), middle);
  const ValueId condition = ops::binary(g, name, ops::BinaryFn::Less, index,
                                        g.add_constant(name, Tensor::scalar<std::int32_t>(middle)));
  const auto body = [&](std::span<const std::string_view> some, std::int32_t from) {
    return c.functions().body(b, {}, [&](Builder& inner, std::span<const ValueId>) {
      std::vector<ValueId> captured;
      for (ValueId v : arguments) captured.push_back(inner.capture(v));
      return choose(c, inner, inner.capture(index), captured, some, from);
    });
  };
  auto then_body = body(functions.first(half), first),
       else_body = body(functions.subspan(half), middle);
  check(then_body.graph->outputs().size() == else_body.graph->outputs().size(), ErrorKind::Parse,
        "branch {} gives {} outputs, branch {} {}", first, then_body.graph->outputs().size(),
        middle, else_body.graph->outputs().size());
  auto [op, inputs] =
      formats::make_if(g, name, condition, std::move(then_body), std::move(else_body));
  return g.add(name, std::move(op), std::move(inputs));
}

}  // namespace

// The last branch stands for every index outside.
std::vector<ValueId> import_case(NodeContext& c) {
  const AttrValue* branches = c.attr("branches");
  check(branches && branches->kind == AttrValue::Kind::List && !branches->strings.empty(),
        ErrorKind::Parse, "attribute 'branches' lists no functions");
  check(c.fact(0).rank() == 0 && c.fact(0).dtype == DType::I32, ErrorKind::Shape,
        "input 0 'branch_index' is {}, expected an i32", c.fact(0).str());
  const std::vector<ValueId> arguments(c.given().begin() + 1, c.given().end());
  if (const auto& known = c.fact(0).value) {
    const auto at = static_cast<std::size_t>(known->span<std::int32_t>()[0]);  // wraps if negative
    const std::size_t chosen = std::min(at, branches->strings.size() - 1);
    return c.functions().call(branches->strings[chosen], c.builder(), arguments);
  }
  const auto last = static_cast<double>(branches->strings.size() - 1);
  const ValueId below = c.binary(ops::BinaryFn::Less, c.in(0), c.scalar(0, c.in(0)));
  const ValueId index = c.select(below, c.scalar(last, c.in(0)), c.in(0));
  return choose(c, c.builder(), index, arguments, branches->strings, 0);
}

}  // namespace treadle::tf
