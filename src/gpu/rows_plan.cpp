#include "gpu/rows_plan.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/shape.hpp"

namespace treadle::gpu {
namespace {

// Threads that share a column, as a power of two: each should have a few positions, and
// neighbouring columns should be read together.
std::int64_t slices_of(std::int64_t columns, std::int64_t n, bool along) {
  std::int64_t slices = tk::kGroup;
  while (slices > 1 && slices * 2 > n) slices /= 2;
  if (along) return slices;
  const auto together = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(columns, 32))));
  return std::min(slices, tk::kGroup / together);
}

}  // namespace

void check_split(const kernels::Split& s) {
  constexpr std::int64_t kMost = 0x7fffffff - (std::int64_t{1} << 20);
  const std::int64_t block = checked_mul(s.length, s.inner),
                     columns = checked_mul(s.outer, s.inner);
  check(block <= kMost && columns <= kMost, ErrorKind::Unsupported,
        "a tensor seen as [{}, {}, {}] has more than 2^31 positions or columns", s.outer, s.length,
        s.inner);
}

std::int64_t column_segments(const kernels::Split& s, std::int64_t vector, std::int64_t most) {
  check_split(s);
  const std::int64_t columns = s.outer * (s.inner / vector);
  const std::int64_t slices = slices_of(columns, s.length, s.inner == 1);
  const std::int64_t groups = groups_of(columns, tk::kGroup / slices);
  return std::clamp<std::int64_t>(std::min(kBusyGroups / groups, s.length / (slices * 16)), 1,
                                  most);
}

SplitLaunch split_columns(const kernels::Split& s, std::int64_t vector, std::int64_t segments) {
  check_split(s);
  const std::int64_t width = s.inner / vector, columns = s.outer * width;
  const bool along = s.inner == 1;
  const std::int64_t slices = slices_of(columns, s.length, along);
  SplitLaunch l;
  l.groups.x = groups_of(columns, tk::kGroup / slices);
  l.groups.y = static_cast<std::uint32_t>(segments);
  const std::int64_t chunk = std::max<std::int64_t>((s.length + segments - 1) / segments, 1);
  l.params.width = make_divisor(static_cast<std::uint32_t>(width));
  l.params.columns = static_cast<tk::tk_i32>(columns);
  l.params.n = static_cast<tk::tk_i32>(s.length);
  l.params.inner = static_cast<tk::tk_i32>(s.inner);
  l.params.chunk = static_cast<tk::tk_i32>(chunk);
  l.params.slices_log = std::countr_zero(static_cast<std::uint64_t>(slices));
  l.params.along = along ? 1 : 0;
  return l;
}

SplitLaunch split_rows(const kernels::Split& s, std::uint32_t threads) {
  check_split(s);
  SplitLaunch l;
  l.groups.x = static_cast<std::uint32_t>(s.outer);
  l.threads.x = threads;
  l.params.width = make_divisor(1);
  l.params.columns = static_cast<tk::tk_i32>(s.outer);
  l.params.n = l.params.chunk = static_cast<tk::tk_i32>(s.length);
  l.params.inner = 1;
  return l;
}

std::uint32_t row_threads(const kernels::Split& s, std::int64_t vector) {
  const std::int64_t most = s.outer < kBusyGroups ? 1024 : 256;
  const auto wish = std::bit_ceil(static_cast<std::uint64_t>(s.length / (vector * 4)) | 1);
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(static_cast<std::int64_t>(wish), 256, most));
}

}  // namespace treadle::gpu
