// Pictures: PNG and JPEG files in, PNG files out, and the way from pixels to a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace treadle::cli {

// 8-bit RGB, row by row, no padding.
struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

// By content, not by name. Alpha is dropped, grey becomes RGB, 16 bits become 8. Throws Parse error
// for broken files and for more than 64 million pixels, Io error when the file cannot be read.
Image read_image(const std::string& path);
void write_png(const std::string& path, const Image& image);

// Bilinear with half-pixel centres; when shrinking each output pixel averages the area it covers
// (triangle filter as wide as the scale).
Image resize(const Image& image, int width, int height);

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
