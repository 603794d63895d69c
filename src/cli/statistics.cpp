#include "cli/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace treadle::cli::statistics {
namespace {

std::vector<double> finite(std::span<const double> values) {
  std::vector<double> out;
  out.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(out),
               [](double v) { return std::isfinite(v); });
  return out;
}

double squares_about_median(const std::vector<double>& values) {
  const double middle = *median(values);
  double sum = 0;
  for (const double v : values) sum += (v - middle) * (v - middle);
  return sum;
}

// Sizes of the steps from each value to the next, without the drift that they share.
std::vector<double> steps_without_drift(const std::vector<double>& values) {
  std::vector<double> steps;
  steps.reserve(values.size());
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(values[i] - values[i - 1]);
  const double drift = *median(steps);
  for (double& s : steps) s = std::abs(s - drift);
  return steps;
}

}  // namespace

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> out;
  out.reserve(values.size());
  for (const double v : values)
    if (std::isfinite(v) && v > 0) out.push_back(std::log(v));
  return out;
}

std::optional<double> quantile(std::span<const double> values, double part) {
  std::vector<double> sorted = finite(values);
  if (sorted.empty()) return std::nullopt;
  std::sort(sorted.begin(), sorted.end());
  const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = at - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

std::optional<double> median(std::span<const double> values) {
  return quantile(values, 0.5);
}

std::optional<double> scatter_of_steps(std::span<const double> series) {
  const std::vector<double> values = finite(series);
  if (values.size() < kFewestForScatter) return std::nullopt;
  const std::vector<double> steps = steps_without_drift(values);
  // For a normal distribution the three are equal. The median alone is 0 for a series that sits on
  // one of two levels most of the time; the highest alone follows single outliers in short series.
  struct {
    double part, of_normal;
  } constexpr kQuantiles[] = {{0.5, 0.6745}, {0.75, 1.1503}, {0.9, 1.6449}};
  double scale = 0;
  for (const auto& q : kQuantiles) scale = std::max(scale, *quantile(steps, q.part) / q.of_normal);
  // Few steps tell their spread badly: Student's widening, by simulation (docs/benchmarking.md).
  return scale * (1 + 2 / static_cast<double>(steps.size()));
}

std::optional<double> pooled_deviation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = finite(a), y = finite(b);
  if (x.size() < 2 || y.size() < 2) return std::nullopt;
  const double freedom = static_cast<double>(x.size() + y.size() - 2);
  return std::sqrt((squares_about_median(x) + squares_about_median(y)) / freedom);
}

bool separated(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = finite(a), y = finite(b);
  if (x.empty() || y.empty()) return false;
  const auto [x_min, x_max] = std::minmax_element(x.begin(), x.end());
  const auto [y_min, y_max] = std::minmax_element(y.begin(), y.end());
  return *y_min > *x_max || *y_max < *x_min;
}

double part_of_pairs(std::span<const double> a, std::span<const double> b,
                     const std::function<bool(double, double)>& holds) {
  const std::vector<double> x = finite(a), y = finite(b);
  if (x.empty() || y.empty()) return 0;
  std::size_t count = 0;
  for (const double u : x)
    for (const double v : y) count += holds(u, v) ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(x.size() * y.size());
}

}  // namespace treadle::cli::statistics
