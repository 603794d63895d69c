#include "ops/copy.hpp"

#include <cstring>
#include <string>

namespace treadle::ops {
namespace {

// The same copy over fewer axes: those of size 1 are left out, and neighbours that both sides walk
// as one are merged.
struct Walk {
  std::vector<std::int64_t> shape;
  Strided to, from;
};

Walk merged(std::span<const std::int64_t> shape, const Strided& to, const Strided& from) {
  Walk w;
  w.to.offset = to.offset;
  w.from.offset = from.offset;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!w.shape.empty() && w.to.strides.back() == to.strides[d] * shape[d] &&
        w.from.strides.back() == from.strides[d] * shape[d]) {
      w.shape.back() *= shape[d];
      w.to.strides.back() = to.strides[d];
      w.from.strides.back() = from.strides[d];
      continue;
    }
    w.shape.push_back(shape[d]);
    w.to.strides.push_back(to.strides[d]);
    w.from.strides.push_back(from.strides[d]);
  }
  return w;
}

// Walks all but the last axis and calls run(to offset, from offset) for each row.
template <typename Run>
void walk(std::span<const std::int64_t> shape, const Strided& to, const Strided& from, Run run) {
  for (const std::int64_t d : shape) {
    if (d == 0) return;
  }
  const std::size_t outer = shape.empty() ? 0 : shape.size() - 1;
  std::vector<std::int64_t> at(outer, 0);
  std::int64_t t = to.offset;
  std::int64_t s = from.offset;
  while (true) {
    run(t, s);
    std::size_t d = outer;
    while (d > 0) {
      --d;
      t += to.strides[d];
      s += from.strides[d];
      if (++at[d] < shape[d]) break;
      t -= to.strides[d] * shape[d];
      s -= from.strides[d] * shape[d];
      at[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

template <std::size_t Size>
void copy_row(char* to, std::int64_t to_step, const char* from, std::int64_t from_step,
              std::int64_t count) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * Size);
    return;
  }
  const std::int64_t size = static_cast<std::int64_t>(Size);
  if (to_step == 1 && from_step == 0) {
    char element[Size];
    std::memcpy(element, from, Size);
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, element, Size);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step * size, from + i * from_step * size, Size);
  }
}

using RowFn = void (*)(char*, std::int64_t, const char*, std::int64_t, std::int64_t);

RowFn row_fn(std::size_t size) {
  switch (size) {
    case 1:
      return copy_row<1>;
    case 2:
      return copy_row<2>;
    case 4:
      return copy_row<4>;
    case 8:
      return copy_row<8>;
    case 16:
      return copy_row<16>;
    default:
      fail(ErrorKind::Internal, "no copy for elements of {} bytes", size);
  }
}

}  // namespace

void copy_run(DType dtype, void* to, std::int64_t to_at, const void* from, std::int64_t from_at,
              std::int64_t count) {
  if (count <= 0) return;
  if (dtype == DType::String) {
    auto* t = static_cast<std::string*>(to) + to_at;
    const auto* s = static_cast<const std::string*>(from) + from_at;
    for (std::int64_t i = 0; i < count; ++i) t[i] = s[i];
    return;
  }
  const std::size_t size = size_of(dtype);
  std::memcpy(static_cast<char*>(to) + static_cast<std::size_t>(to_at) * size,
              static_cast<const char*>(from) + static_cast<std::size_t>(from_at) * size,
              static_cast<std::size_t>(count) * size);
}

void copy_strided(DType dtype, std::span<const std::int64_t> shape, void* to, const Strided& to_at,
                  const void* from, const Strided& from_at) {
  const Walk w = merged(shape, to_at, from_at);
  const std::int64_t count = w.shape.empty() ? 1 : w.shape.back();
  const std::int64_t to_step = w.shape.empty() ? 1 : w.to.strides.back();
  const std::int64_t from_step = w.shape.empty() ? 1 : w.from.strides.back();
  if (dtype == DType::String) {
    auto* t = static_cast<std::string*>(to);
    const auto* s = static_cast<const std::string*>(from);
    walk(w.shape, w.to, w.from, [&](std::int64_t ti, std::int64_t si) {
      for (std::int64_t i = 0; i < count; ++i) t[ti + i * to_step] = s[si + i * from_step];
    });
    return;
  }
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype));
  const RowFn row = row_fn(size_of(dtype));
  walk(w.shape, w.to, w.from, [&](std::int64_t ti, std::int64_t si) {
    row(static_cast<char*>(to) + ti * size, to_step, static_cast<const char*>(from) + si * size,
        from_step, count);
  });
}

std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> out(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) out[d - 1] = checked_mul(out[d], shape[d]);
  return out;
}

void fill_zero(DType dtype, void* to, std::int64_t count) {
  if (count <= 0) return;
  if (dtype == DType::String) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<std::string*>(to)[i].clear();
    return;
  }
  std::memset(to, 0, static_cast<std::size_t>(count) * size_of(dtype));
}

Shape shape_of(EvalContext& ctx, const SymShape& shape) {
  std::vector<std::int64_t> out;
  for (const Dim& d : shape) out.push_back(ctx.value_of(d));
  return Shape(std::span<const std::int64_t>(out));
}

}  // namespace treadle::ops
