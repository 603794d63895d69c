// Portable bitmaps, greymaps and pixmaps (netpbm's pbm, pgm, ppm), as text and binary.
#include "tensor/image_formats.hpp"

namespace treadle::image {
namespace {

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file) {}

  std::size_t left() const { return file_.size() - at_; }
  std::uint8_t byte() {
    check(left() > 0, ErrorKind::Parse, "truncated after {} bytes", file_.size());
    return static_cast<std::uint8_t>(file_[at_++]);
  }
  // White space and comments, which run from # to the end of the line, before a number.
  std::uint8_t first_of_token() {
    for (;;) {
      std::uint8_t c = byte();
      if (c == '#') {
        while (c != '\n' && c != '\r') c = byte();
      } else if (!is_space(c)) {
        return c;
      }
    }
  }
  // A decimal number; the white space behind it is taken, unless the file ends.
  std::int64_t number() {
    std::uint8_t c = first_of_token();
    std::int64_t v = 0;
    for (;;) {
      check(c >= '0' && c <= '9', ErrorKind::Parse, "byte {:#x} at {}, expected a digit", c,
            at_ - 1);
      v = v * 10 + (c - '0');
      check(v < (std::int64_t{1} << 32), ErrorKind::Parse, "a number has more than 32 bits");
      if (left() == 0) return v;
      c = byte();
      if (c == '#') {
        while (left() > 0 && c != '\n') c = byte();
        return v;
      }
      if (is_space(c)) return v;
    }
  }

 private:
  static bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  Bytes file_;
  std::size_t at_ = 2;  // behind the magic
};

// The next sample of a text or binary file, as it stands there.
std::int64_t sample(Reader& r, bool text, std::int64_t top) {
  if (text) return r.number();
  const std::int64_t high = r.byte();
  return top < 256 ? high : high * 256 + r.byte();
}

// 1 is black. Text: digits with or without white space between; binary: rows of whole bytes, the
// highest bit first.
void read_bits(Reader& r, bool text, std::int64_t width, std::int64_t height, std::uint8_t* to) {
  for (std::int64_t y = 0; y < height; ++y) {
    int bits = 0;
    for (std::int64_t x = 0; x < width; ++x) {
      bool black = false;
      if (text) {
        const std::uint8_t c = r.first_of_token();
        check(c == '0' || c == '1', ErrorKind::Parse, "byte {:#x} as a bit, expected 0 or 1", c);
        black = c == '1';
      } else {
        if (x % 8 == 0) bits = r.byte();
        black = ((bits >> (7 - x % 8)) & 1) != 0;
      }
      for (int c = 0; c < 3; ++c) *to++ = black ? 0 : 255;
    }
  }
}

}  // namespace

Tensor decode_pnm(Bytes file) {
  const int kind = static_cast<int>(file[1]) - '0';  // 1 to 6
  const bool text = kind <= 3;
  const bool bits = kind == 1 || kind == 4;
  const bool colour = kind == 3 || kind == 6;
  Reader r(file);
  const std::int64_t width = r.number(), height = r.number();
  const std::int64_t top = bits ? 1 : r.number();
  check(top >= 1 && top <= 65535, ErrorKind::Parse, "the largest value is {}, expected 1 to 65535",
        top);
  // No pixel takes less than a bit, so that what the file holds bounds what is allocated.
  check(width <= 0 || height <= static_cast<std::int64_t>(r.left()) * 8 / width, ErrorKind::Parse,
        "truncated: {}x{} pixels in {} bytes", width, height, r.left());
  Tensor picture = new_picture(width, height);
  auto* to = picture.mutable_span<std::uint8_t>().data();
  if (bits) {
    read_bits(r, text, width, height, to);
    return picture;
  }
  for (std::int64_t i = 0; i < width * height; ++i) {
    for (int c = 0; c < 3; ++c, ++to) {
      if (c > 0 && !colour) {
        *to = to[-1];
        continue;
      }
      const std::int64_t v = sample(r, text, top);
      check(v <= top, ErrorKind::Parse, "a value of {}, the largest is said to be {}", v, top);
      *to = static_cast<std::uint8_t>((v * 255 + top / 2) / top);
    }
  }
  return picture;
}

}  // namespace treadle::image
