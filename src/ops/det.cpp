#include "ops/det.hpp"

#include <utility>

#include "ops/elements.hpp"
#include "ops/elimination.hpp"

namespace treadle::ops {
namespace {

// Destroys `m`, n × n row-major.
double determinant(std::vector<double>& m, std::size_t n) {
  double det = 1;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t pivot = pivot_row(m, n, n, k);
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      for (std::size_t c = 0; c < n; ++c) std::swap(m[pivot * n + c], m[k * n + c]);
      det = -det;
    }
    det *= m[k * n + k];
    for (std::size_t r = k + 1; r < n; ++r) {
      const double f = m[r * n + k] / m[k * n + k];
      for (std::size_t c = k; c < n; ++c) m[r * n + c] -= f * m[k * n + c];
    }
  }
  return det;
}

}  // namespace

void Det::visit(ParamVisitor&) const {}

std::vector<Fact> Det::infer(InputFacts in) const {
  const Fact& x = need_matrices(in);
  const Dim& rows = x.shape[x.shape.size() - 2];
  const Dim& columns = x.shape.back();
  check(!rows.is_const() || !columns.is_const() || rows == columns, ErrorKind::Shape,
        "input 0 'x' has shape {}, expected square matrices", str(x.shape));
  return {Fact::tensor(x.dtype, SymShape(x.shape.begin(), x.shape.end() - 2))};
}

void Det::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  const std::size_t n = square_size(x);
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) {
      std::vector<double> m(n * n);
      const T* p = x.as<T>();
      for (T& out : y.span<T>()) {
        for (double& v : m) v = static_cast<double>(widen(*p++));
        out = convert<T>(determinant(m, n));
      }
    }
  });
}

}  // namespace treadle::ops
