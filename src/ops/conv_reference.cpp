#include "ops/conv_reference.hpp"

#include "base/error.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {

void check_conv_inputs(InputFacts in, std::string_view op) {
  check(in.size() >= 2 && in.size() <= 3 && in[0] != nullptr && in[1] != nullptr, ErrorKind::Shape,
        "{} takes x, w and an optional bias, got {} inputs", op, in.size());
  const DType t = in[0]->dtype;
  check(is_float(t) || t == DType::I32, ErrorKind::Type,
        "input 0 'x' has dtype {}, expected a floating-point one or i32", name_of(t));
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (in[i] == nullptr) continue;
    check(in[i]->dtype == t, ErrorKind::Type, "input {} has dtype {}, expected {} as x has it", i,
          name_of(in[i]->dtype), name_of(t));
  }
  const int rank = in[0]->rank();
  check(rank >= 3, ErrorKind::Shape, "input 0 'x' has shape {}, expected (N, C, spatial sizes)",
        str(in[0]->shape));
  check(in[1]->rank() == rank, ErrorKind::Shape,
        "input 1 'w' has shape {}, expected rank {} as x has shape {}", str(in[1]->shape), rank,
        str(in[0]->shape));
}

namespace {

// A convolution with everything resolved to numbers.
struct Problem {
  const ConvReference& conv;
  std::vector<std::int64_t> in, out, kernel, w_spatial;
  DataStrides x, y;
  std::int64_t batch = 0, channels_in = 0, channels_out = 0;  // channels per group
  std::int64_t w_out = 0, w_in = 0, w_group = 0;              // strides of the weight
};

Problem resolve(const ConvReference& c, const Shape& x, const Shape& w, const Shape& y) {
  Problem p{c, {}, {}, {}, {}, data_strides(x, c.layout), data_strides(y, c.layout)};
  const int rank = x.rank();
  const WeightAxes axes = weight_axes(c.weight_layout, rank, c.transposed);
  const Shape w_strides = w.strides();
  p.batch = x[0];
  p.w_out = w_strides[static_cast<std::size_t>(axes.out)];
  p.w_in = w_strides[static_cast<std::size_t>(axes.in)];
  p.channels_in = w[static_cast<std::size_t>(axes.in)] / (c.transposed ? c.group : 1);
  p.channels_out = w[static_cast<std::size_t>(axes.out)] / (c.transposed ? 1 : c.group);
  p.w_group = c.transposed ? p.channels_in * p.w_in : p.channels_out * p.w_out;
  for (int i = 0; i < rank - 2; ++i) {
    const auto data_axis = static_cast<std::size_t>(spatial_axis(c.layout, i));
    const auto w_axis = static_cast<std::size_t>(axes.spatial + i);
    p.in.push_back(x[data_axis]);
    p.out.push_back(y[data_axis]);
    p.kernel.push_back(w[w_axis]);
    p.w_spatial.push_back(w_strides[w_axis]);
  }
  return p;
}

// The place on spatial axis i that the tap reads for an output at `position`; -1: none.
template <bool kTransposed>
std::int64_t place(const Problem& p, std::size_t i, std::int64_t position, std::int64_t tap) {
  const ConvReference& c = p.conv;
  std::int64_t at = 0;
  if constexpr (kTransposed) {
    const std::int64_t reach = position + c.before[i] - tap * c.dilations[i];
    if (reach < 0 || reach % c.strides[i] != 0) return -1;
    at = reach / c.strides[i];
  } else {
    at = position * c.strides[i] + tap * c.dilations[i] - c.before[i];
  }
  return at < p.in[i] ? at : -1;
}

// The sum of what the taps read for the output at `position`.
template <bool kTransposed, typename T>
Accumulator<T> sum_at(const Problem& p, const T* x, const T* w,
                      const std::vector<std::int64_t>& position, std::vector<std::int64_t>& tap) {
  Accumulator<T> sum{};
  do {
    std::int64_t x_at = 0, w_at = 0;
    bool inside = true;
    for (std::size_t i = 0; i < tap.size() && inside; ++i) {
      const std::int64_t at = place<kTransposed>(p, i, position[i], tap[i]);
      inside = at >= 0;
      x_at += at * p.x.spatial[i];
      w_at += tap[i] * p.w_spatial[i];
    }
    if (!inside) continue;
    for (std::int64_t c = 0; c < p.channels_in; ++c) {
      sum += to_accumulator(x[x_at + c * p.x.c]) * to_accumulator(w[w_at + c * p.w_in]);
    }
  } while (next_index(tap, p.kernel));
  return sum;
}

template <bool kTransposed, typename T>
void run(const Problem& p, const T* x, const T* w, const T* bias, T* y) {
  std::vector<std::int64_t> tap(p.kernel.size(), 0);
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t o = 0; o < p.conv.group * p.channels_out; ++o) {
      const std::int64_t group = o / p.channels_out;
      const T* xs = x + n * p.x.n + group * p.channels_in * p.x.c;
      const T* ws = w + group * p.w_group + o % p.channels_out * p.w_out;
      T* ys = y + n * p.y.n + o * p.y.c;
      std::vector<std::int64_t> position(p.out.size(), 0);
      do {
        std::int64_t y_at = 0;
        for (std::size_t i = 0; i < position.size(); ++i) y_at += position[i] * p.y.spatial[i];
        Accumulator<T> sum = sum_at<kTransposed>(p, xs, ws, position, tap);
        if (bias != nullptr) sum += to_accumulator(bias[o]);
        ys[y_at] = from_accumulator<T>(sum);
      } while (next_index(position, p.out));
    }
  }
}

}  // namespace

void eval_conv(const ConvReference& conv, EvalContext& ctx) {
  const TensorView &x = ctx.in(0), &w = ctx.in(1), &y = ctx.output(0);
  const TensorView* bias = ctx.inputs() > 2 ? ctx.input(2) : nullptr;
  if (y.elements() == 0) return;
  const Problem p = resolve(conv, x.shape, w.shape, y.shape);
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      const T* b = bias ? bias->as<const T>() : nullptr;
      if (conv.transposed) {
        run<true>(p, x.as<const T>(), w.as<const T>(), b, y.as<T>());
      } else {
        run<false>(p, x.as<const T>(), w.as<const T>(), b, y.as<T>());
      }
    }
  });
}

}  // namespace treadle::ops
