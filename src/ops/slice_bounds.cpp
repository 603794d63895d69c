#include "ops/slice_bounds.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace treadle::ops {
namespace {

constexpr std::int64_t kFarEnd = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kFarStart = std::numeric_limits<std::int32_t>::min();

std::int64_t magnitude(std::int64_t step) {
  if (step == std::numeric_limits<std::int64_t>::min()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return step < 0 ? -step : step;
}

bool below_zero_at(const Dim& d, std::int64_t value) {
  std::vector<std::string> names;
  d.collect_symbols(names);
  SymbolValues values;
  for (const std::string& n : names) values[n] = value;
  try {
    return d.eval(values) < 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool counts_from_end(const Dim& d) {
  if (d.is_const()) return d.value() < 0;
  return below_zero_at(d, 1) && below_zero_at(d, 1000);
}

namespace {

// Bounds beyond any size mean the end (or the start) of the axis; far ones would overflow.
Dim within_reach(const Dim& d) {
  return d.is_const() ? Dim(std::clamp(d.value(), kFarStart, kFarEnd)) : d;
}

// a <= b for every value of the symbols, as far as their difference shows.
bool at_most(const Dim& a, const Dim& b) {
  const Dim gap = b - a;
  return gap.is_const() && gap.value() >= 0;
}

Dim positive_part(const Dim& d) {
  return d.is_const() ? Dim(std::max<std::int64_t>(0, d.value())) : max(d, 0);
}

Dim stepped(const Dim& span, std::int64_t step) {
  return step == 1 ? span : ceil_div(span, step);
}

SliceBounds forward(const Dim& size, Dim start, const Dim& end, std::int64_t step) {
  if (start.is_const() && start.value() <= kFarStart) start = 0;
  const bool to_end =
      end == size || at_most(size, end) || (end.is_const() && end.value() >= kFarEnd);
  if (counts_from_end(start)) {
    const Dim first = positive_part(size + start);
    if (to_end) return {first, stepped(min(size, Dim(0) - start), step)};
    const Dim last = counts_from_end(end) ? positive_part(size + end)
                     : at_most(end, size) ? end
                                          : min(end, size);
    return {first, stepped(positive_part(last - first), step)};
  }
  if (to_end) {
    if (start.is(0)) return {start, stepped(size, step)};
    return {start, stepped(positive_part(size - start), step)};
  }
  const Dim last = counts_from_end(end) ? size + end : at_most(end, size) ? end : min(end, size);
  if (start.is(0) && !counts_from_end(end)) return {start, stepped(last, step)};
  return {start, stepped(positive_part(last - start), step)};
}

SliceBounds backward(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  const bool from_end =
      start.is(-1) || at_most(size - 1, start) || (start.is_const() && start.value() >= kFarEnd);
  const Dim first = from_end                 ? size - 1
                    : counts_from_end(start) ? min(positive_part(size + start), size - 1)
                                             : min(start, size - 1);
  const bool to_start = end.is_const() && end.value() <= kFarStart;
  if (to_start && from_end) return {first, stepped(size, magnitude(step))};
  const Dim last = to_start               ? Dim(-1)
                   : counts_from_end(end) ? max(size + end, Dim(-1))
                                          : min(end, size - 1);
  return {first, stepped(positive_part(first - last), magnitude(step))};
}

}  // namespace

ConcreteSlice slice_bounds(std::int64_t size, std::int64_t start, std::int64_t end,
                           std::int64_t step) {
  check(step != 0, ErrorKind::Shape, "the step is 0");
  if (size <= 0) return {0, 0};
  if (start < 0) start = start < -size ? -1 : start + size;
  if (end < 0) end = end < -size ? -1 : end + size;
  std::int64_t span = 0;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, size);
    end = std::clamp<std::int64_t>(end, 0, size);
    span = end - start;
  } else {
    start = std::clamp<std::int64_t>(start, 0, size - 1);
    end = std::clamp<std::int64_t>(end, -1, size - 1);
    span = start - end;
  }
  if (span <= 0) return {0, 0};
  return {start, 1 + (span - 1) / magnitude(step)};
}

SliceBounds slice_bounds(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  check(step != 0, ErrorKind::Shape, "the step is 0");
  if (size.is_const() && start.is_const() && end.is_const()) {
    const ConcreteSlice s = slice_bounds(size.value(), start.value(), end.value(), step);
    return {s.start, s.length};
  }
  const Dim first = within_reach(start);
  const Dim last = within_reach(end);
  return step > 0 ? forward(size, first, last, step) : backward(size, first, last, step);
}

}  // namespace treadle::ops
