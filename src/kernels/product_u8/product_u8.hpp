// Matrix products of 8-bit values: u8 or s8 rows times packed integer weights, exact sums in i32,
// requantised before they leave the registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/threads.hpp"
#include "kernels/aligned_array.hpp"
#include "kernels/product_u8/tile.hpp"

namespace treadle::kernels {

// Weights: element (group, tap, i, j) is b[group * group_stride + tap_offsets[tap] + i * row_stride
// + j * column_stride] (offset 0 when tap_offsets is null).
struct WeightsU8 {
  const std::int32_t* b = nullptr;
  std::int64_t groups = 1, taps = 1, k = 0, columns = 0;
  std::ptrdiff_t group_stride = 0, row_stride = 0, column_stride = 0;
  const std::ptrdiff_t* tap_offsets = nullptr;
};

// The packed form: what does not fit into s8 is a sum of `parts` weights that do, one behind the
// other like taps.
struct PackedU8 {
  const KernelsU8* kernels = nullptr;
  // Of a depthwise convolution: one group, k 1, data the i32 [taps][padded].
  bool depthwise = false;
  std::int64_t groups = 1, taps = 1, k = 0, columns = 0;
  std::int64_t parts = 1;
  std::int64_t padded = 0;         // columns of a group rounded up to whole registers
  std::size_t group_bytes = 0;     // between groups
  std::vector<std::int32_t> sums;  // Σ of each column, modulo 2^32; groups * padded
  AlignedArray<std::int8_t> data;
};
using SharedPackedU8 = std::shared_ptr<const PackedU8>;

// Largest and smallest weights that a packed form can hold.
inline constexpr std::int32_t kMostU8Weight = 4 * 127, kLeastU8Weight = -4 * 128;
// Number of parts that weights from `least` to `most` need.
inline std::int64_t parts_u8(std::int32_t least, std::int32_t most) {
  const std::int64_t above = (std::int64_t{most} + 126) / 127;
  const std::int64_t below = (127 - std::int64_t{least}) / 128;
  return std::max({std::int64_t{1}, above, below});
}
// The kernels' pointers to the taps of a few rows must fit a table.
inline constexpr std::int64_t kMostU8Taps = 512;

// Weights within the bounds above, and at most kMostU8Taps taps in all parts.
SharedPackedU8 pack_u8(const KernelsU8& kernels, const WeightsU8& weights);

// What is done to the sums, see TileU8. `start` and `factor` hold groups * padded elements.
struct FinishU8 {
  const std::int32_t* start = nullptr;
  const float* factor = nullptr;
  StoreU8 store = StoreU8::I32;
  float low = 0, high = 0;
  std::int32_t zero = 0;
};

// Where the rows of the left factor lie.
class RowsU8 {
 public:
  virtual ~RowsU8() = default;
  // out[t * count + r] points at the k bytes of tap t of row first + r.
  virtual void inputs(std::int64_t first, std::int64_t count, const std::uint8_t** out) const = 0;
};

struct ProductU8 {
  const PackedU8* weights = nullptr;
  std::int64_t group = 0;
  std::int64_t rows = 0;
  std::uint32_t flip = 0;  // 0x80808080 for rows of s8, which then count 128 more
  void* c = nullptr;       // of the group's first column
  std::ptrdiff_t ldc = 0;  // elements
  FinishU8 finish;
};
void product_u8(const ProductU8& product, const RowsU8& rows, Parallel& parallel);

// C[m, n] of rows lda bytes apart; one group, one tap.
struct GemmU8 {
  std::int64_t m = 0;
  const std::uint8_t* a = nullptr;
  std::ptrdiff_t lda = 0;
  std::uint32_t flip = 0;
  const PackedU8* weights = nullptr;
  void* c = nullptr;
  std::ptrdiff_t ldc = 0;
  FinishU8 finish;
};
void gemm_u8(const GemmU8& gemm, Parallel& parallel);

// start[j] = bias[j] - zero * sums[j], modulo 2^32, for all groups * padded columns; bias holds
// groups * columns elements, or is null.
void start_u8(const PackedU8& weights, std::int32_t zero, const std::int32_t* bias,
              std::int32_t* start);

}  // namespace treadle::kernels
