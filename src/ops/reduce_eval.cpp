#include <array>
#include <vector>

#include "ops/elements.hpp"
#include "ops/loop.hpp"
#include "ops/reduce.hpp"

namespace treadle::ops {
namespace {

// Floats are accumulated in f64, integers in wrapping 64 bits.
template <typename T>
using sum_t =
    std::conditional_t<is_real_v<T>, double,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

// acc[at] = step(acc[at], x) for each element x of the input; operand 0 of the loop is the input,
// operand 1 the result.
template <typename T, typename A, typename F>
void accumulate(const StridedLoop& loop, const T* x, A* acc, F step) {
  const std::int64_t n = loop.row(), sx = loop.row_stride(0), sa = loop.row_stride(1);
  for_each_row(loop, [&](const std::int64_t* at) {
    const T* in = x + at[0];
    A* out = acc + at[1];
    if (sa == 0) {
      A one = *out;
      for (std::int64_t i = 0; i < n; ++i) one = step(one, in[i * sx], at[1]);
      *out = one;
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        out[i * sa] = step(out[i * sa], in[i * sx], at[1] + i * sa);
      }
    }
  });
}

template <typename T>
struct Job {
  const StridedLoop& loop;
  const T* x;
  T* out;
  std::int64_t results;
  std::int64_t each;  // elements that make one result

  template <typename F, typename G>
  void sum(sum_t<T> start, F step, G finish) const {
    using A = sum_t<T>;
    std::vector<A> acc(static_cast<std::size_t>(results), start);
    accumulate(loop, x, acc.data(),
               [&](A a, T v, std::int64_t) { return step(a, static_cast<A>(widen(v))); });
    for (std::int64_t i = 0; i < results; ++i) {
      out[i] = convert<T>(finish(acc[static_cast<std::size_t>(i)]));
    }
  }
};

template <typename A>
A add(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return wrap_add(a, b);
  else
    return a + b;
}

template <typename A>
A multiply(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return wrap_mul(a, b);
  else
    return a * b;
}

template <typename A>
A magnitude(A a) {
  if constexpr (std::is_floating_point_v<A>)
    return std::fabs(a);
  else if constexpr (std::is_signed_v<A>)
    return a < 0 ? wrap_sub(A(0), a) : a;
  else
    return a;
}

template <typename T>
void log_sum_exp(const Job<T>& job) {
  const auto count = static_cast<std::size_t>(job.results);
  std::vector<double> top(count, -std::numeric_limits<double>::infinity()), acc(count, 0.0);
  const auto value = [](T v) { return static_cast<double>(widen(v)); };
  accumulate(job.loop, job.x, top.data(),
             [&](double a, T v, std::int64_t) { return nan_max(a, value(v)); });
  accumulate(job.loop, job.x, acc.data(), [&](double a, T v, std::int64_t at) {
    const double t = top[static_cast<std::size_t>(at)];
    return a + (std::isinf(t) ? 0.0 : std::exp(value(v) - t));
  });
  for (std::size_t i = 0; i < count; ++i) {
    job.out[i] = convert<T>(std::isinf(top[i]) ? top[i] : top[i] + std::log(acc[i]));
  }
}

template <typename T>
void extreme(const Job<T>& job, bool max) {
  using C = compute_t<T>;
  using Limits = std::numeric_limits<C>;
  C start = max ? Limits::lowest() : Limits::max();
  if constexpr (is_real_v<T>) start = max ? -Limits::infinity() : Limits::infinity();
  std::vector<C> acc_store;
  if constexpr (std::is_same_v<T, bool>) {
    // std::vector<bool> has no elements to point at: the output itself accumulates.
    for (std::int64_t i = 0; i < job.results; ++i) job.out[i] = start;
    accumulate(job.loop, job.x, job.out,
               [max](bool a, bool v, std::int64_t) { return max ? a || v : a && v; });
  } else {
    acc_store.assign(static_cast<std::size_t>(job.results), start);
    accumulate(job.loop, job.x, acc_store.data(), [max](C a, T v, std::int64_t) {
      return max ? nan_max(a, widen(v)) : nan_min(a, widen(v));
    });
    for (std::int64_t i = 0; i < job.results; ++i) {
      job.out[i] = convert<T>(acc_store[static_cast<std::size_t>(i)]);
    }
  }
}

template <typename T>
bool reduce_number(ReduceFn fn, const Job<T>& job) {
  using A = sum_t<T>;
  const auto same = [](A a) { return a; };
  const auto log = [](A a) { return std::log(static_cast<double>(a)); };
  switch (fn) {
    case ReduceFn::Sum:
      job.sum(0, add<A>, same);
      break;
    case ReduceFn::LogSum:
      job.sum(0, add<A>, log);
      break;
    case ReduceFn::Prod:
      job.sum(1, multiply<A>, same);
      break;
    case ReduceFn::L1:
      job.sum(
          0, [](A a, A v) { return add(a, magnitude(v)); }, same);
      break;
    case ReduceFn::SumSquare:
      job.sum(
          0, [](A a, A v) { return add(a, multiply(v, v)); }, same);
      break;
    case ReduceFn::L2:
      job.sum(
          0, [](A a, A v) { return add(a, multiply(v, v)); },
          [](A a) { return std::sqrt(static_cast<double>(a)); });
      break;
    case ReduceFn::Mean:
      job.sum(0, add<A>, [&](A a) {
        if constexpr (std::is_integral_v<A>)
          return job.each == 0 ? A(0) : a / static_cast<A>(job.each);
        else
          return a / static_cast<double>(job.each);
      });
      break;
    case ReduceFn::LogSumExp:
      log_sum_exp(job);
      break;
    default:
      return false;
  }
  return true;
}

// Whether a takes the place of best, by the rules of ArgReduce.
template <typename T>
bool better(T a, T best, const ArgReduce& op) {
  const auto x = widen(a), y = widen(best);
  const bool max = op.max, last = op.select_last;
  if constexpr (is_real_v<T>) {
    using Limits = std::numeric_limits<decltype(x)>;
    if (op.skip_nan && (x != x || y != y))
      return x == x && x != (max ? -Limits::infinity() : Limits::infinity());
    if (x != x) return y == y || last;
    if (y != y) return false;
  }
  if (x == y) return last;
  return max ? x > y : x < y;
}

}  // namespace

void reduce_elements(ReduceFn fn, const TensorView& x, const TensorView& y) {
  const std::array<const Shape*, 1> target = {&y.shape};
  const StridedLoop loop = broadcast_loop(name_of(fn), x.shape, target);
  const std::int64_t results = y.elements();
  const std::int64_t each = results == 0 ? 0 : x.elements() / results;
  dispatch(x.dtype, [&]<typename T>(T) {
    const Job<T> job{loop, x.as<T>(), y.as<T>(), results, each};
    if (fn == ReduceFn::Max || fn == ReduceFn::Any) return extreme(job, true);
    if (fn == ReduceFn::Min || fn == ReduceFn::All) return extreme(job, false);
    if constexpr (!std::is_same_v<T, bool>) {
      if (reduce_number(fn, job)) return;
    }
    fail(ErrorKind::Type, "{} does not accept dtype {}", name_of(fn), name_of(x.dtype));
  });
}

void Reduce::eval(EvalContext& ctx) const {
  reduce_elements(fn, ctx.in(0), ctx.output(0));
}

void ArgReduce::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  auto out = ctx.output(0).span<std::int64_t>();
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t n = x.shape[at];
  std::int64_t inner = 1;
  for (std::size_t i = at + 1; i < x.shape.size(); ++i) inner *= x.shape[i];
  if (out.empty()) return;
  check(n > 0, ErrorKind::Shape, "axis {} of {} is empty and has no extreme", axis, x.shape.str());
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      for (std::size_t k = 0; k < out.size(); ++k) {
        const auto o = static_cast<std::int64_t>(k) / inner,
                   i = static_cast<std::int64_t>(k) % inner;
        const T* p = x.as<T>() + o * n * inner + i;
        std::int64_t best = 0;
        for (std::int64_t j = 1; j < n; ++j) {
          if (better(p[j * inner], p[best * inner], *this)) best = j;
        }
        out[k] = best;
      }
    }
  });
}

}  // namespace treadle::ops
