#include "formats/control.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/control.hpp"

namespace treadle::formats {
namespace {

using ops::SymbolNames;

// Both branches take the captures of both, in one order.
std::vector<ValueId> join_captures(const Graph& outer, Body& a, Body& b) {
  std::vector<ValueId> all = a.captured;
  for (ValueId v : b.captured) {
    if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
  }
  for (Body* body : {&a, &b}) {
    std::vector<ValueId> inputs;
    for (ValueId v : all) {
      const auto at = std::find(body->captured.begin(), body->captured.end(), v);
      if (at != body->captured.end()) {
        inputs.push_back(
            body->graph->inputs()[static_cast<std::size_t>(at - body->captured.begin())]);
      } else {
        inputs.push_back(body->graph->add_source(outer.value_name(v), outer.fact(v)));
      }
    }
    body->graph->inputs() = std::move(inputs);
  }
  return all;
}

}  // namespace

std::optional<bool> known_truth(const Fact& f) {
  if (!f.value || f.value->dtype() != DType::Bool || f.value->elements() != 1) return std::nullopt;
  return f.value->span<bool>()[0];
}

void add_symbols(const Graph& g, std::span<const ValueId> values, SymbolNames& out) {
  for (ValueId v : values) {
    if (v.present()) ops::collect_symbols(g.fact(v), out);
  }
}

std::pair<OperatorPtr, std::vector<ValueId>> make_if(Graph& outer, const std::string& name,
                                                     ValueId condition, Body then_body,
                                                     Body else_body) {
  const Graph &a = *then_body.graph, &b = *else_body.graph;
  auto op = std::make_shared<ops::If>();
  std::vector<ValueId> inputs{condition};
  const auto captured = join_captures(outer, then_body, else_body);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  SymbolNames visible;
  add_symbols(outer, captured, visible);
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    op->facts.push_back(ops::unify(a.fact(a.outputs()[k]), b.fact(b.outputs()[k]), outer, &visible,
                                   fmt::format("{}:{}", name, k)));
  }
  op->then_branch = then_body.graph;
  op->else_branch = else_body.graph;
  return {std::move(op), std::move(inputs)};
}

bool Carried::widen(std::size_t k, const Fact& given, Graph& graph, const std::string& what) {
  const Fact before = facts[k];
  Fact out = given;
  if (before.kind == Fact::Kind::Optional && before.element->kind == given.kind) {
    out = Fact::optional(given);
    if (std::find(opened_.begin(), opened_.end(), k) == opened_.end()) opened_.push_back(k);
  }
  check(out.kind == before.kind && out.dtype == before.dtype, ErrorKind::Type,
        "loop-carried value {} is {}, but the body gives {}", k, before.str(), out.str());
  if (before.kind == Fact::Kind::Tensor) {
    check(out.rank() == before.rank(), ErrorKind::Unsupported,
          "loop-carried value {} changes its rank: {}, then {}", k, before.str(), out.str());
    bool changed = false;
    for (std::size_t i = 0; i < out.shape.size(); ++i) {
      Dim& d = facts[k].shape[i];
      if (d == out.shape[i] || is_widened(d)) continue;
      d = graph.fresh_symbol(fmt::format("{}.{}.{}", what, k, i));
      widened_.insert(*d.as_symbol());
      changed = true;
    }
    return changed;
  }
  if (fits(before, out)) return false;
  facts[k] = ops::unify(before, out, graph, nullptr, what);
  SymbolNames symbols, old;
  ops::collect_symbols(facts[k], symbols);
  ops::collect_symbols(before, old);
  for (const std::string& s : symbols) {
    if (!old.contains(s)) widened_.insert(s);
  }
  return true;
}

const Fact& Carried::final_fact(std::size_t k) const {
  const bool opened = std::find(opened_.begin(), opened_.end(), k) != opened_.end();
  return opened ? *facts[k].element : facts[k];
}

bool Carried::is_widened(const Dim& d) const {
  const auto name = d.as_symbol();
  return name && widened_.contains(*name);
}

// Whether `out` is covered by the sequence or optional type `have`.
bool Carried::fits(const Fact& have, const Fact& out) const {
  if (have.kind != out.kind) return false;
  if (have.kind != Fact::Kind::Tensor) return fits(*have.element, *out.element);
  if (have.shape == ops::unknown_shape() || out.shape == ops::no_shape()) return true;
  if (have.rank() != out.rank()) return false;
  for (std::size_t i = 0; i < have.shape.size(); ++i) {
    if (!(have.shape[i] == out.shape[i]) && !is_widened(have.shape[i])) return false;
  }
  return true;
}

}  // namespace treadle::formats
