#include "kernels/copy/copy.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "kernels/transpose/transpose.hpp"

namespace treadle::kernels {
namespace {

constexpr std::int64_t kGrainBytes = 64 << 10;

struct Pair {
  std::uint64_t low, high;
};

template <typename T>
void copy_elements(const std::byte* in, std::byte* out, const CopyAxis& a) {
  constexpr std::ptrdiff_t kSize = sizeof(T);
  for (std::int64_t i = 0; i < a.size; ++i) {
    std::memcpy(out + i * a.out * kSize, in + i * a.in * kSize, sizeof(T));
  }
}

template <typename T>
void fill_elements(std::byte* out, std::int64_t n, const void* value) {
  T v;
  std::memcpy(&v, value, sizeof v);
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(out + i * std::ptrdiff_t{sizeof(T)}, &v, sizeof v);
}

void fill_any(std::byte* out, std::int64_t n, const void* value, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return fill_elements<std::uint8_t>(out, n, value);
    case 2:
      return fill_elements<std::uint16_t>(out, n, value);
    case 4:
      return fill_elements<std::uint32_t>(out, n, value);
    case 8:
      return fill_elements<std::uint64_t>(out, n, value);
    default:
      return fill_elements<Pair>(out, n, value);
  }
}

}  // namespace

BoundCopy::BoundCopy(std::size_t element_bytes, std::span<const CopyAxis> axes,
                     std::int64_t in_offset, std::int64_t out_offset)
    : size_(element_bytes), in_offset_(in_offset), out_offset_(out_offset) {
  check(size_ == 1 || size_ == 2 || size_ == 4 || size_ == 8 || size_ == 16, ErrorKind::Internal,
        "cannot copy elements of {} bytes", size_);
  simplify(axes);
  choose();
}

// Drops axes of size 1, orders by the output's strides, joins neighbours that are one axis, and
// makes a short contiguous innermost axis part of the element.
void BoundCopy::simplify(std::span<const CopyAxis> axes) {
  std::vector<CopyAxis> sorted;
  for (const CopyAxis& a : axes) {
    if (a.size != 1) sorted.push_back(a);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.out > b.out; });
  for (const CopyAxis& a : sorted) {
    if (!outer_.empty() && outer_.back().out == a.out * a.size &&
        outer_.back().in == a.in * a.size) {
      outer_.back() = {outer_.back().size * a.size, a.in, a.out};
    } else {
      outer_.push_back(a);
    }
  }
  if (outer_.size() < 2) return;
  const CopyAxis inner = outer_.back();
  bool joins = inner.in == 1 && inner.out == 1 &&
               (inner.size == 2 || inner.size == 4 || inner.size == 8) &&
               inner.size * static_cast<std::int64_t>(size_) <= 8;
  joins = joins && in_offset_ % inner.size == 0 && out_offset_ % inner.size == 0;
  for (const CopyAxis& a : outer_) {
    joins = joins && (&a == &outer_.back() || (a.in % inner.size == 0 && a.out % inner.size == 0));
  }
  if (!joins) return;
  outer_.pop_back();
  size_ *= static_cast<std::size_t>(inner.size);
  in_offset_ /= inner.size;
  out_offset_ /= inner.size;
  for (CopyAxis& a : outer_) a.in /= inner.size, a.out /= inner.size;
}

void BoundCopy::choose() {
  if (outer_.empty()) outer_.push_back({1, 1, 1});
  row_ = outer_.back();
  outer_.pop_back();
  inner_ = row_.in == 1 && row_.out == 1 ? Inner::Rows : Inner::Elements;
  if (inner_ == Inner::Elements && row_.out == 1 && row_.in > 1 && size_ <= 8) {
    const auto column = std::find_if(outer_.begin(), outer_.end(),
                                     [](const CopyAxis& a) { return a.in == 1 && a.out > 0; });
    if (column != outer_.end()) {
      column_ = *column;
      outer_.erase(column);
      inner_ = Inner::Matrix;
    }
  }
  for (const CopyAxis& a : outer_) outer_count_ *= a.size;
  if (inner_ == Inner::Matrix) {
    // The longer side is cut into parts of a whole number of squares.
    by_rows_ = row_.size > column_.size;
    const std::int64_t cut = by_rows_ ? row_.size : column_.size;
    const std::int64_t other = std::max<std::int64_t>(1, by_rows_ ? column_.size : row_.size);
    part_ =
        std::max<std::int64_t>(1, kGrainBytes / 2 / static_cast<std::int64_t>(size_) / other / 32) *
        32;
    parts_ = (cut + part_ - 1) / part_;
  } else if (inner_ == Inner::Rows) {
    part_ = std::max<std::int64_t>(1, kGrainBytes / static_cast<std::int64_t>(size_));
    parts_ = (row_.size + part_ - 1) / part_;
  }
}

void BoundCopy::run_inner(const std::byte* in, std::byte* out, std::int64_t part) const {
  const auto bytes = static_cast<std::ptrdiff_t>(size_);
  const std::int64_t first = part * part_;
  if (inner_ == Inner::Matrix && by_rows_) {
    transpose_matrix(size_, in + first * row_.in * bytes, row_.in, out + first * bytes, column_.out,
                     std::min(part_, row_.size - first), column_.size);
    return;
  }
  if (inner_ == Inner::Matrix) {
    transpose_matrix(size_, in + first * bytes, row_.in, out + first * column_.out * bytes,
                     column_.out, row_.size, std::min(part_, column_.size - first));
    return;
  }
  if (inner_ == Inner::Rows) {
    const std::int64_t n = std::min(part_, row_.size - first);
    std::memcpy(out + first * bytes, in + first * bytes, static_cast<std::size_t>(n * bytes));
    return;
  }
  if (row_.in == 0 && row_.out == 1) return fill_any(out, row_.size, in, size_);
  switch (size_) {
    case 1:
      return copy_elements<std::uint8_t>(in, out, row_);
    case 2:
      return copy_elements<std::uint16_t>(in, out, row_);
    case 4:
      return copy_elements<std::uint32_t>(in, out, row_);
    case 8:
      return copy_elements<std::uint64_t>(in, out, row_);
    default:
      return copy_elements<Pair>(in, out, row_);
  }
}

void BoundCopy::run_units(const std::byte* in, std::byte* out, std::int64_t begin,
                          std::int64_t end) const {
  const auto bytes = static_cast<std::ptrdiff_t>(size_);
  const std::size_t depth = outer_.size();
  std::int64_t index[32] = {};
  std::int64_t in_at = in_offset_, out_at = out_offset_;
  std::int64_t rest = begin / parts_;
  for (std::size_t i = depth; i-- > 0;) {
    index[i] = rest % outer_[i].size;
    rest /= outer_[i].size;
    in_at += index[i] * outer_[i].in;
    out_at += index[i] * outer_[i].out;
  }
  std::int64_t part = begin % parts_;
  for (std::int64_t u = begin; u < end; ++u) {
    run_inner(in + in_at * bytes, out + out_at * bytes, part);
    if (++part < parts_) continue;
    part = 0;
    for (std::size_t i = depth; i-- > 0;) {
      in_at += outer_[i].in;
      out_at += outer_[i].out;
      if (++index[i] < outer_[i].size) break;
      in_at -= outer_[i].in * outer_[i].size;
      out_at -= outer_[i].out * outer_[i].size;
      index[i] = 0;
    }
  }
}

void BoundCopy::run(const void* in, void* out, Parallel& parallel) const {
  const std::int64_t elements = inner_ == Inner::Matrix ? row_.size * column_.size : row_.size;
  const std::int64_t unit = (elements + parts_ - 1) / std::max<std::int64_t>(1, parts_) *
                            static_cast<std::int64_t>(size_);
  if (outer_count_ * parts_ == 0 || unit == 0) return;
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(out);
  parallel.run(outer_count_ * parts_, std::max<std::int64_t>(1, kGrainBytes / unit),
               [&](std::int64_t begin, std::int64_t end) { run_units(from, to, begin, end); });
}

void fill(void* out, std::int64_t n, const void* value, std::size_t bytes, Parallel& parallel) {
  auto* to = static_cast<std::byte*>(out);
  const std::int64_t grain =
      std::max<std::int64_t>(1, kGrainBytes / static_cast<std::int64_t>(bytes));
  if (n == 0) return;
  parallel.run(n, grain, [&](std::int64_t begin, std::int64_t end) {
    fill_any(to + begin * static_cast<std::ptrdiff_t>(bytes), end - begin, value, bytes);
  });
}

namespace {

template <typename Index>
void gather_rows(const GatherArgs& g, const void* x, const Index* indices, void* out,
                 Parallel& parallel) {
  for (std::int64_t i = 0; i < g.count; ++i) {
    const std::int64_t at = indices[i];
    check(at >= -g.size && at < g.size, ErrorKind::Shape,
          "index {} at position {} is outside an axis of size {}", at, i, g.size);
  }
  if (g.outer * g.count * g.row_bytes == 0) return;
  const auto* from = static_cast<const std::byte*>(x);
  auto* to = static_cast<std::byte*>(out);
  const auto bytes = static_cast<std::size_t>(g.row_bytes);
  parallel.run(g.outer * g.count, std::max<std::int64_t>(1, kGrainBytes / g.row_bytes),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   std::int64_t at = indices[u % g.count];
                   if (at < 0) at += g.size;
                   const std::int64_t row = u / g.count * g.size + at;
                   std::memcpy(to + u * g.row_bytes, from + row * g.row_bytes, bytes);
                 }
               });
}

}  // namespace

void gather(const GatherArgs& args, const void* x, const std::int32_t* indices, void* out,
            Parallel& parallel) {
  gather_rows(args, x, indices, out, parallel);
}
void gather(const GatherArgs& args, const void* x, const std::int64_t* indices, void* out,
            Parallel& parallel) {
  gather_rows(args, x, indices, out, parallel);
}

}  // namespace treadle::kernels
