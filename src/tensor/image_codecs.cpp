// PNG through libpng, JPEG through libjpeg.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

// libjpeg's header needs FILE before it.
#include <jpeglib.h>
// Needs the one above.
#include <jerror.h>

#include "tensor/image.hpp"
#include "tensor/image_formats.hpp"
#include "tensor/limit.hpp"

namespace treadle::image {
namespace {

// What decoding needs; nothing here has a destructor, since libpng leaves by longjmp.
struct PngReader {
  png_structp png;
  png_infop info;
  std::jmp_buf jump;
  char message[160];
  Bytes file;
  std::size_t at;
};

[[noreturn]] void png_failed(png_structp png, png_const_charp text) {
  auto* r = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(r->message, sizeof r->message, "%s", text);
  std::longjmp(r->jump, 1);
}
void png_warned(png_structp, png_const_charp) {}
void png_take(png_structp png, png_bytep to, std::size_t count) {
  auto* r = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > r->file.size() - r->at) png_error(png, "read beyond end of data");
  std::memcpy(to, r->file.data() + r->at, count);
  r->at += count;
}

// Samples as they are stored: neither gamma nor alpha changes them, 16 bits are rounded to 8.
bool png_begin(PngReader& r) {
  if (setjmp(r.jump) != 0) return false;
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, png_failed, png_warned);
  if (r.png == nullptr) return false;
  r.info = png_create_info_struct(r.png);
  if (r.info == nullptr) return false;
  png_set_read_fn(r.png, &r, png_take);
  png_read_info(r.png, r.info);
  png_set_expand(r.png);
  png_set_scale_16(r.png);
  png_set_strip_alpha(r.png);
  png_set_gray_to_rgb(r.png);
  png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  return true;
}
bool png_rows(PngReader& r, png_bytepp rows) {
  if (setjmp(r.jump) != 0) return false;
  png_read_image(r.png, rows);
  return true;
}

}  // namespace

Tensor decode_png(Bytes file) {
  PngReader r{};
  r.file = file;
  std::snprintf(r.message, sizeof r.message, "no memory");
  struct Free {
    PngReader* r;
    ~Free() { png_destroy_read_struct(&r->png, &r->info, nullptr); }
  } const free{&r};
  check(png_begin(r), ErrorKind::Parse, "{}", r.message);
  const std::size_t width = png_get_image_width(r.png, r.info),
                    height = png_get_image_height(r.png, r.info);
  Tensor picture = new_picture(static_cast<std::int64_t>(width), static_cast<std::int64_t>(height));
  check(png_get_rowbytes(r.png, r.info) == 3 * width, ErrorKind::Parse,
        "{} bytes a row, expected {}", png_get_rowbytes(r.png, r.info), 3 * width);
  std::vector<png_bytep> rows(height);
  std::uint8_t* first = picture.mutable_span<std::uint8_t>().data();
  for (std::size_t i = 0; i < height; ++i) rows[i] = first + i * 3 * width;
  check(png_rows(r, rows.data()), ErrorKind::Parse, "{}", r.message);
  return picture;
}

namespace {

// A progressive file may go over all pixels again and again, with a few bytes for each time;
// encoders make about ten scans. 32 scans of the largest picture take a second.
constexpr int kMaxScans = 500;
constexpr std::int64_t kMaxScannedPixels = 32 * kMaxPixels;

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  ErrorKind kind;
  char message[JMSG_LENGTH_MAX];
};

// Whether a sound file may be the cause.
bool is_not_read(int code) {
  constexpr int kCodes[] = {
      JERR_ARITH_NOTIMPL,   JERR_BAD_PRECISION,      JERR_CCIR601_NOTIMPL,
      JERR_COMPONENT_COUNT, JERR_CONVERSION_NOTIMPL, JERR_FRACT_SAMPLE_NOTIMPL,
      JERR_NOTIMPL,         JERR_NOT_COMPILED,       JERR_SOF_UNSUPPORTED};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

[[noreturn]] void jpeg_failed(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->kind = is_not_read(info->err->msg_code) ? ErrorKind::Unsupported : ErrorKind::Parse;
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

// Warnings (level −1) are pixels that are made up, but for those about bytes between segments and
// about a version.
void jpeg_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR) jpeg_failed(info);
}

void jpeg_progress(j_common_ptr info) {
  const auto* d = reinterpret_cast<j_decompress_ptr>(info);
  const std::int64_t pixels = std::int64_t{d->image_width} * d->image_height;
  if (d->input_scan_number <= kMaxScans && d->input_scan_number * pixels <= kMaxScannedPixels)
    return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->kind = ErrorKind::Unsupported;
  std::snprintf(errors->message, sizeof errors->message,
                "scan %d of %ux%u pixels: more than are read of a picture of this size",
                d->input_scan_number, d->image_width, d->image_height);
  std::longjmp(errors->jump, 1);
}

// What decoding needs; nothing here has a destructor, since libjpeg leaves by longjmp.
struct JpegDecoder {
  jpeg_decompress_struct info;
  JpegErrors errors;
  jpeg_progress_mgr progress;
};

bool jpeg_begin(JpegDecoder& d, const unsigned char* data, unsigned long size) {
  if (setjmp(d.errors.jump) != 0) return false;
  jpeg_create_decompress(&d.info);
  d.progress.progress_monitor = jpeg_progress;
  d.info.progress = &d.progress;
  jpeg_mem_src(&d.info, data, size);
  jpeg_read_header(&d.info, TRUE);
  d.info.out_color_space = JCS_RGB;
  return true;
}

// Bytes of the coefficients that libjpeg keeps of a picture in several scans.
std::int64_t coefficient_bytes(JpegDecoder& d) {
  if (!jpeg_has_multiple_scans(&d.info)) return 0;
  std::int64_t blocks = 0;
  for (int i = 0; i < d.info.num_components; ++i) {
    const jpeg_component_info& c = d.info.comp_info[i];
    // Rounded up to whole units of interleaved scans.
    blocks += (std::int64_t{c.width_in_blocks} + c.h_samp_factor) *
              (std::int64_t{c.height_in_blocks} + c.v_samp_factor);
  }
  return blocks * static_cast<std::int64_t>(sizeof(JBLOCK));
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

}  // namespace

Tensor decode_jpeg(Bytes file) {
  JpegDecoder d{};
  struct Destroy {
    JpegDecoder* d;
    ~Destroy() { jpeg_destroy_decompress(&d->info); }
  } const destroy{&d};
  d.info.err = jpeg_std_error(&d.errors.base);
  d.errors.base.error_exit = jpeg_failed;
  d.errors.base.emit_message = jpeg_message;
  const bool begun = jpeg_begin(d, reinterpret_cast<const unsigned char*>(file.data()),
                                static_cast<unsigned long>(file.size()));
  if (!begun) fail(d.errors.kind, "{}", d.errors.message);
  check(d.info.num_components == 1 || d.info.num_components == 3, ErrorKind::Unsupported,
        "{} colour components are not read, only 1 and 3", d.info.num_components);
  Tensor picture = new_picture(d.info.image_width, d.info.image_height);
  const TensorReservation coefficients(coefficient_bytes(d));
  const bool done = jpeg_decode(d, picture.mutable_span<std::uint8_t>().data(),
                                std::size_t{d.info.image_width} * 3);
  if (!done) fail(d.errors.kind, "{}", d.errors.message);
  return picture;
}

}  // namespace treadle::image
