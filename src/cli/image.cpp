#include "cli/image.hpp"

#include <algorithm>
#include <cmath>

namespace treadle::cli {
namespace {

// For each output position: the first input position and the weights from there.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

std::vector<Taps> make_taps(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double support = std::max(scale, 1.0);
  std::vector<Taps> out(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale - 0.5;
    const int lo = std::max(0, static_cast<int>(std::ceil(centre - support)));
    const int hi = std::min(from - 1, static_cast<int>(std::floor(centre + support)));
    Taps& t = out[static_cast<std::size_t>(i)];
    t.first = lo;
    double sum = 0;
    std::vector<double> w;
    for (int k = lo; k <= hi; ++k) {
      w.push_back(std::max(0.0, 1.0 - std::abs(k - centre) / support));
      sum += w.back();
    }
    for (const double v : w) t.weights.push_back(static_cast<float>(v / sum));
  }
  return out;
}

// The value for channel c from one number or three.
double channel_value(const std::vector<double>& values, std::size_t c, double fallback) {
  if (values.empty()) return fallback;
  return values.size() == 1 ? values[0] : values[c];
}

}  // namespace

Image resize(const Image& image, int width, int height) {
  check(image.width > 0 && image.height > 0 && width > 0 && height > 0, ErrorKind::Shape,
        "an image of {}x{} cannot be resized to {}x{}", image.width, image.height, width, height);
  if (width == image.width && height == image.height) return image;
  const auto xs = make_taps(image.width, width), ys = make_taps(image.height, height);
  // Rows first, to floats; then columns.
  std::vector<float> wide(static_cast<std::size_t>(image.height) * width * 3);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width * 3;
    float* out = wide.data() + static_cast<std::size_t>(y) * width * 3;
    for (int x = 0; x < width; ++x) {
      const Taps& t = xs[static_cast<std::size_t>(x)];
      for (int c = 0; c < 3; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < t.weights.size(); ++k)
          sum += t.weights[k] * static_cast<float>(row[(t.first + static_cast<int>(k)) * 3 + c]);
        out[x * 3 + c] = sum;
      }
    }
  }
  Image result{width, height, {}};
  const std::size_t stride = static_cast<std::size_t>(width) * 3;
  result.pixels.resize(stride * height);
  for (int y = 0; y < height; ++y) {
    const Taps& t = ys[static_cast<std::size_t>(y)];
    for (std::size_t x = 0; x < stride; ++x) {
      float sum = 0;
      for (std::size_t k = 0; k < t.weights.size(); ++k)
        sum += t.weights[k] * wide[(static_cast<std::size_t>(t.first) + k) * stride + x];
      result.pixels[static_cast<std::size_t>(y) * stride + x] =
          static_cast<std::uint8_t>(std::clamp(std::lround(sum), 0L, 255L));
    }
  }
  return result;
}

Tensor to_tensor(const Image& source, const ImageOptions& options, DType dtype, int channels) {
  check(channels == 1 || channels == 3, ErrorKind::Shape, "an image has 1 or 3 channels, not {}",
        channels);
  check(dtype == DType::F32 || dtype == DType::U8, ErrorKind::Type,
        "an image becomes f32 or u8, not {}", name_of(dtype));
  for (const auto* v : {&options.mean, &options.scale})
    check(v->empty() || v->size() == 1 || v->size() == 3, ErrorKind::Parse,
          "image mean and scale take 1 or 3 numbers, got {}", v->size());
  check(dtype == DType::F32 || (options.mean.empty() && options.scale.empty()), ErrorKind::Type,
        "an input of type u8 takes no image mean or scale");
  const Image image = options.width > 0 ? resize(source, options.width, options.height) : source;
  const std::int64_t h = image.height, w = image.width, area = h * w;
  Tensor out(dtype, options.channels_last ? Shape{1, h, w, channels} : Shape{1, channels, h, w});
  for (std::int64_t i = 0; i < area; ++i) {
    const std::uint8_t* p = image.pixels.data() + i * 3;
    for (int c = 0; c < channels; ++c) {
      const auto from = static_cast<std::size_t>(options.bgr ? 2 - c : c);
      const double raw = channels == 3 ? p[from] : 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
      const std::int64_t at = options.channels_last ? i * channels + c : c * area + i;
      if (dtype == DType::U8) {
        static_cast<std::uint8_t*>(out.mutable_data())[at] =
            static_cast<std::uint8_t>(std::lround(raw));
      } else {
        const std::size_t k = channels == 3 ? from : 0;
        static_cast<float*>(out.mutable_data())[at] = static_cast<float>(
            (raw - channel_value(options.mean, k, 0)) * channel_value(options.scale, k, 1));
      }
    }
  }
  return out;
}

}  // namespace treadle::cli
