// Copies between strided N-d blocks: transposes, slices, concatenation, padding, expansion, tiling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.hpp"

namespace treadle::kernels {

// One axis of a copy; strides in elements, of the input any (0 repeats, negative reverses), of the
// output such that no two elements meet.
struct CopyAxis {
  std::int64_t size = 1;
  std::int64_t in = 0, out = 0;
};

// out[Σ i·out] = in[Σ i·in] over all axes, for elements of 1, 2, 4, 8 or 16 bytes.
class BoundCopy {
 public:
  BoundCopy() = default;
  // Offsets in elements to the first element on either side.
  BoundCopy(std::size_t element_bytes, std::span<const CopyAxis> axes, std::int64_t in_offset = 0,
            std::int64_t out_offset = 0);
  void run(const void* in, void* out, Parallel& parallel) const;

 private:
  enum class Inner : std::uint8_t { Rows, Matrix, Elements };
  void simplify(std::span<const CopyAxis> axes);
  void choose();
  void run_units(const std::byte* in, std::byte* out, std::int64_t begin, std::int64_t end) const;
  void run_inner(const std::byte* in, std::byte* out, std::int64_t part) const;

  std::size_t size_ = 4;
  std::int64_t in_offset_ = 0, out_offset_ = 0;
  std::vector<CopyAxis> outer_;  // what is looped over outside, outermost first
  Inner inner_ = Inner::Rows;
  CopyAxis row_;  // Rows, Elements: the innermost axis; Matrix: the axis contiguous in the output
  CopyAxis column_;  // Matrix: the axis contiguous in the input
  bool by_rows_ = false;
  // How the innermost loop is cut into units of work.
  std::int64_t outer_count_ = 1, parts_ = 1, part_ = 1;
};

// Sets n elements of `bytes` bytes to the one at `value`.
void fill(void* out, std::int64_t n, const void* value, std::size_t bytes, Parallel& parallel);

// out[o, i, :] = x[o, indices[i], :] with rows of `row_bytes` bytes; negative indices count from
// the end. Throws Shape error for an index outside before anything is written.
struct GatherArgs {
  std::int64_t outer = 1, size = 1, count = 1;
  std::int64_t row_bytes = 4;
};
void gather(const GatherArgs& args, const void* x, const std::int32_t* indices, void* out,
            Parallel& parallel);
void gather(const GatherArgs& args, const void* x, const std::int64_t* indices, void* out,
            Parallel& parallel);

}  // namespace treadle::kernels
