#include "ops/grid_sample.hpp"

#include <algorithm>
#include <cmath>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/numeric.hpp"

namespace treadle::ops {
namespace {

struct Tap {
  std::int64_t at;
  double weight;
};

// Folds v into [lo, hi] as between two mirrors.
double reflect(double v, double lo, double hi) {
  const double range = hi - lo;
  if (range <= 0) return lo;
  const double d = std::fmod(std::fabs(v - lo), 2 * range);
  return lo + (d > range ? 2 * range - d : d);
}

// Position of element i after padding; −1 for a zero.
std::int64_t padded(const GridSample& op, double i, std::int64_t size) {
  const double last = static_cast<double>(size) - 1;
  if (i >= 0 && i <= last) return static_cast<std::int64_t>(i);
  switch (op.padding) {
    case SamplePadding::Zeros:
      return -1;
    case SamplePadding::Border:
      return i < 0 ? 0 : size - 1;
    case SamplePadding::Reflection:
      break;
  }
  const double edge = op.align_corners ? 0 : 0.5;
  return static_cast<std::int64_t>(std::clamp(reflect(i, -edge, last + edge), 0.0, last));
}

double cubic(double x) {
  constexpr double kA = -0.75;
  x = std::fabs(x);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return kA * (((x - 5) * x + 8) * x - 4);
  return 0;
}

// What one normalised coordinate reads along an axis of `size` elements.
std::vector<Tap> taps(const GridSample& op, double n, std::int64_t size) {
  const double d = static_cast<double>(size);
  if (std::isnan(n)) n = -1;
  double x = op.align_corners ? (n + 1) / 2 * (d - 1) : ((n + 1) * d - 1) / 2;
  if (op.mode == SampleMode::Nearest) x = std::nearbyint(x);
  const double edge = op.align_corners ? 0 : 0.5;
  // What lies within half an element of the border stays: a cubic weighs its neighbours by it (as
  // onnx/reference/ops/op_grid_sample.py does).
  if (x < -edge || x > d - 1 + edge) {
    if (op.padding == SamplePadding::Border) x = std::clamp(x, 0.0, d - 1);
    if (op.padding == SamplePadding::Reflection)
      x = std::isfinite(x) ? reflect(x, -edge, d - 1 + edge) : 0;
  }
  // Beyond this only zeros are read.
  x = std::clamp(x, -4.0, d + 4);
  std::vector<Tap> out;
  const auto add = [&](double i, double weight) { out.push_back({padded(op, i, size), weight}); };
  if (op.mode == SampleMode::Nearest) {
    add(x, 1);
    return out;
  }
  const double base = std::floor(x);
  const bool linear = op.mode == SampleMode::Linear;
  for (int k = linear ? 0 : -1; k <= (linear ? 1 : 2); ++k) {
    const double distance = std::fabs(x - (base + k));
    add(base + k, linear ? 1 - distance : cubic(distance));
  }
  return out;
}

// Σ over the product of the axes' taps.
double interpolate(const double* x, const std::vector<std::vector<Tap>>& axes,
                   const std::vector<std::int64_t>& strides, std::size_t axis) {
  if (axis == axes.size()) return *x;
  double sum = 0;
  for (const Tap& t : axes[axis]) {
    if (t.at < 0 || t.weight == 0) continue;
    sum += t.weight * interpolate(x + t.at * strides[axis], axes, strides, axis + 1);
  }
  return sum;
}

const char* name_of(SampleMode m) {
  return m == SampleMode::Linear ? "linear" : m == SampleMode::Nearest ? "nearest" : "cubic";
}
const char* name_of(SamplePadding p) {
  return p == SamplePadding::Zeros ? "zeros" : p == SamplePadding::Border ? "border" : "reflection";
}

}  // namespace

void GridSample::visit(ParamVisitor& v) const {
  v.param("mode", name_of(mode));
  v.param("padding", name_of(padding));
  v.param("align_corners", align_corners);
}

std::vector<Fact> GridSample::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& grid = need(in, 1);
  check(x.rank() >= 3, ErrorKind::Shape, "input {} has no spatial axes", x.str());
  check(x.dtype != DType::String && !is_complex(x.dtype), ErrorKind::Type, "does not apply to {}",
        x.str());
  check(is_float(grid.dtype), ErrorKind::Type, "grid must hold floats, got {}", grid.str());
  need_rank(grid, x.rank(), 1);
  const Dim& coordinates = grid.shape.back();
  check(!coordinates.is_const() || coordinates.is(x.rank() - 2), ErrorKind::Shape,
        "grid {} must hold {} coordinates a point", grid.str(), x.rank() - 2);
  SymShape shape{agree(x.shape[0], grid.shape[0], "batch sizes"), x.shape[1]};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  return {Fact::tensor(x.dtype, std::move(shape))};
}

void GridSample::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& grid = ctx.in(1);
  const std::size_t spatial = x.shape.size() - 2;
  check(grid.shape.back() == static_cast<std::int64_t>(spatial) && grid.shape[0] == x.shape[0],
        ErrorKind::Shape, "grid {} does not fit input {}", grid.shape.str(), x.shape.str());
  Shape shape{x.shape[0], x.shape[1]};
  std::int64_t points = 1;
  for (std::size_t d = 1; d + 1 < grid.shape.size(); ++d) {
    shape.push_back(grid.shape[d]);
    points = checked_mul(points, grid.shape[d]);
  }
  const std::vector<std::int64_t> dims(x.shape.begin() + 2, x.shape.end());
  const auto strides = row_major(dims);
  std::int64_t plane = 1;
  for (const std::int64_t d : dims) plane *= d;
  const auto from = read_doubles(x);
  const auto at = read_doubles(grid);
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  check(values.empty() || plane > 0, ErrorKind::Shape, "input {} has no elements", x.shape.str());
  std::vector<std::vector<Tap>> axes(spatial);
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t p = 0; p < points && !values.empty(); ++p) {
      const double* point = at.data() + (n * points + p) * static_cast<std::int64_t>(spatial);
      for (std::size_t d = 0; d < spatial; ++d)
        axes[d] = taps(*this, point[spatial - 1 - d], dims[d]);
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        const std::int64_t image = n * shape[1] + c;
        values[static_cast<std::size_t>(image * points + p)] =
            interpolate(from.data() + image * plane, axes, strides, 0);
      }
    }
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) { write_doubles(y, values); });
}

}  // namespace treadle::ops
