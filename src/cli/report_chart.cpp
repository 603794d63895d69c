// Charts of `bench report --html`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/report_text.hpp"

namespace treadle::cli::report {
namespace {

constexpr double kWidth = 320, kHeight = 132;
constexpr double kLeft = 8, kRight = 312, kTop = 20, kBottom = 112;
constexpr std::size_t kMostPoints = 60;

struct Point {
  double x = 0, y = 0, value = 0;
  std::string label;
};

struct Scale {
  double low, high;

  // From 0 when the values vary by much, else so that the floor of the metric is still a small
  // step.
  static Scale over(const std::vector<double>& values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double middle = (*low + *high) / 2;
    const double half = std::max({(*high - *low) * 0.6, std::abs(middle) * 0.1, 1e-9});
    return {std::max(0.0, middle - half), middle + half};
  }
  double y(double v) const { return kBottom - (v - low) / (high - low) * (kBottom - kTop); }
};

double x_of(std::size_t i, std::size_t count) {
  if (count < 2) return (kLeft + kRight) / 2;
  return kLeft + (kRight - kLeft) * static_cast<double>(i) / static_cast<double>(count - 1);
}

std::string circle(const Point& p, const char* kind, double radius) {
  return fmt::format(
      "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\"><title>{}</title></circle>",
      kind, p.x, p.y, radius, html_escaped(p.label));
}

std::string svg_text(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     html_escaped(text));
}

// The last runs of the history, then the base and the new value.
std::vector<Point> points_of(const Report& report, const Row& row) {
  const Metric& metric = kMetrics[row.metric];
  std::vector<Point> out;
  const std::size_t skip =
      row.run_values.size() > kMostPoints ? row.run_values.size() - kMostPoints : 0;
  for (std::size_t i = skip; i < row.run_values.size(); ++i) {
    const Run& run = report.history[row.runs[i]];
    out.push_back(
        {0, 0, row.run_values[i],
         fmt::format("{}: {} {}", run.time, value_text(metric, row.run_values[i]), run.commit)});
  }
  out.push_back({0, 0, row.base, "base: " + value_text(metric, row.base)});
  out.push_back({0, 0, row.now, "new: " + value_text(metric, row.now)});
  std::vector<double> values;
  for (const Point& p : out) values.push_back(p.value);
  const Scale scale = Scale::over(values);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].x = x_of(i, out.size());
    out[i].y = scale.y(out[i].value);
  }
  return out;
}

std::string grid_line(double y) {
  return fmt::format(
      "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>", kLeft,
      kRight, y);
}

// Lines at the highest and the lowest value, with the values beside them.
std::string extremes(const std::vector<Point>& points, const Metric& metric) {
  const auto by_value = [](const Point& a, const Point& b) { return a.value < b.value; };
  const auto [low, high] = std::minmax_element(points.begin(), points.end(), by_value);
  std::string out =
      grid_line(high->y) + svg_text(kLeft, high->y - 4, "start", value_text(metric, high->value));
  if (low->value < high->value)
    out += grid_line(low->y) + svg_text(kLeft, std::min(low->y + 11, kHeight - 12), "start",
                                        value_text(metric, low->value));
  return out;
}

}  // namespace

std::string chart_of(const Report& report, const Row& row) {
  const Metric& metric = kMetrics[row.metric];
  const std::vector<Point> points = points_of(report, row);
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight,
                  html_escaped(fmt::format("{}: {} before, {} now, {} runs of history",
                                           metric.title, value_text(metric, row.base),
                                           value_text(metric, row.now), row.run_values.size())));
  out += extremes(points, metric);
  std::string path;
  for (const Point& p : points) path += fmt::format("{:.1f},{:.1f} ", p.x, p.y);
  out += fmt::format("<polyline points=\"{}\"/>", path);
  for (std::size_t i = 0; i + 2 < points.size(); ++i) out += circle(points[i], "run", 2);
  out += circle(points[points.size() - 2], "base", 4);
  const char* const style = style_of(row.verdict);
  out += circle(points.back(), *style ? style : "same", 5);
  if (!row.runs.empty()) {
    const std::string& since = report.history[row.runs[row.runs.size() + 2 - points.size()]].time;
    out += svg_text(kLeft, kHeight - 2, "start", since.substr(0, 10));
  }
  out += svg_text(kRight, kHeight - 2, "end", "base, new");
  return out + "</svg>";
}

}  // namespace treadle::cli::report
