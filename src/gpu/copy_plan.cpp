#include "gpu/copy_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "gpu/kernels/copy_params.hpp"

namespace treadle::gpu {

namespace {

constexpr std::int64_t kMost = 0x7ff00000;  // leaves room for the last group's threads
constexpr std::uint32_t kThreads = 256;

constexpr std::array kCopy = {KernelId::copy_nd_b1, KernelId::copy_nd_b2, KernelId::copy_nd_b4,
                              KernelId::copy_nd_b8, KernelId::copy_nd_b16};
constexpr std::array kTranspose = {KernelId::copy_transpose_b1, KernelId::copy_transpose_b2,
                                   KernelId::copy_transpose_b4, KernelId::copy_transpose_b8};
constexpr std::array kFill = {KernelId::fill_b1, KernelId::fill_b2, KernelId::fill_b4,
                              KernelId::fill_b8, KernelId::fill_b16};

template <std::size_t N>
KernelId kernel_for(const std::array<KernelId, N>& kernels, std::size_t bytes) {
  return kernels[static_cast<std::size_t>(std::countr_zero(bytes))];
}

bool divides(std::size_t unit, std::int64_t value) {
  return value % static_cast<std::int64_t>(unit) == 0;
}

tk::tk_divisor divisor(std::int64_t value) {
  return make_divisor(static_cast<std::uint32_t>(value));
}

std::int64_t tiles(std::int64_t size) {
  return (size + tk::kTile - 1) / tk::kTile;
}

}  // namespace

CopyPlan::CopyPlan(std::span<const std::int64_t> sizes, const ops::Strided& to,
                   const ops::Strided& from, std::size_t element_bytes)
    : to_offset_(to.offset), from_offset_(from.offset), bytes_(element_bytes) {
  check(std::has_single_bit(element_bytes) && element_bytes <= 16, ErrorKind::Unsupported,
        "no device kernel copies elements of {} bytes", element_bytes);
  check(to.strides.size() == sizes.size() && from.strides.size() == sizes.size(), ErrorKind::Shape,
        "a copy over {} axes has {} and {} strides", sizes.size(), to.strides.size(),
        from.strides.size());
  std::int64_t count = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) empty_ = true;
    if (empty_) continue;
    check(sizes[i] <= kMost / count, ErrorKind::Unsupported, "a copy of more than 2^31 elements");
    count *= sizes[i];
    if (sizes[i] != 1) axes_.push_back({sizes[i], to.strides[i], from.strides[i]});
  }
  if (!empty_) merge();
}

// Axes in the order in which `to` is written, and those that are one for both sides as one.
void CopyPlan::merge() {
  std::ranges::stable_sort(axes_, {}, [](const Axis& a) { return std::abs(a.to); });
  std::vector<Axis> merged;
  for (const Axis& a : axes_) {
    if (!merged.empty()) {
      Axis& inner = merged.back();
      if (a.to == inner.to * inner.size && a.from == inner.from * inner.size) {
        inner.size *= a.size;
        continue;
      }
    }
    merged.push_back(a);
  }
  axes_ = std::move(merged);
  check(axes_.size() <= tk::kCopyAxes, ErrorKind::Unsupported,
        "a copy over {} axes that do not merge, at most {}", axes_.size(),
        static_cast<int>(tk::kCopyAxes));
  std::int64_t to_span = 0, from_span = 0;
  for (const Axis& a : axes_) {
    const std::int64_t most = std::max(std::abs(a.to), std::abs(a.from));
    check(most <= kMost / a.size, ErrorKind::Unsupported,
          "a copy that spans more than 2^31 elements");
    to_span += std::abs(a.to) * (a.size - 1);
    from_span += std::abs(a.from) * (a.size - 1);
  }
  check(std::max(to_span, from_span) <= kMost, ErrorKind::Unsupported,
        "a copy that spans more than 2^31 elements");
}

void CopyPlan::run(Queue& queue, DeviceAddress from, DeviceAddress to, const char* label) const {
  gpu::run(queue, prepare(from, to, label));
}

PreparedLaunches CopyPlan::prepare(DeviceAddress from, DeviceAddress to, const char* label) const {
  PreparedLaunches out;
  if (empty_) return out;
  out.push_back(is_transpose() ? prepare_transpose(from, to, label)
                               : prepare_plain(from, to, label));
  return out;
}

// One axis is dense in `to`, another one in `from`, and both are long enough for tiles.
bool CopyPlan::is_transpose() const {
  if (axes_.size() < 2 || axes_[0].to != 1 || axes_[0].from == 1 || bytes_ > 8) return false;
  const auto dense = std::ranges::find(axes_, 1, &Axis::from);
  return dense != axes_.end() && dense->size >= tk::kTile / 4 && axes_[0].size >= tk::kTile / 4;
}

PreparedLaunch CopyPlan::prepare_transpose(DeviceAddress from, DeviceAddress to,
                                           const char* label) const {
  const auto dense = std::ranges::find(axes_, 1, &Axis::from);
  tk::TransposeParams p{};
  p.from_base = from_offset_;
  p.to_base = to_offset_;
  p.columns = static_cast<tk::tk_i32>(axes_[0].size);
  p.from_rows = static_cast<tk::tk_i32>(axes_[0].from);
  p.rows = static_cast<tk::tk_i32>(dense->size);
  p.to_rows = static_cast<tk::tk_i32>(dense->to);
  p.row_tiles = divisor(tiles(p.rows));
  p.column_tiles = divisor(tiles(p.columns));
  std::int64_t groups = tiles(p.rows) * tiles(p.columns);
  std::size_t k = 0;
  for (auto& d : p.size) d = divisor(1);
  for (auto axis = axes_.begin() + 1; axis != axes_.end(); ++axis) {
    if (axis == dense) continue;
    p.size[k] = divisor(axis->size);
    p.from_stride[k] = static_cast<tk::tk_i32>(axis->from);
    p.to_stride[k] = static_cast<tk::tk_i32>(axis->to);
    groups *= axis->size;
    ++k;
  }
  return PreparedLaunch(kernel_for(kTranspose, bytes_), {static_cast<std::uint32_t>(groups)},
                        {kThreads}, {from, to}, p, label);
}

// The most elements that can be moved as one of at most 16 bytes.
std::size_t CopyPlan::widest(DeviceAddress from, DeviceAddress to) const {
  if (axes_.empty() || axes_[0].to != 1 || axes_[0].from != 1) return 1;
  for (std::size_t n = 16 / bytes_; n > 1; n /= 2) {
    bool fits = (from | to) % (n * bytes_) == 0 && divides(n, axes_[0].size) &&
                divides(n, from_offset_) && divides(n, to_offset_);
    for (std::size_t i = 1; i < axes_.size(); ++i) {
      fits = fits && divides(n, axes_[i].to) && divides(n, axes_[i].from);
    }
    if (fits) return n;
  }
  return 1;
}

PreparedLaunch CopyPlan::prepare_plain(DeviceAddress from, DeviceAddress to,
                                       const char* label) const {
  const auto n = static_cast<std::int64_t>(widest(from, to));
  tk::CopyParams p{};
  p.from_base = from_offset_ / n;
  p.to_base = to_offset_ / n;
  p.rank = static_cast<tk::tk_i32>(axes_.size());
  std::int64_t count = 1;
  for (auto& d : p.size) d = divisor(1);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::int64_t unit = i == 0 ? n : 1, step = i == 0 ? 1 : n;
    p.size[i] = divisor(axes_[i].size / unit);
    p.from_stride[i] = static_cast<tk::tk_i32>(axes_[i].from / step);
    p.to_stride[i] = static_cast<tk::tk_i32>(axes_[i].to / step);
    count *= axes_[i].size / unit;
  }
  p.count = static_cast<tk::tk_i32>(count);
  return PreparedLaunch(kernel_for(kCopy, bytes_ * static_cast<std::size_t>(n)),
                        {groups_of(count, kThreads * tk::kCopyPerThread)}, {kThreads}, {from, to},
                        p, label);
}

PreparedLaunches prepare_fill(DeviceAddress to, std::int64_t count, const void* value,
                              std::size_t element_bytes, const char* label) {
  check(std::has_single_bit(element_bytes) && element_bytes <= 16, ErrorKind::Unsupported,
        "no device kernel fills elements of {} bytes", element_bytes);
  PreparedLaunches out;
  if (count == 0) return out;
  tk::FillParams p{};
  std::array<std::byte, 16> pattern;
  for (std::size_t i = 0; i < 16; i += element_bytes) {
    std::memcpy(pattern.data() + i, value, element_bytes);
  }
  std::memcpy(p.value, pattern.data(), 16);
  std::size_t unit = 16;
  while (unit > element_bytes &&
         (to % unit != 0 || count % static_cast<std::int64_t>(unit / element_bytes) != 0)) {
    unit /= 2;
  }
  p.count = count / static_cast<std::int64_t>(unit / element_bytes);
  check(p.count <= kMost * 255, ErrorKind::Unsupported, "a fill of {} elements", count);
  out.emplace_back(kernel_for(kFill, unit), Extent3{groups_of(p.count, kThreads)},
                   Extent3{kThreads}, std::initializer_list<DeviceAddress>{to}, p, label);
  return out;
}

void run(Queue& queue, const PreparedLaunches& launches) {
  for (const PreparedLaunch& l : launches) queue.launch(l.get());
}

}  // namespace treadle::gpu
