#include "plan/memory_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/shape.hpp"

namespace treadle {
namespace {

constexpr std::int64_t kAlign = 64;

class Gaps {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = gaps_.end();
    for (auto it = gaps_.begin(); it != gaps_.end(); ++it) {
      if (it->second >= bytes && (best == gaps_.end() || it->second < best->second)) best = it;
    }
    if (best == gaps_.end()) {
      // Grow the gap at the end, when there is one, rather than leave it unused.
      if (!gaps_.empty() &&
          std::prev(gaps_.end())->first + std::prev(gaps_.end())->second == end_) {
        const auto last = std::prev(gaps_.end());
        const std::int64_t offset = last->first;
        gaps_.erase(last);
        end_ = checked_add(offset, bytes);
        return offset;
      }
      const std::int64_t offset = end_;
      end_ = checked_add(end_, bytes);
      return offset;
    }
    const auto [offset, size] = *best;
    gaps_.erase(best);
    if (size > bytes) gaps_.emplace(offset + bytes, size - bytes);
    return offset;
  }

  void give(std::int64_t offset, std::int64_t bytes) {
    if (bytes == 0) return;
    auto next = gaps_.lower_bound(offset);
    if (next != gaps_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = gaps_.erase(next);
    }
    if (next != gaps_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    gaps_.emplace(offset, bytes);
  }

  std::int64_t end() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> gaps_;  // offset → size
  std::int64_t end_ = 0;
};

}  // namespace

ArenaLayout plan_memory(std::vector<Lifetime>& values) {
  std::vector<std::size_t> by_first(values.size());
  std::iota(by_first.begin(), by_first.end(), std::size_t{0});
  auto by_last = by_first;
  for (Lifetime& v : values) v.bytes = checked_add(v.bytes, kAlign - 1) / kAlign * kAlign;
  // Of the values that begin at one step the largest is placed first.
  std::stable_sort(by_first.begin(), by_first.end(), [&](std::size_t a, std::size_t b) {
    return values[a].first != values[b].first ? values[a].first < values[b].first
                                              : values[a].bytes > values[b].bytes;
  });
  std::stable_sort(by_last.begin(), by_last.end(),
                   [&](std::size_t a, std::size_t b) { return values[a].last < values[b].last; });
  Gaps gaps;
  std::int64_t live = 0;
  ArenaLayout layout;
  std::size_t dead = 0;
  for (std::size_t i : by_first) {
    Lifetime& v = values[i];
    for (; dead < by_last.size() && values[by_last[dead]].last < v.first; ++dead) {
      gaps.give(values[by_last[dead]].offset, values[by_last[dead]].bytes);
      live -= values[by_last[dead]].bytes;
    }
    v.offset = gaps.take(v.bytes);
    live = checked_add(live, v.bytes);
    layout.lower_bound = std::max(layout.lower_bound, live);
  }
  layout.bytes = gaps.end();
  return layout;
}

}  // namespace treadle
