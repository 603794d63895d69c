#include "cpu/lower.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/error.hpp"
#include "cpu/byte_chains.hpp"
#include "cpu/fuse.hpp"
#include "cpu/integer_products.hpp"
#include "cpu/translators.hpp"
#include "graph/basic_ops.hpp"
#include "ops/axis.hpp"
#include "ops/function_name.hpp"

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

KernelPtr upload_kernel() {
  return kernel("copy_to_device", [](const BindContext&) {
    return bound([](RunContext& ctx) {
      ctx.queue->upload(device_address(ctx.out[0]->data), ctx.in[0]->data, ctx.in[0]->bytes());
    });
  });
}

KernelPtr download_kernel() {
  return kernel("copy_to_host", [](const BindContext&) {
    return bound([](RunContext& ctx) {
      ctx.queue->download(ctx.out[0]->data, device_address(ctx.in[0]->data), ctx.in[0]->bytes());
    });
  });
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "node 'conv1' (Conv)", "node 'sum' (Binary add)".
std::string label_of(const Node& n) {
  const auto function = ops::function_name(*n.op);
  return fmt::format("node '{}' ({}{}{})", n.name, n.op->name(), function.empty() ? "" : " ",
                     function);
}

class Lowering {
 public:
  Lowering(Graph graph, const LowerOptions& options, SymbolSet known, DeviceTarget* target)
      : graph_(std::move(graph)),
        known_(std::move(known)),
        program_(std::make_shared<Program>()),
        target_(target) {
    program_->options = options;
    if (target) program_->device = target->device();
    if (!target && !options.reference) widen_last(graph_);
    released_ = graph_.add_constant("released", Tensor::scalar<float>(0));
    ids_.resize(graph_.node_count());
    device_ids_.resize(graph_.node_count());
  }

  std::shared_ptr<const Program> run() {
    const auto order = graph_.order();
    const TakesEpilogue takes_epilogue = [this](const Graph& g, const Node& n) {
      if (!may_skip_rounding(n.outputs[0].fact.dtype)) return false;
      return target_ ? target_->takes_epilogue(g, n) : has_epilogue_kernel(g, n);
    };
    if (!program_->options.reference)
      fusions_ = find_fusions(graph_, order, takes_epilogue, program_->options.keep_on_cpu);
    fusions_.absorbed.resize(graph_.node_count(), false);
    if (!target_ && !program_->options.reference) {
      find_integer_products(graph_, order, fusions_);
      find_byte_chains(graph_, order, fusions_);
      absorb_heads(graph_, order, fusions_);
    }
    if (!program_->options.reference) {
      if (target_ && !is_kept("Concat"))
        joins_ = find_joins(graph_, order, fusions_, takes_epilogue);
      ChainLimits limits = target_ ? target_->chain_limits() : chain_limits();
      limits.takes = [this, on_target = std::move(limits.takes)](const Operator& op, DType dtype,
                                                                 bool operand_first) {
        return may_skip_rounding(dtype) && !is_kept(op.name()) &&
               on_target(op, dtype, operand_first);
      };
      chains_ = find_chains(graph_, order, fusions_, limits);
    }
    chains_.members.resize(graph_.node_count(), false);
    for (ValueId v : graph_.inputs()) add_input(v);
    for (NodeId id : order) {
      const Node& n = graph_.node(id);
      if (n.op->as<Source>()) continue;
      lower(n);
    }
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) add_output(i);
    drop_unused_constants();
    finish(*program_);
    return program_;
  }

 private:
  using Ids = std::vector<std::vector<int>>;

  // Whether results inside a fused step may stay f32: those of f32 lose nothing.
  bool may_skip_rounding(DType dtype) const {
    return dtype == DType::F32 || !program_->options.exact;
  }

  bool is_kept(std::string_view op) const { return contains(program_->options.keep_on_cpu, op); }

  int add_value(ValueId v, Storage storage, bool on_device = false) {
    ProgramValue value;
    value.fact = graph_.fact(v);
    value.fact.value = nullptr;
    value.fact.dims = nullptr;
    value.name = graph_.value_name(v);
    value.storage = storage;
    value.on_device = on_device;
    auto& slots = (on_device ? device_ids_ : ids_)[v.node];
    if (slots.empty()) slots.assign(graph_.node(v.node).outputs.size(), -1);
    const int id = static_cast<int>(program_->values.size());
    slots[v.slot] = id;
    program_->values.push_back(std::move(value));
    return id;
  }

  ProgramValue& value_at(int id) { return program_->values[static_cast<std::size_t>(id)]; }

  static int find(const Ids& ids, ValueId v) {
    return v.present() && !ids[v.node].empty() ? ids[v.node].at(v.slot) : -1;
  }

  // The value in the host's memory, copied there when only the device has it; −1: omitted.
  int id_of(ValueId v) {
    const int id = find(ids_, v), on_device = find(device_ids_, v);
    if (id >= 0 || on_device < 0) return id;
    return add_copy(graph_.value_name(v), on_device, add_value(v, Storage::Arena),
                    download_kernel(), "CopyToHost");
  }

  // The value in the device's memory, copied there when only the host has it; −1: omitted.
  int device_id_of(ValueId v) {
    const int id = find(device_ids_, v), on_host = find(ids_, v);
    if (id >= 0 || on_host < 0) return id;
    if (value_at(on_host).constant) return add_device_constant(v, on_host);
    // Only the arena is memory that the device can copy from while the host goes on.
    const bool in_arena = value_at(root_of(on_host)).storage == Storage::Arena;
    const int from = in_arena ? on_host : add_host_copy(graph_.value_name(v), on_host);
    return add_copy(graph_.value_name(v), from, add_value(v, Storage::Arena, true), upload_kernel(),
                    "CopyToDevice");
  }

  // The value whose elements it has.
  int root_of(int id) {
    while (value_at(id).storage == Storage::Alias) id = value_at(id).alias_of;
    return id;
  }

  // A copy in the host's arena.
  int add_host_copy(const std::string& name, int id) {
    ProgramValue copy = value_at(id);
    copy.storage = Storage::Arena;
    copy.alias_of = -1;
    program_->values.push_back(std::move(copy));
    return add_copy(name, id, static_cast<int>(program_->values.size()) - 1, copy_kernel(), "Copy");
  }

  int add_copy(const std::string& name, int from, int to, KernelPtr kernel, const char* op_name) {
    Step step;
    step.kernel = std::move(kernel);
    step.name = name;
    step.op_name = op_name;
    step.in = {from};
    step.out = {to};
    step.queued = value_at(from).on_device || value_at(to).on_device;
    program_->steps.push_back(std::move(step));
    return to;
  }

  int add_device_constant(ValueId v, int on_host) {
    const std::shared_ptr<const Tensor> constant = value_at(on_host).constant;
    const int id = add_value(v, Storage::Constant, true);
    value_at(id).device_constant =
        upload_kept(*target_->device(), target_->uploads(), constant->data(), constant->bytes(),
                    constant, "constant '" + value_at(id).name + "'");
    return id;
  }

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

  // A tensor of fixed-size elements whose place can be planned.
  bool is_plain(const Fact& f) const {
    return f.kind == Fact::Kind::Tensor && f.dtype != DType::String && shape_known(f);
  }

  void lower(const Node& n) {
    if (const auto* c = n.op->as<Constant>()) {
      const int id = add_value({n.id, 0}, Storage::Constant);
      program_->values[static_cast<std::size_t>(id)].constant = c->value();
      return;
    }
    in_context([&] { return describe(n); }, [&] { add_check(n); });
    if (fusions_.absorbed[n.id]) {
      if (auto it = fusions_.tail.find(n.id); it != fusions_.tail.end())
        add_step(graph_.node(it->second));
      return;
    }
    if (chains_.members[n.id]) {
      if (auto it = chains_.by_tail.find(n.id); it != chains_.by_tail.end())
        add_chain(n, it->second);
      return;
    }
    const bool view =
        n.op->as<ops::Reshape>() || n.op->as<ops::Squeeze>() || n.op->as<ops::Unsqueeze>();
    const Fact& out = n.outputs[0].fact;
    if (view && !program_->options.reference && out.dtype != DType::String && shape_known(out)) {
      const int on_device = find(device_ids_, n.inputs[0]);
      const int base = on_device >= 0 ? on_device : id_of(n.inputs[0]);
      const int id = add_value({n.id, 0}, Storage::Alias, on_device >= 0);
      value_at(id).alias_of = base;
      value_at(id).view_op = fmt::format("node '{}' ({})", n.name, n.op->name());
      return;
    }
    add_step(n);
  }

  void add_check(const Node& n) {
    auto check = shape_check(graph_, n, label_of(n));
    if (!check) return;
    check->step = static_cast<int>(program_->steps.size());
    program_->checks.push_back(std::move(*check));
  }

  void add_step(const Node& n) {
    if (!in_context([&] { return describe(n); }, [&] { return add_whole(n); })) add_apart(n);
  }

  // The node and what is fused into it as one step; false where nothing computes them together.
  bool add_whole(const Node& n) {
    Step step;
    step.name = n.name;
    step.op_name = std::string(n.op->name());
    step.label = label_of(n);
    const FusedEpilogue* fused = nullptr;
    if (auto it = fusions_.of.find(n.id); it != fusions_.of.end()) fused = &it->second;
    auto inputs = n.inputs;
    if (fused) {
      step.fused = fused->text;
      if (fused->residual.present()) inputs.push_back(fused->residual);
      for (const auto& [i, v] : fused->replaced) inputs[i] = v;
      if (fused->integer && fused->integer->x_zero_value.present())
        inputs.push_back(fused->integer->x_zero_value);
    }
    if (target_ && !program_->options.reference && add_device_step(n, fused, inputs, step))
      return true;
    Translation t;
    if (!program_->options.reference) t = translate({graph_, n, program_->options, fused});
    if (!t.kernel && fused) return false;
    for (ValueId v : inputs) step.in.push_back(id_of(v));
    step.kernel = t.kernel;
    step.inplace = t.inplace;
    if (!t.kernel) {
      step.op = n.op;
      for (const auto& body : n.op->subgraphs()) {
        step.subprograms.push_back(Lowering(*body, program_->options, known_, nullptr).run());
      }
    }
    step.cost = cost_of(n);
    add_results(n, fused, step);
    if (step.kernel) release_consumed(n, step);
    program_->steps.push_back(std::move(step));
    return true;
  }

  // A producer that only the device could have computed together with what follows it, and the
  // latter, each as a step of its own.
  void add_apart(const Node& producer) {
    const auto it = fusions_.of.find(producer.id);
    const FusedEpilogue fused = std::move(it->second);
    fusions_.of.erase(it);
    joins_.erase(fused.result.node);
    add_step(producer);
    for (const NodeId member : fused.members) add_step(graph_.node(member));
  }

  // A chain as one step, or its links as steps of their own. `tail` is the last link.
  void add_chain(const Node& tail, const Chain& chain) {
    const Node& head = graph_.node(chain.links.front().node);
    Step step;
    step.name = head.name;
    step.op_name = std::string(head.op->name());
    step.label = label_of(head);
    step.fused = chain.text;
    const auto take = [&](auto t) {
      step.kernel = std::move(t.kernel);
      step.inplace = t.inplace;
    };
    if (outputs_known(tail, nullptr) && inputs_known(chain.inputs)) {
      TranslateContext ctx{graph_, tail, program_->options};
      ctx.chain = &chain;
      in_context([&] { return describe(head); },
                 [&] { target_ ? take(target_->translate(ctx)) : take(translate(ctx)); });
    }
    if (!step.kernel) {
      for (const Chain::Link& l : chain.links) add_step(graph_.node(l.node));
      return;
    }
    step.queued = target_ != nullptr;
    for (const ValueId v : chain.inputs)
      step.in.push_back(step.queued ? device_id_of(v) : id_of(v));
    for (const Chain::Link& l : chain.links)
      step.cost.flops = step.cost.flops + cost_of(graph_.node(l.node)).flops;
    add_results(tail, nullptr, step);
    program_->steps.push_back(std::move(step));
  }

  Cost cost_of(const Node& n) const {
    std::vector<Fact> facts;
    for (const Output& o : n.outputs) facts.push_back(o.fact);
    return n.op->cost(graph_.input_facts(n), facts);
  }

  // True when the device takes the node; otherwise the step says why not.
  bool add_device_step(const Node& n, const FusedEpilogue* fused,
                       const std::vector<ValueId>& inputs, Step& step) {
    const auto found = joins_.find(fused ? fused->result.node : n.id);
    const Join* join = found == joins_.end() ? nullptr : &found->second;
    const auto parts = written_.find(n.id);
    const std::vector<bool>* written = parts == written_.end() ? nullptr : &parts->second;
    if (written && std::all_of(written->begin(), written->end(), [](bool w) { return w; }))
      return true;
    DeviceTranslation t;
    if (is_kept(step.op_name))
      t.why_not = "kept on the CPU by option";
    else if (!outputs_known(n, fused))
      t.why_not = "the sizes of its outputs depend on data";
    else if (!inputs_known(inputs))
      t.why_not = "the sizes of its inputs depend on data";
    else
      t = target_->translate({graph_, n, program_->options, fused, nullptr, join, written});
    if (!t.kernel) {
      check(!program_->options.require_device, ErrorKind::Unsupported,
            "{} has no kernel for it: {}", target_->device()->name(), t.why_not);
      step.why_on_cpu = std::move(t.why_not);
      return false;
    }
    step.kernel = std::move(t.kernel);
    step.inplace = t.inplace;
    step.queued = true;
    // A constant that the kernel has taken in keeps its shape only.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (written && (*written)[i])
        step.in.push_back(-1);
      else
        step.in.push_back(i < n.inputs.size() && step.kernel->consumes(i)
                              ? id_of(inputs[i])
                              : device_id_of(inputs[i]));
    }
    step.cost = cost_of(n);
    if (join)
      add_part(*join, step);
    else if (written)
      step.out = {find(device_ids_, {n.id, 0})};
    else
      add_results(n, fused, step);
    release_consumed(n, step);
    program_->steps.push_back(std::move(step));
    return true;
  }

  // The step writes its columns of a Concat's result.
  void add_part(const Join& join, Step& step) {
    const ValueId whole{join.concat, 0};
    const Node& concat = graph_.node(join.concat);
    int id = find(device_ids_, whole);
    if (id < 0) id = add_value(whole, Storage::Arena, true);
    step.out = {id};
    step.column = join.column;
    step.columns = graph_.fact(concat.inputs[join.input]).shape.back().value();
    step.part = graph_.value_name(concat.inputs[join.input]);
    auto& parts = written_[join.concat];
    parts.resize(concat.inputs.size(), false);
    parts[join.input] = true;
  }

  bool outputs_known(const Node& n, const FusedEpilogue* fused) const {
    for (std::uint32_t k = 0; k < n.outputs.size(); ++k) {
      if (!is_plain(graph_.fact(fused ? fused->result : ValueId{n.id, k}))) return false;
    }
    return true;
  }

  bool inputs_known(const std::vector<ValueId>& inputs) const {
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](ValueId v) { return !v.present() || is_plain(graph_.fact(v)); });
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
      const bool plain = is_plain(f);
      if (!plain) step.dynamic = true;
      step.out.push_back(add_value(v, plain ? Storage::Arena : Storage::Owned, step.queued));
      learned.push_back(f);
    }
    check(!step.dynamic || !step.kernel, ErrorKind::Internal,
          "a kernel was given an output of unknown size");
    for (const Fact& f : learned) learn(f);
  }

  // An output must not lie in the caller's input.
  void add_output(std::size_t i) {
    const int id = id_of(graph_.outputs()[i]);
    const ProgramValue& value = value_at(id);
    const bool callers = value_at(root_of(id)).storage == Storage::Input &&
                         value.fact.kind == Fact::Kind::Tensor && value.fact.dtype != DType::String;
    program_->output_names.push_back(graph_.output_names()[i]);
    program_->outputs.push_back(callers ? add_host_copy(graph_.output_names()[i], id) : id);
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
  DeviceTarget* target_;
  Ids ids_, device_ids_;  // by node, by slot: in the host's memory, in the device's
  Fusions fusions_;
  Chains chains_;
  std::map<NodeId, Join> joins_;                 // by the node that makes the value
  std::map<NodeId, std::vector<bool>> written_;  // inputs of a Concat that lie in its result
};

}  // namespace

std::shared_ptr<const Program> lower(Graph graph, const LowerOptions& options,
                                     DeviceTarget* target) {
  return Lowering(std::move(graph), options, {}, target).run();
}

}  // namespace treadle::cpu
