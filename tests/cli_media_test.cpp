#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "cli/difference.hpp"
#include "cli/image.hpp"
#include "cli/inputs.hpp"
#include "tensor/file.hpp"
#include "tensor/wav.hpp"

namespace treadle::cli {
namespace {

std::vector<float> floats(const Tensor& t) {
  const auto s = t.span<float>();
  return {s.begin(), s.end()};
}

TEST(Image, LayoutOrderMeanAndScale) {
  const Image image{2, 1, {10, 20, 30, 40, 50, 60}};
  EXPECT_EQ(floats(to_tensor(image, {})), (std::vector<float>{10, 40, 20, 50, 30, 60}));
  ImageOptions o;
  o.channels_last = true;
  o.bgr = true;
  EXPECT_EQ(floats(to_tensor(image, o)), (std::vector<float>{30, 20, 10, 60, 50, 40}));
  EXPECT_EQ(to_tensor(image, o).shape(), (Shape{1, 1, 2, 3}));
  o = {};
  o.mean = {10, 20, 30};
  o.scale = {0.5};
  EXPECT_EQ(floats(to_tensor(image, o)), (std::vector<float>{0, 15, 0, 15, 0, 15}));
  EXPECT_THROW(to_tensor(image, o, DType::U8), Error);
  const Tensor grey = to_tensor(image, {}, DType::F32, 1);
  EXPECT_NEAR(floats(grey)[0], 0.299 * 10 + 0.587 * 20 + 0.114 * 30, 1e-4);
}

TEST(Image, ResizeKeepsConstantsAndAverages) {
  const Image flat{3, 3, std::vector<std::uint8_t>(27, 77)};
  for (const int size : {1, 2, 7}) {
    const Image r = resize(flat, size, size + 1);
    EXPECT_EQ(r.pixels.size(), static_cast<std::size_t>(size * (size + 1) * 3));
    for (const auto p : r.pixels) EXPECT_EQ(p, 77);
  }
  // Two pixels to four, half-pixel centres: source positions −0.25, 0.25, 0.75, 1.25.
  const Image two{2, 1, {0, 0, 0, 100, 100, 100}};
  const Image four = resize(two, 4, 1);
  EXPECT_EQ(four.pixels[0], 0);
  EXPECT_EQ(four.pixels[3], 25);
  EXPECT_EQ(four.pixels[6], 75);
  EXPECT_EQ(four.pixels[9], 100);
}

TEST(Image, PngComesBack) {
  const std::string path = ::testing::TempDir() + "treadle_image_test.png";
  const Image image{2, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252}};
  write_png(path, image);
  const Image back = read_image(path);
  EXPECT_EQ(back.width, 2);
  EXPECT_EQ(back.pixels, image.pixels);
  // Without the pixels it is an error; the last bytes (a checksum, an empty chunk) may be missing.
  const auto whole = read_file(path);
  for (std::size_t n = 0; n < whole.size(); n += 3) {
    write_file(path, std::span(whole).first(n));
    if (n < whole.size() - 30) {
      EXPECT_THROW(read_image(path), Error) << n;
    } else {
      try {
        read_image(path);
      } catch (const Error&) {
      }
    }
  }
  std::remove(path.c_str());
}

// A mono or stereo file by hand.
std::vector<std::byte> wav_bytes(int channels, int bits, const std::vector<std::int16_t>& samples) {
  std::string s = "RIFF____WAVEfmt ";
  const auto put = [&](std::uint32_t v, int n) {
    for (int i = 0; i < n; ++i) s += static_cast<char>((v >> (8 * i)) & 0xff);
  };
  put(16, 4);
  put(1, 2);
  put(static_cast<std::uint32_t>(channels), 2);
  put(16000, 4);
  put(32000, 4);
  put(2, 2);
  put(static_cast<std::uint32_t>(bits), 2);
  s += "junk";
  put(3, 4);
  s += "abc";
  s += '\0';
  s += "data";
  put(static_cast<std::uint32_t>(samples.size() * 2), 4);
  for (const auto v : samples) put(static_cast<std::uint16_t>(v), 2);
  std::vector<std::byte> out(s.size());
  std::memcpy(out.data(), s.data(), s.size());
  return out;
}

TEST(Wav, ReadsSamplesAndMixesChannels) {
  const Wav wav = parse_wav(wav_bytes(2, 16, {100, 300, -32768, -32768}));
  EXPECT_EQ(wav.rate, 16000);
  EXPECT_EQ(to_mono(wav), (std::vector<float>{200.0f / 32768, -1.0f}));
}

TEST(Wav, RefusesWhatItCannotRead) {
  EXPECT_THROW(parse_wav(wav_bytes(1, 24, {1})), Error);
  EXPECT_THROW(parse_wav(wav_bytes(0, 16, {1})), Error);
  const auto whole = wav_bytes(1, 16, {1, 2, 3});
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_THROW(parse_wav(std::span(whole).first(n)), Error) << n;
}

TEST(Difference, ToleranceIsAbsolutePlusRelativeToTheLargest) {
  const Tensor want = Tensor::of<float>({2}, {100, 0});
  EXPECT_TRUE(difference(Tensor::of<float>({2}, {100, 0.01f}), want, {}).equal);
  const Difference d = difference(Tensor::of<float>({2}, {100, 0.0102f}), want, {});
  EXPECT_FALSE(d.equal);
  EXPECT_EQ(d.where, 1);
  EXPECT_NEAR(d.max_abs, 0.0102, 1e-6);
  EXPECT_NEAR(d.max_rel, 0.000102, 1e-8);
}

TEST(Difference, NanInfinityAndIntegersAreExact) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor want = Tensor::of<float>({2}, {nan, inf});
  EXPECT_TRUE(difference(want.clone(), want, {}).equal);
  EXPECT_FALSE(difference(Tensor::of<float>({2}, {nan, -inf}), want, {}).equal);
  EXPECT_FALSE(difference(Tensor::of<float>({2}, {0, inf}), want, {}).equal);
  EXPECT_FALSE(difference(Tensor::of<std::int64_t>({1}, {1000001}),
                          Tensor::of<std::int64_t>({1}, {1000000}), {})
                   .equal);
  EXPECT_FALSE(
      difference(Tensor::of<std::int32_t>({1}, {1}), Tensor::of<std::int64_t>({1}, {1}), {}).equal);
  EXPECT_FALSE(difference(Tensor::of<float>({1, 1}, {1}), Tensor::of<float>({1}, {1}), {}).equal);
}

TEST(Random, IsMulberry32) {
  // The first numbers of seed 42, worked out by an independent program (exact in 32-bit integers).
  Mulberry32 r(42);
  EXPECT_NEAR(r.next(), 2581720956.0 / 4294967296.0, 1e-15);
  EXPECT_NEAR(r.next(), 1925393290.0 / 4294967296.0, 1e-15);
}

TEST(Inputs, SizesFollowFromArraysThenFromTheFirstAxis) {
  const Port a{"a", Fact::tensor(DType::F32, {Dim::symbol("n"), 2})};
  const Port b{"b", Fact::tensor(DType::I64, {3, Dim::symbol("n")})};
  InputArgs args;
  const Port ports[] = {a, b};
  const auto values = make_inputs(ports, args, {{"n", 4}}, Missing::Random);
  EXPECT_EQ(values[0].tensor().shape(), (Shape{4, 2}));
  EXPECT_EQ(values[1].tensor().shape(), (Shape{3, 4}));
  EXPECT_EQ(make_inputs(ports, args, {}, Missing::Random)[1].tensor().shape(), (Shape{3, 1}));
  EXPECT_THROW(make_inputs(ports, args, {}, Missing::Error), Error);
  const Port only_b[] = {b};
  EXPECT_THROW(make_inputs(only_b, args, {}, Missing::Random), Error);
  args.inputs = {"b=7", "a=random:1"};
  const auto filled = make_inputs(ports, args, {}, Missing::Error);
  EXPECT_EQ(filled[1].tensor().to_i64(), (std::vector<std::int64_t>{7, 7, 7}));
  args.inputs = {"c=1"};
  EXPECT_THROW(make_inputs(ports, args, {}, Missing::Random), Error);
}

}  // namespace
}  // namespace treadle::cli
