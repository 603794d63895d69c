#include "kernels/reduce/reduce.hpp"

#include <algorithm>
#include <limits>

namespace treadle::kernels {
namespace {

// How partial results join.
Fold joiner(Fold f) {
  return f == Fold::SumAbs || f == Fold::SumSquare ? Fold::Sum : f;
}

template <typename Axes>
std::int64_t offset_of(const Axes& axes, std::int64_t index) {
  std::int64_t result = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    result += index % axes[i].size * axes[i].stride;
    index /= axes[i].size;
  }
  return result;
}

}  // namespace

BoundReduce::BoundReduce(Fold fold, AfterFold after, const Shape& in,
                         std::span<const std::int64_t> axes, const Rows& table)
    : table_(table), fold_(fold), after_(after) {
  std::vector<std::pair<Axis, bool>> groups;  // innermost first; true: reduced
  std::int64_t stride = 1;
  for (std::size_t i = in.size(); i-- > 0;) {
    const bool reduced =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (reduced) folded_ *= in[i];
    if (in[i] == 1) continue;
    if (!groups.empty() && groups.back().second == reduced) {
      groups.back().first.size *= in[i];
    } else {
      groups.push_back({{in[i], stride}, reduced});
    }
    stride *= in[i];
  }
  if (groups.empty()) groups.push_back({{1, 1}, true});
  inner_kept_ = !groups[0].second;
  inner_ = groups[0].first.size;
  for (std::size_t i = groups.size(); i-- > 1;) {
    (groups[i].second ? reduced_ : kept_).push_back(groups[i].first);
    (groups[i].second ? reduced_count_ : kept_count_) *= groups[i].first.size;
  }
}

void BoundReduce::finish(float* y, std::int64_t n) const {
  if (after_ == AfterFold::Mean) {
    const float count = static_cast<float>(folded_);
    table_.second_one(Fn2::Div)(y, &count, y, n);
  } else if (after_ == AfterFold::Sqrt) {
    table_[Fn1::Sqrt](y, y, n, 0, 0);
  }
}

void BoundReduce::fold_elements(const float* x, float* y, std::int64_t begin,
                                std::int64_t end) const {
  const auto fold = table_.folded(fold_);
  const auto join = table_.folded(joiner(fold_));
  constexpr std::int64_t kPartials = 64;
  float partials[kPartials];
  for (std::int64_t k = begin; k < end; ++k) {
    const float* from = x + offset_of(kept_, k);
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < reduced_count_; ++r) {
      if (count == kPartials) {
        partials[0] = join(partials, count);
        count = 1;
      }
      partials[count++] = fold(from + offset_of(reduced_, r), inner_);
    }
    y[k] = count == 1 ? partials[0] : join(partials, count);
  }
  finish(y + begin, end - begin);
}

void BoundReduce::fold_columns(const float* x, float* y, std::int64_t begin,
                               std::int64_t end) const {
  const auto fold = table_.folded_rows(fold_);
  const std::int64_t parts = (inner_ + kColumns - 1) / kColumns;
  const std::int64_t rows = reduced_.empty() ? 1 : reduced_.back().size;
  const std::int64_t stride = reduced_.empty() ? 0 : reduced_.back().stride;
  for (std::int64_t u = begin; u < end; ++u) {
    const std::int64_t column = u % parts * kColumns, n = std::min(kColumns, inner_ - column);
    const float* from = x + offset_of(kept_, u / parts) + column;
    float* to = y + u / parts * inner_ + column;
    for (std::int64_t r = 0; r < reduced_count_; r += rows) {
      fold(from + offset_of(reduced_, r), stride, rows, to, n, r == 0);
    }
    finish(to, n);
  }
}

void BoundReduce::run(const float* x, float* y, Parallel& parallel) const {
  const std::int64_t results = kept_count_ * (inner_kept_ ? inner_ : 1);
  if (results == 0) return;
  if (folded_ == 0) {
    std::fill_n(y, results, table_.folded(fold_)(nullptr, 0));
    finish(y, results);
    return;
  }
  const std::int64_t parts = inner_kept_ ? (inner_ + kColumns - 1) / kColumns : 1;
  const std::int64_t unit = folded_ * (inner_kept_ ? std::min(inner_, kColumns) : 1);
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / unit);
  parallel.run(kept_count_ * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    if (inner_kept_) {
      fold_columns(x, y, begin, end);
    } else {
      fold_elements(x, y, begin, end);
    }
  });
}

namespace {

// Whether v takes the place of best.
bool wins(float v, float best, bool max, bool last) {
  if (best != best) return last && v != v;
  if (v != v) return true;
  if (v == best) return last;
  return max ? v > best : v < best;
}

std::int64_t arg_row(const Rows& table, const float* x, std::int64_t n, bool max, bool last) {
  const float best = table.folded(max ? Fold::Max : Fold::Min)(x, n);
  const auto same = [&](std::int64_t i) { return x[i] == best || (x[i] != x[i] && best != best); };
  std::int64_t i = last ? n - 1 : 0;
  while (!same(i)) i += last ? -1 : 1;
  return i;
}

// The first of the best among n elements that are no NaN.
std::int64_t arg_passing_nan(const float* x, std::int64_t n, std::int64_t stride, bool max) {
  float best =
      max ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = x[i * stride];
    if (max ? v > best : v < best) {
      best = v;
      at = i;
    }
  }
  return at;
}

}  // namespace

void arg_reduce(const Rows& table, const Split& s, const ArgRules& rules, const float* x,
                std::int64_t* y, Parallel& parallel) {
  const bool max = rules.max, last = rules.last;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, s.length));
  parallel.run(s.outer * s.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const float* from = x + u / s.inner * s.length * s.inner + u % s.inner;
      std::int64_t best = 0;
      if (s.inner == 1) {
        best = arg_row(table, from, s.length, max, last);
      } else {
        for (std::int64_t i = 1; i < s.length; ++i) {
          if (wins(from[i * s.inner], from[best * s.inner], max, last)) best = i;
        }
      }
      const bool nan_won = from[best * s.inner] != from[best * s.inner];
      y[u] = rules.skip_nan && nan_won ? arg_passing_nan(from, s.length, s.inner, max) : best;
    }
  });
}

}  // namespace treadle::kernels
