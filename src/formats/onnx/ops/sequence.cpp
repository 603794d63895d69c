// Sequences and optionals.
#include "ops/sequence.hpp"

#include <array>

#include "base/error.hpp"
#include "formats/onnx/importer.hpp"
#include "formats/onnx/ops/control_bodies.hpp"
#include "formats/onnx/types.hpp"
#include "ops/build.hpp"
#include "ops/control.hpp"
#include "ops/unify.hpp"

namespace treadle::onnx {
namespace {

const Fact& sequence_fact(NodeContext& c, std::size_t i) {
  const Fact& f = c.fact(i);
  check(f.kind == Fact::Kind::Sequence, ErrorKind::Type, "input {} is {}, expected a sequence", i,
        f.str());
  return f;
}

// The type of a value taken out of a container.
Fact taken_out(NodeContext& c, const Fact& element) {
  check(element.kind != Fact::Kind::Tensor || !(element.shape == ops::unknown_shape()),
        ErrorKind::Unsupported, "the rank of the elements is not known ({})", element.str());
  if (ops::has_unknown_rank(element)) {
    // Nothing was ever put in; taking it out fails when it runs.
    return Fact::tensor(element.dtype, {});
  }
  return ops::independent(element, c.graph(), c.name());
}

}  // namespace

std::vector<ValueId> import_sequence_construct(NodeContext& c) {
  check(c.inputs() > 0, ErrorKind::Parse, "at least one input is required");
  Fact element = ops::type_only(c.fact(0));
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    inputs.push_back(c.in(i));
    if (i > 0) {
      element = *ops::unify(Fact::sequence(element), Fact::sequence(ops::type_only(c.fact(i))),
                            c.graph(), nullptr, c.name())
                     .element;
    }
  }
  return {c.add1(make_op<ops::SequenceConstruct>(std::move(element)), std::move(inputs))};
}

std::vector<ValueId> import_sequence_empty(NodeContext& c) {
  const DType dtype = dtype_of_onnx(c.int_attr("dtype", 1));
  return {c.add1(make_op<ops::SequenceConstruct>(Fact::tensor(dtype, ops::no_shape())), {})};
}

std::vector<ValueId> import_sequence_at(NodeContext& c) {
  const Fact fact = taken_out(c, *sequence_fact(c, 0).element);
  return {c.add1(make_op<ops::SequenceAt>(fact), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_sequence_insert(NodeContext& c) {
  const Fact value = ops::type_only(c.fact(1));
  const Fact element =
      *ops::unify(sequence_fact(c, 0), Fact::sequence(value), c.graph(), nullptr, c.name()).element;
  std::vector<ValueId> inputs{c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  return {c.add1(make_op<ops::SequenceInsert>(element), std::move(inputs))};
}

std::vector<ValueId> import_sequence_erase(NodeContext& c) {
  sequence_fact(c, 0);
  std::vector<ValueId> inputs{c.in(0)};
  if (c.has(1)) inputs.push_back(c.in(1));
  return {c.add1(make_op<ops::SequenceErase>(), std::move(inputs))};
}

std::vector<ValueId> import_sequence_length(NodeContext& c) {
  sequence_fact(c, 0);
  return {c.add1(make_op<ops::SequenceLength>(), {c.in(0)})};
}

namespace {

// What SequenceMap's body gives for the samples at `position`.
std::vector<ValueId> map_samples(NodeContext& c, ValueId position) {
  std::vector<ValueId> samples;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    ValueId v = c.in(i);
    if (c.fact(i).kind == Fact::Kind::Sequence) {
      v = c.add1(make_op<ops::SequenceAt>(taken_out(c, *c.fact(i).element)), {v, position});
    }
    samples.push_back(v);
  }
  return c.inline_body("body", samples);
}

// The sequences that the outputs are before the first sample.
Carried empty_outputs(NodeContext& c) {
  const Body once = c.build_body(
      std::array{Fact::tensor(DType::I64, {})},
      [](NodeContext& inner, std::span<const ValueId> in) { return map_samples(inner, in[0]); });
  Carried carried;
  for (const ValueId v : once.graph->outputs()) {
    const Fact& f = once.graph->fact(v);
    check(f.kind == Fact::Kind::Tensor, ErrorKind::Type,
          "the body's output {} is {}, expected a tensor", carried.facts.size(), f.str());
    carried.facts.push_back(Fact::sequence(Fact::tensor(f.dtype, ops::no_shape())));
  }
  return carried;
}

}  // namespace

// The standard defines it as a function: a Loop over the length of the first sequence whose body
// takes a sample of each sequence (SequenceAt) and appends to each output (SequenceInsert).
std::vector<ValueId> import_sequence_map(NodeContext& c) {
  sequence_fact(c, 0);
  const std::size_t arity = c.body_arity("body").first;
  check(arity == c.inputs(), ErrorKind::Parse, "the body has {} inputs, SequenceMap {}", arity,
        c.inputs());
  Carried carried = empty_outputs(c);
  const std::vector<Fact> empty = carried.facts;
  // Body inputs: position, condition, the outputs so far.
  const auto append = [](NodeContext& inner, std::span<const ValueId> in) {
    std::vector<ValueId> outputs{in[1]};
    const auto results = map_samples(inner, in[0]);
    for (std::size_t k = 0; k < results.size(); ++k) {
      Graph& g = inner.graph();
      const Fact value = Fact::sequence(ops::type_only(g.fact(results[k])));
      const Fact all = ops::unify(g.fact(in[k + 2]), value, g, nullptr, inner.name());
      outputs.push_back(
          inner.add1(make_op<ops::SequenceInsert>(*all.element), {in[k + 2], results[k]}));
    }
    return outputs;
  };
  const Body body = import_widened(
      c, [&](std::span<const Fact> formal) { return c.build_body(formal, append); },
      {Fact::tensor(DType::I64, {}), Fact::tensor(DType::Bool, {})}, carried, {}, 1);
  auto op = std::make_shared<ops::Loop>();
  op->body = body.graph;
  op->carried = static_cast<std::int64_t>(carried.facts.size());
  op->facts = carried_outputs(c, carried, visible_symbols(c, body));
  std::vector<ValueId> inputs{c.add1(make_op<ops::SequenceLength>(), {c.in(0)}), ValueId{}};
  for (const Fact& f : empty) {
    inputs.push_back(c.add1(make_op<ops::SequenceConstruct>(*f.element), {}));
  }
  inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  return c.add(std::move(op), std::move(inputs));
}

std::vector<ValueId> import_split_to_sequence(NodeContext& c) {
  Fact element = ops::type_only(c.fact(0));
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", 0), element.rank());
  const bool keep = c.int_attr("keepdims", 1) != 0;
  Dim& size = element.shape[static_cast<std::size_t>(axis)];
  std::vector<ValueId> inputs{c.in(0)};
  if (!c.has(1)) {
    size = 1;
    if (!keep) element.shape.erase(element.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  } else {
    inputs.push_back(c.in(1));
    const auto split = c.constant_ints(1);
    bool same = split && !split->empty();
    for (std::size_t i = 0; same && i < split->size(); ++i) same = (*split)[i] == (*split)[0];
    const bool whole = same && (c.fact(1).rank() == 1 || (size.is_const() && (*split)[0] > 0 &&
                                                          size.value() % (*split)[0] == 0));
    size = whole ? Dim((*split)[0]) : c.graph().fresh_symbol(c.name() + ".part");
  }
  return {c.add1(make_op<ops::SplitToSequence>(axis, keep, std::move(element)), std::move(inputs))};
}

std::vector<ValueId> import_concat_from_sequence(NodeContext& c) {
  Fact fact = taken_out(c, *sequence_fact(c, 0).element);
  check(fact.kind == Fact::Kind::Tensor, ErrorKind::Type, "input 0 is {}, expected tensors in it",
        c.fact(0).str());
  const bool new_axis = c.int_attr("new_axis", 0) != 0;
  const std::int64_t axis =
      ops::normal_axis(c.int_attr("axis", std::nullopt), fact.rank() + (new_axis ? 1 : 0));
  const Dim size = c.graph().fresh_symbol(c.name() + ".joined");
  if (new_axis) {
    fact.shape.insert(fact.shape.begin() + static_cast<std::ptrdiff_t>(axis), size);
  } else {
    fact.shape[static_cast<std::size_t>(axis)] = size;
  }
  return {c.add1(make_op<ops::ConcatFromSequence>(axis, new_axis, std::move(fact)), {c.in(0)})};
}

std::vector<ValueId> import_optional(NodeContext& c) {
  if (c.has(0)) {
    return {c.add1(make_op<ops::OptionalConstruct>(ops::type_only(c.fact(0))), {c.in(0)})};
  }
  const auto type = c.type_attr("type");
  check(type.has_value(), ErrorKind::Parse, "attribute 'type' is required without an input");
  return {c.add1(make_op<ops::OptionalConstruct>(*type), {})};
}

std::vector<ValueId> import_optional_has_element(NodeContext& c) {
  if (!c.has(0)) return {c.constant_value(Tensor::scalar(false))};
  if (c.fact(0).kind != Fact::Kind::Optional) return {c.constant_value(Tensor::scalar(true))};
  return {c.add1(make_op<ops::OptionalHasElement>(), {c.in(0)})};
}

std::vector<ValueId> import_optional_get_element(NodeContext& c) {
  if (c.fact(0).kind != Fact::Kind::Optional) return {c.in(0)};
  const Fact fact = taken_out(c, *c.fact(0).element);
  return {c.add1(make_op<ops::OptionalGetElement>(fact), {c.in(0)})};
}

}  // namespace treadle::onnx
