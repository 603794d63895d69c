#include "kernels/conv/conv.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "kernels/conv/packed_weights.hpp"

namespace treadle::kernels {

#define TREADLE_CONV(name, form)                                  \
  const char* refuse_##name(const ConvDesc&, const ConvOptions&); \
  std::unique_ptr<Conv> make_##name(const ConvDesc&, SharedConvWeights);
#include "kernels/conv/candidates.inc"
#undef TREADLE_CONV

namespace {

constexpr ConvCandidate kCandidates[] = {
#define TREADLE_CONV(name, form) {#name, WeightForm::form, refuse_##name, make_##name},
#include "kernels/conv/candidates.inc"
#undef TREADLE_CONV
};

// Small enough that no index arithmetic on one axis can overflow.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

void check_size(const char* name, std::int64_t value, std::int64_t least) {
  check(value >= least && value <= kMaxSize, ErrorKind::Shape,
        "convolution: {} is {}, expected {} to {}", name, value, least, kMaxSize);
}

std::int64_t product(std::initializer_list<std::int64_t> sizes) {
  std::int64_t total = 1;
  for (std::int64_t size : sizes) total = checked_mul(total, size);
  return total;
}

const ConvCandidate& choose(const ConvDesc& desc, const ConvOptions& options) {
  for (const ConvCandidate& c : kCandidates) {
    if (!c.refuse(desc, options)) return c;
  }
  fail(ErrorKind::Internal, "no convolution algorithm accepts these sizes");
}

PackWeightsFn packer(WeightForm form) {
  return form == WeightForm::Depthwise ? pack_depthwise : pack_dot;
}

}  // namespace

WeightStrides oihw_strides(const ConvDesc& d) {
  return {d.cin_per_group() * d.taps(), d.taps(), d.kH * d.kW, d.kW, 1};
}

WeightStrides ohwi_strides(const ConvDesc& d) {
  const std::ptrdiff_t i = d.cin_per_group();
  return {d.taps() * i, 1, d.kH * d.kW * i, d.kW * i, i};
}

WeightStrides hwio_strides(const ConvDesc& d) {
  const std::ptrdiff_t tap = d.cin_per_group() * d.Cout;
  return {1, d.Cout, d.kH * d.kW * tap, d.kW * tap, tap};
}

void check_conv(const ConvDesc& d) {
  const std::pair<const char*, std::int64_t> from_zero[] = {
      {"N", d.N},       {"D", d.D},         {"H", d.H},         {"W", d.W},        {"Cin", d.Cin},
      {"Cout", d.Cout}, {"D_out", d.D_out}, {"H_out", d.H_out}, {"W_out", d.W_out}};
  for (const auto& [name, value] : from_zero) check_size(name, value, 0);
  const std::pair<const char*, std::int64_t> from_one[] = {{"kD", d.kD},
                                                           {"kH", d.kH},
                                                           {"kW", d.kW},
                                                           {"stride_d", d.stride_d},
                                                           {"stride_h", d.stride_h},
                                                           {"stride_w", d.stride_w},
                                                           {"dilation_d", d.dilation_d},
                                                           {"dilation_h", d.dilation_h},
                                                           {"dilation_w", d.dilation_w},
                                                           {"group", d.group}};
  for (const auto& [name, value] : from_one) check_size(name, value, 1);
  for (std::int64_t pad : {d.pad_front, d.pad_top, d.pad_left}) check_size("pad", pad, -kMaxSize);
  check(d.Cin % d.group == 0 && d.Cout % d.group == 0, ErrorKind::Shape,
        "convolution: Cin = {} and Cout = {} are not multiples of group = {}", d.Cin, d.Cout,
        d.group);
  product({d.N, d.D, d.H, d.W, d.Cin, sizeof(float)});
  product({d.N, d.D_out, d.H_out, d.W_out, d.Cout, sizeof(float)});
  product({d.Cout, d.cin_per_group(), d.kD, d.kH, d.kW, 64 * sizeof(float)});
  const std::int64_t reaches[][3] = {{d.kD, d.dilation_d, d.stride_d},
                                     {d.kH, d.dilation_h, d.stride_h},
                                     {d.kW, d.dilation_w, d.stride_w}};
  const std::int64_t outs[] = {d.D_out, d.H_out, d.W_out};
  for (int axis = 0; axis < 3; ++axis) {
    checked_add(checked_mul(reaches[axis][0], reaches[axis][1]),
                checked_mul(outs[axis], reaches[axis][2]));
  }
}

SharedConvWeights pack_conv_weights(const ConvDesc& desc, const float* weights,
                                    const WeightStrides& strides, const ConvOptions& options) {
  check_conv(desc);
  auto packed = std::make_shared<PackedConvWeights>();
  packed->form = choose(desc, options).form;
  packed->kernels = &dot_kernels();
  packed->Cin = desc.Cin;
  packed->Cout = desc.Cout;
  packed->group = desc.group;
  packed->kD = desc.kD;
  packed->kH = desc.kH;
  packed->kW = desc.kW;
  packer(packed->form)(*packed, desc, weights, strides);
  return packed;
}

std::unique_ptr<Conv> make_conv(const ConvDesc& desc, SharedConvWeights weights,
                                const ConvOptions& options) {
  check_conv(desc);
  const PackedConvWeights& w = *weights;
  check(w.Cin == desc.Cin && w.Cout == desc.Cout && w.group == desc.group && w.kD == desc.kD &&
            w.kH == desc.kH && w.kW == desc.kW,
        ErrorKind::Shape,
        "convolution: weights were packed for Cin {}, Cout {}, group {}, kernel {}x{}x{}, got {}, "
        "{}, {}, {}x{}x{}",
        w.Cin, w.Cout, w.group, w.kD, w.kH, w.kW, desc.Cin, desc.Cout, desc.group, desc.kD, desc.kH,
        desc.kW);
  for (const ConvCandidate& c : kCandidates) {
    if (c.form == w.form && !c.refuse(desc, options)) return c.make(desc, std::move(weights));
  }
  fail(ErrorKind::Shape, "convolution: the packed weights cannot serve these strides or dilations");
}

std::unique_ptr<Conv> make_conv(const ConvDesc& desc, const float* weights,
                                const WeightStrides& strides, const ConvOptions& options) {
  return make_conv(desc, pack_conv_weights(desc, weights, strides, options), options);
}

std::vector<ConvVerdict> explain_conv(const ConvDesc& desc, const ConvOptions& options) {
  check_conv(desc);
  std::vector<ConvVerdict> verdicts;
  for (const ConvCandidate& c : kCandidates) {
    const char* reason = c.refuse(desc, options);
    verdicts.push_back({c.name, reason ? reason : ""});
    if (!reason) break;
  }
  return verdicts;
}

}  // namespace treadle::kernels
