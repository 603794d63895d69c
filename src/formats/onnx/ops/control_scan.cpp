// Scan.
#include "formats/onnx/ops/control_bodies.hpp"
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/control.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/shape_of.hpp"

namespace treadle::onnx {
namespace {

using ops::SymbolNames;

std::vector<std::int64_t> directions(NodeContext& c, std::string_view attr, std::size_t count) {
  auto values = c.ints_attr(attr).value_or(std::vector<std::int64_t>(count, 0));
  check(values.size() == count, ErrorKind::Parse, "{} has {} entries, expected {}", attr,
        values.size(), count);
  for (const std::int64_t v : values) {
    check(v == 0 || v == 1, ErrorKind::Parse, "{} holds {}, expected 0 or 1", attr, v);
  }
  return values;
}

std::vector<std::int64_t> axes_attr(NodeContext& c, std::string_view attr, std::size_t count) {
  auto values = c.ints_attr(attr).value_or(std::vector<std::int64_t>(count, 0));
  check(values.size() == count, ErrorKind::Parse, "{} has {} entries, expected {}", attr,
        values.size(), count);
  return values;
}

// The fact of an entry of a batch: without the first `count` axes.
Fact entry_of(const Fact& f, std::size_t count, std::string_view what) {
  check(f.kind == Fact::Kind::Tensor && f.shape.size() >= count, ErrorKind::Shape,
        "{} is {}, expected {} axes or more", what, f.str(), count);
  Fact out = ops::type_only(f);
  out.shape.erase(out.shape.begin(), out.shape.begin() + static_cast<std::ptrdiff_t>(count));
  return out;
}

Fact with_axis(Fact f, const Dim& size) {
  f.shape.insert(f.shape.begin(), size);
  return f;
}

// What is built of a batched Scan: a graph that scans one entry of the batch.
class EntryGraph {
 public:
  EntryGraph(NodeContext& c, const Body& body) : c_(c), graph_(std::make_shared<Graph>()) {
    graph_->limits = c.graph().limits;
    graph_->symbol_scope = body.graph->symbol_scope + "entry.";
  }

  Graph& graph() { return *graph_; }
  std::shared_ptr<Graph> take() { return graph_; }

  ValueId input(const std::string& name, const Fact& fact) {
    return graph_->add_source(name, fact);
  }
  ValueId add1(OperatorPtr op, std::vector<ValueId> inputs) {
    return graph_->add1(fmt::format("{}/{}", c_.name(), ++nodes_), std::move(op),
                        std::move(inputs));
  }
  ValueId ints(std::vector<std::int64_t> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return graph_->add_constant(fmt::format("{}/{}", c_.name(), ++nodes_),
                                Tensor::from<std::int64_t>(shape, values));
  }
  // The first `length` (a tensor [1]) steps of x.
  ValueId first_steps(ValueId x, ValueId length) {
    SymShape sizes = graph_->fact(x).shape;
    sizes[0] = graph_->fresh_symbol("steps");
    return add1(make_op<ops::DynamicSlice>(std::move(sizes)), {x, ints({0}), length, ints({0})});
  }
  // z with zeros behind its first axis up to the steps of x.
  ValueId padded(ValueId z, ValueId x) {
    const auto steps = [&](ValueId v) {
      return add1(make_op<ops::Gather>(0), {add1(make_op<ops::ShapeOf>(), {v}), ints({0})});
    };
    const ValueId missing = ops::binary(*graph_, fmt::format("{}/{}", c_.name(), ++nodes_),
                                        BinaryFn::Sub, steps(x), steps(z));
    SymShape sizes = graph_->fact(z).shape;
    sizes[0] = graph_->fact(x).shape[0];
    const std::size_t rank = sizes.size();
    const ValueId pads =
        add1(make_op<ops::Concat>(0), {ints(Axes(rank, 0)), missing, ints(Axes(rank - 1, 0))});
    return add1(make_op<ops::DynamicPad>(std::move(sizes), ops::PadMode::Constant), {z, pads});
  }

 private:
  NodeContext& c_;
  std::shared_ptr<Graph> graph_;
  int nodes_ = 0;
};

// Scan of opset 8: axis 0 of everything is a batch, axis 1 of scanned inputs the steps, of which an
// entry of the batch takes as many as sequence_lens says; zeros follow. It is a Scan over the batch
// whose body scans one entry.
std::vector<ValueId> import_batched_scan(NodeContext& c) {
  const std::int64_t count = c.int_attr("num_scan_inputs", {});
  check(count >= 1 && static_cast<std::size_t>(count) < c.inputs(), ErrorKind::Parse,
        "num_scan_inputs is {}, with {} inputs", count, c.inputs());
  const auto m = static_cast<std::size_t>(count);
  const std::size_t n = c.inputs() - 1 - m;
  const auto [body_inputs, body_outputs] = c.body_arity("body");
  check(body_inputs == n + m && body_outputs >= n, ErrorKind::Parse,
        "the body has {} inputs and {} outputs, expected {} and {} or more", body_inputs,
        body_outputs, n + m, n);
  auto inner = std::make_shared<ops::Scan>();
  inner->states = static_cast<std::int64_t>(n);
  inner->input_axes.assign(m, 0);
  inner->input_reversed = directions(c, "directions", m);
  inner->output_axes.assign(body_outputs - n, 0);
  inner->output_reversed.assign(body_outputs - n, 0);
  Carried carried;
  for (std::size_t k = 0; k < n; ++k)
    carried.facts.push_back(entry_of(c.fact(k + 1), 1, fmt::format("initial state {}", k)));
  std::vector<Fact> steps;
  for (std::size_t i = 0; i < m; ++i)
    steps.push_back(entry_of(c.fact(n + 1 + i), 2, fmt::format("scanned input {}", i)));
  const Body body = import_widened(c, body_maker(c), {}, carried, steps, 0);
  const SymbolNames visible = visible_symbols(c, body);

  EntryGraph entry(c, body);
  ValueId length;
  if (c.has(0)) {
    check(c.fact(0).rank() == 1, ErrorKind::Shape, "input 0 'sequence_lens' is {}, expected 1 axis",
          c.fact(0).str());
    const ValueId given = entry.input("length", Fact::tensor(c.fact(0).dtype, {}));
    length = ops::reshape(entry.graph(), c.name() + "/length", given, {1});
  }
  std::vector<ValueId> inputs, scanned;
  for (std::size_t k = 0; k < n + m; ++k) {
    const ValueId x =
        entry.input(fmt::format("input {}", k), entry_of(c.fact(k + 1), 1, "an input"));
    if (k >= n) scanned.push_back(x);
    inputs.push_back(k >= n && length.present() ? entry.first_steps(x, length) : x);
  }
  for (const ValueId v : body.captured)
    inputs.push_back(entry.input(c.graph().value_name(v), c.graph().fact(v)));
  inner->facts = carried_outputs(c, carried, visible);
  for (std::size_t k = n; k < body_outputs; ++k) {
    const Fact& f = body.graph->fact(body.graph->outputs()[k]);
    check(f.kind == Fact::Kind::Tensor, ErrorKind::Type, "scan output {} is {}, expected a tensor",
          k - n, f.str());
    inner->facts.push_back(
        with_axis(ops::outward(f, c.graph(), visible, fmt::format("{}:{}", c.name(), k)),
                  entry.graph().fact(inputs[n]).shape[0]));
  }
  inner->body = body.graph;
  auto results = entry.graph().add(c.name(), std::move(inner), std::move(inputs));
  auto op = std::make_shared<ops::Scan>();
  std::vector<std::string> names;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (k >= n && length.present()) results[k] = entry.padded(results[k], scanned[0]);
    names.push_back(fmt::format("output {}", k));
    op->facts.push_back(with_axis(entry.graph().fact(results[k]), c.fact(1).shape[0]));
  }
  entry.graph().set_outputs(std::move(results), std::move(names));
  op->body = entry.take();
  const std::size_t taken = n + m + (c.has(0) ? 1 : 0);
  op->input_axes.assign(taken, 0);
  op->input_reversed.assign(taken, 0);
  op->output_axes.assign(body_outputs, 0);
  op->output_reversed.assign(body_outputs, 0);
  std::vector<ValueId> outer;
  for (std::size_t i = c.has(0) ? 0 : 1; i < c.inputs(); ++i) outer.push_back(c.in(i));
  outer.insert(outer.end(), body.captured.begin(), body.captured.end());
  return c.add(std::move(op), std::move(outer));
}

}  // namespace

std::vector<ValueId> import_scan(NodeContext& c) {
  if (c.opset() < 9) return import_batched_scan(c);
  const std::int64_t count = c.int_attr("num_scan_inputs", {});
  check(count >= 1 && static_cast<std::size_t>(count) <= c.inputs(), ErrorKind::Parse,
        "num_scan_inputs is {}, with {} inputs", count, c.inputs());
  const auto m = static_cast<std::size_t>(count);
  const std::size_t n = c.inputs() - m;
  const auto [body_inputs, body_outputs] = c.body_arity("body");
  check(body_inputs == n + m && body_outputs >= n, ErrorKind::Parse,
        "the body has {} inputs and {} outputs, expected {} and {} or more", body_inputs,
        body_outputs, n + m, n);
  const std::size_t k_out = body_outputs - n;
  auto op = std::make_shared<ops::Scan>();
  op->states = static_cast<std::int64_t>(n);
  op->input_axes = axes_attr(c, "scan_input_axes", m);
  op->input_reversed = directions(c, "scan_input_directions", m);
  op->output_axes = axes_attr(c, "scan_output_axes", k_out);
  op->output_reversed = directions(c, "scan_output_directions", k_out);
  Carried carried;
  for (std::size_t k = 0; k < n; ++k) carried.facts.push_back(ops::type_only(c.fact(k)));
  std::vector<Fact> elements;
  Dim steps = 1;
  for (std::size_t i = 0; i < m; ++i) {
    Fact f = ops::type_only(c.fact(n + i));
    check(f.kind == Fact::Kind::Tensor, ErrorKind::Type,
          "scanned input {} is {}, expected a tensor", i, f.str());
    op->input_axes[i] = ops::normal_axis(op->input_axes[i], f.rank());
    const auto axis = static_cast<std::size_t>(op->input_axes[i]);
    check(i == 0 || !steps.is_const() || !f.shape[axis].is_const() || steps == f.shape[axis],
          ErrorKind::Shape, "scanned input {} has {} steps, others have {}", i, f.shape[axis].str(),
          steps.str());
    if (i == 0 || !steps.is_const()) steps = f.shape[axis];
    f.shape.erase(f.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    elements.push_back(std::move(f));
  }
  const Body body = import_widened(c, body_maker(c), {}, carried, elements, 0);
  const SymbolNames visible = visible_symbols(c, body);
  op->facts = carried_outputs(c, carried, visible);
  for (std::size_t k = 0; k < k_out; ++k) {
    const Fact& f = body.graph->fact(body.graph->outputs()[n + k]);
    check(f.kind == Fact::Kind::Tensor, ErrorKind::Type, "scan output {} is {}, expected a tensor",
          k, f.str());
    Fact out = ops::outward(f, c.graph(), visible, fmt::format("{}:{}", c.name(), n + k));
    op->output_axes[k] = ops::normal_axis(op->output_axes[k], f.rank() + 1);
    out.shape.insert(out.shape.begin() + static_cast<std::ptrdiff_t>(op->output_axes[k]), steps);
    op->facts.push_back(std::move(out));
  }
  op->body = body.graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < c.inputs(); ++i) inputs.push_back(c.in(i));
  inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  return c.add(std::move(op), std::move(inputs));
}

}  // namespace treadle::onnx
