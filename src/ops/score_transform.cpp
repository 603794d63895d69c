#include "ops/score_transform.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "ops/checks.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

// √2·erf⁻¹(2p − 1), by Newton's method from Winitzki's approximation of erf⁻¹.
double probit(double p) {
  const double y = 2 * p - 1;
  if (!(std::fabs(y) <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(y) == 1) return y * std::numeric_limits<double>::infinity();
  const double l = std::log(1 - y * y), a = 2 / (std::numbers::pi * 0.147) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(a * a - l / 0.147) - a), y);
  for (int i = 0; i < 4; ++i) {
    x -= (std::erf(x) - y) * std::exp(x * x) * std::sqrt(std::numbers::pi) / 2;
  }
  return std::numbers::sqrt2 * x;
}

void softmax(std::span<double> row, bool keep_zeros) {
  const double top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& v : row) {
    if (keep_zeros && v == 0) continue;
    v = std::exp(v - top);
    sum += v;
  }
  for (double& v : row) v = sum == 0 ? v : v / sum;
}

}  // namespace

void transform_scores(std::span<double> row, PostTransform post) {
  if (row.empty()) return;
  switch (post) {
    case PostTransform::None:
      break;
    case PostTransform::Softmax:
      softmax(row, false);
      break;
    case PostTransform::SoftmaxZero:
      softmax(row, true);
      break;
    case PostTransform::Logistic:
      for (double& v : row) v = 1 / (1 + std::exp(-v));
      break;
    case PostTransform::Probit:
      for (double& v : row) v = probit(v);
      break;
  }
}

void ScoreTransform::visit(ParamVisitor& v) const {
  v.param("post", static_cast<std::int64_t>(post));
}

std::vector<Fact> ScoreTransform::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(x.dtype == DType::F32 || x.dtype == DType::F64, ErrorKind::Type,
        "input 0 has dtype {}, expected f32 or f64", name_of(x.dtype));
  check(x.rank() >= 1, ErrorKind::Shape, "input 0 is a scalar");
  return {Fact::tensor(x.dtype, x.shape)};
}

void ScoreTransform::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  const auto width = static_cast<std::size_t>(x.shape.back());
  if (x.elements() == 0) return;
  std::vector<double> row(width);
  const auto transform = [&]<typename T>(T) {
    const T* from = x.as<T>();
    T* to = y.as<T>();
    for (std::int64_t left = x.elements(); left > 0; left -= x.shape.back()) {
      std::copy_n(from, width, row.begin());
      transform_scores(row, post);
      std::transform(row.begin(), row.end(), to, [](double v) { return static_cast<T>(v); });
      from += width;
      to += width;
    }
  };
  if (x.dtype == DType::F32) {
    transform(float{});
  } else {
    transform(double{});
  }
}

}  // namespace treadle::ops
