// LSTM and GRU cells, and the LSTM over time.
#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/contract.hpp"
#include "ops/control.hpp"
#include "ops/move.hpp"
#include "ops/range.hpp"
#include "ops/symbolic_constant.hpp"

namespace treadle::tf {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

// Arithmetic in a graph under construction.
struct Maker {
  Graph& g;
  std::string name;

  ValueId add(ValueId a, ValueId b) { return ops::binary(g, name, BinaryFn::Add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return ops::binary(g, name, BinaryFn::Sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return ops::binary(g, name, BinaryFn::Mul, a, b); }
  ValueId sigmoid(ValueId x) { return ops::unary(g, name, UnaryFn::Sigmoid, x); }
  ValueId tanh(ValueId x) { return ops::unary(g, name, UnaryFn::Tanh, x); }
  ValueId join(ValueId a, ValueId b) { return g.add1(name, make_op<ops::Concat>(1), {a, b}); }
  ValueId product(ValueId a, ValueId b) {
    return g.add1(name, make_op<ops::Contract>(std::vector<std::string>{"mk", "kn"}, "mn"), {a, b});
  }
  // Quarter, half k of the columns.
  ValueId columns(ValueId x, std::int64_t k, const Dim& width) {
    return g.add1(name, make_op<ops::Slice>(1, Dim(k) * width, width), {x});
  }
};

struct Lstm {
  double forget_bias = 1, clip = 0;
  bool peephole = false;
  bool forget_first = false;  // gates of the weights are i, f, c, o, else i, c, f, o
};

// Outputs i, cs, f, o, ci, co, h of one step (lstm_ops.h). Weights: w, wci, wcf, wco, b.
std::vector<ValueId> lstm_step(Maker m, const Lstm& l, ValueId x, ValueId cs_before,
                               ValueId h_before, std::span<const ValueId> w) {
  const Dim width = m.g.fact(cs_before).shape.at(1);
  const ValueId gates = m.add(m.product(m.join(x, h_before), w[0]), w[4]);
  ValueId i = m.columns(gates, 0, width), o = m.columns(gates, 3, width);
  ValueId ci = m.columns(gates, l.forget_first ? 2 : 1, width);
  ValueId f = m.columns(gates, l.forget_first ? 1 : 2, width);
  if (l.forget_bias != 0) f = m.add(f, ops::scalar_like(m.g, m.name, l.forget_bias, f));
  if (l.peephole) {
    i = m.add(i, m.mul(cs_before, w[1]));
    f = m.add(f, m.mul(cs_before, w[2]));
  }
  i = m.sigmoid(i);
  f = m.sigmoid(f);
  ci = m.tanh(ci);
  ValueId cs = m.add(m.mul(ci, i), m.mul(cs_before, f));
  if (l.clip > 0) cs = ops::unary(m.g, m.name, UnaryFn::Clip, cs, -l.clip, l.clip);
  if (l.peephole) o = m.add(o, m.mul(cs, w[3]));
  o = m.sigmoid(o);
  const ValueId co = m.tanh(cs);
  return {i, cs, f, o, ci, co, m.mul(co, o)};
}

Lstm lstm_of(NodeContext& c, bool forget_first) {
  Lstm l;
  l.forget_first = forget_first;
  l.forget_bias = forget_first ? 0 : c.float_attr("forget_bias", 1);
  l.clip = c.float_attr("cell_clip", forget_first ? 0 : 3);
  l.peephole = c.bool_attr("use_peephole", false);
  return l;
}

void check_state(NodeContext& c, std::size_t i) {
  check(c.fact(i).rank() == 2, ErrorKind::Shape, "input {} has shape {}, expected [batch, cells]",
        i, str(c.fact(i).shape));
}

}  // namespace

std::vector<ValueId> import_lstm_block_cell(NodeContext& c) {
  check_state(c, 0);
  check_state(c, 1);
  const std::vector<ValueId> weights{c.in(3), c.in(4), c.in(5), c.in(6), c.in(7)};
  return lstm_step({c.graph(), c.fresh_name()}, lstm_of(c, false), c.in(0), c.in(1), c.in(2),
                   weights);
}

// Inputs: the number of steps to run, x [time, batch, inputs], cs, h [batch, cells], weights.
std::vector<ValueId> import_block_lstm(NodeContext& c) {
  const SymShape x = c.fact(1).shape;
  check(x.size() == 3, ErrorKind::Shape, "input 1 'x' has shape {}, expected [time, batch, inputs]",
        str(x));
  check_state(c, 2);
  check_state(c, 3);
  check(c.fact(0).rank() == 0 && is_integer(c.fact(0).dtype), ErrorKind::Shape,
        "input 0 'seq_len_max' is {}, expected an integer", c.fact(0).str());
  const Lstm l = lstm_of(c, c.node().op == "BlockLSTMV2");
  const Fact state = ops::type_only(c.fact(2));
  const std::vector<Fact> formal{state, ops::type_only(c.fact(3)),
                                 Fact::tensor(c.fact(1).dtype, {x[1], x[2]})};
  const std::string name = c.fresh_name();
  auto body = c.functions().body(c.builder(), formal, [&](Builder& b, std::span<const ValueId> in) {
    std::vector<ValueId> weights;
    for (std::size_t i = 4; i < 9; ++i) weights.push_back(b.capture(c.in(i)));
    const auto all = lstm_step({b.graph, name}, l, in[2], in[0], in[1], weights);
    std::vector<ValueId> out{all[1], all[6]};
    out.insert(out.end(), all.begin(), all.end());
    return out;
  });
  auto op = std::make_shared<ops::Scan>();
  op->states = 2;
  op->input_axes = op->input_reversed = {0};
  op->output_axes = op->output_reversed = std::vector<std::int64_t>(7, 0);
  for (ValueId v : body.graph->outputs()) {
    const SymShape& made = body.graph->fact(v).shape;
    SymShape both = made;
    both.insert(both.end(), state.shape.begin(), state.shape.end());
    check_sizes(made == state.shape, both, "the state of shape {} becomes one of {}",
                str(state.shape), str(made));
    op->facts.push_back(state);
    if (op->facts.size() > 2) op->facts.back().shape.insert(op->facts.back().shape.begin(), x[0]);
  }
  op->body = body.graph;
  std::vector<ValueId> inputs{c.in(2), c.in(3), c.in(1)};
  inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  auto all = c.graph().add(name, std::move(op), std::move(inputs));
  all.erase(all.begin(), all.begin() + 2);
  const auto steps = c.fact(0).symbolic();
  if (steps && (*steps)[0] == x[0]) return all;
  // cs and h of the steps after the last one are 0; TensorFlow leaves the other outputs as they
  // are.
  const auto number = [&](std::int64_t v) { return c.constant(Tensor::scalar<std::int64_t>(v)); };
  const ValueId length =
      c.add1(make_op<ops::SymbolicConstant>(std::vector<Dim>{x[0]}, DType::I64, SymShape{}), {});
  const ValueId at = c.add1(make_op<ops::Range>(x[0], false), {number(0), length, number(1)});
  const ValueId last = ops::cast(c.graph(), c.fresh_name(), c.in(0), DType::I64);
  const ValueId runs =
      ops::unsqueeze(c.graph(), c.fresh_name(), c.binary(BinaryFn::Less, at, last), {1, 2});
  for (ValueId& v : all) v = c.select(runs, v, c.scalar(0, v));
  return all;
}

// Inputs x, h, w_ru, w_c, b_ru, b_c; outputs r, u, c, h (gru_ops.h).
std::vector<ValueId> import_gru_block_cell(NodeContext& c) {
  check_state(c, 0);
  check_state(c, 1);
  Maker m{c.graph(), c.fresh_name()};
  const Dim width = c.fact(1).shape[1];
  const ValueId gates = m.sigmoid(m.add(m.product(m.join(c.in(0), c.in(1)), c.in(2)), c.in(4)));
  const ValueId r = m.columns(gates, 0, width), u = m.columns(gates, 1, width);
  const ValueId reset = m.join(c.in(0), m.mul(r, c.in(1)));
  const ValueId candidate = m.tanh(m.add(m.product(reset, c.in(3)), c.in(5)));
  const ValueId one = ops::scalar_like(m.g, m.name, 1, u);
  const ValueId h = m.add(m.mul(u, c.in(1)), m.mul(m.sub(one, u), candidate));
  return {r, u, candidate, h};
}

}  // namespace treadle::tf
