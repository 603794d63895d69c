#include "ops/image_decoder.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "tensor/image.hpp"

namespace treadle::ops {

void ImageDecoder::visit(ParamVisitor& v) const {
  constexpr const char* kNames[] = {"RGB", "BGR", "Grayscale"};
  v.param("pixel_format", kNames[static_cast<int>(format)]);
  v.param("height", height);
  v.param("width", width);
}

std::vector<Fact> ImageDecoder::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& bytes = need(in, 0);
  need_dtype(bytes, DType::U8, 0);
  need_rank(bytes, 1, 0);
  return {Fact::tensor(DType::U8, {height, width, Dim(format == PixelFormat::Grayscale ? 1 : 3)})};
}

void ImageDecoder::eval(EvalContext& ctx) const {
  const Tensor rgb = decode_image(std::as_bytes(ctx.in(0).span<std::uint8_t>()));
  const auto from = rgb.span<std::uint8_t>();
  const std::int64_t channels = format == PixelFormat::Grayscale ? 1 : 3;
  const Shape shape{rgb.shape()[0], rgb.shape()[1], channels};
  allocate_output(ctx, 0, DType::U8, shape, [&](TensorView& y) {
    auto* to = y.as<std::uint8_t>();
    for (std::size_t i = 0; i < from.size(); i += 3) {
      if (format == PixelFormat::Grayscale) {
        // The weights in 1/65536, rounded to the nearest: ITU-R BT.601 luma as Pillow computes it,
        // with which the standard's test data is made.
        const unsigned luma = from[i] * 19595u + from[i + 1] * 38470u + from[i + 2] * 7471u;
        *to++ = static_cast<std::uint8_t>((luma + 0x8000) >> 16);
        continue;
      }
      for (std::size_t c = 0; c < 3; ++c) {
        *to++ = from[i + (format == PixelFormat::Bgr ? 2 - c : c)];
      }
    }
  });
}

}  // namespace treadle::ops
