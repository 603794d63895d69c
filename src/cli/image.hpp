// The way from pixels to a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/picture.hpp"
#include "tensor/tensor.hpp"

namespace treadle::cli {

struct ImageOptions {
  int width = 0, height = 0;   // 0: the image's own size
  bool channels_last = false;  // [1, H, W, C] instead of [1, C, H, W]
  bool bgr = false;
  // (pixel − mean) × scale, each of one value or three (R, G, B).
  std::vector<double> mean, scale;
};

// f32 or u8 (then mean and scale must be empty) of shape [1, C, H, W] or [1, H, W, C]; C is 3, or 1
// (luma 0.299 R + 0.587 G + 0.114 B).
Tensor to_tensor(const Image& image, const ImageOptions& options, DType dtype = DType::F32,
                 int channels = 3);

}  // namespace treadle::cli
