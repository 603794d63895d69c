// Convolution as a product of rows found through pointers: one row per output pixel and tap.
#pragma once

#include "kernels/conv/packed_weights.hpp"
#include "kernels/gemm/driver.hpp"

namespace treadle::kernels {

// The taps' rows of an input whose pixels hold `channels` floats, of which a group reads a part.
class ConvRows final : public DotRows {
 public:
  // Tap (d, h, w) of `desc` reads pixel_stride floats per step along w.
  ConvRows(const ConvDesc& desc, const float* x, std::int64_t pixel_stride)
      : desc_(desc), x_(x), pixel_stride_(pixel_stride) {}
  void inputs(std::int64_t first, std::int64_t count, const KRange& range, const float** out,
              int slot) const override;

 private:
  const ConvDesc& desc_;
  const float* x_;
  std::int64_t pixel_stride_;
};

}  // namespace treadle::kernels
