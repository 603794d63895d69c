#include "formats/tf/scope.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "formats/tf/loops.hpp"
#include "ops/build.hpp"

namespace treadle::tf {

Scope::Scope(Import& import, const Unit& unit, Builder& builder)
    : import_(import), unit_(unit), builder_(builder) {}

Scope::Scope(Scope& outer, Kind kind, Builder& builder, std::uint32_t frame, std::uint32_t guard)
    : import_(outer.import_),
      unit_(outer.unit_),
      builder_(builder),
      outer_(&outer),
      kind_(kind),
      frame_(frame),
      guard_(guard) {}

bool Scope::is_here(Edge e) const {
  return kind_ != Kind::Branch || unit_.flow.around(guard_, unit_.flow.guard(e));
}

void Scope::check_place(Edge e) const {
  const NodeDef& n = unit_.nodes[e.node];
  unit_.flow.check_node(e.node);
  const bool constant = n.op == "Const";
  check(constant || unit_.flow.frame(e.node) == frame_, ErrorKind::Parse,
        "'{}' ({}) is read in the loop '{}', but runs in '{}'", n.name, n.op,
        unit_.flow.loop(frame_).name, unit_.flow.loop(unit_.flow.frame(e.node)).name);
  check(constant || unit_.flow.around(unit_.flow.guard(e), guard_), ErrorKind::Unsupported,
        "'{}' ({}) is computed in one branch of a condition only, and read outside of it", n.name,
        n.op);
}

ValueId Scope::get(Edge e) {
  const NodeDef& n = unit_.nodes[e.node];
  if (!is_here(e)) {
    const ValueId v = outer_->get(e);
    return &outer_->builder_ == &builder_ ? v : builder_.capture(v);
  }
  check_place(e);
  import(e.node);
  const auto& values = values_.at(e.node);
  check(e.slot < values.size(), ErrorKind::Parse, "output {} of '{}' is read, which has {}", e.slot,
        n.name, values.size());
  check(values[e.slot].present(), ErrorKind::Unsupported,
        "output {} of '{}' ({}) is not known where it is read", e.slot, n.name, n.op);
  return values[e.slot];
}

std::vector<Edge> Scope::needs(std::uint32_t node) const {
  const NodeDef& n = unit_.nodes[node];
  const Nodes& nodes = unit_.nodes;
  std::vector<Edge> out;
  if (n.op == "Enter" || n.op == "RefEnter") return out;
  if (import_.is_input(unit_, node)) return out;
  if (n.op == "Exit") {
    for (std::uint32_t enter : unit_.flow.loop(unit_.flow.frame(nodes.input(node, 0).node)).enters)
      if (import_.needed(unit_, enter)) out.push_back(nodes.input(enter, 0));
    return out;
  }
  if (n.op == "Merge" && !unit_.flow.is_loop_merge(node)) {
    std::vector<std::uint32_t> merges;
    for (std::uint32_t merge : unit_.flow.joined_with(node))
      if (import_.needed(unit_, merge)) merges.push_back(merge);
    for (std::size_t k = 0; k < 2; ++k)
      add_needs_of_branch(merges, unit_.flow.branch_guard(node, k), out);
    return out;
  }
  for (std::size_t k = 0; k < nodes.inputs(node).size(); ++k) out.push_back(nodes.input(node, k));
  // The branch that a Switch stands for was chosen already.
  if (n.op == "Switch" && !out.empty()) out.resize(1);
  return out;
}

// What a branch that the nodes join reads from around it.
void Scope::add_needs_of_branch(const std::vector<std::uint32_t>& merges, std::uint32_t guard,
                                std::vector<Edge>& out) const {
  const Flow& flow = unit_.flow;
  out.push_back(flow.guard_of(guard).predicate);
  std::vector<Edge> pending;
  for (std::uint32_t m : merges)
    for (std::size_t k = 0; k < 2; ++k)
      if (flow.branch_guard(m, k) == guard) pending.push_back(unit_.nodes.input(m, k));
  std::unordered_set<std::uint32_t> seen;
  while (!pending.empty()) {
    const Edge e = pending.back();
    pending.pop_back();
    if (!flow.around(guard, flow.guard(e))) {
      out.push_back(e);
      continue;
    }
    if (!seen.insert(e.node).second) continue;
    if (unit_.nodes[e.node].op == "Merge" && !flow.is_loop_merge(e.node)) {
      pending.push_back(unit_.nodes.input(e.node, 0));
      pending.push_back(unit_.nodes.input(e.node, 1));
      pending.push_back(flow.guard_of(flow.branch_guard(e.node, 0)).predicate);
      continue;
    }
    for (const Edge& from : needs(e.node)) pending.push_back(from);
  }
}

bool Scope::is_poisoned(std::uint32_t node) const {
  if (poisoned_.empty()) return false;
  const auto all = needs(node);
  return std::any_of(all.begin(), all.end(),
                     [&](const Edge& e) { return poisoned_.contains(e.node); });
}

bool Scope::try_import(Edge e) {
  check_place(e);
  import(e.node);
  return !poisoned_.contains(e.node);
}

// The node and all that it needs, without recursion but into bodies.
void Scope::import(std::uint32_t root) {
  std::vector<std::uint32_t> stack{root};
  while (!stack.empty()) {
    const std::uint32_t node = stack.back();
    if (values_.contains(node)) {
      stack.pop_back();
      continue;
    }
    unit_.flow.check_node(node);
    bool ready = true;
    if (!open_.contains(node)) {
      for (const Edge& e : needs(node)) {
        if (!is_here(e) || values_.contains(e.node)) continue;
        check(!open_.contains(e.node), ErrorKind::Parse, "node '{}' ({}) is part of a cycle",
              unit_.nodes[node].name, unit_.nodes[node].op);
        ready = false;
        stack.push_back(e.node);
      }
    }
    if (!ready) {
      open_.insert(node);
      continue;
    }
    stack.pop_back();
    open_.erase(node);
    const NodeDef& n = unit_.nodes[node];
    bool poisoned = is_poisoned(node);
    try {
      if (!poisoned) import_one(node);
    } catch (Error& e) {
      e.in_origin(n.name, fmt::format("node '{}' ({}, #{})", n.name, n.op, node));
      if (kind_ != Kind::Unit || !import_.is_main(unit_) || !import_.note(e)) throw;
      poisoned = true;
    }
    if (!poisoned) continue;
    poisoned_.insert(node);
    bind(node, {});
  }
}

void Scope::import_one(std::uint32_t node) {
  const NodeDef& n = unit_.nodes[node];
  const Nodes& nodes = unit_.nodes;
  import_.count_nodes();
  if (import_.is_input(unit_, node)) {
    check(builder_.outer == nullptr, ErrorKind::Unsupported,
          "an input of the graph inside of a loop or a branch");
    bind(node, {import_.add_input(builder_.graph, n)});
  } else if (n.op == "Enter" || n.op == "RefEnter") {
    const ValueId v = outer_->get(nodes.input(node, 0));
    bind(node, {&outer_->builder_ == &builder_ ? v : builder_.capture(v)});
  } else if (n.op == "LoopCond" || n.op == "NextIteration") {
    bind(node, {get(nodes.input(node, 0))});
  } else if (n.op == "Switch") {
    const ValueId v = get(nodes.input(node, 0));
    bind(node, {unit_.flow.is_loop_switch(node) ? ValueId{} : v, v});
  } else if (n.op == "Exit") {
    const std::uint32_t frame = unit_.flow.frame(nodes.input(node, 0).node);
    import_loop(frame);
    check(values_.contains(node), ErrorKind::Parse,
          "does not leave the loop through a Switch of one of its variables");
  } else if (n.op == "Merge") {
    check(!unit_.flow.is_loop_merge(node), ErrorKind::Parse,
          "a loop's Merge is read outside of it");
    import_condition(node);
  } else {
    bind(node, import_operator(node));
  }
}

std::vector<ValueId> Scope::import_operator(std::uint32_t node) {
  const NodeDef& n = unit_.nodes[node];
  std::vector<ValueId> inputs;
  for (std::size_t k = 0; k < unit_.nodes.inputs(node).size(); ++k)
    inputs.push_back(get(unit_.nodes.input(node, k)));
  const OperatorEntry* entry = find_operator(n.op);
  if (!entry) {
    if (!import_.has(n.op)) throw UnknownOperator(n.op);
    return import_.call(n.op, builder_, inputs);
  }
  NodeContext c(builder_, import_, n, std::move(inputs), import_.file());
  auto values = entry->import(c);
  // Values made by this node carry its name; one that passes through keeps the name it has.
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!values[k].present() ||
        std::find(c.given().begin(), c.given().end(), values[k]) != c.given().end())
      continue;
    builder_.graph.rename(values[k], std::string(n.name) + (k == 0 ? "" : ":" + std::to_string(k)));
  }
  return values;
}

void Scope::import_condition(std::uint32_t merge) {
  const Flow& flow = unit_.flow;
  const Nodes& nodes = unit_.nodes;
  std::vector<std::uint32_t> merges;
  for (std::uint32_t m : flow.joined_with(merge))
    if (import_.needed(unit_, m)) merges.push_back(m);
  // The input that comes from the branch taken when the predicate is `taken`.
  const auto side = [&](std::uint32_t m, std::uint32_t taken) {
    return flow.guard_of(flow.branch_guard(m, 0)).branch == taken ? std::size_t{0} : std::size_t{1};
  };
  const auto branch_values = [&](Builder& b, std::uint32_t taken) {
    Scope branch(*this, Kind::Branch, b, frame_, flow.branch_guard(merge, side(merge, taken)));
    std::vector<ValueId> out;
    for (std::uint32_t m : merges) out.push_back(branch.get(nodes.input(m, side(m, taken))));
    return out;
  };
  Graph& g = builder_.graph;
  const std::string name(nodes[merge].name);
  const ValueId predicate = get(flow.guard_of(flow.branch_guard(merge, 0)).predicate);
  std::vector<ValueId> values;
  if (const auto known = formats::known_truth(g.fact(predicate))) {
    values = branch_values(builder_, *known ? 1 : 0);
  } else {
    const auto body = [&](std::uint32_t taken) {
      return import_.body(builder_, {}, [&](Builder& b, std::span<const ValueId>) {
        return branch_values(b, taken);
      });
    };
    auto then_body = body(1), else_body = body(0);
    auto [op, inputs] =
        formats::make_if(g, name, predicate, std::move(then_body), std::move(else_body));
    values = g.add(name, std::move(op), std::move(inputs));
  }
  for (std::size_t i = 0; i < merges.size(); ++i) {
    // value_index is 1 when the second input was taken.
    const ValueId taken = ops::cast(g, name + "/index", predicate, DType::I32);
    const ValueId index =
        side(merges[i], 1) == 1
            ? taken
            : ops::binary(g, name + "/index", ops::BinaryFn::Sub,
                          g.add_constant(name + "/one", Tensor::scalar<std::int32_t>(1)), taken);
    bind(merges[i], {values[i], index});
  }
}

void Scope::import_loop(std::uint32_t frame) {
  const LoopFrame& loop = unit_.flow.loop(frame);
  const Nodes& nodes = unit_.nodes;
  std::vector<std::uint32_t> merges, conditions;
  std::vector<Edge> next;
  LoopParts parts;
  parts.name = loop.name;
  for (std::uint32_t c : loop.conditions)
    if (import_.needed(unit_, c)) conditions.push_back(c);
  check(conditions.size() == 1, ErrorKind::Parse, "the loop '{}' has {} LoopCond nodes, expected 1",
        loop.name, conditions.size());
  for (std::uint32_t m : loop.merges) {
    if (!import_.needed(unit_, m)) continue;
    Edge enter = nodes.input(m, 0), turn = nodes.input(m, 1);
    if (nodes[enter.node].op == "NextIteration") std::swap(enter, turn);
    unit_.flow.check_node(turn.node);
    check(unit_.flow.frame(turn.node) == frame, ErrorKind::Parse,
          "'{}' is of another loop than '{}'", nodes[turn.node].name, nodes[m].name);
    merges.push_back(m);
    parts.init.push_back(get(nodes.input(enter.node, 0)));
    next.push_back(nodes.input(turn.node, 0));
  }
  const auto inside = [&](Builder& b, std::span<const ValueId> variables) {
    auto scope = std::make_unique<Scope>(*this, Kind::Loop, b, frame, guard_);
    for (std::size_t k = 0; k < merges.size(); ++k) scope->bind(merges[k], {variables[k], {}});
    return scope;
  };
  parts.condition = [&](Builder& b, std::span<const ValueId> variables) {
    return std::vector<ValueId>{inside(b, variables)->get(nodes.input(conditions[0], 0))};
  };
  parts.step = [&](Builder& b, std::span<const ValueId> variables) {
    const auto scope = inside(b, variables);
    std::vector<ValueId> out;
    for (const Edge& e : next) out.push_back(scope->get(e));
    return out;
  };
  const auto results = add_loop(builder_, import_, parts);
  for (std::uint32_t exit : loop.exits) {
    const Edge out = nodes.origin(nodes.input(exit, 0));
    if (!unit_.flow.is_loop_switch(out.node) || out.slot != 0) continue;
    const auto at =
        std::find(merges.begin(), merges.end(), nodes.origin(nodes.input(out.node, 0)).node);
    if (at != merges.end()) bind(exit, {results[static_cast<std::size_t>(at - merges.begin())]});
  }
}

}  // namespace treadle::tf
