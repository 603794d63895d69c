// Sequences and optionals.
#include "ops/sequence.hpp"

#include "base/error.hpp"
#include "formats/onnx/importer.hpp"
#include "formats/onnx/ops/control_bodies.hpp"
#include "formats/onnx/types.hpp"
#include "ops/build.hpp"
#include "ops/failure.hpp"
#include "ops/sequence_map.hpp"
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

// A body of which only the declared types of the outputs are known: a sequence has no element that
// would say what the inputs are. It is not run unless input 0 has one.
Body unknown_samples(NodeContext& c) {
  std::vector<Fact> facts;
  for (const Fact& f : c.body_output_facts("body")) facts.push_back(Fact::tensor(f.dtype, {}));
  Body body{std::make_shared<Graph>(), {}};
  body.graph->limits = c.graph().limits;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    body.graph->add_source(fmt::format("{}/in{}", c.name(), i), Fact::tensor(DType::F32, {}));
  }
  const std::size_t outputs = facts.size();
  const Error error(ErrorKind::Shape, "there is no element to take");
  body.graph->set_outputs(
      body.graph->add("none", make_op<ops::Failure>(error, std::move(facts)), {}),
      std::vector<std::string>(outputs));
  return body;
}

}  // namespace

// The standard defines it as a Loop over the length of the first sequence, which appends to each
// output. Here it is an operator of its own: a Loop's body would have to know the types of the
// outputs so far before it is imported.
std::vector<ValueId> import_sequence_map(NodeContext& c) {
  sequence_fact(c, 0);
  auto op = std::make_shared<ops::SequenceMap>();
  std::vector<Fact> samples;
  std::vector<ValueId> inputs;
  bool none = false;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    const Fact& f = c.fact(i);
    const bool sequence = f.kind == Fact::Kind::Sequence;
    none |= sequence && f.element->shape == ops::no_shape();
    op->by_element.push_back(sequence);
    samples.push_back(sequence ? taken_out(c, *f.element) : f);
    inputs.push_back(c.in(i));
  }
  const Body body = none ? unknown_samples(c) : c.body("body", samples);
  op->body = body.graph;
  const ops::SymbolNames visible = visible_symbols(c, body);
  for (const ValueId v : body.graph->outputs()) {
    const Fact& f = body.graph->fact(v);
    const std::size_t k = op->elements.size();
    check(f.kind == Fact::Kind::Tensor, ErrorKind::Type,
          "the body's output {} is {}, expected a tensor", k, f.str());
    op->elements.push_back(
        none ? Fact::tensor(f.dtype, ops::no_shape())
             : ops::outward(f, c.graph(), visible, fmt::format("{}:{}", c.name(), k)));
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
