// RNN, GRU and LSTM.
#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "ops/recurrent.hpp"

namespace treadle::onnx {

namespace {

// Which parameters an activation takes, and their defaults.
struct ActivationInfo {
  std::string_view name;
  bool has_alpha, has_beta;
  double alpha, beta;
};

constexpr ActivationInfo kActivations[] = {
    {"affine", true, true, 1, 0},           {"leakyrelu", true, false, 0.01, 0},
    {"thresholdedrelu", true, false, 1, 0}, {"scaledtanh", true, true, 1, 1},
    {"hardsigmoid", true, true, 0.2, 0.5},  {"elu", true, false, 1, 0},
};

const ActivationInfo* find_activation(std::string_view name) {
  for (const ActivationInfo& a : kActivations) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

std::vector<std::string> lstm_activations() {
  return {"sigmoid", "tanh", "tanh"};
}

// Gives each activation its parameter: the file lists one an activation, or one an activation that
// takes such a parameter.
void set_parameters(const std::vector<std::string>& activations,
                    const std::optional<std::vector<double>>& given, bool is_alpha,
                    std::vector<double>& out) {
  const std::vector<double> values = given.value_or(std::vector<double>{});
  const bool one_each = values.size() == activations.size();
  std::size_t next = 0;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const ActivationInfo* info = find_activation(activations[i]);
    double v = info == nullptr ? 0 : is_alpha ? info->alpha : info->beta;
    if (info != nullptr && (is_alpha ? info->has_alpha : info->has_beta)) {
      const std::size_t at = one_each ? i : next++;
      if (at < values.size()) v = values[at];
    }
    out.push_back(v);
  }
}

ops::Direction direction_attr(NodeContext& ctx) {
  const std::string text = lower(ctx.string_attr("direction", "forward"));
  if (text == "forward") return ops::Direction::Forward;
  if (text == "reverse") return ops::Direction::Reverse;
  check(text == "bidirectional", ErrorKind::Parse,
        "attribute 'direction' is '{}', expected forward, reverse or bidirectional", text);
  return ops::Direction::Bidirectional;
}

// `defaults`: the activations of one direction; `recurrence`: R.
std::shared_ptr<ops::Recurrent> from_attrs(NodeContext& ctx, ops::CellKind cell,
                                           const std::vector<std::string>& defaults,
                                           ValueId recurrence) {
  auto op = std::make_shared<ops::Recurrent>();
  op->cell = cell;
  op->direction = direction_attr(ctx);
  const Fact& r = ctx.graph().fact(recurrence);
  check(r.rank() == 3, ErrorKind::Shape, "input 2 'R' has shape {}, expected rank 3", str(r.shape));
  op->hidden =
      ctx.has_attr("hidden_size") ? ctx.int_attr("hidden_size", std::nullopt) : r.shape[2].value();
  op->clip = ctx.float_attr("clip", 0.0);
  op->linear_before_reset = ctx.int_attr("linear_before_reset", 0) != 0;
  op->input_forget = ctx.int_attr("input_forget", 0) != 0;
  const std::size_t directions = op->direction == ops::Direction::Bidirectional ? 2 : 1;
  std::vector<std::string> names =
      ctx.strings_attr("activations").value_or(std::vector<std::string>{});
  for (std::string& name : names) name = lower(std::move(name));
  for (std::size_t d = 0; d < directions && names.size() < directions * defaults.size(); ++d) {
    if (names.size() == d * defaults.size()) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  check(names.size() == directions * defaults.size(), ErrorKind::Parse,
        "attribute 'activations' has {} entries, expected {}", names.size(),
        directions * defaults.size());
  op->activations = names;
  set_parameters(names, ctx.floats_attr("activation_alpha"), true, op->alpha);
  set_parameters(names, ctx.floats_attr("activation_beta"), false, op->beta);
  return op;
}

// With layout 1 the file has the batch first.
std::vector<ValueId> add_recurrent(NodeContext& ctx, ops::CellKind cell,
                                   const std::vector<std::string>& defaults) {
  const std::int64_t layout = ctx.int_attr("layout", 0);
  check(layout == 0 || layout == 1, ErrorKind::Parse, "attribute 'layout' is {}, expected 0 or 1",
        layout);
  const std::size_t most = cell == ops::CellKind::Lstm ? 8 : 6;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < std::min(most, ctx.inputs()); ++i) {
    ValueId v = i < 3 ? ctx.in(i) : nn::optional_input(ctx, i);
    const bool has_batch = i == 0 || i == 5 || i == 6;
    if (layout == 1 && has_batch && v.present()) v = nn::transpose(ctx, v, {1, 0, 2});
    if (i == 4 && v.present()) v = nn::cast(ctx, v, DType::I32);
    inputs.push_back(v);
  }
  auto op = from_attrs(ctx, cell, defaults, ctx.in(2));
  std::vector<ValueId> out = ctx.add(std::move(op), std::move(inputs));
  if (layout == 0) return out;
  out[0] = nn::transpose(ctx, out[0], {2, 0, 1, 3});
  for (std::size_t i = 1; i < out.size(); ++i) out[i] = nn::transpose(ctx, out[i], {1, 0, 2});
  return out;
}

}  // namespace

std::vector<ValueId> import_rnn(NodeContext& ctx) {
  return add_recurrent(ctx, ops::CellKind::Rnn, {"tanh"});
}

std::vector<ValueId> import_gru(NodeContext& ctx) {
  return add_recurrent(ctx, ops::CellKind::Gru, {"sigmoid", "tanh"});
}

std::vector<ValueId> import_lstm(NodeContext& ctx) {
  return add_recurrent(ctx, ops::CellKind::Lstm, lstm_activations());
}

namespace {

// Input i, quantised weights [D, K, 4·H] with scale and zero point in the inputs `scale` and
// `scale` + 1, each [D] or [D, 4·H]; as f32 [D, 4·H, K].
ValueId float_weights(NodeContext& ctx, std::size_t i, std::size_t scale) {
  check(ctx.fact(i).rank() == 3, ErrorKind::Shape, "input {} has shape {}, expected rank 3", i,
        str(ctx.fact(i).shape));
  const auto parameter = [&](std::size_t at) {
    const int rank = ctx.fact(at).rank();
    check(rank == 1 || rank == 2, ErrorKind::Shape, "input {} has shape {}, expected rank 1 or 2",
          at, str(ctx.fact(at).shape));
    const ValueId v = nn::cast(ctx, ctx.in(at), DType::F32);
    return rank == 1 ? nn::unsqueeze(ctx, v, {1, 2}) : nn::unsqueeze(ctx, v, {1});
  };
  const ValueId centred = nn::binary(ctx, ops::BinaryFn::Sub, nn::cast(ctx, ctx.in(i), DType::F32),
                                     parameter(scale + 1));
  return nn::transpose(ctx, nn::binary(ctx, ops::BinaryFn::Mul, centred, parameter(scale)),
                       {0, 2, 1});
}

}  // namespace

// com.microsoft: an LSTM whose weights are quantised. ONNX Runtime also quantises X and the hidden
// state of each step, for speed: its results differ by that rounding, which is not done here.
std::vector<ValueId> import_dynamic_quantize_lstm(NodeContext& ctx) {
  std::vector<ValueId> inputs{ctx.in(0), float_weights(ctx, 1, 8), float_weights(ctx, 2, 10)};
  for (std::size_t i = 3; i < 8; ++i) inputs.push_back(nn::optional_input(ctx, i));
  auto op = from_attrs(ctx, ops::CellKind::Lstm, lstm_activations(), inputs[2]);
  return ctx.add(std::move(op), std::move(inputs));
}

}  // namespace treadle::onnx
