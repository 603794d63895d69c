#include "ops/conv.hpp"

#include "base/error.hpp"
#include "ops/conv_reference.hpp"
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

void check_bias(const Fact* bias, const Dim& channels) {
  if (bias == nullptr) return;
  check(bias->rank() == 1, ErrorKind::Shape, "input 2 'bias' has shape {}, expected [{}]",
        str(bias->shape), channels.str());
  const Dim& size = bias->shape[0];
  check(!size.is_const() || !channels.is_const() || size == channels, ErrorKind::Shape,
        "input 2 'bias' has shape {}, expected [{}]", str(bias->shape), channels.str());
}

// The window of spatial axis i; `in` is a Dim or a number.
template <typename Size>
auto axis_window(const Conv& c, std::size_t i, const Size& in, std::int64_t kernel) {
  const bool is_explicit = c.padding.mode == AutoPad::Explicit;
  return window(in, kernel, c.strides[i], c.dilations[i], c.padding.mode,
                is_explicit ? c.padding.before[i] : 0, is_explicit ? c.padding.after[i] : 0);
}

}  // namespace

std::vector<Fact> Conv::infer(InputFacts in) const {
  check_conv_inputs(in, "Conv");
  const SymShape &x = in[0]->shape, &w = in[1]->shape;
  const int rank = in[0]->rank();
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
    spatial[i] = axis_window(*this, i, spatial[i], kernel[i]).out;
  }
  return {Fact::tensor(in[0]->dtype, make_shape(layout, x[0], w_out, spatial))};
}

void Conv::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const Shape &x = ctx.in(0).shape, &w = ctx.in(1).shape;
  const WeightAxes axes = weight_axes(weight_layout, x.rank());
  ConvReference c{false, layout, weight_layout, group, strides, dilations, {}};
  for (int i = 0; i < x.rank() - 2; ++i) {
    const std::int64_t in = x[static_cast<std::size_t>(spatial_axis(layout, i))];
    const std::int64_t kernel = w[static_cast<std::size_t>(axes.spatial + i)];
    c.before.push_back(axis_window(*this, static_cast<std::size_t>(i), in, kernel).before);
  }
  eval_conv(c, ctx);
}

Cost Conv::cost(InputFacts in, std::span<const Fact> out) const {
  const SymShape& w = in[1]->shape;
  const WeightAxes axes = weight_axes(weight_layout, static_cast<int>(w.size()));
  Dim taps = w[static_cast<std::size_t>(axes.in)];
  for (const std::int64_t k : kernel_sizes(w, axes)) taps = taps * k;
  return {elements(out[0].shape) * taps * 2};
}

}  // namespace treadle::ops
