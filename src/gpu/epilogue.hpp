// The end of convolutions and matrix products on a device: what is asked for, and how kernels see
// it.
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "cpu/epilogue.hpp"
#include "gpu/kernels/conv_params.hpp"
#include "gpu/prepared.hpp"
#include "kernels/epilogue.hpp"
#include "plan/device.hpp"

namespace treadle::gpu {

enum class ResidualAt : std::uint8_t { None, BeforeAct, AfterAct };

// Bias and PRelu's slopes are f32 whatever the result is, one a column. Rows of the result are
// pixels of a convolution, its columns channels.
struct EpilogueDesc {
  bool bias = false;
  ResidualAt residual = ResidualAt::None;
  kernels::Act act = kernels::Act::None;
  float a = 0, b = 0;  // of the activation
  // Elements from one row of the result, or of the residual, to the next; 0: no gap. More where the
  // result is a slice of the columns of a wider tensor.
  std::int64_t y_stride = 0, residual_stride = 0;
};

// Of a fused step, but for its strides.
EpilogueDesc epilogue_desc(const cpu::OwnedEpilogue& e);

// Where the operands of a product lie. `right` is the packed weights or the right-hand matrix. What
// the epilogue does not use may be 0. The residual must not overlap y.
struct ProductAddresses {
  DeviceAddress left = 0, right = 0, bias = 0, slope = 0, residual = 0, y = 0;
};

// Throws Shape error when a stride is less than `columns` or does not fit 31 bits.
void check_epilogue(const EpilogueDesc& desc, std::int64_t columns);

// `vector`: how many columns a kernel stores at once. Vectors are allowed where the addresses, the
// strides and `columns`, those of a group, are multiples of it.
tk::EpilogueParams epilogue_params(const EpilogueDesc& desc, DType type, std::int64_t columns,
                                   std::int64_t stride, int vector, const ProductAddresses& at);

// In place of floats that a kernel does not use: an address of the same buffer, aligned as theirs,
// which Metal asks for.
inline DeviceAddress unused_floats(DeviceAddress at) {
  return at / sizeof(float) * sizeof(float);
}

// The addresses with those that are not used replaced by one that is readable.
ProductAddresses filled(const ProductAddresses& at, const EpilogueDesc& desc);

// Adds the partial results [splits, rows, columns] in `workspace`, in their order, and finishes.
PreparedLaunch sum_of_splits(const EpilogueDesc& desc, DType type, std::int64_t rows,
                             std::int64_t columns, int splits, DeviceAddress workspace,
                             const ProductAddresses& at, const char* label);

}  // namespace treadle::gpu
