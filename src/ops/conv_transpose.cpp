#include "ops/conv_transpose.hpp"

#include "base/error.hpp"
#include "ops/accumulate.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

void ConvTranspose::visit(ParamVisitor& v) const {
  v.param("layout", name_of(layout));
  v.param("weight_layout", name_of(weight_layout));
  v.param("strides", strides);
  v.param("dilations", dilations);
  v.param("auto_pad", name_of(padding.mode));
  v.param("before", padding.before);
  v.param("after", padding.after);
  v.param("output_padding", output_padding);
  v.param("output_spatial", output_spatial);
  v.param("group", group);
}

Window ConvTranspose::axis_window(int axis, const Dim& in, std::int64_t kernel) const {
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t span = checked_add(checked_mul(kernel - 1, dilations[i]), 1);
  const Dim full = (in - 1) * strides[i] + output_padding[i] + span;
  const bool same = padding.mode == AutoPad::SameUpper || padding.mode == AutoPad::SameLower;
  Window w;
  if (output_spatial.empty() && !same) {
    if (padding.mode == AutoPad::Explicit) {
      w.before = padding.before[i];
      w.after = padding.after[i];
    }
    w.out = full - w.before - w.after;
  } else {
    w.out = output_spatial.empty() ? in * strides[i] : output_spatial[i];
    if (padding.mode == AutoPad::Valid) return w;
    const Dim total = max(Dim(0), full - w.out);
    const Dim less = floor_div(total, Dim(2));
    const Dim more = total - less;
    w.before = padding.mode == AutoPad::SameUpper ? less : more;
    w.after = padding.mode == AutoPad::SameUpper ? more : less;
  }
  check(!w.out.is_const() || w.out.value() >= 0, ErrorKind::Shape,
        "spatial axis {}: output size {} of input size {} is negative", axis, w.out.str(),
        in.str());
  return w;
}

namespace {

void check_inputs(InputFacts in) {
  check(in.size() >= 2 && in.size() <= 3 && in[0] != nullptr && in[1] != nullptr, ErrorKind::Shape,
        "ConvTranspose takes x, w and an optional bias, got {} inputs", in.size());
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

void check_params(const ConvTranspose& c, int count) {
  check(c.group > 0, ErrorKind::Shape, "group is {}, expected at least 1", c.group);
  check(c.weight_layout == WeightLayout::IOHW || c.weight_layout == WeightLayout::HWIO,
        ErrorKind::Shape, "a transposed convolution takes an IOHW or HWIO weight");
  check_spatial(c.strides, count, 1, "strides");
  check_spatial(c.dilations, count, 1, "dilations");
  check_spatial(c.output_padding, count, 0, "output_padding");
  check_padding(c.padding, count);
  check(c.output_spatial.empty() || static_cast<int>(c.output_spatial.size()) == count,
        ErrorKind::Shape, "output_shape has {} sizes, expected {}", c.output_spatial.size(), count);
}

}  // namespace

std::vector<Fact> ConvTranspose::infer(InputFacts in) const {
  check_inputs(in);
  const SymShape &x = in[0]->shape, &w = in[1]->shape;
  const int rank = in[0]->rank();
  check_params(*this, rank - 2);
  const WeightAxes axes = weight_axes(weight_layout, rank, true);
  const Dim& channels = x[static_cast<std::size_t>(channel_axis(layout, rank))];
  const Dim& w_in = w[static_cast<std::size_t>(axes.in)];
  check(!channels.is_const() || !w_in.is_const() || channels == w_in, ErrorKind::Shape,
        "input 1 'w' has shape {}, expected {} input channels at axis {} because x has C={}",
        str(w), channels.str(), axes.in, channels.str());
  check(!w_in.is_const() || w_in.value() % group == 0, ErrorKind::Shape,
        "input 1 'w' has shape {}: {} input channels are not divisible by group={}", str(w),
        w_in.str(), group);
  const Dim out_channels = w[static_cast<std::size_t>(axes.out)] * group;
  if (in.size() > 2 && in[2] != nullptr) {
    const SymShape& b = in[2]->shape;
    check(b.size() == 1 && (!b[0].is_const() || !out_channels.is_const() || b[0] == out_channels),
          ErrorKind::Shape, "input 2 'bias' has shape {}, expected [{}]", str(b),
          out_channels.str());
  }
  const std::vector<std::int64_t> kernel = kernel_sizes(w, axes);
  SymShape spatial = spatial_dims(x, layout);
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    spatial[i] = axis_window(static_cast<int>(i), spatial[i], kernel[i]).out;
  }
  return {Fact::tensor(in[0]->dtype, make_shape(layout, x[0], out_channels, spatial))};
}

namespace {

struct Problem {
  std::vector<std::int64_t> in, out, kernel, strides, dilations, before, w_spatial;
  DataStrides x, y;
  std::int64_t w_out = 0, w_in = 0;
  std::int64_t batch = 0, channels_in = 0, channels_out = 0;  // channels per group
  std::int64_t group = 1;
};

Problem resolve(const ConvTranspose& c, EvalContext& ctx) {
  const TensorView &x = ctx.in(0), &w = ctx.in(1), &y = ctx.output(0);
  Problem p;
  const int rank = x.shape.rank();
  const WeightAxes axes = weight_axes(c.weight_layout, rank, true);
  const Shape w_strides = w.shape.strides();
  p.x = data_strides(x.shape, c.layout);
  p.y = data_strides(y.shape, c.layout);
  p.w_out = w_strides[static_cast<std::size_t>(axes.out)];
  p.w_in = w_strides[static_cast<std::size_t>(axes.in)];
  p.batch = x.shape[0];
  p.group = c.group;
  p.channels_in = w.shape[static_cast<std::size_t>(axes.in)] / c.group;
  p.channels_out = w.shape[static_cast<std::size_t>(axes.out)];
  p.strides = c.strides;
  p.dilations = c.dilations;
  // A symbolic output_shape has its value in the output's place.
  ConvTranspose numbers = c;
  if (!c.output_spatial.empty()) {
    numbers.output_spatial = spatial_dims(to_sym(y.shape), c.layout);
  }
  for (int i = 0; i < rank - 2; ++i) {
    const auto data_axis = static_cast<std::size_t>(spatial_axis(c.layout, i));
    const auto w_axis = static_cast<std::size_t>(axes.spatial + i);
    p.in.push_back(x.shape[data_axis]);
    p.out.push_back(y.shape[data_axis]);
    p.kernel.push_back(w.shape[w_axis]);
    p.w_spatial.push_back(w_strides[w_axis]);
    p.before.push_back(numbers.axis_window(i, x.shape[data_axis], p.kernel.back()).before.value());
  }
  return p;
}

// The sum of all inputs that reach the output cell at `position`.
template <typename T>
Accumulator<T> at(const Problem& p, const T* x, const T* w,
                  const std::vector<std::int64_t>& position, std::vector<std::int64_t>& tap) {
  Accumulator<T> sum{};
  do {
    std::int64_t x_at = 0, w_at = 0;
    bool inside = true;
    for (std::size_t i = 0; i < tap.size(); ++i) {
      const std::int64_t reach = position[i] + p.before[i] - tap[i] * p.dilations[i];
      if (reach < 0 || reach % p.strides[i] != 0 || reach / p.strides[i] >= p.in[i]) {
        inside = false;
        break;
      }
      x_at += reach / p.strides[i] * p.x.spatial[i];
      w_at += tap[i] * p.w_spatial[i];
    }
    if (!inside) continue;
    for (std::int64_t c = 0; c < p.channels_in; ++c) {
      sum += widen(x[x_at + c * p.x.c]) * widen(w[w_at + c * p.w_in]);
    }
  } while (next_index(tap, p.kernel));
  return sum;
}

template <typename T>
void run(const Problem& p, const T* x, const T* w, const T* bias, T* y) {
  std::vector<std::int64_t> tap(p.kernel.size(), 0);
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t o = 0; o < p.group * p.channels_out; ++o) {
      const std::int64_t first = o / p.channels_out * p.channels_in;
      const T* xs = x + n * p.x.n + first * p.x.c;
      const T* ws = w + first * p.w_in + o % p.channels_out * p.w_out;
      T* ys = y + n * p.y.n + o * p.y.c;
      std::vector<std::int64_t> position(p.out.size(), 0);
      do {
        std::int64_t y_at = 0;
        for (std::size_t i = 0; i < position.size(); ++i) y_at += position[i] * p.y.spatial[i];
        Accumulator<T> sum = at(p, xs, ws, position, tap);
        if (bias != nullptr) sum += widen(bias[o]);
        ys[y_at] = narrow<T>(sum);
      } while (next_index(position, p.out));
    }
  }
}

}  // namespace

void ConvTranspose::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const TensorView &x = ctx.in(0), &w = ctx.in(1), &y = ctx.output(0);
  const TensorView* bias = ctx.inputs() > 2 ? ctx.input(2) : nullptr;
  if (y.elements() == 0) return;
  const Problem p = resolve(*this, ctx);
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      run(p, x.as<const T>(), w.as<const T>(), bias ? bias->as<const T>() : nullptr, y.as<T>());
    }
  });
}

Cost ConvTranspose::cost(InputFacts in, std::span<const Fact>) const {
  // Each input element meets the whole kernel and every output channel of its group.
  const SymShape& w = in[1]->shape;
  const WeightAxes axes = weight_axes(weight_layout, static_cast<int>(w.size()), true);
  Dim taps = w[static_cast<std::size_t>(axes.out)];
  for (const std::int64_t k : kernel_sizes(w, axes)) taps = taps * k;
  return {elements(in[0]->shape) * taps * 2};
}

}  // namespace treadle::ops
