#include "ops/recurrent.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

namespace {

const char* name_of(CellKind c) {
  switch (c) {
    case CellKind::Rnn:
      return "rnn";
    case CellKind::Gru:
      return "gru";
    case CellKind::Lstm:
      return "lstm";
  }
  return "?";
}

const char* name_of(Direction d) {
  switch (d) {
    case Direction::Forward:
      return "forward";
    case Direction::Reverse:
      return "reverse";
    case Direction::Bidirectional:
      return "bidirectional";
  }
  return "?";
}

std::int64_t gates_of(CellKind c) {
  return c == CellKind::Rnn ? 1 : c == CellKind::Gru ? 3 : 4;
}

std::int64_t activations_of(CellKind c) {
  return c == CellKind::Rnn ? 1 : c == CellKind::Gru ? 2 : 3;
}

std::int64_t directions_of(Direction d) {
  return d == Direction::Bidirectional ? 2 : 1;
}

enum class Fn : std::uint8_t {
  Relu,
  Tanh,
  Sigmoid,
  Affine,
  LeakyRelu,
  ThresholdedRelu,
  ScaledTanh,
  HardSigmoid,
  Elu,
  Softsign,
  Softplus,
};

Fn activation_from(const std::string& name) {
  static constexpr std::pair<std::string_view, Fn> kNames[] = {
      {"relu", Fn::Relu},
      {"tanh", Fn::Tanh},
      {"sigmoid", Fn::Sigmoid},
      {"affine", Fn::Affine},
      {"leakyrelu", Fn::LeakyRelu},
      {"thresholdedrelu", Fn::ThresholdedRelu},
      {"scaledtanh", Fn::ScaledTanh},
      {"hardsigmoid", Fn::HardSigmoid},
      {"elu", Fn::Elu},
      {"softsign", Fn::Softsign},
      {"softplus", Fn::Softplus},
  };
  for (const auto& [known, fn] : kNames) {
    if (known == name) return fn;
  }
  fail(ErrorKind::Unsupported, "unknown activation '{}' of a recurrent operator", name);
}

struct Activation {
  Fn fn = Fn::Tanh;
  double a = 0, b = 0;

  double operator()(double x) const {
    switch (fn) {
      case Fn::Relu:
        return x < 0 ? 0 : x;
      case Fn::Tanh:
        return std::tanh(x);
      case Fn::Sigmoid:
        return 1 / (1 + std::exp(-x));
      case Fn::Affine:
        return a * x + b;
      case Fn::LeakyRelu:
        return x < 0 ? a * x : x;
      case Fn::ThresholdedRelu:
        return x < a ? 0 : x;
      case Fn::ScaledTanh:
        return a * std::tanh(b * x);
      case Fn::HardSigmoid:
        return std::min(1.0, std::max(a * x + b, 0.0));
      case Fn::Elu:
        return x < 0 ? a * std::expm1(x) : x;
      case Fn::Softsign:
        return x / (1 + std::abs(x));
      case Fn::Softplus:
        return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    }
    return x;
  }
};

}  // namespace

void Recurrent::visit(ParamVisitor& v) const {
  v.param("cell", name_of(cell));
  v.param("direction", name_of(direction));
  v.param("hidden", hidden);
  v.param("activations", activations);
  v.param("alpha", alpha);
  v.param("beta", beta);
  v.param("clip", clip);
  v.param("linear_before_reset", linear_before_reset);
  v.param("input_forget", input_forget);
}

namespace {

const char* const kInputs[] = {"X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"};

void check_params(const Recurrent& r) {
  check(r.hidden > 0 && r.hidden < (std::int64_t{1} << 40), ErrorKind::Shape,
        "hidden size is {}, expected at least 1", r.hidden);
  const auto count = static_cast<std::size_t>(activations_of(r.cell) * directions_of(r.direction));
  check(r.activations.size() == count && r.alpha.size() == count && r.beta.size() == count,
        ErrorKind::Shape, "{} activations with {} alphas and {} betas, expected {} of each",
        r.activations.size(), r.alpha.size(), r.beta.size(), count);
  for (const std::string& a : r.activations) activation_from(a);
  check(!(r.clip < 0), ErrorKind::Shape, "clip is {}, expected no negative number", r.clip);
}

void check_shape(InputFacts in, std::size_t i, const SymShape& expected, DType dtype) {
  if (i >= in.size() || in[i] == nullptr) return;
  const SymShape& got = in[i]->shape;
  bool fits = got.size() == expected.size();
  for (std::size_t k = 0; fits && k < got.size(); ++k) {
    fits = !got[k].is_const() || !expected[k].is_const() || got[k] == expected[k];
  }
  check(fits, ErrorKind::Shape, "input {} '{}' has shape {}, expected {}", i, kInputs[i], str(got),
        str(expected));
  check(in[i]->dtype == dtype, ErrorKind::Type, "input {} '{}' has dtype {}, expected {}", i,
        kInputs[i], treadle::name_of(in[i]->dtype), treadle::name_of(dtype));
}

}  // namespace

std::vector<Fact> Recurrent::infer(InputFacts in) const {
  const std::size_t most = cell == CellKind::Lstm ? 8 : 6;
  check(in.size() >= 3 && in.size() <= most && in[0] && in[1] && in[2], ErrorKind::Shape,
        "a {} takes X, W, R and up to {} more inputs, got {}", name_of(cell), most - 3, in.size());
  check_params(*this);
  const DType t = in[0]->dtype;
  check(is_float(t), ErrorKind::Type, "input 0 'X' has dtype {}, expected a floating-point one",
        treadle::name_of(t));
  check(in[0]->rank() == 3, ErrorKind::Shape,
        "input 0 'X' has shape {}, expected [time, batch, features]", str(in[0]->shape));
  const Dim time = in[0]->shape[0], batch = in[0]->shape[1], features = in[0]->shape[2];
  const Dim d = directions_of(direction);
  const Dim rows = gates_of(cell) * hidden;
  check_shape(in, 1, {d, rows, features}, t);
  check_shape(in, 2, {d, rows, hidden}, t);
  check_shape(in, 3, {d, rows * 2}, t);
  check_shape(in, 4, {batch}, DType::I32);
  check_shape(in, 5, {d, batch, hidden}, t);
  check_shape(in, 6, {d, batch, hidden}, t);
  check_shape(in, 7, {d, 3 * hidden}, t);
  std::vector<Fact> out{Fact::tensor(t, {time, d, batch, hidden}),
                        Fact::tensor(t, {d, batch, hidden})};
  if (cell == CellKind::Lstm) out.push_back(out[1]);
  return out;
}

namespace {

// The inputs as doubles; an omitted one is empty, omitted states and biases are zeros.
struct Data {
  std::int64_t time = 0, batch = 0, features = 0, hidden = 0, gates = 0;
  std::vector<double> x, w, r, b, h, c, p;
  std::vector<std::int64_t> lengths;
};

std::vector<double> doubles(const TensorView* view) {
  std::vector<double> out;
  if (view == nullptr) return out;
  out.resize(static_cast<std::size_t>(view->elements()));
  dispatch(view->dtype, [&]<typename T>(T) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        out[i] = static_cast<float>(view->as<const T>()[i]);
      } else {
        out[i] = static_cast<double>(view->as<const T>()[i]);
      }
    }
  });
  return out;
}

void store(const std::vector<double>& values, const TensorView& to) {
  dispatch(to.dtype, [&]<typename T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, double>) {
        to.as<T>()[i] = values[i];
      } else if constexpr (!std::is_integral_v<T>) {
        to.as<T>()[i] = static_cast<T>(static_cast<float>(values[i]));
      }
    }
  });
}

Data load(const Recurrent& op, EvalContext& ctx) {
  const auto input = [&](std::size_t i) { return i < ctx.inputs() ? ctx.input(i) : nullptr; };
  Data d;
  const Shape& x = ctx.in(0).shape;
  d.time = x[0];
  d.batch = x[1];
  d.features = x[2];
  d.hidden = op.hidden;
  d.gates = gates_of(op.cell);
  const std::int64_t directions = directions_of(op.direction);
  d.x = doubles(input(0));
  d.w = doubles(input(1));
  d.r = doubles(input(2));
  d.b = doubles(input(3));
  d.h = doubles(input(5));
  d.c = doubles(input(6));
  d.p = doubles(input(7));
  const auto states = static_cast<std::size_t>(directions * d.batch * d.hidden);
  d.b.resize(static_cast<std::size_t>(directions * 2 * d.gates * d.hidden), 0.0);
  d.h.resize(states, 0.0);
  d.c.resize(states, 0.0);
  d.p.resize(static_cast<std::size_t>(directions * 3 * d.hidden), 0.0);
  d.lengths.assign(static_cast<std::size_t>(d.batch), d.time);
  if (const TensorView* lens = input(4)) {
    for (std::size_t i = 0; i < d.lengths.size(); ++i) {
      d.lengths[i] = lens->as<const std::int32_t>()[i];
      check(d.lengths[i] >= 0 && d.lengths[i] <= d.time, ErrorKind::Shape,
            "sequence_lens[{}] is {}, expected 0 to {}", i, d.lengths[i], d.time);
    }
  }
  return d;
}

// One direction of one batch entry.
class Cell {
 public:
  Cell(const Recurrent& op, const Data& d, std::int64_t direction)
      : op_(op), d_(d), hidden_(d.hidden), direction_(direction) {
    const std::int64_t count = activations_of(op.cell);
    for (std::int64_t i = direction * count; i < (direction + 1) * count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      activations_.push_back({activation_from(op.activations[k]), op.alpha[k], op.beta[k]});
    }
  }

  // Advances h and c by the input x[features].
  void step(const double* x, double* h, double* c) const {
    switch (op_.cell) {
      case CellKind::Rnn:
        return rnn(x, h);
      case CellKind::Gru:
        return gru(x, h);
      case CellKind::Lstm:
        return lstm(x, h, c);
    }
  }

 private:
  std::int64_t row(std::int64_t gate, std::int64_t j) const {
    return (direction_ * d_.gates + gate) * hidden_ + j;
  }
  double dot_w(std::int64_t gate, std::int64_t j, const double* x) const {
    const double* w = d_.w.data() + row(gate, j) * d_.features;
    double sum = 0;
    for (std::int64_t i = 0; i < d_.features; ++i) sum += w[i] * x[i];
    return sum;
  }
  double dot_r(std::int64_t gate, std::int64_t j, const double* h) const {
    const double* r = d_.r.data() + row(gate, j) * hidden_;
    double sum = 0;
    for (std::int64_t i = 0; i < hidden_; ++i) sum += r[i] * h[i];
    return sum;
  }
  double bias(bool recurrent, std::int64_t gate, std::int64_t j) const {
    const std::int64_t part = direction_ * 2 + (recurrent ? 1 : 0);
    return d_.b[static_cast<std::size_t>((part * d_.gates + gate) * hidden_ + j)];
  }
  double peephole(std::int64_t k, std::int64_t j) const {
    return d_.p[static_cast<std::size_t>((direction_ * 3 + k) * hidden_ + j)];
  }
  double clipped(double v) const {
    return op_.clip > 0 && !std::isnan(v) ? std::clamp(v, -op_.clip, op_.clip) : v;
  }
  // W·x + R·h + both biases of one gate.
  double gate(std::int64_t g, std::int64_t j, const double* x, const double* h) const {
    return dot_w(g, j, x) + dot_r(g, j, h) + bias(false, g, j) + bias(true, g, j);
  }

  void rnn(const double* x, double* h) const {
    const std::vector<double> before(h, h + hidden_);
    for (std::int64_t j = 0; j < hidden_; ++j) {
      h[j] = activations_[0](clipped(gate(0, j, x, before.data())));
    }
  }

  void gru(const double* x, double* h) const {
    const std::vector<double> before(h, h + hidden_);
    std::vector<double> z(before), r(before), reset(before);
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const auto k = static_cast<std::size_t>(j);
      z[k] = activations_[0](clipped(gate(0, j, x, before.data())));
      r[k] = activations_[0](clipped(gate(1, j, x, before.data())));
      reset[k] = r[k] * before[k];
    }
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const auto k = static_cast<std::size_t>(j);
      const double recurrent = op_.linear_before_reset
                                   ? r[k] * (dot_r(2, j, before.data()) + bias(true, 2, j))
                                   : dot_r(2, j, reset.data()) + bias(true, 2, j);
      const double candidate =
          activations_[1](clipped(dot_w(2, j, x) + bias(false, 2, j) + recurrent));
      h[j] = (1 - z[k]) * candidate + z[k] * before[k];
    }
  }

  void lstm(const double* x, double* h, double* c) const {
    const std::vector<double> before(h, h + hidden_);
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const double* hs = before.data();
      const double i = activations_[0](clipped(gate(0, j, x, hs) + peephole(0, j) * c[j]));
      const double f = op_.input_forget
                           ? 1 - i
                           : activations_[0](clipped(gate(2, j, x, hs) + peephole(2, j) * c[j]));
      const double candidate = activations_[1](clipped(gate(3, j, x, hs)));
      c[j] = f * c[j] + i * candidate;
      const double o = activations_[0](clipped(gate(1, j, x, hs) + peephole(1, j) * c[j]));
      h[j] = o * activations_[2](c[j]);
    }
  }

  const Recurrent& op_;
  const Data& d_;
  std::int64_t hidden_, direction_;
  std::vector<Activation> activations_;
};

}  // namespace

void Recurrent::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  Data d = load(*this, ctx);
  const std::int64_t directions = directions_of(direction);
  std::vector<double> y(static_cast<std::size_t>(d.time * directions * d.batch * hidden), 0.0);
  for (std::int64_t k = 0; k < directions; ++k) {
    const Cell unit(*this, d, k);
    const bool backward = direction == Direction::Reverse || k == 1;
    for (std::int64_t b = 0; b < d.batch; ++b) {
      double* h = d.h.data() + (k * d.batch + b) * hidden;
      double* c = d.c.data() + (k * d.batch + b) * hidden;
      const std::int64_t length = d.lengths[static_cast<std::size_t>(b)];
      for (std::int64_t s = 0; s < length; ++s) {
        const std::int64_t t = backward ? length - 1 - s : s;
        unit.step(d.x.data() + (t * d.batch + b) * d.features, h, c);
        std::copy(h, h + hidden, y.data() + ((t * directions + k) * d.batch + b) * hidden);
      }
    }
  }
  store(y, ctx.output(0));
  store(d.h, ctx.output(1));
  if (cell == CellKind::Lstm) store(d.c, ctx.output(2));
}

Cost Recurrent::cost(InputFacts in, std::span<const Fact>) const {
  const Dim steps = in[0]->shape[0] * in[0]->shape[1] * directions_of(direction);
  const Dim rows = gates_of(cell) * hidden;
  return {steps * rows * (in[0]->shape[2] + hidden) * 2};
}

}  // namespace treadle::ops
