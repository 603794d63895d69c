#include "formats/onnx/ops/control_bodies.hpp"

#include <algorithm>

namespace treadle::onnx {

using ops::SymbolNames;

void add_symbols(const Graph& g, std::span<const ValueId> values, SymbolNames& out) {
  for (ValueId v : values) {
    if (v.present()) ops::collect_symbols(g.fact(v), out);
  }
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

Body import_widened(NodeContext& c, std::vector<Fact> front, Carried& carried,
                    const std::vector<Fact>& back, std::size_t first) {
  for (;;) {
    std::vector<Fact> formal = front;
    formal.insert(formal.end(), carried.facts.begin(), carried.facts.end());
    formal.insert(formal.end(), back.begin(), back.end());
    Body body = c.body("body", formal);
    bool changed = false;
    for (std::size_t k = 0; k < carried.facts.size(); ++k) {
      const Fact& out = body.graph->fact(body.graph->outputs()[first + k]);
      changed |= carried.widen(k, out, c.graph(), c.name());
    }
    if (!changed) return body;
  }
}

SymbolNames visible_symbols(NodeContext& c, const Body& body) {
  SymbolNames names;
  add_symbols(c.graph(), body.captured, names);
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    if (c.has(i)) ops::collect_symbols(c.fact(i), names);
  }
  return names;
}

std::vector<Fact> carried_outputs(NodeContext& c, const Carried& carried,
                                  const SymbolNames& visible) {
  std::vector<Fact> facts;
  for (std::size_t k = 0; k < carried.facts.size(); ++k) {
    facts.push_back(
        ops::outward(carried.final_fact(k), c.graph(), visible, fmt::format("{}:{}", c.name(), k)));
  }
  return facts;
}

}  // namespace treadle::onnx
