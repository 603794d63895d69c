// NumPy's .npy format, versions 1 to 3.
//
// Read: bool, integers, f16, f32, f64, complex in either byte order, bf16 as ml_dtypes writes it
// (two-byte void), fixed-width byte and unicode strings; C or Fortran order (converted). Narrow
// types, which ml_dtypes writes as one-byte void whatever they are, come as their codes, u8.
// Pickled objects and records are Unsupported errors. Written: version 1, little-endian, C order.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace treadle {

// Throws Parse error for anything malformed, truncated or with bytes left over.
Tensor read_npy(std::span<const std::byte> bytes);
// The same with the path as context; Io error when the file cannot be read.
Tensor read_npy_file(const std::string& path);
// Codes (u8) as elements of a narrow type of the same shape; bits beyond its width are dropped.
Tensor narrow_from_codes(const Tensor& codes, DType type);

// String tensors become fixed-width unicode; text that is no UTF-8 is a Type error.
std::vector<std::byte> write_npy(const Tensor& tensor);
void write_npy_file(const std::string& path, const Tensor& tensor);

}  // namespace treadle
