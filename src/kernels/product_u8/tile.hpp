// The inner kernel of 8-bit products: a tile of rows of u8, found through pointers, times a packed
// panel of s8 columns; sums in i32 stay in registers until they are requantised.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_features.hpp"

namespace treadle::kernels {

// What a result holds: the sums; the scaled sums; the scaled sums rounded half to even, as bytes.
enum class StoreU8 : std::uint8_t { I32, F32, Byte };

// sum[r][j] = start[j] + sum over t < taps, i < k of a[t * tap_stride + r][i] * b[t][i][j], modulo
// 2^32, where four bytes of a count as those of their xor with `flip`, for r < rows, j < n, where
// width and rows belong to the kernel and n <= width. Stored at c[r] + column + j as I32: sum; F32:
// y = clamp(f32(sum) * factor[j], low, high); Byte: the low byte of round(y) + zero. Of b, four
// values of i lie together: quad (t, i / 4) holds width * 4 bytes.
struct TileU8 {
  const std::uint8_t* const* a = nullptr;
  std::ptrdiff_t tap_stride = 0;
  std::int64_t taps = 1, k = 0;
  std::uint32_t flip = 0;
  const std::int8_t* b = nullptr;
  void* const* c = nullptr;  // one pointer per row
  std::ptrdiff_t column = 0;
  std::int64_t n = 0;
  const std::int32_t* start = nullptr;  // of the first column; a whole panel may be read
  const float* factor = nullptr;        // the same; not for I32
  StoreU8 store = StoreU8::I32;
  float low = 0, high = 0;
  std::int32_t zero = 0;
};

using TileU8Fn = void (*)(const TileU8&);

// Depthwise, with the same fields but n of any size: sum[r][j] = start[j] + sum over t < taps of
// a[t * tap_stride + r][j] * w[t * k + j] for j < n; w are i32 at b that fit into 16 bits.

inline constexpr int kMaxTileU8Vectors = 4;
inline constexpr int kMaxTileU8Rows = 8;

// The tiles of one instruction set. A packed panel is 1 to main_vectors registers of i32 wide.
struct KernelsU8 {
  const char* name = nullptr;
  int lanes = 0;
  int main_vectors = 0;
  int rows[kMaxTileU8Vectors + 1] = {};  // most rows of a tile, by panel width
  TileU8Fn tile[kMaxTileU8Vectors + 1][kMaxTileU8Rows + 1] = {};
  int depthwise_rows = 0;  // most rows of a depthwise tile
  TileU8Fn depthwise[kMaxTileU8Rows + 1] = {};

  // Width in columns of the panel that begins where `columns` remain.
  int panel_width(std::int64_t columns) const {
    const std::int64_t left = (columns + lanes - 1) / lanes;
    if (left <= main_vectors) return static_cast<int>(left) * lanes;
    // Not a last panel of one register.
    const bool shorter = main_vectors > 2 && left - main_vectors == 1;
    return (shorter ? main_vectors - 1 : main_vectors) * lanes;
  }
};

// The best kernels that active_isa() and this processor allow.
const KernelsU8& kernels_u8();

// One line of table.inc.
struct ChoiceU8 {
  Isa isa = Isa::Generic;
  bool runs = false;  // the processor has what the kernels need beyond `isa`
  const KernelsU8* kernels = nullptr;
};
inline constexpr std::size_t kMaxChoicesU8 = 8;
// Writes all lines, best first; returns their number.
std::size_t all_kernels_u8(ChoiceU8 (&out)[kMaxChoicesU8]);

}  // namespace treadle::kernels
