#include <optional>
#include <vector>

#include "cpu/split.hpp"
#include "cpu/translators.hpp"
#include "kernels/resize/resize.hpp"
#include "ops/resize.hpp"
#include "ops/resize_taps.hpp"

namespace treadle::cpu {
namespace {

using kernels::ResizeArgs;
using kernels::ResizeTap;
using ops::Resize;
using ops::ResizeMode;

// The axes that may change, when they are one or two neighbours.
struct Changed {
  std::size_t first = 0, last = 0;
};
std::optional<Changed> changed_axes(const Resize& op, const Fact& x) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool same = op.sizes[i] == x.shape[i] && (op.scales.empty() || op.scales[i] == 1);
    if (!same) axes.push_back(i);
  }
  if (axes.empty() || axes.back() - axes.front() > 1) return std::nullopt;
  return Changed{axes.front(), axes.back()};
}

std::vector<ResizeTap> taps_of(const Resize& op, std::size_t axis, std::int64_t in,
                               std::int64_t out) {
  ops::ResizeAxis a{in, out, 1, 0, 1};
  if (!op.scales.empty()) {
    a.scale = static_cast<float>(op.scales[axis]);
  } else if (in > 0) {
    a.scale = static_cast<float>(out) / static_cast<float>(in);
  }
  std::vector<ResizeTap> result;
  if (in == out && a.scale == 1.0f && op.mode == ResizeMode::Linear) {
    for (std::int64_t i = 0; i < out; ++i) result.push_back({i, i, 1, 0});
    return result;
  }
  for (const ops::Taps& t : ops::resize_taps(op, a)) {
    check(!t.outside && !t.taps.empty() && t.taps.size() <= 2, ErrorKind::Internal,
          "a resized position has {} taps, expected 1 or 2", t.taps.size());
    const ops::Tap &low = t.taps.front(), &high = t.taps.back();
    const bool two = t.taps.size() == 2 && op.mode == ResizeMode::Linear;
    result.push_back({low.at, high.at, two ? static_cast<float>(low.weight) : 1.0f,
                      two ? static_cast<float>(high.weight) : 0.0f});
  }
  return result;
}

bool takes(const Resize& op, DType dtype) {
  return dtype == DType::F32 && op.mode != ResizeMode::Cubic && !op.antialias &&
         !op.exclude_outside && op.roi.empty() &&
         op.coordinates != ops::Coordinates::TfCropAndResize;
}

}  // namespace

Translation translate_resize(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<Resize>();
  if (!takes(*op, ctx.in(0).dtype)) return {};
  const auto changed = changed_axes(*op, ctx.in(0));
  if (!changed) return {};
  return {kernel("resize_f32", [keep = ctx.node.op, op, c = *changed](const BindContext& b) {
    const Shape &in = b.in[0]->shape, &out = b.out[0]->shape;
    const auto first = static_cast<std::int64_t>(c.first), last = static_cast<std::int64_t>(c.last);
    const kernels::Split around = split_around(in, first, last);
    ResizeArgs args;
    args.outer = around.outer;
    args.inner = around.inner;
    args.nearest = op->mode == ResizeMode::Nearest;
    if (out.elements() != 0) {
      const bool two = c.first != c.last;
      args.in_height = two ? in[c.first] : 1;
      args.in_width = in[c.last];
      args.rows =
          two ? taps_of(*op, c.first, in[c.first], out[c.first]) : std::vector<ResizeTap>(1);
      args.columns = taps_of(*op, c.last, in[c.last], out[c.last]);
    }
    return bound([args = std::move(args), table = &kernels::rows()](RunContext& r) {
      kernels::resize(*table, args, r.in[0]->as<const float>(), r.out[0]->as<float>(), r.parallel);
    });
  })};
}

}  // namespace treadle::cpu
