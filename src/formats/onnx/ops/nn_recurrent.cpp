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

// `defaults`: the activations of one direction.
std::shared_ptr<ops::Recurrent> from_attrs(NodeContext& ctx, ops::CellKind cell,
                                           const std::vector<std::string>& defaults) {
  auto op = std::make_shared<ops::Recurrent>();
  op->cell = cell;
  op->direction = direction_attr(ctx);
  const Fact& r = ctx.fact(2);
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
  std::vector<ValueId> out = ctx.add(from_attrs(ctx, cell, defaults), std::move(inputs));
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
  return add_recurrent(ctx, ops::CellKind::Lstm, {"sigmoid", "tanh", "tanh"});
}

}  // namespace treadle::onnx
