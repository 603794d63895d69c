#include "ops/pool.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "ops/elements.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

namespace {

const char* name_of(PoolKind k) {
  switch (k) {
    case PoolKind::Max:
      return "max";
    case PoolKind::Average:
      return "average";
    case PoolKind::Lp:
      return "lp";
  }
  return "?";
}

Window axis_window(const Pool& p, std::size_t i, const Dim& in) {
  const bool is_explicit = p.padding.mode == AutoPad::Explicit;
  return window(in, p.kernel[i], p.strides[i], p.dilations[i], p.padding.mode,
                is_explicit ? p.padding.before[i] : 0, is_explicit ? p.padding.after[i] : 0,
                p.ceil_mode);
}

}  // namespace

void Pool::visit(ParamVisitor& v) const {
  v.param("kind", name_of(kind));
  v.param("layout", ops::name_of(layout));
  v.param("kernel", kernel);
  v.param("strides", strides);
  v.param("dilations", dilations);
  v.param("auto_pad", ops::name_of(padding.mode));
  v.param("before", padding.before);
  v.param("after", padding.after);
  v.param("ceil_mode", ceil_mode);
  v.param("count_include_pad", count_include_pad);
  v.param("with_indices", with_indices);
  v.param("storage_order", storage_order);
  v.param("p", p);
}

std::vector<Fact> Pool::infer(InputFacts in) const {
  check(in.size() == 1 && in[0] != nullptr, ErrorKind::Shape, "Pool takes one input, got {}",
        in.size());
  const SymShape& x = in[0]->shape;
  const DType t = in[0]->dtype;
  check(x.size() >= 3, ErrorKind::Shape, "input 0 'x' has shape {}, expected (N, C, spatial sizes)",
        str(x));
  check(is_float(t) || (kind == PoolKind::Max && is_integer(t)), ErrorKind::Type,
        "input 0 'x' has dtype {}, expected a floating-point one{}", name_of(t),
        kind == PoolKind::Max ? " or an integer" : "");
  const int count = in[0]->rank() - 2;
  check_spatial(kernel, count, 1, "kernel");
  check_spatial(strides, count, 1, "strides");
  check_spatial(dilations, count, 1, "dilations");
  check_padding(padding, count);
  check(p >= 1, ErrorKind::Shape, "p is {}, expected at least 1", p);
  check(!with_indices || kind == PoolKind::Max, ErrorKind::Shape, "only a max pool has indices");
  check(storage_order == 0 || storage_order == 1, ErrorKind::Shape,
        "storage_order is {}, expected 0 or 1", storage_order);
  SymShape spatial = spatial_dims(x, layout);
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    spatial[i] = axis_window(*this, i, spatial[i]).out;
  }
  const Dim& channels = x[static_cast<std::size_t>(channel_axis(layout, in[0]->rank()))];
  const SymShape shape = make_shape(layout, x[0], channels, spatial);
  std::vector<Fact> out{Fact::tensor(t, shape)};
  if (with_indices) out.push_back(Fact::tensor(DType::I64, shape));
  return out;
}

namespace {

struct Problem {
  std::vector<std::int64_t> in, out, before, after;
  DataStrides x, y;
  std::vector<std::int64_t> index_strides;  // of the spatial axes, for the flat index
};

// What one window sees.
struct Cells {
  std::vector<std::int64_t> at;     // offsets of the cells inside the input
  std::vector<std::int64_t> index;  // their flat index within the channel
  std::int64_t padded = 0;          // cells inside the padded input
};

void collect(const Pool& pool, const Problem& p, const std::vector<std::int64_t>& position,
             std::vector<std::int64_t>& tap, Cells& cells) {
  cells.at.clear();
  cells.index.clear();
  cells.padded = 0;
  do {
    std::int64_t x_at = 0, index = 0;
    bool inside = true, in_padded = true;
    for (std::size_t i = 0; i < tap.size(); ++i) {
      const std::int64_t pos =
          position[i] * pool.strides[i] + tap[i] * pool.dilations[i] - p.before[i];
      in_padded = in_padded && pos < p.in[i] + p.after[i];
      if (pos < 0 || pos >= p.in[i]) {
        inside = false;
        continue;
      }
      x_at += pos * p.x.spatial[i];
      index += pos * p.index_strides[i];
    }
    if (in_padded) ++cells.padded;
    if (!inside) continue;
    cells.at.push_back(x_at);
    cells.index.push_back(index);
  } while (next_index(tap, pool.kernel));
}

template <typename T>
auto lowest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  }
}

// Comparable form: 16-bit floats as f32.
template <typename T>
auto comparable(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(v);
  } else {
    return v;
  }
}

// Position in `cells` of the maximum, the first of equals; a NaN wins. −1 for no cells.
template <typename T>
std::int64_t largest(const Cells& cells, const T* x) {
  std::int64_t best = -1;
  for (std::size_t i = 0; i < cells.at.size(); ++i) {
    const auto v = comparable(x[cells.at[i]]);
    if (best < 0) {
      best = 0;
      continue;
    }
    const auto top = comparable(x[cells.at[static_cast<std::size_t>(best)]]);
    if constexpr (!std::is_integral_v<T>) {
      if (std::isnan(top)) break;
      if (std::isnan(v)) {
        best = static_cast<std::int64_t>(i);
        break;
      }
    }
    if (v > top) best = static_cast<std::int64_t>(i);
  }
  return best;
}

template <typename T>
T average(const Pool& pool, const Cells& cells, const T* x) {
  double sum = 0;
  for (const std::int64_t at : cells.at) sum += static_cast<double>(to_accumulator(x[at]));
  const std::int64_t count =
      pool.count_include_pad ? cells.padded : static_cast<std::int64_t>(cells.at.size());
  return from_accumulator<T>(
      static_cast<Accumulator<T>>(count == 0 ? 0 : sum / static_cast<double>(count)));
}

template <typename T>
T lp_norm(const Pool& pool, const Cells& cells, const T* x) {
  double sum = 0;
  const auto p = static_cast<double>(pool.p);
  for (const std::int64_t at : cells.at) {
    sum += std::pow(std::abs(static_cast<double>(to_accumulator(x[at]))), p);
  }
  return from_accumulator<T>(static_cast<Accumulator<T>>(std::pow(sum, 1 / p)));
}

template <typename T>
void run(const Pool& pool, const Problem& p, const TensorView& x, const TensorView& y,
         std::int64_t* indices) {
  const std::int64_t batch = y.shape[0];
  const std::int64_t channels =
      y.shape[static_cast<std::size_t>(channel_axis(pool.layout, y.shape.rank()))];
  std::int64_t plane = 1;
  for (const std::int64_t size : p.in) plane *= size;
  std::vector<std::int64_t> tap(p.in.size(), 0);
  Cells cells;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const T* xs = x.as<const T>() + n * p.x.n + c * p.x.c;
      std::vector<std::int64_t> position(p.out.size(), 0);
      do {
        std::int64_t y_at = n * p.y.n + c * p.y.c;
        for (std::size_t i = 0; i < position.size(); ++i) y_at += position[i] * p.y.spatial[i];
        collect(pool, p, position, tap, cells);
        T& result = y.as<T>()[y_at];
        if (pool.kind == PoolKind::Max) {
          const std::int64_t best = largest(cells, xs);
          result = best < 0 ? lowest<T>() : xs[cells.at[static_cast<std::size_t>(best)]];
          if (indices != nullptr) {
            indices[y_at] =
                best < 0 ? -1
                         : (n * channels + c) * plane + cells.index[static_cast<std::size_t>(best)];
          }
        } else if constexpr (!std::is_integral_v<T>) {
          result =
              pool.kind == PoolKind::Average ? average(pool, cells, xs) : lp_norm(pool, cells, xs);
        }
      } while (next_index(position, p.out));
    }
  }
}

Problem resolve(const Pool& pool, const TensorView& x, const TensorView& y) {
  Problem p;
  p.x = data_strides(x.shape, pool.layout);
  p.y = data_strides(y.shape, pool.layout);
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    const auto axis = static_cast<std::size_t>(spatial_axis(pool.layout, static_cast<int>(i)));
    p.in.push_back(x.shape[axis]);
    p.out.push_back(y.shape[axis]);
    const Window w = axis_window(pool, i, x.shape[axis]);
    p.before.push_back(w.before.value());
    p.after.push_back(w.after.value());
  }
  p.index_strides.assign(p.in.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t k = 0; k < p.in.size(); ++k) {
    const std::size_t axis = pool.storage_order == 1 ? k : p.in.size() - 1 - k;
    p.index_strides[axis] = stride;
    stride *= p.in[axis];
  }
  return p;
}

}  // namespace

void Pool::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const TensorView &x = ctx.in(0), &y = ctx.output(0);
  if (y.elements() == 0) return;
  const Problem problem = resolve(*this, x, y);
  std::int64_t* indices = with_indices ? ctx.output(1).as<std::int64_t>() : nullptr;
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, bool>) run<T>(*this, problem, x, y, indices);
  });
}

Cost Pool::cost(InputFacts, std::span<const Fact> out) const {
  Dim taps = 1;
  for (const std::int64_t k : kernel) taps = taps * k;
  return {elements(out[0].shape) * taps};
}

}  // namespace treadle::ops
