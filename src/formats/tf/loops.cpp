#include "formats/tf/loops.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "formats/control.hpp"
#include "formats/tf/arrays.hpp"
#include "formats/tf/counted.hpp"
#include "ops/control.hpp"
#include "ops/symbolic_constant.hpp"

namespace treadle::tf {
namespace {

class LoopImport {
 public:
  LoopImport(Builder& outer, Functions& functions, const LoopParts& parts)
      : outer_(outer),
        functions_(functions),
        parts_(parts),
        init_(parts.init),
        changes_(parts.init.size(), true) {
    for (ValueId v : init_) types_.facts.push_back(ops::type_only(outer.graph.fact(v)));
  }

  std::vector<ValueId> add() {
    formats::Body body = import_body();
    while (refine(body)) body = import_body();
    return finish(std::move(body));
  }

 private:
  // The variables that are carried, in order.
  std::vector<std::size_t> carried() const {
    std::vector<std::size_t> out;
    for (std::size_t k = 0; k < init_.size(); ++k)
      if (changes_[k]) out.push_back(k);
    return out;
  }

  formats::Body import_body() {
    const auto variables = carried();
    std::vector<Fact> formal{Fact::tensor(DType::I64, {}), Fact::tensor(DType::Bool, {})};
    for (std::size_t k : variables) formal.push_back(types_.facts[k]);
    return functions_.body(outer_, formal, [&](Builder& b, std::span<const ValueId> given) {
      std::vector<ValueId> now(init_.size());
      for (std::size_t k = 0; k < init_.size(); ++k)
        if (!changes_[k]) now[k] = b.capture(init_[k]);
      for (std::size_t i = 0; i < variables.size(); ++i) now[variables[i]] = given[i + 2];
      const auto next = parts_.step(b, now);
      check(next.size() == now.size(), ErrorKind::Parse, "the loop's body gives {} values for {}",
            next.size(), now.size());
      const auto condition = parts_.condition(b, next);
      check(condition.size() == 1, ErrorKind::Parse, "the loop's condition gives {} values",
            condition.size());
      std::vector<ValueId> out{condition[0]};
      for (std::size_t k : variables) out.push_back(next[k]);
      return out;
    });
  }

  // Corrects what was assumed of the variables; false when it was right.
  bool refine(const formats::Body& body) {
    const Graph& g = *body.graph;
    const auto variables = carried();
    bool changed = false;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::size_t k = variables[i];
      const ValueId out = g.outputs()[i + 1];
      if (out == g.inputs()[i + 2]) {
        changes_[k] = false;
        changed = true;
      } else if (is_unwritten(types_.facts[k]) && g.fact(out).rank() > 0) {
        give_shape(k, g.fact(out), body);
        changed = true;
      }
    }
    if (changed) return true;
    for (std::size_t i = 0; i < variables.size(); ++i)
      changed |= types_.widen(variables[i], g.fact(g.outputs()[i + 1]), outer_.graph, parts_.name);
    return changed;
  }

  // An array that the body writes first.
  void give_shape(std::size_t k, const Fact& written, const formats::Body& body) {
    const SymShape element(written.shape.begin() + 1, written.shape.end());
    const auto visible = visible_symbols(body);
    ops::SymbolNames names;
    ops::collect_symbols(Fact::tensor(written.dtype, element), names);
    for (const std::string& name : names)
      check(visible.contains(name), ErrorKind::Unsupported,
            "loop variable {} is an array whose elements have sizes that only the loop knows: {}",
            k, str(element));
    init_[k] = new_array(outer_.graph, parts_.name, init_[k], written.dtype, element);
    types_.facts[k] = ops::type_only(outer_.graph.fact(init_[k]));
  }

  ops::SymbolNames visible_symbols(const formats::Body& body) const {
    ops::SymbolNames names;
    formats::add_symbols(outer_.graph, body.captured, names);
    formats::add_symbols(outer_.graph, init_, names);
    return names;
  }

  std::vector<ValueId> finish(formats::Body body) {
    const auto variables = carried();
    std::vector<ValueId> init;
    for (std::size_t k : variables) init.push_back(init_[k]);
    Graph& g = *body.graph;
    const LoopBody view{outer_.graph, body, init};
    const auto count = turns(view);
    const Dim total = count ? *count : outer_.graph.fresh_symbol(parts_.name + ".turns");
    // Arrays that are filled from the first element to the last are collected by the loop.
    std::vector<std::size_t> state, collected;
    std::vector<ValueId> next, elements;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const auto element = written_each_turn(view, i);
      const Fact& array = types_.facts[variables[i]];
      if (element && (array.shape[0] == total || array.shape[0].is(0))) {
        collected.push_back(i);
        elements.push_back(*element);
      } else {
        state.push_back(i);
        next.push_back(view.next(i));
      }
    }
    auto op = std::make_shared<ops::Loop>();
    op->carried = static_cast<std::int64_t>(state.size());
    const auto visible = visible_symbols(body);
    for (std::size_t i : state)
      op->facts.push_back(ops::outward(types_.facts[variables[i]], outer_.graph, visible,
                                       fmt::format("{}:{}", parts_.name, variables[i])));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      Fact f = ops::outward(g.fact(elements[i]), outer_.graph, visible,
                            fmt::format("{}:{}", parts_.name, variables[collected[i]]));
      f.shape.insert(f.shape.begin(), total);
      op->facts.push_back(std::move(f));
    }
    std::vector<ValueId> inputs = limits(count);
    for (std::size_t i : state) inputs.push_back(init[i]);
    inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());

    std::vector<ValueId> outputs{count ? g.add_constant("go_on", Tensor::scalar<bool>(true))
                                       : g.outputs()[0]};
    outputs.insert(outputs.end(), next.begin(), next.end());
    outputs.insert(outputs.end(), elements.begin(), elements.end());
    for (auto i = collected.rbegin(); i != collected.rend(); ++i)
      g.inputs().erase(g.inputs().begin() + static_cast<std::ptrdiff_t>(*i) + 2);
    std::vector<std::string> names(outputs.size());
    g.set_outputs(std::move(outputs), std::move(names));
    g.prune();
    op->body = body.graph;
    const auto results = outer_.graph.add(parts_.name, std::move(op), std::move(inputs));

    std::vector<ValueId> out = init_;
    for (std::size_t i = 0; i < state.size(); ++i) out[variables[state[i]]] = results[i];
    for (std::size_t i = 0; i < collected.size(); ++i)
      out[variables[collected[i]]] = results[state.size() + i];
    return out;
  }

  // The Loop's trip count and condition: one of them.
  std::vector<ValueId> limits(const std::optional<Dim>& count) {
    Graph& g = outer_.graph;
    if (!count) return {ValueId{}, parts_.condition(outer_, init_).at(0)};
    if (count->is_const())
      return {g.add_constant(parts_.name + "/turns", Tensor::scalar<std::int64_t>(count->value())),
              ValueId{}};
    return {g.add1(parts_.name + "/turns",
                   make_op<ops::SymbolicConstant>(std::vector<Dim>{*count}, DType::I64, SymShape{}),
                   {}),
            ValueId{}};
  }

  Builder& outer_;
  Functions& functions_;
  const LoopParts& parts_;
  std::vector<ValueId> init_;
  std::vector<bool> changes_;  // variables that a turn changes
  formats::Carried types_;
};

}  // namespace

std::vector<ValueId> add_loop(Builder& outer, Functions& functions, const LoopParts& parts) {
  return LoopImport(outer, functions, parts).add();
}

}  // namespace treadle::tf
