#include "ops/inverse.hpp"

#include <algorithm>

#include "ops/elements.hpp"
#include "ops/elimination.hpp"

namespace treadle::ops {
namespace {

// From [m | 1], n rows of 2n, to [1 | m⁻¹]; false when m has no inverse.
bool invert(std::span<double> m, std::size_t n) {
  const std::size_t width = 2 * n;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t pivot = pivot_row(m, n, width, k);
    if (m[pivot * width + k] == 0) return false;
    const auto row = m.subspan(k * width, width);
    if (pivot != k) std::ranges::swap_ranges(row, m.subspan(pivot * width, width));
    const double by = row[k];
    for (double& v : row) v /= by;
    for (std::size_t r = 0; r < n; ++r) {
      const double f = m[r * width + k];
      if (r == k || f == 0) continue;
      for (std::size_t c = 0; c < width; ++c) m[r * width + c] -= f * row[c];
    }
  }
  return true;
}

}  // namespace

void Inverse::visit(ParamVisitor&) const {}

std::vector<Fact> Inverse::infer(InputFacts in) const {
  const Fact& x = need_matrices(in);
  SymShape shape = x.shape;
  const Dim n = agree(shape[shape.size() - 2], shape.back(), "rows and columns of input 0 'x'");
  shape[shape.size() - 2] = shape.back() = n;
  return {Fact::tensor(x.dtype, std::move(shape))};
}

void Inverse::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  const std::size_t n = square_size(x);
  if (x.shape.elements() == 0) return;
  const auto size = static_cast<std::int64_t>(n);
  Tensor both(DType::F64, Shape{size, 2 * size});
  const auto m = both.mutable_span<double>();
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) {
      const T* from = x.as<T>();
      T* to = y.as<T>();
      for (std::int64_t at = 0; at < x.shape.elements() / (size * size); ++at) {
        for (std::size_t r = 0; r < n; ++r) {
          for (std::size_t c = 0; c < n; ++c) {
            m[r * 2 * n + c] = static_cast<double>(widen(*from++));
            m[r * 2 * n + n + c] = r == c ? 1 : 0;
          }
        }
        check(invert(m, n), ErrorKind::Shape, "matrix {} of input 0 'x' has no inverse", at);
        for (std::size_t r = 0; r < n; ++r) {
          for (std::size_t c = 0; c < n; ++c) *to++ = convert<T>(m[r * 2 * n + n + c]);
        }
      }
    }
  });
}

}  // namespace treadle::ops
