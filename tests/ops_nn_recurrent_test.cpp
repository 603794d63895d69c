#include <cmath>

#include "ops/recurrent.hpp"
#include "ops_nn_util.hpp"

namespace treadle {
namespace {

using ops::CellKind;
using ops::Direction;
using ops::Recurrent;
using namespace test;
using Doubles = std::vector<double>;

Recurrent cell(CellKind kind, std::int64_t hidden, Direction direction = Direction::Forward) {
  Recurrent r;
  r.cell = kind;
  r.hidden = hidden;
  r.direction = direction;
  const std::vector<std::string> one = kind == CellKind::Rnn ? std::vector<std::string>{"tanh"}
                                       : kind == CellKind::Gru
                                           ? std::vector<std::string>{"sigmoid", "tanh"}
                                           : std::vector<std::string>{"sigmoid", "tanh", "tanh"};
  for (int d = 0; d < (direction == Direction::Bidirectional ? 2 : 1); ++d) {
    r.activations.insert(r.activations.end(), one.begin(), one.end());
  }
  r.alpha = r.beta = Doubles(r.activations.size(), 0);
  return r;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// h ← tanh(x + h/2) by hand.
TEST(Recurrent, RnnForwardReverseAndBoth) {
  const Tensor x = Tensor::of<float>({3, 1, 1}, {1, -1, 2});
  const Tensor w = Tensor::of<float>({1, 1, 1}, {1}), r = Tensor::of<float>({1, 1, 1}, {.5f});
  const double a = std::tanh(1.0), b = std::tanh(-1 + a / 2), c = std::tanh(2 + b / 2);
  auto y = evaluate(cell(CellKind::Rnn, 1), {x, w, r});
  expect_near(y[0], {a, b, c});
  expect_near(y[1], {c});
  const double d = std::tanh(2.0), e = std::tanh(-1 + d / 2), f = std::tanh(1 + e / 2);
  y = evaluate(cell(CellKind::Rnn, 1, Direction::Reverse), {x, w, r});
  expect_near(y[0], {f, e, d});
  expect_near(y[1], {f});
  const Tensor w2 = Tensor::of<float>({2, 1, 1}, {1, 1});
  const Tensor r2 = Tensor::of<float>({2, 1, 1}, {.5f, .5f});
  y = evaluate(cell(CellKind::Rnn, 1, Direction::Bidirectional), {x, w2, r2});
  expect_near(y[0], {a, f, b, e, c, d});
  expect_near(y[1], {c, f});
}

TEST(Recurrent, SequenceLengths) {
  // Two batch entries, of length 1 and 2; what lies beyond is zero.
  const Tensor x = Tensor::of<float>({2, 2, 1}, {1, 2, 9, 3});
  const Tensor one = Tensor::of<float>({1, 1, 1}, {1}), zero = Tensor::of<float>({1, 1, 1}, {0});
  const Tensor lengths = Tensor::of<std::int32_t>({2}, {1, 2});
  Recurrent r = cell(CellKind::Rnn, 1);
  r.activations = {"affine"};
  r.alpha = {1};
  auto y = evaluate(r, {x, one, zero, {}, lengths});
  expect_near(y[0], {1, 2, 0, 3});
  expect_near(y[1], {1, 3});
  r.direction = Direction::Reverse;
  y = evaluate(r, {x, one, one, {}, lengths});
  expect_near(y[0], {1, 5, 0, 3});
  expect_near(y[1], {1, 5});
  EXPECT_NE(error_of(r, {x, one, one, {}, Tensor::of<std::int32_t>({2}, {1, 3})}), "");
}

// Case H13: inputs [X, W, R, "", "", h0].
TEST(Recurrent, LstmWithOmittedInputs) {
  const Tensor x = Tensor::of<float>({3, 2, 1}, {1, -1, 2, .5f, -2, 1.5f});
  const Tensor w = Tensor::of<float>({1, 4, 1}, {.5f, -.3f, .8f, .6f});
  const Tensor r = Tensor::of<float>({1, 4, 1}, {.1f, .2f, .3f, -.4f});
  const Tensor h0 = Tensor::of<float>({1, 2, 1}, {.5f, -.5f});
  const auto y = evaluate(cell(CellKind::Lstm, 1), {x, w, r, {}, {}, h0});
  expect_near(y[1], {-.0604977, .1975211});
  // The first batch entry by the definition.
  double h = .5, c = 0;
  for (const double v : {1.0, 2.0, -2.0}) {
    const double i = sigmoid(.5 * v + .1 * h), f = sigmoid(.8 * v + .3 * h);
    const double g = std::tanh(.6 * v - .4 * h), o = sigmoid(-.3 * v + .2 * h);
    c = f * c + i * g;
    h = o * std::tanh(c);
  }
  EXPECT_NEAR(values(y[0])[4], h, 1e-6);
  EXPECT_NEAR(values(y[2])[0], c, 1e-6);
}

TEST(Recurrent, LstmPeepholesBiasClipAndInputForget) {
  const Tensor x = Tensor::of<float>({1, 1, 1}, {1});
  const Tensor w = Tensor::of<float>({1, 4, 1}, {1, 2, 3, 4}), r = filled({1, 4, 1}, 0);
  const Tensor b = Tensor::of<float>({1, 8}, {.1f, .2f, .3f, .4f, .01f, .02f, .03f, .04f});
  const Tensor c0 = Tensor::of<float>({1, 1, 1}, {2});
  const Tensor p = Tensor::of<float>({1, 3}, {.5f, -.5f, .25f});
  Recurrent cell1 = cell(CellKind::Lstm, 1);
  const std::vector<Tensor> in{x, w, r, b, {}, {}, c0, p};
  double i = sigmoid(1.11 + .5 * 2), f = sigmoid(3.33 + .25 * 2), g = std::tanh(4.44);
  double c = f * 2 + i * g, o = sigmoid(2.22 - .5 * c);
  auto y = evaluate(cell1, in);
  expect_near(y[2], {c});
  expect_near(y[1], {o * std::tanh(c)});
  cell1.input_forget = true;
  c = (1 - i) * 2 + i * g;
  expect_near(evaluate(cell1, in)[2], {c});
  cell1.input_forget = false;
  cell1.clip = .5;
  i = f = sigmoid(.5);
  g = std::tanh(.5);
  expect_near(evaluate(cell1, in)[2], {f * 2 + i * g});
}

TEST(Recurrent, GruBothForms) {
  const Tensor x = Tensor::of<float>({1, 1, 1}, {2});
  const Tensor w = Tensor::of<float>({1, 3, 1}, {.5f, -1, 1}),
               r = Tensor::of<float>({1, 3, 1}, {1, 2, 3});
  const Tensor b = Tensor::of<float>({1, 6}, {0, 0, 0, .1f, .2f, .3f});
  const Tensor h0 = Tensor::of<float>({1, 1, 1}, {.25f});
  const double z = sigmoid(1 + .25 + .1), reset = sigmoid(-2 + .5 + .2);
  Recurrent gru = cell(CellKind::Gru, 1);
  double n = std::tanh(2 + 3 * (reset * .25) + .3);
  expect_near(evaluate(gru, {x, w, r, b, {}, h0})[1], {(1 - z) * n + z * .25});
  gru.linear_before_reset = true;
  n = std::tanh(2 + reset * (3 * .25 + .3));
  expect_near(evaluate(gru, {x, w, r, b, {}, h0})[1], {(1 - z) * n + z * .25});
}

TEST(Recurrent, Errors) {
  const Tensor x = filled({2, 1, 3}, 1), w = filled({1, 8, 3}, 1), r = filled({1, 8, 2}, 1);
  Recurrent lstm = cell(CellKind::Lstm, 2);
  EXPECT_EQ(error_of(lstm, {x, w, r}), "");
  EXPECT_NE(error_of(lstm, {x, filled({1, 8, 4}, 1), r}).find("'W'"), std::string::npos);
  EXPECT_NE(error_of(lstm, {x, w, r, filled({1, 8}, 1)}).find("'B'"), std::string::npos);
  lstm.activations[0] = "nosuch";
  EXPECT_NE(error_of(lstm, {x, w, r}).find("nosuch"), std::string::npos);
  lstm = cell(CellKind::Lstm, 0);
  EXPECT_NE(error_of(lstm, {x, w, r}), "");
}

}  // namespace
}  // namespace treadle
