// The formats that decode_image reads. Internal to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "tensor/tensor.hpp"

namespace treadle::image {

using Bytes = std::span<const std::byte>;

// An RGB picture of that size; throws when it is empty or has more than kMaxPixels.
Tensor new_picture(std::int64_t width, std::int64_t height);

Tensor decode_png(Bytes file);
Tensor decode_jpeg(Bytes file);
Tensor decode_bmp(Bytes file);
Tensor decode_pnm(Bytes file);

}  // namespace treadle::image
