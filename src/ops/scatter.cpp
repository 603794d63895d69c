#include "ops/scatter.hpp"

#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

template <typename T>
T reduced(ScatterReduce r, T a, T b) {
  using C = compute_t<T>;
  const C x = widen(a);
  const C y = widen(b);
  switch (r) {
    case ScatterReduce::None:
      return b;
    case ScatterReduce::Min:
      return convert<T>(nan_min(x, y));
    case ScatterReduce::Max:
      return convert<T>(nan_max(x, y));
    case ScatterReduce::Add:
      if constexpr (std::is_same_v<T, bool>) return a || b;
      if constexpr (std::is_integral_v<T>) return wrap_add(a, b);
      if constexpr (!std::is_integral_v<T>) return convert<T>(x + y);
      break;
    case ScatterReduce::Mul:
      if constexpr (std::is_same_v<T, bool>) return a && b;
      if constexpr (std::is_integral_v<T>) return wrap_mul(a, b);
      if constexpr (!std::is_integral_v<T>) return convert<T>(x * y);
      break;
  }
  return b;
}

}  // namespace

const char* name_of(ScatterReduce r) {
  switch (r) {
    case ScatterReduce::None:
      return "none";
    case ScatterReduce::Add:
      return "add";
    case ScatterReduce::Mul:
      return "mul";
    case ScatterReduce::Min:
      return "min";
    case ScatterReduce::Max:
      return "max";
  }
  return "?";
}

void check_reduce(ScatterReduce r, DType dtype) {
  check(r == ScatterReduce::None || (dtype != DType::String && !is_complex(dtype)), ErrorKind::Type,
        "reduction {} does not apply to {}", name_of(r), name_of(dtype));
}

void scatter_run(ScatterReduce r, DType dtype, void* to, std::int64_t to_at, const void* from,
                 std::int64_t from_at, std::int64_t count) {
  if (r == ScatterReduce::None) {
    copy_run(dtype, to, to_at, from, from_at, count);
    return;
  }
  dispatch(dtype, [&]<typename T>(T) {
    T* t = static_cast<T*>(to) + to_at;
    const T* f = static_cast<const T*>(from) + from_at;
    for (std::int64_t i = 0; i < count; ++i) t[i] = reduced(r, t[i], f[i]);
  });
}

}  // namespace treadle::ops
