// Windows and OS/2 bitmaps without compression (BITMAPCOREHEADER, BITMAPINFOHEADER and what extends
// it): 1, 4 and 8 bits with a palette; 16, 24 and 32 bits.
#include <array>
#include <bit>
#include <cstring>

#include "tensor/image_formats.hpp"

namespace treadle::image {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::uint32_t kOs2Header = 64;
constexpr std::uint32_t kRgb = 0, kBitFields = 3, kAlphaBitFields = 6;

template <typename T>
T get(Bytes b, std::size_t at) {
  check(at <= b.size() && sizeof(T) <= b.size() - at, ErrorKind::Parse,
        "truncated: a header field at {} of {} bytes", at, b.size());
  T v;
  std::memcpy(&v, b.data() + at, sizeof(T));
  return v;
}

struct Header {
  std::size_t pixels = 0;   // where they begin
  std::size_t palette = 0;  // where it begins
  std::size_t entry = 4;    // bytes of one entry of it
  std::size_t colours = 0;  // entries
  std::int64_t width = 0, height = 0;
  bool top_down = false;
  int bits = 0;
  std::array<std::uint32_t, 3> masks{};  // red, green, blue, for 16 and 32 bits
};

// OS/2's header: 16-bit sizes, palette entries of three bytes.
void read_core(Bytes file, Header& h) {
  h.width = get<std::uint16_t>(file, 18);
  h.height = get<std::uint16_t>(file, 20);
  h.bits = get<std::uint16_t>(file, 24);
  h.palette = kFileHeader + 12;
  h.entry = 3;
}

void read_info(Bytes file, std::uint32_t size, Header& h) {
  h.width = get<std::int32_t>(file, 18);
  h.height = get<std::int32_t>(file, 22);
  h.top_down = h.height < 0;
  if (h.top_down) h.height = -h.height;
  h.bits = get<std::uint16_t>(file, 28);
  const auto compression = get<std::uint32_t>(file, 30);
  // In OS/2's second header, which has 64 bytes, the other numbers mean something else.
  const bool fields = compression == kBitFields || compression == kAlphaBitFields;
  check(compression == kRgb || (fields && size != kOs2Header), ErrorKind::Unsupported,
        "compression {} is not read, only bitmaps without compression are", compression);
  h.colours = get<std::uint32_t>(file, 46);
  h.palette = kFileHeader + size;
  if (compression == kRgb) {
    if (h.bits == 16) h.masks = {0x7c00, 0x3e0, 0x1f};
    if (h.bits == 32) h.masks = {0xff0000, 0xff00, 0xff};
    return;
  }
  check(h.bits == 16 || h.bits == 32, ErrorKind::Parse, "{} bits a pixel with bit fields", h.bits);
  for (std::size_t c = 0; c < 3; ++c) h.masks[c] = get<std::uint32_t>(file, 54 + 4 * c);
}

Header read_header(Bytes file) {
  Header h;
  h.pixels = get<std::uint32_t>(file, 10);
  const auto size = get<std::uint32_t>(file, kFileHeader);
  check(size == 12 || (size >= 16 && size <= 124), ErrorKind::Parse,
        "a header of {} bytes, expected 12 or 40 to 124", size);
  check(size == 12 || size >= 40, ErrorKind::Unsupported,
        "a header of {} bytes (OS/2, cut short) is not read", size);
  if (size == 12) {
    read_core(file, h);
  } else {
    read_info(file, size, h);
  }
  const int b = h.bits;
  check(b == 1 || b == 4 || b == 8 || b == 16 || b == 24 || b == 32,
        b == 2 || b == 64 ? ErrorKind::Unsupported : ErrorKind::Parse,
        "{} bits a pixel, expected 1, 4, 8, 16, 24 or 32", b);
  if (b <= 8) {
    const std::size_t all = std::size_t{1} << b;
    if (h.colours == 0) h.colours = all;
    check(h.colours <= all && h.palette <= file.size() &&
              h.colours * h.entry <= file.size() - h.palette,
          ErrorKind::Parse, "a palette of {} colours for {} bits in a file of {} bytes", h.colours,
          b, file.size());
  }
  return h;
}

// The bits of `mask` in a pixel as 0 to 255.
std::uint8_t field(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const std::uint64_t top = mask >> shift;
  return static_cast<std::uint8_t>((std::uint64_t{(pixel & mask) >> shift} * 255 + top / 2) / top);
}

// Pixel x of a row.
std::array<std::uint8_t, 3> pixel_of(const Header& h, Bytes file, Bytes row, std::int64_t x) {
  const auto at = static_cast<std::size_t>(x * h.bits / 8);
  const auto byte = [](Bytes b, std::size_t i) { return static_cast<std::uint8_t>(b[i]); };
  if (h.bits == 24) return {byte(row, at + 2), byte(row, at + 1), byte(row, at)};
  if (h.bits >= 16) {
    const std::uint32_t v =
        h.bits == 16 ? get<std::uint16_t>(row, at) : get<std::uint32_t>(row, at);
    return {field(v, h.masks[0]), field(v, h.masks[1]), field(v, h.masks[2])};
  }
  const int below = 8 - h.bits - static_cast<int>(x * h.bits % 8);
  const auto index = static_cast<std::size_t>((byte(row, at) >> below) & ((1 << h.bits) - 1));
  check(index < h.colours, ErrorKind::Parse, "colour {} of a palette of {}", index, h.colours);
  const std::size_t entry = h.palette + index * h.entry;
  return {byte(file, entry + 2), byte(file, entry + 1), byte(file, entry)};
}

}  // namespace

Tensor decode_bmp(Bytes file) {
  const Header h = read_header(file);
  check(h.pixels <= file.size(), ErrorKind::Parse, "the pixels begin at {} of {} bytes", h.pixels,
        file.size());
  const Bytes data = file.subspan(h.pixels);
  // Rows are padded to four bytes. Sizes have 32 bits at most, so that nothing here overflows.
  const std::int64_t stride = (h.width * h.bits + 31) / 32 * 4;
  check(h.width <= 0 || h.height <= static_cast<std::int64_t>(data.size()) / stride,
        ErrorKind::Parse, "truncated: {}x{} pixels of {} bits in {} bytes", h.width, h.height,
        h.bits, data.size());
  Tensor picture = new_picture(h.width, h.height);
  auto* to = picture.mutable_span<std::uint8_t>().data();
  for (std::int64_t y = 0; y < h.height; ++y) {
    const std::int64_t from = h.top_down ? y : h.height - 1 - y;
    const Bytes row =
        data.subspan(static_cast<std::size_t>(from * stride), static_cast<std::size_t>(stride));
    for (std::int64_t x = 0; x < h.width; ++x) {
      for (const std::uint8_t v : pixel_of(h, file, row, x)) *to++ = v;
    }
  }
  return picture;
}

}  // namespace treadle::image
