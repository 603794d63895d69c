// Packed convolution weights and the list of algorithms that read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/aligned_array.hpp"
#include "kernels/conv/conv.hpp"
#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

using AlignedFloats = AlignedArray<float>;

enum class WeightForm : std::uint8_t {
  Dot,        // per group: a packed matrix of taps x Cin/group rows (gemm/pack.hpp)
  Depthwise,  // [taps][Cout rounded up to whole registers]
};

struct PackedConvWeights {
  WeightForm form = WeightForm::Dot;
  const DotKernels* kernels = nullptr;
  std::int64_t Cin = 0, Cout = 0, group = 1, kD = 1, kH = 1, kW = 1;
  std::size_t group_floats = 0;  // Dot: between groups
  AlignedFloats data;
};

// What every algorithm keeps.
class BoundConv : public Conv {
 public:
  BoundConv(const ConvDesc& desc, SharedConvWeights weights)
      : desc_(desc), weights_(std::move(weights)) {}
  std::size_t packed_bytes() const override { return weights_->data.size() * sizeof(float); }
  const SharedConvWeights& weights() const override { return weights_; }

 protected:
  const ConvDesc desc_;
  const SharedConvWeights weights_;
};

// One line of candidates.inc. `refuse` returns why the algorithm will not do, or null.
struct ConvCandidate {
  const char* name;
  WeightForm form;
  const char* (*refuse)(const ConvDesc& desc, const ConvOptions& options);
  std::unique_ptr<Conv> (*make)(const ConvDesc& desc, SharedConvWeights weights);
};

using PackWeightsFn = void (*)(PackedConvWeights& out, const ConvDesc& desc, const float* weights,
                               const WeightStrides& strides);
void pack_dot(PackedConvWeights& out, const ConvDesc& desc, const float* weights,
              const WeightStrides& strides);
void pack_depthwise(PackedConvWeights& out, const ConvDesc& desc, const float* weights,
                    const WeightStrides& strides);

// At least kMaxKRange zeros: the row that stands for what lies outside the input.
const float* zero_row();

}  // namespace treadle::kernels
