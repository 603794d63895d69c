// ONNX ImageDecoder.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class PixelFormat : std::uint8_t { Rgb, Bgr, Grayscale };

// The picture in a file of which input 0 (u8, rank 1) holds the bytes, as tensor/image.hpp decodes
// it: u8 [height, width, 3], or [height, width, 1] of 0.299 R + 0.587 G + 0.114 B. The sizes are
// symbols that this operator introduces. The standard has an empty matrix for what cannot be
// decoded; here it is an error that says why.
class ImageDecoder final : public Operator {
 public:
  ImageDecoder(PixelFormat f, Dim h, Dim w)
      : format(f), height(std::move(h)), width(std::move(w)) {}
  PixelFormat format;
  Dim height, width;
  TREADLE_OPERATOR(ImageDecoder);
};

}  // namespace treadle::ops
