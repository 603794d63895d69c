#include "graph/evaluate.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/basic_ops.hpp"
#include "tensor/limit.hpp"

namespace treadle {
namespace {

// Resolves inputs, allocates outputs from the inferred facts, and collects what eval writes.
class ReferenceContext final : public EvalContext {
 public:
  ReferenceContext(const Operator& op, std::span<const Value* const> in,
                   const SymbolValues& symbols)
      : op_(op), in_(in), symbols_(symbols) {
    views_.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i] && in[i]->is_tensor()) views_[i] = in[i]->tensor().view();
    }
  }

  void prepare(const std::vector<Fact>& facts) {
    values_.resize(facts.size());
    outputs_.resize(facts.size());
    for (std::size_t k = 0; k < facts.size(); ++k) {
      const Fact& f = facts[k];
      if (f.kind != Fact::Kind::Tensor) continue;
      try {
        Tensor t(f.dtype, eval_shape(f.shape));
        outputs_[k] = t.view();
        values_[k] = std::move(t);
      } catch (const UnknownSize&) {
        outputs_[k].dtype = f.dtype;
      }
    }
  }

  std::vector<Value> take() { return std::move(values_); }

  std::size_t inputs() const override { return in_.size(); }
  std::size_t outputs() const override { return values_.size(); }
  const TensorView* input(std::size_t i) const override {
    return i < in_.size() && in_[i] ? &views_[i] : nullptr;
  }
  const Value& input_value(std::size_t i) const override {
    check(i < in_.size() && in_[i], ErrorKind::Internal, "input {} is missing", i);
    return *in_[i];
  }
  TensorView& output(std::size_t i) override { return outputs_[i]; }
  void set_output(std::size_t i, Value value) override { values_[i] = std::move(value); }
  std::int64_t value_of(const Dim& dim) const override { return dim.eval(symbols_); }

  std::vector<Value> run_subgraph(std::size_t which, std::vector<Value> inputs) override {
    const auto graphs = op_.subgraphs();
    check(which < graphs.size(), ErrorKind::Internal, "subgraph {} is missing", which);
    return evaluate(*graphs[which], std::move(inputs), symbols_);
  }

 private:
  struct UnknownSize {};

  // Sizes that only eval brings to light leave the output to set_output.
  Shape eval_shape(const SymShape& shape) const {
    for (const Dim& d : shape) {
      std::vector<std::string> names;
      d.collect_symbols(names);
      for (const auto& n : names) {
        if (symbols_.find(n) == symbols_.end()) throw UnknownSize{};
      }
    }
    return eval(shape, symbols_);
  }

  const Operator& op_;
  std::span<const Value* const> in_;
  const SymbolValues& symbols_;
  std::vector<TensorView> views_;
  std::vector<TensorView> outputs_;
  std::vector<Value> values_;
};

Fact fact_of(const Value& v) {
  if (v.is_tensor()) {
    const Tensor& t = v.tensor();
    Fact f = Fact::tensor(t.dtype(), to_sym(t.shape()));
    f.value = std::make_shared<const Tensor>(t);
    return f;
  }
  const bool sequence = v.kind() == Value::Kind::Sequence;
  const Value* first = nullptr;
  if (sequence) {
    if (!v.items().empty()) first = &v.items().front();
  } else {
    first = v.held();
  }
  Fact element = first ? fact_of(*first) : Fact{};
  element.value = nullptr;
  return sequence ? Fact::sequence(element) : Fact::optional(element);
}

std::vector<Value> evaluate_with(const Operator& op, const std::vector<Fact>& out,
                                 std::span<const Value* const> inputs,
                                 const SymbolValues& symbols) {
  ReferenceContext ctx(op, inputs, symbols);
  ctx.prepare(out);
  op.eval(ctx);
  return ctx.take();
}

}  // namespace

std::vector<Value> evaluate(const Operator& op, std::span<const Value* const> inputs,
                            const SymbolValues& symbols) {
  std::vector<Fact> facts;
  facts.reserve(inputs.size());
  for (const Value* v : inputs) facts.push_back(v ? fact_of(*v) : Fact{});
  std::vector<const Fact*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    pointers.push_back(inputs[i] ? &facts[i] : nullptr);
  return evaluate_with(op, op.infer(pointers), inputs, symbols);
}

std::vector<Tensor> evaluate(const Operator& op, const std::vector<Tensor>& inputs) {
  std::vector<Value> values(inputs.begin(), inputs.end());
  std::vector<const Value*> pointers;
  for (const Value& v : values)
    pointers.push_back(v.is_tensor() && !v.tensor().defined() ? nullptr : &v);
  std::vector<Tensor> out;
  for (Value& v : evaluate(op, pointers)) out.push_back(v.tensor());
  return out;
}

void solve_symbols(const Fact& fact, DType dtype, const Shape& shape, std::string_view what,
                   SymbolValues& symbols) {
  check(dtype == fact.dtype, ErrorKind::Type, "{} has dtype {}, expected {}", what, name_of(dtype),
        name_of(fact.dtype));
  bool ok = shape.rank() == fact.rank();
  for (std::size_t i = 0; ok && i < fact.shape.size(); ++i) {
    const Dim& d = fact.shape[i];
    if (d.is_const()) {
      ok = d.is(shape[i]);
    } else if (auto name = d.as_symbol()) {
      const auto [it, added] = symbols.try_emplace(*name, shape[i]);
      ok = it->second == shape[i];
    }
  }
  if (!ok) {
    std::string known;
    for (const auto& [name, value] : symbols) {
      for (const Dim& d : fact.shape) {
        if (d.as_symbol() == name) known += fmt::format(" {}={}", name, value);
      }
    }
    fail(ErrorKind::Shape, "{} has shape {}, expected {}{}{}", what, shape.str(), str(fact.shape),
         known.empty() ? "" : " with", known);
  }
}

namespace {

// `what` is asked only for an error: sequences may be long.
void check_held(const Fact& fact, const Value& value, const std::function<std::string()>& what) {
  using Kind = Fact::Kind;
  const Kind kind = value.is_tensor()                       ? Kind::Tensor
                    : value.kind() == Value::Kind::Sequence ? Kind::Sequence
                                                            : Kind::Optional;
  if (kind != fact.kind || (kind == Kind::Tensor && value.tensor().dtype() != fact.dtype)) {
    fail(ErrorKind::Type, "{} is {}, expected {}", what(), fact_of(value).str(), fact.str());
  }
  if (kind == Kind::Sequence) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      check_held(*fact.element, value.items()[i],
                 [&] { return fmt::format("element {} of {}", i, what()); });
    }
  } else if (kind == Kind::Optional && value.held() != nullptr) {
    check_held(*fact.element, *value.held(), [&] { return fmt::format("what {} holds", what()); });
  }
}

}  // namespace

void check_container(const Fact& fact, const Value& value, std::string_view what) {
  check_held(fact, value, [&] { return std::string(what); });
}

std::vector<Value> evaluate(const Graph& graph, std::vector<Value> inputs, SymbolValues symbols,
                            const Observer& observer) {
  check(inputs.size() == graph.inputs().size(), ErrorKind::Shape, "the model has {} inputs, got {}",
        graph.inputs().size(), inputs.size());
  const WorkLimit work(graph.limits.max_iterations, graph.limits.max_seconds);
  std::vector<std::vector<Value>> values(graph.node_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = graph.inputs()[i];
    const Fact& f = graph.fact(v);
    if (f.kind == Fact::Kind::Tensor) {
      const Tensor& t = inputs[i].tensor();
      solve_symbols(f, t.dtype(), t.shape(), "input '" + graph.value_name(v) + "'", symbols);
    } else {
      check_container(f, inputs[i], "input '" + graph.value_name(v) + "'");
    }
    values[v.node] = {std::move(inputs[i])};
  }
  const auto order = graph.order();
  std::vector<std::uint32_t> last_use(graph.node_count(), 0);
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    for (ValueId v : graph.node(order[at]).inputs) {
      if (v.present()) last_use[v.node] = at;
    }
  }
  for (ValueId v : graph.outputs()) last_use[v.node] = static_cast<std::uint32_t>(order.size());
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    const Node& n = graph.node(order[at]);
    WorkLimit::check_time();
    if (n.op->as<Source>()) continue;
    if (const auto* c = n.op->as<Constant>()) {
      values[n.id] = {Value(*c->value())};
      continue;
    }
    in_context([&] { return describe(n); },
               [&] {
                 std::vector<const Value*> in;
                 for (ValueId v : n.inputs)
                   in.push_back(v.present() ? &values[v.node][v.slot] : nullptr);
                 std::vector<Fact> facts;
                 for (const Output& o : n.outputs) facts.push_back(o.fact);
                 values[n.id] = evaluate_with(*n.op, facts, in, symbols);
                 for (std::size_t k = 0; k < facts.size(); ++k) {
                   if (facts[k].kind != Fact::Kind::Tensor || !values[n.id][k].is_tensor())
                     continue;
                   const Tensor& t = values[n.id][k].tensor();
                   if (t.defined()) {
                     solve_symbols(facts[k], t.dtype(), t.shape(), "output " + std::to_string(k),
                                   symbols);
                   }
                 }
               });
    if (observer) observer(n, values[n.id]);
    for (ValueId v : n.inputs) {
      if (v.present() && last_use[v.node] == at && !graph.node(v.node).op->as<Source>())
        values[v.node].clear();
    }
  }
  std::vector<Value> out;
  for (ValueId v : graph.outputs()) out.push_back(values[v.node][v.slot]);
  return out;
}

}  // namespace treadle
