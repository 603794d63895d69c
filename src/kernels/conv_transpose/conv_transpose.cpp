#include "kernels/conv_transpose/conv_transpose.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "kernels/gemm/driver.hpp"
#include "kernels/gemm/pack.hpp"

namespace treadle::kernels {

// `first[residues]` is where the matrices of the taps with these residues begin, group by group.
struct PackedConvTransposeWeights {
  const DotKernels* kernels = nullptr;
  ConvTransposeDesc desc;
  std::map<std::array<std::int64_t, 3>, std::int64_t> first;
  AlignedFloats data;
};

namespace {

std::int64_t positive_mod(std::int64_t a, std::int64_t m) {
  return (a % m + m) % m;
}

// The taps of one axis whose place leaves `residue` modulo the stride.
std::vector<std::int64_t> taps_of(std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                                  std::int64_t residue) {
  std::vector<std::int64_t> taps;
  for (std::int64_t k = 0; k < kernel; ++k) {
    if (k * dilation % stride == residue) taps.push_back(k);
  }
  return taps;
}

std::vector<std::int64_t> residues_of(std::int64_t kernel, std::int64_t stride,
                                      std::int64_t dilation) {
  std::vector<std::int64_t> all;
  for (std::int64_t k = 0; k < kernel; ++k) all.push_back(k * dilation % stride);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool same_packing(const ConvTransposeDesc& a, const ConvTransposeDesc& b) {
  return a.Cin == b.Cin && a.Cout == b.Cout && a.group == b.group && a.kD == b.kD && a.kH == b.kH &&
         a.kW == b.kW && a.stride_d == b.stride_d && a.stride_h == b.stride_h &&
         a.stride_w == b.stride_w && a.dilation_d == b.dilation_d && a.dilation_h == b.dilation_h &&
         a.dilation_w == b.dilation_w;
}

// Calls f(residues, offsets of their taps in the weight tensor).
template <typename F>
void each_residue(const ConvTransposeDesc& d, const WeightStrides& s, F&& f) {
  for (std::int64_t rz : residues_of(d.kD, d.stride_d, d.dilation_d)) {
    for (std::int64_t ry : residues_of(d.kH, d.stride_h, d.dilation_h)) {
      for (std::int64_t rx : residues_of(d.kW, d.stride_w, d.dilation_w)) {
        std::vector<std::ptrdiff_t> offsets;
        for (std::int64_t z : taps_of(d.kD, d.stride_d, d.dilation_d, rz)) {
          for (std::int64_t y : taps_of(d.kH, d.stride_h, d.dilation_h, ry)) {
            for (std::int64_t x : taps_of(d.kW, d.stride_w, d.dilation_w, rx)) {
              offsets.push_back(z * s.d + y * s.h + x * s.w);
            }
          }
        }
        f(std::array<std::int64_t, 3>{rz, ry, rx}, offsets);
      }
    }
  }
}

}  // namespace

WeightStrides iohw_strides(const ConvTransposeDesc& d) {
  return {d.taps(), d.cout_per_group() * d.taps(), d.kH * d.kW, d.kW, 1};
}

SharedConvTransposeWeights pack_conv_transpose_weights(const ConvTransposeDesc& d,
                                                       const float* weights,
                                                       const WeightStrides& s) {
  check_conv(d);
  auto packed = std::make_shared<PackedConvTransposeWeights>();
  packed->kernels = &dot_kernels();
  packed->desc = d;
  const std::int64_t k = d.cin_per_group(), columns = d.cout_per_group();
  const auto floats = [&](std::size_t taps) {
    const std::int64_t rows = checked_mul(static_cast<std::int64_t>(taps), k);
    return static_cast<std::int64_t>(packed_floats(*packed->kernels, rows, columns));
  };
  std::int64_t total = 0;
  each_residue(d, s, [&](const auto& residues, const auto& offsets) {
    packed->first[residues] = total;
    total = checked_add(total, checked_mul(floats(offsets.size()), d.group));
  });
  packed->data = AlignedFloats(static_cast<std::size_t>(total));
  each_residue(d, s, [&](const auto& residues, const auto& offsets) {
    for (std::int64_t g = 0; g < d.group; ++g) {
      PackSource source;
      source.b = weights + g * k * s.i;
      source.taps = static_cast<std::int64_t>(offsets.size());
      source.k = k;
      source.columns = columns;
      source.row_stride = s.i;
      source.column_stride = s.o;
      source.tap_offsets = offsets.data();
      float* out = packed->data.data() + packed->first[residues] + g * floats(offsets.size());
      pack_panels(*packed->kernels, source, out);
    }
  });
  return packed;
}

// One row per output pixel of a phase.
class ConvTranspose::Rows final : public DotRows {
 public:
  Rows(const ConvTransposeDesc& d, const Phase& z, const Phase& y, const Phase& x, const float* in)
      : d_(d), z_(z), y_(y), x_(x), in_(in) {}

  void inputs(std::int64_t first, std::int64_t count, const KRange& range, const float** out,
              int) const override {
    const auto ny = static_cast<std::int64_t>(y_.offsets.size());
    const auto nx = static_cast<std::int64_t>(x_.offsets.size());
    for (std::int64_t r = 0; r < count; ++r) {
      const Place at = place(first + r);
      for (std::int64_t t = 0; t < range.taps; ++t) {
        const std::int64_t tap = range.tap + t;
        const std::int64_t z = at.z + z_.offsets[static_cast<std::size_t>(tap / nx / ny)];
        const std::int64_t y = at.y + y_.offsets[static_cast<std::size_t>(tap / nx % ny)];
        const std::int64_t x = at.x + x_.offsets[static_cast<std::size_t>(tap % nx)];
        const bool inside = z >= 0 && z < d_.D && y >= 0 && y < d_.H && x >= 0 && x < d_.W;
        out[t * count + r] =
            inside ? in_ + (((at.image * d_.D + z) * d_.H + y) * d_.W + x) * d_.Cin + range.begin
                   : zero_row();
      }
    }
  }

  void outputs(std::int64_t first, std::int64_t count, std::int64_t* out) const override {
    for (std::int64_t r = 0; r < count; ++r) {
      const Place at = place(first + r);
      const std::int64_t z = z_.first + at.z * d_.stride_d, y = y_.first + at.y * d_.stride_h;
      const std::int64_t x = x_.first + at.x * d_.stride_w;
      out[r] = ((at.image * d_.D_out + z) * d_.H_out + y) * d_.W_out + x;
    }
  }

 private:
  struct Place {
    std::int64_t image, z, y, x;
  };
  Place place(std::int64_t row) const {
    const std::int64_t x = row % x_.count, line = row / x_.count;
    return {line / y_.count / z_.count, line / y_.count % z_.count, line % y_.count, x};
  }

  const ConvTransposeDesc& d_;
  const Phase &z_, &y_, &x_;
  const float* in_;
};

ConvTranspose::ConvTranspose(const ConvTransposeDesc& d, SharedConvTransposeWeights weights)
    : desc_(d), weights_(std::move(weights)) {
  check_conv(d);
  check(same_packing(d, weights_->desc), ErrorKind::Shape,
        "transposed convolution: the weights were packed for other channels, kernel, strides, "
        "dilations or groups");
  axes_[0] = phases(d.kD, d.stride_d, d.dilation_d, d.pad_front, d.D_out);
  axes_[1] = phases(d.kH, d.stride_h, d.dilation_h, d.pad_top, d.H_out);
  axes_[2] = phases(d.kW, d.stride_w, d.dilation_w, d.pad_left, d.W_out);
}

std::vector<ConvTranspose::Phase> ConvTranspose::phases(std::int64_t kernel, std::int64_t stride,
                                                        std::int64_t dilation, std::int64_t pad,
                                                        std::int64_t out) const {
  std::vector<Phase> all;
  for (std::int64_t first = 0; first < std::min(stride, out); ++first) {
    Phase phase;
    phase.residue = positive_mod(first + pad, stride);
    phase.first = first;
    phase.count = (out - first + stride - 1) / stride;
    for (std::int64_t k : taps_of(kernel, stride, dilation, phase.residue)) {
      phase.offsets.push_back((first + pad - k * dilation) / stride);
    }
    all.push_back(std::move(phase));
  }
  return all;
}

std::size_t ConvTranspose::packed_bytes() const {
  return weights_->data.size() * sizeof(float);
}

void ConvTranspose::run_phase(const Phase& z, const Phase& y, const Phase& x, const float* in,
                              float* out, std::ptrdiff_t y_stride, const Epilogue& epilogue,
                              Parallel& parallel) const {
  DotProblem p;
  p.kernels = weights_->kernels;
  p.rows = desc_.N * z.count * y.count * x.count;
  p.columns = desc_.cout_per_group();
  p.taps = static_cast<std::int64_t>(z.offsets.size() * y.offsets.size() * x.offsets.size());
  p.k = desc_.cin_per_group();
  const auto floats = static_cast<std::int64_t>(packed_floats(*p.kernels, p.taps * p.k, p.columns));
  const auto found = weights_->first.find({z.residue, y.residue, x.residue});
  const std::int64_t first = found == weights_->first.end() ? 0 : found->second;
  for (std::int64_t g = 0; g < desc_.group; ++g) {
    const Rows rows(desc_, z, y, x, in + g * p.k);
    const Epilogue e = columns_from(epilogue, g * p.columns);
    p.packed = weights_->data.data() + first + g * floats;
    p.c = out + g * p.columns;
    p.ldc = y_stride;
    p.epilogue = &e;
    dot_blocked(p, rows, parallel);
  }
}

void ConvTranspose::run(const float* x, float* y, std::ptrdiff_t y_stride, const Epilogue& epilogue,
                        Parallel& parallel) const {
  for (const Phase& pz : axes_[0]) {
    for (const Phase& py : axes_[1]) {
      for (const Phase& px : axes_[2]) run_phase(pz, py, px, x, y, y_stride, epilogue, parallel);
    }
  }
}

}  // namespace treadle::kernels
