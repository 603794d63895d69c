// Pictures as pixels: picture files in, PNG files out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace treadle::cli {

// 8-bit RGB, row by row, no padding.
struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

// By content, not by name, as tensor/image.hpp decodes it; throws Io error when the file cannot be
// read.
Image read_image(const std::string& path);
void write_png(const std::string& path, const Image& image);

// Bilinear with half-pixel centres; when shrinking each output pixel averages the area it covers
// (triangle filter as wide as the scale).
Image resize(const Image& image, int width, int height);

}  // namespace treadle::cli
