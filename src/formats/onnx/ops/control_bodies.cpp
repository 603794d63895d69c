#include "formats/onnx/ops/control_bodies.hpp"

namespace treadle::onnx {

using formats::add_symbols;
using ops::SymbolNames;

MakeBody body_maker(NodeContext& c) {
  return [&c](std::span<const Fact> formal) { return c.body("body", formal); };
}

Body import_widened(NodeContext& c, const MakeBody& make, std::vector<Fact> front, Carried& carried,
                    const std::vector<Fact>& back, std::size_t first) {
  for (;;) {
    std::vector<Fact> formal = front;
    formal.insert(formal.end(), carried.facts.begin(), carried.facts.end());
    formal.insert(formal.end(), back.begin(), back.end());
    Body body = make(formal);
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
