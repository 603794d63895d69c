#include "ops/conv_transpose.hpp"

#include "base/error.hpp"
#include "ops/conv_reference.hpp"
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
  check_conv_inputs(in, "ConvTranspose");
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

void ConvTranspose::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const Shape &x = ctx.in(0).shape, &w = ctx.in(1).shape;
  const WeightAxes axes = weight_axes(weight_layout, x.rank(), true);
  // A symbolic output_shape has its value in the output's place.
  ConvTranspose numbers = *this;
  if (!output_spatial.empty()) {
    numbers.output_spatial = spatial_dims(to_sym(ctx.output(0).shape), layout);
  }
  ConvReference c{true, layout, weight_layout, group, strides, dilations, {}};
  for (int i = 0; i < x.rank() - 2; ++i) {
    const std::int64_t in = x[static_cast<std::size_t>(spatial_axis(layout, i))];
    const std::int64_t kernel = w[static_cast<std::size_t>(axes.spatial + i)];
    c.before.push_back(numbers.axis_window(i, in, kernel).before.value());
  }
  eval_conv(c, ctx);
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
