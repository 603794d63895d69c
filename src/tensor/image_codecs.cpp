// PNG through libpng, JPEG through libjpeg.
#include <png.h>

#include <csetjmp>
#include <cstdio>

// libjpeg's header needs FILE before it.
#include <jpeglib.h>
// Needs the one above.
#include <jerror.h>

#include "tensor/image_formats.hpp"

namespace treadle::image {

Tensor decode_png(Bytes file) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  struct Free {
    png_image* png;
    ~Free() { png_image_free(png); }
  } const free{&png};
  check(png_image_begin_read_from_memory(&png, file.data(), file.size()) != 0, ErrorKind::Parse,
        "{}", png.message);
  png.format = PNG_FORMAT_RGB;
  Tensor picture = new_picture(png.width, png.height);
  const png_color black{0, 0, 0};
  check(png_image_finish_read(&png, &black, picture.mutable_data(), 0, nullptr) != 0,
        ErrorKind::Parse, "{}", png.message);
  return picture;
}

namespace {

// A progressive file may go over all pixels again and again; encoders make about ten scans.
constexpr int kMaxScans = 500;

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

// Warnings (level −1) are pixels that are made up, but for those about bytes between segments and
// about a version.
void jpeg_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR) jpeg_failed(info);
}

void jpeg_progress(j_common_ptr info) {
  const auto* d = reinterpret_cast<j_decompress_ptr>(info);
  if (d->input_scan_number <= kMaxScans) return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", kMaxScans);
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
  check(jpeg_begin(d, reinterpret_cast<const unsigned char*>(file.data()),
                   static_cast<unsigned long>(file.size())),
        ErrorKind::Parse, "{}", d.errors.message);
  check(d.info.num_components == 1 || d.info.num_components == 3, ErrorKind::Unsupported,
        "{} colour components are not read, only 1 and 3", d.info.num_components);
  Tensor picture = new_picture(d.info.image_width, d.info.image_height);
  check(jpeg_decode(d, picture.mutable_span<std::uint8_t>().data(),
                    std::size_t{d.info.image_width} * 3),
        ErrorKind::Parse, "{}", d.errors.message);
  return picture;
}

}  // namespace treadle::image
