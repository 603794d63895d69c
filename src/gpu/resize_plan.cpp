#include "gpu/resize_plan.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "gpu/prepared.hpp"
#include "gpu/rows_plan.hpp"
#include "ops/resize_taps.hpp"

namespace treadle::gpu {
namespace {

using ops::Coordinates;
using ops::Resize;
using ops::ResizeMode;
using ops::Tap;
using ops::Taps;

constexpr std::int64_t kMost = 0x7ff00000;
constexpr std::uint32_t kThreads = 256;

// [bytes of a unit: 1, 2, 4, 8, 16]
constexpr KernelId kNearest[] = {KernelId::resize_nearest_b1, KernelId::resize_nearest_b2,
                                 KernelId::resize_nearest_b4, KernelId::resize_nearest_b8,
                                 KernelId::resize_nearest_b16};
// [linear, taps][F32, F16][vector of 1, of 16 bytes]
constexpr KernelId kWeighted[2][2][2] = {
    {{KernelId::resize_linear_f32, KernelId::resize_linear_f32x4},
     {KernelId::resize_linear_f16, KernelId::resize_linear_f16x8}},
    {{KernelId::resize_taps_f32, KernelId::resize_taps_f32x4},
     {KernelId::resize_taps_f16, KernelId::resize_taps_f16x8}}};

bool is_crop(const Resize& op) {
  return op.coordinates == Coordinates::TfCropAndResize;
}
bool is_moved_only(const Resize& op) {
  return op.mode == ResizeMode::Nearest && !is_crop(op);
}

float scale_of(const Resize& op, std::size_t d, std::int64_t in, std::int64_t out) {
  if (!op.scales.empty()) return static_cast<float>(op.scales[d]);
  return in > 0 ? static_cast<float>(out) / static_cast<float>(in) : 1.0f;
}

// As the operator: an unchanged axis is copied whatever the rounding.
bool is_identity(const Resize& op, std::size_t d, std::int64_t in, std::int64_t out) {
  return in == out && scale_of(op, d, in, out) == 1.0f && !is_crop(op);
}

std::vector<Taps> taps_of(const Resize& op, std::size_t d, std::int64_t in, std::int64_t out) {
  if (is_identity(op, d, in, out)) {
    std::vector<Taps> same(static_cast<std::size_t>(out));
    for (std::size_t i = 0; i < same.size(); ++i)
      same[i].taps.push_back({static_cast<std::int64_t>(i), 1});
    return same;
  }
  ops::ResizeAxis a{in, out, scale_of(op, d, in, out), 0, 1};
  if (!op.roi.empty()) {
    a.roi_start = static_cast<float>(op.roi[d]);
    a.roi_end = static_cast<float>(op.roi[d + op.roi.size() / 2]);
  }
  return ops::resize_taps(op, a);
}

struct Tables {
  std::vector<std::int32_t> at;
  std::vector<float> weights;
};

// Appends `count` entries a position; those beyond its taps have weight 0 and repeat the first. A
// position without taps sums to nothing: it reads 0 with weight 0.
void append(Tables& t, const std::vector<Taps>& taps, std::size_t count, std::int64_t stride) {
  for (const Taps& p : taps) {
    for (std::size_t k = 0; k < count; ++k) {
      const bool there = k < p.taps.size();
      const Tap tap = there ? p.taps[k] : p.taps.empty() ? Tap{0, 0} : Tap{p.taps[0].at, 0};
      t.at.push_back(p.outside ? -1 : static_cast<std::int32_t>(tap.at * stride));
      t.weights.push_back(static_cast<float>(tap.weight));
    }
  }
}

std::size_t most_taps(const std::vector<Taps>& taps) {
  std::size_t most = 1;
  for (const Taps& t : taps) most = std::max(most, t.taps.size());
  return most;
}
bool any_outside(const std::vector<Taps>& taps) {
  return std::any_of(taps.begin(), taps.end(), [](const Taps& t) { return t.outside; });
}

DeviceBufferPtr put(Device& device, const Tables& t) {
  const std::size_t bytes = t.at.size() * sizeof(std::int32_t);
  DeviceBufferPtr buffer = device.allocate(2 * bytes, "tables of a resize");
  const auto queue = device.make_queue();
  queue->upload(buffer->address(), t.at.data(), bytes);
  queue->upload(buffer->address() + bytes, t.weights.data(), bytes);
  queue->sync();
  return buffer;
}

}  // namespace

std::string why_no_resize(const Resize& op, DType dtype) {
  if (is_moved_only(op)) {
    if (dtype != DType::String && !is_complex(dtype) && size_of(dtype) <= 8) return {};
    return fmt::format("no device kernel resizes {}", name_of(dtype));
  }
  if (dtype == DType::F32 || dtype == DType::F16) return {};
  return fmt::format("no device kernel interpolates {}", name_of(dtype));
}

ResizePlan::ResizePlan(Device& device, const Resize& op, DType dtype, const Shape& from,
                       const Shape& to)
    : dtype_(dtype), outside_(static_cast<float>(op.extrapolation)) {
  check(from.rank() == to.rank(), ErrorKind::Shape, "{} cannot become {}", from.str(), to.str());
  if (to.elements() == 0) return;
  std::vector<std::size_t> changed;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (!is_identity(op, d, from[d], to[d])) changed.push_back(d);
  }
  if (changed.empty() && !from.empty()) changed.push_back(from.size() - 1);
  Shape now = from;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const std::size_t first = changed[i];
    std::size_t last = first;
    if (i + 1 < changed.size() && changed[i + 1] == first + 1) last = changed[++i];
    Shape next = now;
    next[first] = to[first];
    next[last] = to[last];
    add(device, op, now, next, first, last);
    now = next;
  }
  if (passes_.empty()) add(device, op, Shape{1}, Shape{1}, 0, 0);
  workspace_bytes_ = passes_.back().to;
}

void ResizePlan::add(Device& device, const Resize& op, const Shape& from, const Shape& to,
                     std::size_t first, std::size_t last) {
  Pass p;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d < first) p.outer = checked_mul(p.outer, from[d]);
    if (d > last) p.inner = checked_mul(p.inner, from[d]);
  }
  p.inner = checked_mul(p.inner, static_cast<std::int64_t>(size_of(dtype_)));
  p.width = from[last];
  p.out_width = to[last];
  const std::vector<Taps> columns = taps_of(op, last, from[last], to[last]);
  std::vector<Taps> rows(1, Taps{{Tap{0, 1}}, false});
  if (first != last) {
    p.height = from[first];
    p.out_height = to[first];
    rows = taps_of(op, first, from[first], to[first]);
  }
  const std::int64_t pixels = checked_mul(p.height, p.width);
  check(pixels < kMost, ErrorKind::Unsupported, "a plane of {} positions, more than 2^31", pixels);
  std::size_t row_taps = most_taps(rows), column_taps = most_taps(columns);
  if (is_moved_only(op)) {
    p.kind = Kind::Nearest;
  } else if (std::max(row_taps, column_taps) <= 2 && !any_outside(rows) && !any_outside(columns)) {
    p.kind = Kind::Linear;
    row_taps = column_taps = 2;
  } else {
    p.kind = Kind::Taps;
  }
  p.row_taps = static_cast<std::int32_t>(row_taps);
  p.column_taps = static_cast<std::int32_t>(column_taps);
  Tables t;
  append(t, rows, row_taps, p.width);
  p.positions = t.at.size();
  append(t, columns, column_taps, 1);
  check(t.at.size() < static_cast<std::size_t>(kMost), ErrorKind::Unsupported,
        "a resize that reads {} positions of two axes, more than 2^31", t.at.size());
  p.tables = put(device, t);
  p.to = workspace_bytes_;
  workspace_bytes_ += (static_cast<std::size_t>(to.elements()) * size_of(dtype_) + 255) / 256 * 256;
  passes_.push_back(std::move(p));
}

void ResizePlan::launch(Queue& queue, const Pass& pass, DeviceAddress x, DeviceAddress y,
                        const char* label) const {
  const auto element = static_cast<std::int64_t>(size_of(dtype_));
  int log = std::countr_zero(static_cast<std::uint64_t>(pass.inner) | x | y | 16);
  if (pass.kind != Kind::Nearest && log < 4) log = std::countr_zero(size_of(dtype_));
  const std::int64_t inner = pass.inner >> log;
  const std::int64_t count = pass.outer * pass.out_height * pass.out_width * inner;
  const std::int64_t plane = pass.height * pass.width * inner;
  check(count < kMost && plane < kMost, ErrorKind::Unsupported,
        "a resize to {} units, more than 2^31", count);
  tk::ResizeParams p{};
  p.inner = make_divisor(static_cast<std::uint32_t>(inner));
  p.width = make_divisor(static_cast<std::uint32_t>(pass.out_width));
  p.height = make_divisor(static_cast<std::uint32_t>(pass.out_height));
  p.count = static_cast<tk::tk_i32>(count);
  p.plane = static_cast<tk::tk_i32>(plane);
  p.row_taps = pass.row_taps;
  p.column_taps = pass.column_taps;
  p.columns_at = static_cast<tk::tk_i32>(pass.positions);
  p.outside = outside_;
  const DeviceAddress at = pass.tables->address(), weights = at + pass.tables->bytes() / 2;
  const Extent3 groups{groups_of(count, kThreads), 1, 1}, threads{kThreads, 1, 1};
  if (pass.kind == Kind::Nearest) {
    queue.launch(make_launch(kNearest[log], groups, threads, {x, at, y}, p, label));
    return;
  }
  const int vectors = (element << (element == 2 ? 3 : 2)) == (std::int64_t{1} << log) ? 1 : 0;
  const KernelId kernel =
      kWeighted[pass.kind == Kind::Taps ? 1 : 0][dtype_ == DType::F16 ? 1 : 0][vectors];
  queue.launch(make_launch(kernel, groups, threads, {x, at, weights, y}, p, label));
}

void ResizePlan::run(Queue& queue, DeviceAddress x, DeviceAddress y, DeviceAddress workspace,
                     const char* label) const {
  DeviceAddress from = x;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const DeviceAddress to = i + 1 == passes_.size() ? y : workspace + passes_[i].to;
    launch(queue, passes_[i], from, to, label);
    from = to;
  }
}

}  // namespace treadle::gpu
