// Picture files as pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace treadle {

// No picture of more pixels is decoded.
inline constexpr std::int64_t kMaxPixels = std::int64_t{64} << 20;

// The picture in a PNG, JPEG, BMP or PNM (P1 to P6) file, told by its first bytes: u8 [height,
// width, 3], red first. Grey becomes RGB, 16 bits become 8; alpha and gamma of a PNG are left out.
// The sizes are checked before anything of that size is allocated. Throws Parse error for a broken
// or truncated file and for an empty picture; Unsupported error for what these formats allow but is
// not read (more than kMaxPixels, compressed BMP, CMYK, 12-bit and lossless JPEG, JPEG whose scans
// go over more than 2^31 pixels together), and for JPEG 2000, TIFF, WebP and GIF.
Tensor decode_image(std::span<const std::byte> bytes);

}  // namespace treadle
