#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/translators.hpp"
#include "kernels/recurrent/recurrent.hpp"
#include "ops/recurrent.hpp"

namespace treadle::cpu {
namespace {

using kernels::RecurrentCell;
using kernels::RecurrentWeights;
using ops::CellKind;
using ops::Recurrent;

bool takes(const TranslateContext& ctx, const Recurrent& op) {
  if (op.cell == CellKind::Rnn || op.clip != 0 || op.input_forget) return false;
  const std::size_t each = op.cell == CellKind::Lstm ? 3 : 2;
  for (std::size_t i = 0; i < op.activations.size(); ++i) {
    if (op.activations[i] != (i % each == 0 ? "sigmoid" : "tanh")) return false;
  }
  // Constant weights; no sequence lengths, no peepholes.
  return ctx.in(0).dtype == DType::F32 && ctx.constant(1) && ctx.constant(2) &&
         (!ctx.has(3) || ctx.constant(3)) && !ctx.has(4) && !ctx.has(7);
}

struct Weights {
  std::vector<RecurrentWeights> directions;
  bool lstm = true, reverse = false;
};

std::shared_ptr<const Weights> pack(const TranslateContext& ctx, const Recurrent& op) {
  auto result = std::make_shared<Weights>();
  result->lstm = op.cell == CellKind::Lstm;
  result->reverse = op.direction == ops::Direction::Reverse;
  const Tensor &w = *ctx.constant(1), &r = *ctx.constant(2);
  const Tensor* bias = ctx.constant(3);
  const std::int64_t rows = w.shape()[1], features = w.shape()[2];
  for (std::int64_t d = 0; d < w.shape()[0]; ++d) {
    result->directions.emplace_back(result->lstm ? RecurrentCell::Lstm : RecurrentCell::Gru,
                                    op.linear_before_reset, features, op.hidden,
                                    w.span<float>().data() + d * rows * features,
                                    r.span<float>().data() + d * rows * op.hidden,
                                    bias ? bias->span<float>().data() + d * 2 * rows : nullptr);
  }
  return result;
}

class BoundRecurrent final : public BoundKernel {
 public:
  BoundRecurrent(std::shared_ptr<const Weights> weights, const BindContext& ctx)
      : weights_(std::move(weights)) {
    const Shape& x = ctx.in[0]->shape;
    const RecurrentWeights& w = weights_->directions[0];
    time_ = x[0];
    batch_ = x[1];
    check(x[2] == w.features, ErrorKind::Shape, "input has {} features, the weights {}", x[2],
          w.features);
    states_ = checked_mul(batch_, w.hidden);
    const auto directions = static_cast<std::int64_t>(weights_->directions.size());
    for (std::size_t i = 5; i < ctx.in.size() && i < 7; ++i) {
      if (!ctx.in[i]) continue;
      const Shape want{directions, batch_, w.hidden};
      check(ctx.in[i]->shape == want, ErrorKind::Shape, "input {} has shape {}, expected {}", i,
            ctx.in[i]->shape.str(), want.str());
    }
    bytes_ = kernels::recurrent_workspace_bytes(w, time_, batch_, ctx.threads);
  }

  std::size_t workspace_bytes() const override { return bytes_; }
  std::string_view variant() const override { return weights_->lstm ? "lstm" : "gru"; }

  void run(RunContext& ctx) override {
    const auto directions = static_cast<std::int64_t>(weights_->directions.size());
    for (std::int64_t d = 0; d < directions; ++d) {
      kernels::RecurrentArgs a;
      a.time = time_;
      a.batch = batch_;
      a.backward = weights_->reverse || d == 1;
      a.x = ctx.in[0]->as<const float>();
      a.y = ctx.out[0]->as<float>() + d * states_;
      a.y_step = directions * states_;
      a.h = start(ctx, 5, 1, d);
      if (weights_->lstm) a.c = start(ctx, 6, 2, d);
      kernels::recurrent(*table_, weights_->directions[static_cast<std::size_t>(d)], a,
                         ctx.workspace, ctx.parallel);
    }
  }

 private:
  // The output's state of direction d, set to the initial one.
  float* start(RunContext& ctx, std::size_t input, std::size_t output, std::int64_t d) const {
    float* to = ctx.out[output]->as<float>() + d * states_;
    if (input < ctx.in.size() && ctx.in[input]) {
      std::copy_n(ctx.in[input]->as<const float>() + d * states_, states_, to);
    } else {
      std::fill_n(to, states_, 0.0f);
    }
    return to;
  }

  std::shared_ptr<const Weights> weights_;
  const kernels::Rows* table_ = &kernels::rows();
  std::int64_t time_ = 0, batch_ = 0, states_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

Translation translate_recurrent(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<Recurrent>();
  if (!takes(ctx, *op)) return {};
  const auto weights = pack(ctx, *op);
  std::size_t bytes = 0;
  for (const RecurrentWeights& w : weights->directions) bytes += w.bytes();
  return {kernel(
      weights->lstm ? "lstm_f32" : "gru_f32",
      [weights](const BindContext& b) -> std::unique_ptr<BoundKernel> {
        return std::make_unique<BoundRecurrent>(weights, b);
      },
      bytes)};
}

}  // namespace treadle::cpu
