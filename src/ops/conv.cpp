#include "ops/conv.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/accumulate.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

void Conv::visit(ParamVisitor& v) const {
  v.param("layout", name_of(layout));
  v.param("weight_layout", name_of(weight_layout));
  v.param("strides", strides);
  v.param("dilations", dilations);
  v.param("auto_pad", name_of(padding.mode));
  v.param("before", padding.before);
  v.param("after", padding.after);
  v.param("group", group);
}

namespace {

// The shape a weight must have, for the message.
SymShape expected_weight(const SymShape& w, const WeightAxes& axes, const Dim& in, const Dim& out) {
  SymShape s = w;
  s[static_cast<std::size_t>(axes.in)] = in;
  s[static_cast<std::size_t>(axes.out)] = out;
  return s;
}

const char* axes_text(WeightLayout l) {
  switch (l) {
    case WeightLayout::HWIO:
      return "(kernel, Cin/group, Cout)";
    case WeightLayout::OHWI:
      return "(Cout, kernel, Cin/group)";
    default:
      return "(Cout, Cin/group, kernel)";
  }
}

void check_types(InputFacts in) {
  check(in.size() >= 2 && in.size() <= 3 && in[0] != nullptr && in[1] != nullptr, ErrorKind::Shape,
        "Conv takes x, w and an optional bias, got {} inputs", in.size());
  const DType t = in[0]->dtype;
  check(is_float(t) || t == DType::I32, ErrorKind::Type,
        "input 0 'x' has dtype {}, expected a floating-point one or i32", name_of(t));
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (in[i] == nullptr) continue;
    check(in[i]->dtype == t, ErrorKind::Type, "input {} has dtype {}, expected {} as x has it", i,
          name_of(in[i]->dtype), name_of(t));
  }
}

void check_bias(const Fact* bias, const Dim& channels) {
  if (bias == nullptr) return;
  check(bias->rank() == 1, ErrorKind::Shape, "input 2 'bias' has shape {}, expected [{}]",
        str(bias->shape), channels.str());
  const Dim& size = bias->shape[0];
  check(!size.is_const() || !channels.is_const() || size == channels, ErrorKind::Shape,
        "input 2 'bias' has shape {}, expected [{}]", str(bias->shape), channels.str());
}

}  // namespace

std::vector<Fact> Conv::infer(InputFacts in) const {
  check_types(in);
  const SymShape &x = in[0]->shape, &w = in[1]->shape;
  const int rank = in[0]->rank();
  check(rank >= 3, ErrorKind::Shape, "input 0 'x' has shape {}, expected (N, C, spatial sizes)",
        str(x));
  check(in[1]->rank() == rank, ErrorKind::Shape,
        "input 1 'w' has shape {}, expected rank {} as x has shape {}", str(w), rank, str(x));
  check(group > 0, ErrorKind::Shape, "group is {}, expected at least 1", group);
  check(weight_layout != WeightLayout::IOHW, ErrorKind::Shape,
        "a convolution takes no IOHW weight");
  const int count = rank - 2;
  check_spatial(strides, count, 1, "strides");
  check_spatial(dilations, count, 1, "dilations");
  check_padding(padding, count);

  const WeightAxes axes = weight_axes(weight_layout, rank);
  const Dim& channels = x[static_cast<std::size_t>(channel_axis(layout, rank))];
  const Dim& w_in = w[static_cast<std::size_t>(axes.in)];
  const Dim& w_out = w[static_cast<std::size_t>(axes.out)];
  if (channels.is_const()) {
    check(channels.value() % group == 0, ErrorKind::Shape,
          "x of shape {} has C={}, which group={} does not divide", str(x), channels.str(), group);
    const Dim per_group = channels.value() / group;
    check(!w_in.is_const() || w_in == per_group, ErrorKind::Shape,
          "input 1 'w' has shape {}, expected {} {} because x has C={}, group={}", str(w),
          str(expected_weight(w, axes, per_group, w_out)), axes_text(weight_layout), channels.str(),
          group);
  }
  check(!w_out.is_const() || w_out.value() % group == 0, ErrorKind::Shape,
        "input 1 'w' has shape {}: {} output channels are not divisible by group={}", str(w),
        w_out.str(), group);
  check_bias(in.size() > 2 ? in[2] : nullptr, w_out);

  const std::vector<std::int64_t> kernel = kernel_sizes(w, axes);
  SymShape spatial = spatial_dims(x, layout);
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const bool is_explicit = padding.mode == AutoPad::Explicit;
    spatial[i] = window(spatial[i], kernel[i], strides[i], dilations[i], padding.mode,
                        is_explicit ? padding.before[i] : 0, is_explicit ? padding.after[i] : 0)
                     .out;
  }
  return {Fact::tensor(in[0]->dtype, make_shape(layout, x[0], w_out, spatial))};
}

namespace {

// One convolution with everything resolved to numbers.
struct Problem {
  std::vector<std::int64_t> in, out, kernel, strides, dilations, before;
  DataStrides x, y;
  std::int64_t w_out = 0, w_in = 0;
  std::vector<std::int64_t> w_spatial;
  std::int64_t batch = 0, channels_in = 0, channels_out = 0;  // channels per group
  std::int64_t group = 1;
};

Problem resolve(const Conv& c, const TensorView& x, const TensorView& w, const TensorView& y) {
  Problem p;
  const int rank = x.shape.rank();
  const WeightAxes axes = weight_axes(c.weight_layout, rank);
  const Shape w_strides = w.shape.strides();
  p.x = data_strides(x.shape, c.layout);
  p.y = data_strides(y.shape, c.layout);
  p.w_out = w_strides[static_cast<std::size_t>(axes.out)];
  p.w_in = w_strides[static_cast<std::size_t>(axes.in)];
  p.batch = x.shape[0];
  p.group = c.group;
  p.channels_in = w.shape[static_cast<std::size_t>(axes.in)];
  p.channels_out = w.shape[static_cast<std::size_t>(axes.out)] / c.group;
  p.strides = c.strides;
  p.dilations = c.dilations;
  for (int i = 0; i < rank - 2; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const auto data_axis = static_cast<std::size_t>(spatial_axis(c.layout, i));
    const auto w_axis = static_cast<std::size_t>(axes.spatial + i);
    const bool is_explicit = c.padding.mode == AutoPad::Explicit;
    p.in.push_back(x.shape[data_axis]);
    p.out.push_back(y.shape[data_axis]);
    p.kernel.push_back(w.shape[w_axis]);
    p.w_spatial.push_back(w_strides[w_axis]);
    p.before.push_back(window(p.in[k], p.kernel[k], c.strides[k], c.dilations[k], c.padding.mode,
                              is_explicit ? c.padding.before[k] : 0,
                              is_explicit ? c.padding.after[k] : 0)
                           .before);
  }
  return p;
}

template <typename T>
Accumulator<T> at(const Problem& p, const T* x, const T* w,
                  const std::vector<std::int64_t>& position, std::vector<std::int64_t>& tap) {
  Accumulator<T> sum{};
  do {
    std::int64_t x_at = 0, w_at = 0;
    bool inside = true;
    for (std::size_t i = 0; i < tap.size(); ++i) {
      const std::int64_t pos = position[i] * p.strides[i] + tap[i] * p.dilations[i] - p.before[i];
      if (pos < 0 || pos >= p.in[i]) {
        inside = false;
        break;
      }
      x_at += pos * p.x.spatial[i];
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
      const T* xs = x + n * p.x.n + o / p.channels_out * p.channels_in * p.x.c;
      T* ys = y + n * p.y.n + o * p.y.c;
      std::vector<std::int64_t> position(p.out.size(), 0);
      do {
        std::int64_t y_at = 0;
        for (std::size_t i = 0; i < position.size(); ++i) y_at += position[i] * p.y.spatial[i];
        Accumulator<T> sum = at(p, xs, w + o * p.w_out, position, tap);
        if (bias != nullptr) sum += widen(bias[o]);
        ys[y_at] = narrow<T>(sum);
      } while (next_index(position, p.out));
    }
  }
}

}  // namespace

void Conv::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const TensorView &x = ctx.in(0), &w = ctx.in(1), &y = ctx.output(0);
  const TensorView* bias = ctx.inputs() > 2 ? ctx.input(2) : nullptr;
  if (y.elements() == 0) return;
  const Problem p = resolve(*this, x, w, y);
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      run(p, x.as<const T>(), w.as<const T>(), bias ? bias->as<const T>() : nullptr, y.as<T>());
    }
  });
}

Cost Conv::cost(InputFacts in, std::span<const Fact> out) const {
  const SymShape& w = in[1]->shape;
  const WeightAxes axes = weight_axes(weight_layout, static_cast<int>(w.size()));
  Dim taps = w[static_cast<std::size_t>(axes.in)];
  for (const std::int64_t k : kernel_sizes(w, axes)) taps = taps * k;
  return {elements(out[0].shape) * taps * 2};
}

}  // namespace treadle::ops
