#include "ops/one_versus_one.hpp"

#include <algorithm>
#include <cmath>

#include "ops/checks.hpp"

namespace treadle::ops {
namespace {

constexpr int kLeastSweeps = 100;  // of LIBSVM: as many as classes, or 100

// The number of pairs; classes is known to be small enough.
std::int64_t pairs_of(std::int64_t classes) {
  return classes * (classes - 1) / 2;
}

// Probabilities p of the classes; x[c·i + j] is that of i against j.
void couple(std::span<const double> x, std::span<double> p) {
  const std::size_t c = p.size();
  std::vector<double> q(c * c, 0), qp(c);
  for (std::size_t t = 0; t < c; ++t) {
    for (std::size_t j = 0; j < c; ++j) {
      if (j == t) continue;
      q[t * c + t] += x[j * c + t] * x[j * c + t];
      q[t * c + j] = -x[j * c + t] * x[t * c + j];
    }
  }
  std::fill(p.begin(), p.end(), 1.0 / static_cast<double>(c));
  for (const double v : q) {
    if (!std::isnan(v)) continue;
    std::fill(p.begin(), p.end(), v);
    return;
  }
  const int sweeps = std::max<int>(kLeastSweeps, static_cast<int>(c));
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    double pqp = 0;
    for (std::size_t t = 0; t < c; ++t) {
      qp[t] = 0;
      for (std::size_t j = 0; j < c; ++j) qp[t] += q[t * c + j] * p[j];
      pqp += p[t] * qp[t];
    }
    double residual = 0;
    for (const double v : qp) residual = std::max(residual, std::fabs(v - pqp));
    if (residual < 0.005 / static_cast<double>(c)) return;
    for (std::size_t t = 0; t < c; ++t) {
      // p_t that makes its own residual 0, and all divided by their new sum.
      const double step = (pqp - qp[t]) / q[t * c + t];
      const double sum = 1 + step;
      p[t] += step;
      pqp = (pqp + step * (step * q[t * c + t] + 2 * qp[t])) / (sum * sum);
      for (std::size_t j = 0; j < c; ++j) {
        qp[j] = (qp[j] + step * q[t * c + j]) / sum;
        p[j] /= sum;
      }
    }
  }
}

}  // namespace

OneVersusOne::OneVersusOne(std::vector<std::int64_t> count, Tensor coefficient,
                           std::vector<double> offset)
    : counts(std::move(count)), coefficients(std::move(coefficient)), rho(std::move(offset)) {
  const auto classes = static_cast<std::int64_t>(counts.size());
  check(classes >= 2 && classes < 1 << 20, ErrorKind::Parse, "{} classes, expected 2 or more",
        classes);
  const std::int64_t most = coefficients.elements();
  for (const std::int64_t n : counts) {
    check(n >= 0 && n <= most - vectors_, ErrorKind::Parse,
          "{} support vectors of a class, but {} coefficients in all", n, most);
    vectors_ += n;
  }
  check(coefficients.dtype() == DType::F32 && coefficients.shape() == Shape{classes - 1, vectors_},
        ErrorKind::Parse, "the coefficients have shape {}, expected [{}, {}]",
        coefficients.shape().str(), classes - 1, vectors_);
  check(static_cast<std::int64_t>(rho.size()) == pairs_of(classes), ErrorKind::Parse,
        "{} offsets for the {} pairs of {} classes", rho.size(), pairs_of(classes), classes);
}

void OneVersusOne::visit(ParamVisitor& v) const {
  v.param("counts", counts);
  v.param("coefficients", coefficients);
  v.param("rho", rho);
}

std::vector<Fact> OneVersusOne::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& k = need(in, 0);
  need_dtype(k, DType::F32, 0);
  need_rank(k, 2, 0);
  agree(k.shape[1], vectors_, "the values of input 0 and the support vectors");
  return {Fact::tensor(DType::F32, {k.shape[0], static_cast<std::int64_t>(rho.size())}),
          Fact::tensor(DType::I64, {k.shape[0]})};
}

void OneVersusOne::eval(EvalContext& ctx) const {
  const TensorView& k = ctx.in(0);
  check(k.shape[1] == vectors_, ErrorKind::Shape, "input 0 has shape {}, expected [N, {}]",
        k.shape.str(), vectors_);
  float* values = ctx.output(0).as<float>();
  auto* winners = ctx.output(1).as<std::int64_t>();
  const std::size_t classes = counts.size();
  std::vector<std::int64_t> starts{0};
  for (const std::int64_t n : counts) starts.push_back(starts.back() + n);
  const float* weights = coefficients.span<float>().data();
  std::vector<std::int64_t> votes(classes);
  for (std::int64_t row = 0; row < k.shape[0]; ++row) {
    const float* kernel = k.as<float>() + row * vectors_;
    const auto part = [&](std::size_t of, std::size_t weight_row) {
      const float* w = weights + static_cast<std::int64_t>(weight_row) * vectors_;
      double sum = 0;
      for (std::int64_t s = starts[of]; s < starts[of + 1]; ++s) {
        sum += static_cast<double>(w[s]) * static_cast<double>(kernel[s]);
      }
      return sum;
    };
    std::fill(votes.begin(), votes.end(), 0);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
        const double value = rho[pair] + part(i, j - 1) + part(j, i);
        ++votes[value > 0 ? i : j];
        *values++ = static_cast<float>(value);
      }
    }
    winners[row] = std::max_element(votes.begin(), votes.end()) - votes.begin();
  }
}

void PairwiseCoupling::visit(ParamVisitor& v) const {
  v.param("classes", classes);
}

std::vector<Fact> PairwiseCoupling::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  need_dtype(x, DType::F32, 0);
  need_rank(x, 2, 0);
  check(classes >= 2 && classes < 1 << 20, ErrorKind::Parse, "{} classes, expected 2 or more",
        classes);
  agree(x.shape[1], pairs_of(classes), "the values of input 0 and the pairs of classes");
  return {Fact::tensor(DType::F32, {x.shape[0], classes})};
}

void PairwiseCoupling::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  check(x.shape[1] == pairs_of(classes), ErrorKind::Shape, "input 0 has shape {}, expected [N, {}]",
        x.shape.str(), pairs_of(classes));
  const float* from = x.as<float>();
  float* to = ctx.output(0).as<float>();
  const auto c = static_cast<std::size_t>(classes);
  std::vector<double> against(c * c, 0), p(c);
  for (std::int64_t row = 0; row < x.shape[0]; ++row) {
    for (std::size_t i = 0; i < c; ++i) {
      for (std::size_t j = i + 1; j < c; ++j) {
        against[i * c + j] = static_cast<double>(*from++);
        against[j * c + i] = 1 - against[i * c + j];
      }
    }
    couple(against, p);
    to = std::transform(p.begin(), p.end(), to, [](double v) { return static_cast<float>(v); });
  }
}

}  // namespace treadle::ops
