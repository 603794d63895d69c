#include "tensor/npy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace treadle {
namespace {

// A file by hand: magic, version, header text padded to 64, data.
std::vector<std::byte> file_of(std::string header, std::string_view data, int version = 1) {
  std::string s = "\x93NUMPY";
  s += static_cast<char>(version);
  s += '\0';
  const std::size_t fixed = version == 1 ? 10 : 12;
  while ((fixed + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  for (std::size_t i = 0; i < fixed - 8; ++i)
    s += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  s += header;
  s += data;
  std::vector<std::byte> out(s.size());
  std::memcpy(out.data(), s.data(), s.size());
  return out;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

std::string error_of(const std::vector<std::byte>& bytes) {
  try {
    read_npy(bytes);
    return "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

using namespace std::string_view_literals;

TEST(Npy, ReadsLittleEndianIntegers) {
  const Tensor t = read_npy(
      file_of(header("<i4", "(2, 2)"), "\x01\0\0\0\x02\0\0\0\xff\xff\xff\xff\x00\x01\0\0"sv));
  EXPECT_TRUE(t.identical(Tensor::of<std::int32_t>({2, 2}, {1, 2, -1, 256})));
}

TEST(Npy, ReadsBigEndian) {
  const Tensor t = read_npy(file_of(header(">i2", "(2,)"), "\x01\x02\xff\xfe"sv));
  EXPECT_TRUE(t.identical(Tensor::of<std::int16_t>({2}, {0x0102, -2})));
}

TEST(Npy, ConvertsFortranOrder) {
  // The matrix [[1, 2, 3], [4, 5, 6]] column by column.
  const Tensor t = read_npy(file_of(header("|u1", "(2, 3)", true), "\x01\x04\x02\x05\x03\x06"sv));
  EXPECT_TRUE(t.identical(Tensor::of<std::uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
  // Element (i, j, k) of a 2×2×2 array at i + 2j + 4k.
  const Tensor u =
      read_npy(file_of(header("|u1", "(2, 2, 2)", true), "\x00\x01\x02\x03\x04\x05\x06\x07"sv));
  EXPECT_TRUE(u.identical(Tensor::of<std::uint8_t>({2, 2, 2}, {0, 4, 2, 6, 1, 5, 3, 7})));
}

TEST(Npy, ReadsScalarsEmptyArraysAndVersion2) {
  EXPECT_TRUE(
      read_npy(file_of(header("<f4", "()"), "\0\0\x80\x3f"sv, 2)).identical(Tensor::scalar(1.0f)));
  const Tensor empty = read_npy(file_of(header("<f8", "(0, 5)"), ""sv, 3));
  EXPECT_EQ(empty.shape(), (Shape{0, 5}));
}

TEST(Npy, BoolsBecomeZeroOrOne) {
  const Tensor t = read_npy(file_of(header("|b1", "(3,)"), "\x00\x01\x7f"sv));
  EXPECT_TRUE(t.identical(Tensor::of<bool>({3}, {false, true, true})));
}

TEST(Npy, ReadsText) {
  const Tensor s = read_npy(file_of(header("|S3", "(2,)"), "ab\0xyz"sv));
  EXPECT_TRUE(s.identical(Tensor::of<std::string>({2}, {"ab", "xyz"})));
  const Tensor u = read_npy(file_of(header("<U2", "(1,)"), "\xe9\0\0\0\x00\xf6\x01\0"sv));
  EXPECT_TRUE(u.identical(Tensor::of<std::string>({1}, {"\xc3\xa9\xf0\x9f\x98\x80"})));
}

TEST(Npy, WhatIsWrittenReadsBack) {
  const std::vector<Tensor> tensors = {
      Tensor::of<bool>({2}, {true, false}),
      Tensor::of<std::int64_t>({}, {-7}),
      Tensor::of<float>({1, 2}, {1.5f, -0.0f}),
      Tensor::of<Half>({2}, {Half(0.5f), Half(-2.0f)}),
      Tensor::of<BFloat16>({1}, {BFloat16(3.0f)}),
      Tensor::of<double>({0}, {}),
      Tensor::of<std::string>({3}, {"", "h\xc3\xa9", "abc"}),
      Tensor::zeros(DType::C64, {2}),
  };
  for (const Tensor& t : tensors) {
    const auto bytes = write_npy(t);
    if (t.dtype() != DType::String) {
      EXPECT_EQ((bytes.size() - t.bytes()) % 64, 0u) << name_of(t.dtype());
    }
    EXPECT_TRUE(read_npy(bytes).identical(t)) << name_of(t.dtype());
  }
}

TEST(Npy, RefusesHostileFiles) {
  EXPECT_NE(error_of(file_of(header("<f4", "(2,)"), "1234567"sv)).find("needs 8 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(header("<f4", "(2,)"), "123456789"sv)).find("needs 8 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(header("<f4", "(4294967296, 4294967296)"), ""sv)).find("overflow"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(header("|O", "(1,)"), "x"sv)).find("pickled"), std::string::npos);
  EXPECT_NE(error_of(file_of(header("<f4", "(-1,)"), ""sv)).find("size"), std::string::npos);
  EXPECT_NE(error_of(file_of(header("<U0", "(99999999999,)"), ""sv)).find("empty strings"),
            std::string::npos);
  EXPECT_NE(error_of(file_of("{'descr': '<f4', 'shape': (1,)}", "1234"sv)).find("fortran_order"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(header("<U1", "(1,)"), "\x00\xd8\0\0"sv)).find("code point"),
            std::string::npos);
  EXPECT_NE(error_of({}).find("magic"), std::string::npos);
}

TEST(Npy, EveryTruncationIsAnError) {
  const auto whole = write_npy(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_THROW(read_npy(std::span(whole).first(n)), Error) << n;
}

TEST(Npy, FlippedBitsGiveAnErrorOrATensor) {
  const auto whole = write_npy(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    try {
      const Tensor t = read_npy(bytes);
      EXPECT_LE(t.dtype() == DType::String ? 0 : t.bytes(), whole.size());
    } catch (const Error&) {
    }
  }
}

TEST(Npy, FilesNameThemselvesInErrors) {
  try {
    read_npy_file("/nonexistent/x.npy");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Io);
    EXPECT_STREQ(e.what(), "/nonexistent/x.npy: no such file");
  }
  const std::string path = testing::TempDir() + "npy_test.npy";
  write_npy_file(path, Tensor::scalar(2.0));
  EXPECT_TRUE(read_npy_file(path).identical(Tensor::scalar(2.0)));
  std::remove(path.c_str());
}

// Codes, one byte each, as ml_dtypes writes them.
TEST(Npy, NarrowTypesAreCodes) {
  Tensor t(DType::I4, {3});
  const std::int8_t elements[] = {-8, 7, -1};
  std::copy_n(elements, 3, static_cast<std::int8_t*>(t.mutable_data()));
  const Tensor codes = read_npy(write_npy(t));
  EXPECT_EQ(codes.dtype(), DType::U8);
  EXPECT_TRUE(narrow_from_codes(codes, DType::I4).identical(t));
  const Tensor low = Tensor::of<std::uint8_t>({1}, {0x0f});
  EXPECT_EQ(narrow_from_codes(low, DType::I4).to_i64(), (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(narrow_from_codes(low, DType::F4E2M1).to_f64(), (std::vector<double>{-6}));
  EXPECT_THROW(narrow_from_codes(low, DType::F32), Error);
}

}  // namespace
}  // namespace treadle
