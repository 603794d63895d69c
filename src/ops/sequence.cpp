#include "ops/sequence.hpp"

#include "base/error.hpp"
#include "ops/stack.hpp"

namespace treadle::ops {
namespace {

const Fact& sequence_input(InputFacts in, std::size_t i) {
  check(i < in.size() && in[i], ErrorKind::Shape, "input {} is missing", i);
  check(in[i]->kind == Fact::Kind::Sequence, ErrorKind::Type, "input {} is {}, expected a sequence",
        i, in[i]->str());
  return *in[i];
}

void position_input(InputFacts in, std::size_t i) {
  if (i >= in.size() || !in[i]) return;
  check(in[i]->kind == Fact::Kind::Tensor && is_integer(in[i]->dtype), ErrorKind::Type,
        "the position is {}, expected an integer", in[i]->str());
}

void same_element(const Fact& value, const Fact& element) {
  check(value.kind == element.kind && value.dtype == element.dtype, ErrorKind::Type,
        "value is {}, the elements are {}", value.str(), element.str());
}

// A position in [0, limit), from one that may count from the end.
std::size_t position(EvalContext& ctx, std::size_t input, std::int64_t size, std::int64_t limit) {
  const auto v = ctx.input_value(input).tensor().to_i64();
  check(v.size() == 1, ErrorKind::Shape, "the position has {} elements, expected 1", v.size());
  const std::int64_t at = v[0] < 0 ? v[0] + size : v[0];
  check(at >= 0 && at < limit, ErrorKind::Shape, "position {} is outside a sequence of {} elements",
        v[0], size);
  return static_cast<std::size_t>(at);
}

std::int64_t length(const std::vector<Value>& items) {
  return static_cast<std::int64_t>(items.size());
}

}  // namespace

void SequenceConstruct::visit(ParamVisitor& v) const {
  v.param("element", element.str());
}

std::vector<Fact> SequenceConstruct::infer(InputFacts in) const {
  for (std::size_t i = 0; i < in.size(); ++i) {
    check(in[i] != nullptr, ErrorKind::Shape, "input {} is missing", i);
    same_element(*in[i], element);
  }
  return {Fact::sequence(element)};
}

void SequenceConstruct::eval(EvalContext& ctx) const {
  std::vector<Value> items;
  for (std::size_t i = 0; i < ctx.inputs(); ++i) items.push_back(ctx.input_value(i));
  ctx.set_output(0, Value::sequence(std::move(items)));
}

void SequenceAt::visit(ParamVisitor& v) const {
  v.param("fact", fact.str());
}

std::vector<Fact> SequenceAt::infer(InputFacts in) const {
  sequence_input(in, 0);
  position_input(in, 1);
  return {fact};
}

void SequenceAt::eval(EvalContext& ctx) const {
  const auto& items = ctx.input_value(0).items();
  ctx.set_output(0, items[position(ctx, 1, length(items), length(items))]);
}

void SequenceInsert::visit(ParamVisitor& v) const {
  v.param("element", element.str());
}

std::vector<Fact> SequenceInsert::infer(InputFacts in) const {
  sequence_input(in, 0);
  check(in.size() >= 2 && in[1], ErrorKind::Shape, "input 1 is missing");
  same_element(*in[1], element);
  position_input(in, 2);
  return {Fact::sequence(element)};
}

void SequenceInsert::eval(EvalContext& ctx) const {
  std::vector<Value> items = ctx.input_value(0).items();
  const std::int64_t n = length(items);
  const bool given = ctx.inputs() > 2 && ctx.input(2);
  const auto at = given ? position(ctx, 2, n, n + 1) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), ctx.input_value(1));
  ctx.set_output(0, Value::sequence(std::move(items)));
}

void SequenceErase::visit(ParamVisitor&) const {}

std::vector<Fact> SequenceErase::infer(InputFacts in) const {
  const Fact& s = sequence_input(in, 0);
  position_input(in, 1);
  return {Fact::sequence(*s.element)};
}

void SequenceErase::eval(EvalContext& ctx) const {
  std::vector<Value> items = ctx.input_value(0).items();
  const std::int64_t n = length(items);
  check(n > 0, ErrorKind::Shape, "the sequence is empty");
  const bool given = ctx.inputs() > 1 && ctx.input(1);
  const auto at = given ? position(ctx, 1, n, n) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  ctx.set_output(0, Value::sequence(std::move(items)));
}

void SequenceLength::visit(ParamVisitor&) const {}

std::vector<Fact> SequenceLength::infer(InputFacts in) const {
  sequence_input(in, 0);
  return {Fact::tensor(DType::I64, {})};
}

void SequenceLength::eval(EvalContext& ctx) const {
  *ctx.output(0).as<std::int64_t>() = length(ctx.input_value(0).items());
}

void SplitToSequence::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("keep_dims", keep_dims);
  v.param("element", element.str());
}

std::vector<Fact> SplitToSequence::infer(InputFacts in) const {
  check(!in.empty() && in[0] && in[0]->kind == Fact::Kind::Tensor, ErrorKind::Type,
        "input 0 must be a tensor");
  check(axis >= 0 && axis < in[0]->rank(), ErrorKind::Shape, "input {} has no axis {}",
        in[0]->str(), axis);
  position_input(in, 1);
  check(in.size() < 2 || !in[1] || in[1]->rank() <= 1, ErrorKind::Shape,
        "split is {}, expected a scalar or a vector", in.size() > 1 && in[1] ? in[1]->str() : "");
  return {Fact::sequence(element)};
}

void SplitToSequence::eval(EvalContext& ctx) const {
  const Tensor& x = ctx.input_value(0).tensor();
  const std::int64_t size = x.shape()[static_cast<std::size_t>(axis)];
  const bool given = ctx.inputs() > 1 && ctx.input(1);
  std::vector<std::int64_t> sizes;
  if (given && ctx.input(1)->shape.rank() == 1) {
    sizes = ctx.input_value(1).tensor().to_i64();
  } else {
    const std::int64_t part = given ? ctx.input_value(1).tensor().to_i64().at(0) : 1;
    check(part > 0, ErrorKind::Shape, "split is {}, expected a positive size", part);
    for (std::int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
  }
  std::int64_t at = 0;
  std::vector<Value> items;
  for (const std::int64_t n : sizes) {
    check(n >= 0 && n <= size - at, ErrorKind::Shape, "split sizes do not fit axis {} of {}", axis,
          x.shape().str());
    if (!given && !keep_dims) {
      items.emplace_back(slice_at(x, static_cast<int>(axis), at));
    } else {
      items.emplace_back(slice_range(x, static_cast<int>(axis), at, n));
    }
    at += n;
  }
  check(at == size, ErrorKind::Shape, "split sizes add up to {}, axis {} has {}", at, axis, size);
  ctx.set_output(0, Value::sequence(std::move(items)));
}

void ConcatFromSequence::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("new_axis", new_axis);
  v.param("fact", fact.str());
}

std::vector<Fact> ConcatFromSequence::infer(InputFacts in) const {
  const Fact& s = sequence_input(in, 0);
  check(s.element->kind == Fact::Kind::Tensor && s.dtype == fact.dtype, ErrorKind::Type,
        "input is {}, expected a sequence of {} tensors", s.str(), name_of(fact.dtype));
  return {fact};
}

void ConcatFromSequence::eval(EvalContext& ctx) const {
  const auto& items = ctx.input_value(0).items();
  check(!items.empty(), ErrorKind::Shape, "the sequence is empty");
  std::vector<Tensor> parts;
  for (const Value& v : items) {
    const Tensor& t = v.tensor();
    if (!new_axis) {
      parts.push_back(t);
      continue;
    }
    Shape shape = t.shape();
    check(axis <= shape.rank(), ErrorKind::Shape, "axis {} does not fit shape {}", axis,
          shape.str());
    shape.insert(static_cast<int>(axis), 1);
    parts.push_back(t.reshaped(shape));
  }
  ctx.set_output(0, concat(parts, static_cast<int>(axis)));
}

void OptionalConstruct::visit(ParamVisitor& v) const {
  v.param("element", element.str());
}

std::vector<Fact> OptionalConstruct::infer(InputFacts in) const {
  if (!in.empty() && in[0]) same_element(*in[0], element);
  return {Fact::optional(element)};
}

void OptionalConstruct::eval(EvalContext& ctx) const {
  const bool given = ctx.inputs() > 0 && ctx.input(0);
  ctx.set_output(0, Value::optional(given ? std::optional(ctx.input_value(0)) : std::nullopt));
}

void OptionalHasElement::visit(ParamVisitor&) const {}

std::vector<Fact> OptionalHasElement::infer(InputFacts) const {
  return {Fact::tensor(DType::Bool, {})};
}

void OptionalHasElement::eval(EvalContext& ctx) const {
  bool has = ctx.inputs() > 0 && ctx.input(0);
  if (has && ctx.input_value(0).kind() == Value::Kind::Optional) has = ctx.input_value(0).held();
  *ctx.output(0).as<bool>() = has;
}

void OptionalGetElement::visit(ParamVisitor& v) const {
  v.param("fact", fact.str());
}

std::vector<Fact> OptionalGetElement::infer(InputFacts in) const {
  check(!in.empty() && in[0] && in[0]->kind == Fact::Kind::Optional, ErrorKind::Type,
        "input 0 must be an optional");
  return {fact};
}

void OptionalGetElement::eval(EvalContext& ctx) const {
  const Value* held = ctx.input_value(0).held();
  check(held != nullptr, ErrorKind::Shape, "the optional is empty");
  ctx.set_output(0, *held);
}

}  // namespace treadle::ops
