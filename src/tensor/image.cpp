#include "tensor/image.hpp"

#include <cstring>
#include <string_view>

#include "tensor/image_formats.hpp"

namespace treadle {
namespace {

struct Format {
  std::size_t offset;  // where in the file the magic stands
  std::string_view magic;
  std::string_view name;
  Tensor (*decode)(image::Bytes);  // null: known, but not read
};

using namespace std::string_view_literals;

constexpr Format kFormats[] = {
    {0, "\x89PNG\r\n\x1a\n"sv, "PNG", image::decode_png},
    {0, "\xff\xd8\xff"sv, "JPEG", image::decode_jpeg},
    {0, "BM"sv, "BMP", image::decode_bmp},
    {0, "P1"sv, "PNM", image::decode_pnm},
    {0, "P2"sv, "PNM", image::decode_pnm},
    {0, "P3"sv, "PNM", image::decode_pnm},
    {0, "P4"sv, "PNM", image::decode_pnm},
    {0, "P5"sv, "PNM", image::decode_pnm},
    {0, "P6"sv, "PNM", image::decode_pnm},
    {0, "\0\0\0\x0cjP  "sv, "JPEG 2000", nullptr},
    {0, "\xff\x4f\xff\x51"sv, "JPEG 2000", nullptr},
    {0, "II*\0"sv, "TIFF", nullptr},
    {0, "MM\0*"sv, "TIFF", nullptr},
    {8, "WEBP"sv, "WebP", nullptr},
    {0, "GIF8"sv, "GIF", nullptr},
};

bool matches(image::Bytes file, const Format& f) {
  return file.size() >= f.offset + f.magic.size() &&
         std::memcmp(file.data() + f.offset, f.magic.data(), f.magic.size()) == 0;
}

}  // namespace

Tensor image::new_picture(std::int64_t width, std::int64_t height) {
  check(width > 0 && height > 0, ErrorKind::Parse, "a picture of {}x{} pixels", width, height);
  check(width <= kMaxPixels && height <= kMaxPixels / width, ErrorKind::Unsupported,
        "a picture of {}x{} pixels is over {} pixels, the limit", width, height, kMaxPixels);
  return Tensor(DType::U8, {height, width, 3});
}

Tensor decode_image(std::span<const std::byte> bytes) {
  for (const Format& f : kFormats) {
    if (!matches(bytes, f)) continue;
    check(f.decode != nullptr, ErrorKind::Unsupported,
          "{} pictures are not decoded, only PNG, JPEG, BMP and PNM are", f.name);
    return in_context([&] { return std::string(f.name); }, [&] { return f.decode(bytes); });
  }
  fail(ErrorKind::Parse, "not a picture: {} bytes, expected a PNG, JPEG, BMP or PNM file",
       bytes.size());
}

}  // namespace treadle
