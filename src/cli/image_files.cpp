#include <png.h>

#include "cli/image.hpp"
#include "tensor/file.hpp"
#include "tensor/image.hpp"

namespace treadle::cli {
namespace {

constexpr std::int64_t kMaxFile = std::int64_t{256} << 20;

}  // namespace

Image read_image(const std::string& path) {
  const auto bytes = read_file(path, kMaxFile);
  const Tensor picture = in_context([&] { return path; }, [&] { return decode_image(bytes); });
  const auto pixels = picture.span<std::uint8_t>();
  return {static_cast<int>(picture.shape()[1]),
          static_cast<int>(picture.shape()[0]),
          {pixels.begin(), pixels.end()}};
}

void write_png(const std::string& path, const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  const bool sized =
      png_image_write_to_memory(&png, nullptr, &size, 0, image.pixels.data(), 0, nullptr) != 0;
  check(sized, ErrorKind::Io, "{}: png: {}", path, png.message);
  std::vector<std::byte> bytes(size);
  const bool written =
      png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) != 0;
  check(written, ErrorKind::Io, "{}: png: {}", path, png.message);
  bytes.resize(size);
  write_file(path, bytes);
}

}  // namespace treadle::cli
