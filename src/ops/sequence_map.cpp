#include "ops/sequence_map.hpp"

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "tensor/limit.hpp"

namespace treadle::ops {

void SequenceMap::visit(ParamVisitor& v) const {
  v.param("body", *body);
  v.param("by_element", by_element);
  std::vector<std::string> texts;
  for (const Fact& f : elements) texts.push_back(f.str());
  v.param("elements", texts);
}

std::vector<Fact> SequenceMap::infer(InputFacts in) const {
  check(!by_element.empty() && by_element[0] != 0 && in.size() >= by_element.size(),
        ErrorKind::Shape, "{} inputs do not fit {} that are mapped", in.size(), by_element.size());
  for (std::size_t i = 0; i < by_element.size(); ++i) {
    check(in[i] != nullptr, ErrorKind::Shape, "input {} is missing", i);
    check(!by_element[i] || in[i]->kind == Fact::Kind::Sequence, ErrorKind::Type,
          "input {} is {}, expected a sequence", i, in[i]->str());
  }
  check(body->inputs().size() == in.size() && body->outputs().size() == elements.size(),
        ErrorKind::Shape, "the body takes {} inputs and gives {} outputs, expected {} and {}",
        body->inputs().size(), body->outputs().size(), in.size(), elements.size());
  std::vector<Fact> out;
  for (const Fact& f : elements) out.push_back(Fact::sequence(f));
  return out;
}

void SequenceMap::eval(EvalContext& ctx) const {
  // Once, not once an element: a tensor is copied when it is asked for.
  std::vector<Value> given;
  for (std::size_t i = 0; i < ctx.inputs(); ++i) given.push_back(ctx.input_value(i));
  const std::size_t n = given[0].items().size();
  for (std::size_t i = 1; i < by_element.size(); ++i) {
    if (!by_element[i]) continue;
    const std::size_t length = given[i].items().size();
    check(length >= n, ErrorKind::Shape, "sequence {} has {} elements, the first one {}", i, length,
          n);
  }
  std::vector<std::vector<Value>> results(elements.size());
  for (std::size_t at = 0; at < n; ++at) {
    WorkLimit::count_iteration();
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool element = i < by_element.size() && by_element[i];
      inputs.push_back(element ? given[i].items()[at] : given[i]);
    }
    auto out = ctx.run_subgraph(0, std::move(inputs));
    check(out.size() == results.size(), ErrorKind::Internal,
          "the body gave {} outputs, expected {}", out.size(), results.size());
    for (std::size_t k = 0; k < out.size(); ++k) results[k].push_back(std::move(out[k]));
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    ctx.set_output(k, Value::sequence(std::move(results[k])));
  }
}

OperatorPtr SequenceMap::with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const {
  check(graphs.size() == 1, ErrorKind::Internal, "SequenceMap has 1 subgraph, got {}",
        graphs.size());
  auto op = std::make_shared<SequenceMap>(*this);
  op->body = std::move(graphs[0]);
  return op;
}

}  // namespace treadle::ops
