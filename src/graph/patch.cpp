#include "graph/patch.hpp"

#include "base/error.hpp"
#include "graph/basic_ops.hpp"

namespace treadle {

ValueId Patch::constant(std::string name, Tensor value) {
  return constant(std::move(name), std::make_shared<const Tensor>(std::move(value)));
}

ValueId Patch::constant(std::string name, std::shared_ptr<const Tensor> value) {
  return add1(std::move(name), make_op<Constant>(std::move(value)), {});
}

std::vector<ValueId> Patch::add(std::string name, OperatorPtr op, std::vector<ValueId> inputs) {
  std::vector<const Fact*> facts;
  for (ValueId v : inputs) facts.push_back(v.present() ? &fact(v) : nullptr);
  NewNode n{std::move(name), std::move(op), std::move(inputs), {}};
  n.facts = n.op->infer(facts);
  const auto id = base_ + static_cast<NodeId>(nodes_.size());
  std::vector<ValueId> values;
  for (std::uint32_t k = 0; k < n.facts.size(); ++k) values.push_back({id, k});
  nodes_.push_back(std::move(n));
  return values;
}

ValueId Patch::add1(std::string name, OperatorPtr op, std::vector<ValueId> inputs) {
  return add(std::move(name), std::move(op), std::move(inputs)).front();
}

void Patch::replace(ValueId old_value, ValueId new_value) {
  replacements_.push_back({old_value, new_value});
}

const Fact& Patch::fact(ValueId v) const {
  return v.node < base_ ? graph_.fact(v) : nodes_[v.node - base_].facts[v.slot];
}

class PatchApplier {
 public:
  static void run(Graph& g, Patch patch, std::vector<NodeId>* touched) {
    check(patch.base_ == g.node_count(), ErrorKind::Internal,
          "a patch is applied to another graph");
    for (const auto& [from, to] : patch.replacements_)
      check_same(g.fact(from), patch.fact(to), g.node(from.node));
    std::vector<NodeId> fresh;
    for (auto& n : patch.nodes_) {
      fresh.push_back(g.add(std::move(n.name), std::move(n.op), std::move(n.inputs)).front().node);
    }
    for (const auto& [from, to] : patch.replacements_) {
      if (touched) {
        for (const Use& u : g.uses(from)) touched->push_back(u.node);
      }
      if (to.node >= patch.base_) g.rename(to, g.value_name(from));
      g.redirect(from, to);
    }
    if (touched) touched->insert(touched->end(), fresh.begin(), fresh.end());
    for (const auto& [from, to] : patch.replacements_) {
      // What fed the removed nodes has fewer uses now: a rule may fire there.
      if (touched && g.node(from.node).alive) {
        for (ValueId v : g.node(from.node).inputs) {
          if (v.present()) touched->push_back(v.node);
        }
      }
      g.remove_if_unused(from.node);
    }
    for (NodeId id : fresh) g.remove_if_unused(id);
  }

 private:
  static void check_same(const Fact& before, const Fact& after, const Node& n) {
    if (before.same_type(after)) return;
    throw Error(ErrorKind::Internal,
                fmt::format("a rewrite turned {} into {}", before.str(), after.str()))
        .in_node(n.name, describe(n));
  }
};

void apply(Graph& graph, Patch patch, std::vector<NodeId>* touched) {
  PatchApplier::run(graph, std::move(patch), touched);
}

}  // namespace treadle
