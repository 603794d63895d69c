#include "cpu/lower.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "cpu/fuse.hpp"
#include "cpu/translate.hpp"
#include "graph/basic_ops.hpp"
#include "ops/axis.hpp"

namespace treadle::cpu {
namespace {

using SymbolSet = std::set<std::string, std::less<>>;

// Copies an input to an output that the caller may keep longer.
KernelPtr copy_kernel() {
  return kernel("copy", [](const BindContext&) {
    return bound([](RunContext& ctx) {
      if (ctx.in[0]->bytes() != 0)
        std::memcpy(ctx.out[0]->data, ctx.in[0]->data, ctx.in[0]->bytes());
    });
  });
}

class Lowering {
 public:
  Lowering(Graph graph, const LowerOptions& options, SymbolSet known)
      : graph_(std::move(graph)), known_(std::move(known)), program_(std::make_shared<Program>()) {
    program_->options = options;
    released_ = graph_.add_constant("released", Tensor::scalar<float>(0));
    ids_.resize(graph_.node_count());
  }

  std::shared_ptr<const Program> run() {
    const auto order = graph_.order();
    if (!program_->options.reference) fusions_ = find_fusions(graph_, order);
    fusions_.absorbed.resize(graph_.node_count(), false);
    for (ValueId v : graph_.inputs()) add_input(v);
    for (NodeId id : order) {
      const Node& n = graph_.node(id);
      if (n.op->as<Source>()) continue;
      in_context([&] { return describe(n); }, [&] { lower(n); });
    }
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) add_output(i);
    drop_unused_constants();
    finish(*program_);
    return program_;
  }

 private:
  int add_value(ValueId v, Storage storage) {
    ProgramValue value;
    value.fact = graph_.fact(v);
    value.fact.value = nullptr;
    value.fact.dims = nullptr;
    value.name = graph_.value_name(v);
    value.storage = storage;
    auto& slots = ids_[v.node];
    if (slots.empty()) slots.assign(graph_.node(v.node).outputs.size(), -1);
    const int id = static_cast<int>(program_->values.size());
    slots[v.slot] = id;
    program_->values.push_back(std::move(value));
    return id;
  }

  int id_of(ValueId v) const { return v.present() ? ids_[v.node].at(v.slot) : -1; }

  void learn(const Fact& f) {
    for (const Dim& d : f.shape) {
      if (auto name = d.as_symbol()) known_.insert(*name);
    }
  }

  void add_input(ValueId v) {
    program_->inputs.push_back(add_value(v, Storage::Input));
    learn(graph_.fact(v));
  }

  bool shape_known(const Fact& f) const {
    std::vector<std::string> names;
    for (const Dim& d : f.shape) d.collect_symbols(names);
    return std::all_of(names.begin(), names.end(),
                       [&](const auto& n) { return known_.contains(n); });
  }

  void lower(const Node& n) {
    if (const auto* c = n.op->as<Constant>()) {
      const int id = add_value({n.id, 0}, Storage::Constant);
      program_->values[static_cast<std::size_t>(id)].constant = c->value();
      return;
    }
    if (fusions_.absorbed[n.id]) {
      if (auto it = fusions_.tail.find(n.id); it != fusions_.tail.end())
        add_step(graph_.node(it->second));
      return;
    }
    const bool view =
        n.op->as<ops::Reshape>() || n.op->as<ops::Squeeze>() || n.op->as<ops::Unsqueeze>();
    const Fact& out = n.outputs[0].fact;
    if (view && !program_->options.reference && out.dtype != DType::String && shape_known(out)) {
      const int base = id_of(n.inputs[0]);
      const int id = add_value({n.id, 0}, Storage::Alias);
      program_->values[static_cast<std::size_t>(id)].alias_of = base;
      program_->values[static_cast<std::size_t>(id)].view_op = std::string(n.op->name());
      return;
    }
    add_step(n);
  }

  void add_step(const Node& n) {
    Step step;
    step.name = n.name;
    step.op_name = std::string(n.op->name());
    for (ValueId v : n.inputs) step.in.push_back(id_of(v));
    const FusedEpilogue* fused = nullptr;
    if (auto it = fusions_.of.find(n.id); it != fusions_.of.end()) fused = &it->second;
    if (fused) {
      step.fused = fused->text;
      if (fused->residual.present()) step.in.push_back(id_of(fused->residual));
    }
    Translation t;
    if (!program_->options.reference) t = translate({graph_, n, program_->options, fused});
    check(t.kernel || !fused, ErrorKind::Internal, "no kernel takes the fused operators{}",
          step.fused);
    step.kernel = t.kernel;
    step.inplace = t.inplace;
    if (!t.kernel) {
      step.op = n.op;
      for (const auto& body : n.op->subgraphs()) {
        step.subprograms.push_back(Lowering(*body, program_->options, known_).run());
      }
    }
    std::vector<Fact> facts;
    for (const Output& o : n.outputs) facts.push_back(o.fact);
    step.cost = n.op->cost(graph_.input_facts(n), facts);
    add_results(n, fused, step);
    if (step.kernel) release_consumed(n, step);
    program_->steps.push_back(std::move(step));
  }

  // Lets go of constants that the kernel has taken in and nobody else reads.
  void release_consumed(const Node& n, const Step& step) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (!v.present() || !step.kernel->consumes(i) || graph_.use_count(v) != 1) continue;
      program_->values[static_cast<std::size_t>(step.in[i])].constant = nullptr;
      graph_.redirect(v, released_);
      graph_.remove_if_unused(v.node);
    }
  }

  void add_results(const Node& n, const FusedEpilogue* fused, Step& step) {
    std::vector<Fact> learned;
    for (std::uint32_t k = 0; k < n.outputs.size(); ++k) {
      const ValueId v = fused ? fused->result : ValueId{n.id, k};
      const Fact& f = graph_.fact(v);
      const bool plain = f.kind == Fact::Kind::Tensor && f.dtype != DType::String && shape_known(f);
      if (!plain) step.dynamic = true;
      step.out.push_back(add_value(v, plain ? Storage::Arena : Storage::Owned));
      learned.push_back(f);
    }
    check(!step.dynamic || !step.kernel, ErrorKind::Internal,
          "a kernel was given an output of unknown size");
    for (const Fact& f : learned) learn(f);
  }

  // An output must not lie in the caller's input.
  void add_output(std::size_t i) {
    const int id = id_of(graph_.outputs()[i]);
    int root = id;
    while (program_->values[static_cast<std::size_t>(root)].storage == Storage::Alias) {
      root = program_->values[static_cast<std::size_t>(root)].alias_of;
    }
    const auto& value = program_->values[static_cast<std::size_t>(id)];
    program_->output_names.push_back(graph_.output_names()[i]);
    if (program_->values[static_cast<std::size_t>(root)].storage != Storage::Input ||
        value.fact.kind != Fact::Kind::Tensor || value.fact.dtype == DType::String) {
      program_->outputs.push_back(id);
      return;
    }
    ProgramValue copy = value;
    copy.storage = Storage::Arena;
    copy.alias_of = -1;
    Step step;
    step.kernel = copy_kernel();
    step.name = graph_.output_names()[i];
    step.op_name = "Copy";
    step.in = {id};
    step.out = {static_cast<int>(program_->values.size())};
    program_->values.push_back(std::move(copy));
    program_->outputs.push_back(step.out[0]);
    program_->steps.push_back(std::move(step));
  }

  // Constants that live on only in packed form are let go.
  void drop_unused_constants() {
    std::vector<bool> used(program_->values.size(), false);
    for (const Step& s : program_->steps) {
      for (std::size_t i = 0; i < s.in.size(); ++i) {
        if (s.in[i] >= 0 && !(s.kernel && s.kernel->consumes(i)))
          used[static_cast<std::size_t>(s.in[i])] = true;
      }
    }
    for (int v : program_->outputs) used[static_cast<std::size_t>(v)] = true;
    for (std::size_t v = program_->values.size(); v-- > 0;) {
      if (used[v] && program_->values[v].alias_of >= 0)
        used[static_cast<std::size_t>(program_->values[v].alias_of)] = true;
    }
    for (std::size_t v = 0; v < program_->values.size(); ++v) {
      if (!used[v]) program_->values[v].constant = nullptr;
    }
  }

  Graph graph_;
  ValueId released_;  // stands in the graph for constants that were let go
  SymbolSet known_;
  std::shared_ptr<Program> program_;
  std::vector<std::vector<int>> ids_;  // by node, by slot
  Fusions fusions_;
};

}  // namespace

std::shared_ptr<const Program> lower(Graph graph, const LowerOptions& options) {
  return Lowering(std::move(graph), options, {}).run();
}

}  // namespace treadle::cpu
