// PNG through libpng, JPEG through libjpeg.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

// libjpeg's header needs FILE before it.
#include <jpeglib.h>

#include "cli/image.hpp"
#include "tensor/file.hpp"

namespace treadle::cli {
namespace {

constexpr std::uint64_t kMaxPixels = 64u << 20;
constexpr std::int64_t kMaxFile = std::int64_t{256} << 20;

void check_size(std::uint64_t width, std::uint64_t height) {
  check(width > 0 && height > 0 && width <= kMaxPixels && height <= kMaxPixels &&
            width * height <= kMaxPixels,
        ErrorKind::Parse, "image of {}x{} pixels is empty or over {} pixels", width, height,
        kMaxPixels);
}

Image decode_png(const std::vector<std::byte>& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const bool begun = png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) != 0;
  Image image;
  const std::string message = png.message;
  try {
    check(begun, ErrorKind::Parse, "png: {}", message);
    check_size(png.width, png.height);
    png.format = PNG_FORMAT_RGB;
    image.width = static_cast<int>(png.width);
    image.height = static_cast<int>(png.height);
    image.pixels.resize(PNG_IMAGE_SIZE(png));
  } catch (...) {
    png_image_free(&png);
    throw;
  }
  const png_color black{0, 0, 0};
  const bool done = png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr) != 0;
  const std::string reason = png.message;
  png_image_free(&png);
  check(done, ErrorKind::Parse, "png: {}", reason);
  return image;
}

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void jpeg_failed(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

// What decoding needs; nothing here has a destructor, since libjpeg leaves by longjmp.
struct JpegDecoder {
  jpeg_decompress_struct info;
  JpegErrors errors;
};

bool jpeg_begin(JpegDecoder& d, const unsigned char* data, unsigned long size) {
  if (setjmp(d.errors.jump) != 0) return false;
  jpeg_create_decompress(&d.info);
  jpeg_mem_src(&d.info, data, size);
  jpeg_read_header(&d.info, TRUE);
  d.info.out_color_space = JCS_RGB;
  return true;
}

bool jpeg_decode(JpegDecoder& d, std::uint8_t* pixels, std::size_t stride) {
  if (setjmp(d.errors.jump) != 0) return false;
  jpeg_start_decompress(&d.info);
  while (d.info.output_scanline < d.info.output_height) {
    JSAMPROW row = pixels + d.info.output_scanline * stride;
    jpeg_read_scanlines(&d.info, &row, 1);
  }
  jpeg_finish_decompress(&d.info);
  return true;
}

Image decode_jpeg(const std::vector<std::byte>& bytes) {
  JpegDecoder d{};
  d.info.err = jpeg_std_error(&d.errors.base);
  d.errors.base.error_exit = jpeg_failed;
  d.errors.base.emit_message = [](j_common_ptr, int) {};
  Image image;
  bool ok = jpeg_begin(d, reinterpret_cast<const unsigned char*>(bytes.data()),
                       static_cast<unsigned long>(bytes.size()));
  try {
    if (ok) {
      check_size(d.info.image_width, d.info.image_height);
      image.width = static_cast<int>(d.info.image_width);
      image.height = static_cast<int>(d.info.image_height);
      const std::size_t stride = static_cast<std::size_t>(image.width) * 3;
      image.pixels.resize(stride * image.height);
      ok = jpeg_decode(d, image.pixels.data(), stride);
    }
  } catch (...) {
    jpeg_destroy_decompress(&d.info);
    throw;
  }
  const std::string message = d.errors.message;
  jpeg_destroy_decompress(&d.info);
  check(ok, ErrorKind::Parse, "jpeg: {}", message);
  return image;
}

bool starts_with(const std::vector<std::byte>& b, std::string_view magic) {
  return b.size() >= magic.size() && std::memcmp(b.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

Image read_image(const std::string& path) {
  const auto bytes = read_file(path, kMaxFile);
  return in_context([&] { return path; },
                    [&] {
                      if (starts_with(bytes, "\x89PNG")) return decode_png(bytes);
                      if (starts_with(bytes, "\xff\xd8\xff")) return decode_jpeg(bytes);
                      fail(ErrorKind::Parse, "neither a PNG nor a JPEG file");
                    });
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
