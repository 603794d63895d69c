#include "tensor/image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "tensor/limit.hpp"

namespace treadle {
namespace {

using Pixels = std::vector<int>;

Tensor decode(const std::string& file) {
  return decode_image(std::as_bytes(std::span(file)));
}

Pixels pixels(const std::string& file) {
  const Tensor t = decode(file);
  const auto v = t.span<std::uint8_t>();
  return {v.begin(), v.end()};
}

ErrorKind refusal(const std::string& file) {
  try {
    decode(file);
  } catch (const Error& e) {
    return e.kind();
  }
  ADD_FAILURE() << "decoded";
  return ErrorKind::Internal;
}

std::string little(std::uint32_t v, int bytes = 4) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((v >> (8 * i)) & 0xff);
  return out;
}

// A bitmap with a BITMAPINFOHEADER; `between` stands between header and pixels: masks or palette.
std::string bitmap(int bits, int width, int height, const std::string& between,
                   const std::string& data, std::uint32_t compression = 0) {
  const auto begin = static_cast<std::uint32_t>(54 + between.size());
  const std::uint32_t colours = bits <= 8 ? static_cast<std::uint32_t>(between.size() / 4) : 0;
  return "BM" + little(0) + little(0) + little(begin) + little(40) +
         little(static_cast<std::uint32_t>(width)) + little(static_cast<std::uint32_t>(height)) +
         little(1, 2) + little(static_cast<std::uint32_t>(bits), 2) + little(compression) +
         little(0) + little(0) + little(0) + little(colours) + little(0) + between + data;
}

// Made by Python's zlib from the samples named: 16 bits are rounded to 8, gamma and alpha are left.
TEST(DecodeImage, PngSamplesAsStored) {
  const std::string grey16(
      "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00"
      "\x01"
      "\x10\x00\x00\x00\x00\x81\xd9\xfc\x15\x00\x00\x00\x0d\x49\x44\x41\x54\x78\xda\x63\x50\x60\x68"
      "\x60"
      "\x00\x00\x01\x85\x00\xa1\x4e\xe1\x11\xd0\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
      70);
  const std::string gamma(
      "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00"
      "\x01"
      "\x08\x00\x00\x00\x00\xd1\x49\x20\x56\x00\x00\x00\x04\x67\x41\x4d\x41\x00\x01\x86\xa0\x31\xe8"
      "\x96"
      "\x5f\x00\x00\x00\x0b\x49\x44\x41\x54\x78\xda\x63\x50\x68\x00\x00\x00\xc3\x00\xa1\xda\x52\x65"
      "\x36"
      "\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
      84);
  const std::string rgba(
      "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00"
      "\x01"
      "\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0d\x49\x44\x41\x54\x78\xda\x63\x38\x91\x62"
      "\xa4"
      "\x00\x00\x04\xd5\x01\x7f\x87\xdc\x35\xcd\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
      70);
  const std::string palette(
      "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00"
      "\x01"
      "\x08\x03\x00\x00\x00\x28\xcb\x34\xbb\x00\x00\x00\x03\x50\x4c\x54\x45\x0a\x14\x1e\x7e\x4c\x52"
      "\x3a"
      "\x00\x00\x00\x01\x74\x52\x4e\x53\x00\x40\xe6\xd8\x66\x00\x00\x00\x0a\x49\x44\x41\x54\x78\xda"
      "\x63"
      "\x60\x00\x00\x00\x02\x00\x01\xe5\x27\xde\xfc\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60"
      "\x82",
      95);
  EXPECT_EQ(pixels(grey16), (Pixels{32, 32, 32, 128, 128, 128}));  // 0x2000, 0x8000 of 0xffff
  EXPECT_EQ(pixels(gamma), (Pixels{32, 32, 32, 128, 128, 128}));
  EXPECT_EQ(pixels(rgba), (Pixels{200, 100, 50}));
  EXPECT_EQ(pixels(palette), (Pixels{10, 20, 30}));
  // Cut anywhere in the header or the pixels.
  for (std::size_t n = 9; n + 12 + 4 < grey16.size(); ++n) {
    EXPECT_EQ(refusal(grey16.substr(0, n)), ErrorKind::Parse) << n;
  }
}

TEST(DecodeImage, PngOfTooManyPixels) {
  const std::string file(
      "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x4e\x20\x00\x00\x4e"
      "\x20"
      "\x08\x00\x00\x00\x00\xc6\x1b\x19\xe5\x00\x00\x00\x0b\x49\x44\x41\x54\x78\xda\x63\x60\x80\x03"
      "\x00"
      "\x00\x0b\x00\x01\xa0\x2e\xc8\x85\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
      68);
  try {
    decode(file);
    FAIL() << "decoded";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("20000"), std::string::npos) << e.what();
  }
}

TEST(DecodeImage, Pnm) {
  EXPECT_EQ(decode("P3 1 2 255 1 2 3 4 5 6").shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(pixels("P3 1 2 255 1 2 3 4 5 6"), (Pixels{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(pixels("P2\n1 1\n255\n7#end\n"), (Pixels{7, 7, 7}));
  EXPECT_EQ(pixels("P6\n# a comment\n1 1\n255\n\x01\x02\x03"), (Pixels{1, 2, 3}));
  // 7/15 · 255 = 119; bits without white space between; rows of whole bytes.
  EXPECT_EQ(pixels("P2 2 1 15 7 15"), (Pixels{119, 119, 119, 255, 255, 255}));
  EXPECT_EQ(pixels("P1 2 1 10"), (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(pixels("P4 1 2\n" + std::string("\x80\x00", 2)), (Pixels{0, 0, 0, 255, 255, 255}));
  // Two bytes a value, the high one first: 512/1023 · 255 = 127.6.
  EXPECT_EQ(pixels("P5 1 1 1023\n" + std::string("\x02\x00", 2)), (Pixels{128, 128, 128}));
}

TEST(DecodeImage, BmpRowsAndPalettes) {
  // From the bottom up, blue first, rows padded to four bytes.
  const std::string rows("\x01\x02\x03\x00\x04\x05\x06\x00", 8);
  EXPECT_EQ(pixels(bitmap(24, 1, 2, "", rows)), (Pixels{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(pixels(bitmap(24, 1, -2, "", rows)), (Pixels{3, 2, 1, 6, 5, 4}));
  const std::string palette("\x01\x02\x03\x00\x04\x05\x06\x00", 8);
  EXPECT_EQ(pixels(bitmap(1, 2, 1, palette, std::string("\x40\0\0\0", 4))),
            (Pixels{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(pixels(bitmap(4, 2, 1, palette, std::string("\x01\0\0\0", 4))),
            (Pixels{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(refusal(bitmap(8, 1, 1, palette, std::string("\x02\0\0\0", 4))), ErrorKind::Parse);
}

TEST(DecodeImage, BmpBitFields) {
  // 5-6-5: red 31, green 0, blue 16 of 31 → 132.
  const std::string masks = little(0xf800) + little(0x7e0) + little(0x1f);
  EXPECT_EQ(pixels(bitmap(16, 1, 1, masks, little(0xf810), 3)), (Pixels{255, 0, 132}));
  EXPECT_EQ(pixels(bitmap(32, 1, 1, "", little(0x00010203))), (Pixels{1, 2, 3}));
}

TEST(DecodeImage, RefusesWhatItCannotRead) {
  EXPECT_EQ(refusal(""), ErrorKind::Parse);
  EXPECT_EQ(refusal("not a picture"), ErrorKind::Parse);
  EXPECT_EQ(refusal("RIFF\x10\0\0\0WEBPVP8 "), ErrorKind::Parse);  // cut at the zero
  EXPECT_EQ(refusal(std::string("RIFF\x10\0\0\0WEBPVP8 ", 16)), ErrorKind::Unsupported);
  EXPECT_EQ(refusal(std::string("II*\0", 4)), ErrorKind::Unsupported);
  EXPECT_EQ(refusal(bitmap(8, 1, 1, std::string(1024, 0), std::string(4, 0), 1)),
            ErrorKind::Unsupported);
}

// Sizes that the file cannot hold are refused before anything is allocated.
TEST(DecodeImage, RefusesAbsurdSizes) {
  EXPECT_EQ(refusal("P6 4294967295 4294967295 255\n123"), ErrorKind::Parse);
  EXPECT_EQ(refusal("P6 99999999999 1 255\n123"), ErrorKind::Parse);
  EXPECT_EQ(refusal("P6 0 4 255\n123"), ErrorKind::Parse);
  EXPECT_EQ(refusal(bitmap(24, 0x7fffffff, 0x7fffffff, "", "123")), ErrorKind::Parse);
  EXPECT_EQ(refusal(bitmap(24, -1, 1, "", "1234")), ErrorKind::Parse);
  EXPECT_EQ(refusal(bitmap(24, 1, static_cast<int>(0x80000000), "", "1234")), ErrorKind::Parse);
  // A PNG header of 2^30 x 2^30 pixels, with the checksum of its chunk.
  const std::string png(
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x40\0\0\0\x40\0\0\0\x08\x02\0\0\0\xd7\xf6\x79\xe9", 33);
  EXPECT_EQ(refusal(png), ErrorKind::Parse);
}

// A segment of a JPEG file: marker, length, content.
std::string segment(int marker, const std::string& content) {
  const auto size = static_cast<std::uint32_t>(content.size() + 2);
  std::string out = "\xff" + little(static_cast<std::uint32_t>(marker), 1);
  out += static_cast<char>(size >> 8);
  out += static_cast<char>(size & 0xff);
  return out + content;
}

std::string big16(int v) {
  return {static_cast<char>(v >> 8), static_cast<char>(v & 0xff)};
}

// A frame header of one component, in 8 by 8 blocks.
std::string frame(int marker, int bits, int width, int height) {
  return segment(marker, little(static_cast<std::uint32_t>(bits), 1) + big16(height) +
                             big16(width) + std::string("\x01\x01\x11\x00", 4));
}

class Bits {
 public:
  void put(std::uint32_t v, int count) {
    for (int i = count - 1; i >= 0; --i) text_ += static_cast<char>('0' + ((v >> i) & 1));
  }
  // Filled up with ones; 0xff is followed by 0.
  std::string bytes() const {
    std::string all = text_, out;
    while (all.size() % 8 != 0) all += '1';
    for (std::size_t i = 0; i < all.size(); i += 8) {
      out += static_cast<char>(std::stoi(all.substr(i, 8), nullptr, 2));
      if (out.back() == '\xff') out += '\0';
    }
    return out;
  }

 private:
  std::string text_;
};

std::string jpeg_head() {
  return "\xff\xd8" + segment(0xdb, std::string(1, 0) + std::string(64, 1));
}

// A grey progressive JPEG, all coefficients 0 (ITU-T T.81, annex G): a scan of the DC coefficients,
// then one for each of `scans` AC coefficients, which are ends of bands that go over many blocks.
std::string progressive(int width, int height, int scans) {
  const auto blocks = static_cast<std::uint32_t>((width + 7) / 8 * ((height + 7) / 8));
  // DC: the code 0 is the difference 0. AC: 0 ends 2^14 blocks and more, 10 one block.
  std::string file = jpeg_head() + frame(0xc2, 8, width, height) +
                     segment(0xc4, std::string("\x00\x01", 2) + std::string(16, 0)) +
                     segment(0xc4, std::string("\x10\x01\x01", 3) + std::string(14, 0) + "\xe0" +
                                       std::string(1, 0));
  const auto scan = [](int first, int last) {
    return segment(0xda, std::string("\x01\x01\x00", 3) +
                             little(static_cast<std::uint32_t>(first), 1) +
                             little(static_cast<std::uint32_t>(last), 1) + std::string(1, 0));
  };
  Bits dc, ac;
  for (std::uint32_t i = 0; i < blocks; ++i) dc.put(0, 1);
  std::uint32_t left = blocks;
  for (; left >= 1u << 14; left -= std::min(left, (1u << 15) - 1)) {
    ac.put(0, 1);
    ac.put(std::min(left, (1u << 15) - 1) - (1u << 14), 14);
  }
  for (; left > 0; --left) ac.put(2, 2);
  file += scan(0, 0) + dc.bytes();
  for (int k = 1; k <= scans; ++k) file += scan(k, k) + ac.bytes();
  return file + "\xff\xd9";
}

TEST(DecodeImage, ProgressiveJpeg) {
  EXPECT_EQ(pixels(progressive(9, 3, 63)), Pixels(9 * 3 * 3, 128));
  // Scans that go over a large picture again and again are not followed for ever.
  EXPECT_EQ(refusal(progressive(8192, 8192, 40)), ErrorKind::Unsupported);
}

// A picture of 768 KB and coefficients of 512 KB.
TEST(DecodeImage, CoefficientsCountAgainstTheTensorLimit) {
  const std::string file = progressive(512, 512, 1);
  {
    const TensorLimit limit(1'000'000);
    EXPECT_EQ(refusal(file), ErrorKind::Memory);
  }
  const TensorLimit limit(1'500'000);
  EXPECT_EQ(decode(file).shape(), (Shape{512, 512, 3}));
}

TEST(DecodeImage, JpegThatIsNotRead) {
  const std::string end = segment(0xda, std::string("\x01\x01\x00\x00\x3f\x00", 6)) + "\xff\xd9";
  EXPECT_EQ(refusal(jpeg_head() + frame(0xc1, 12, 8, 8) + end), ErrorKind::Unsupported);  // 12 bits
  EXPECT_EQ(refusal(jpeg_head() + frame(0xc3, 8, 8, 8) + end), ErrorKind::Unsupported);  // lossless
  EXPECT_EQ(refusal(jpeg_head() + end), ErrorKind::Parse);
}

// Sound files that are not read are no damaged ones.
TEST(DecodeImage, BmpThatIsNotRead) {
  const auto with_header = [](std::uint32_t size) {
    std::string file = bitmap(24, 1, 1, "", std::string(64, 0));
    return file.replace(14, 4, little(size));
  };
  EXPECT_EQ(refusal(with_header(16)), ErrorKind::Unsupported);  // OS/2's second header, cut short
  EXPECT_EQ(refusal(with_header(13)), ErrorKind::Parse);
  EXPECT_EQ(refusal(with_header(125)), ErrorKind::Parse);
  EXPECT_EQ(refusal(bitmap(2, 1, 1, "", std::string(4, 0))), ErrorKind::Unsupported);
  EXPECT_EQ(refusal(bitmap(3, 1, 1, "", std::string(4, 0))), ErrorKind::Parse);
  EXPECT_EQ(refusal(bitmap(24, 1, 1, "", std::string(4, 0), 4)), ErrorKind::Unsupported);  // JPEG
  std::string os2 = bitmap(1, 8, 1, std::string(24, 0), std::string(64, 0), 3);  // Huffman
  EXPECT_EQ(refusal(os2.replace(14, 4, little(64))), ErrorKind::Unsupported);
}

TEST(DecodeImage, RefusesTruncatedFiles) {
  const std::string whole = bitmap(24, 3, 2, "", std::string(24, 7));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(refusal(whole.substr(0, n)), ErrorKind::Parse) << n;
  }
}

}  // namespace
}  // namespace treadle
