// Resize whose sizes, scales or region are known only at run time.
#pragma once

#include "ops/resize.hpp"

namespace treadle::ops {

// keep_aspect_ratio_policy of ONNX Resize: sizes as they are, or one scale for all axes, the
// smallest or the largest that any of them asks for.
enum class AspectPolicy : std::uint8_t { Stretch, NotLarger, NotSmaller };

// Inputs x, optional sizes (integer) or scales (float), optional roi (float: starts, then ends),
// each one an entry of `axes`. Without sizes and scales those of `proto` hold. The other parameters
// are those of `proto`, whose sizes are the output's shape.
class DynamicResize final : public Operator {
 public:
  Resize proto;
  std::vector<std::int64_t> axes;
  AspectPolicy policy = AspectPolicy::Stretch;
  TREADLE_OPERATOR(DynamicResize);
};

// Sizes and scales of `r` on `axes` as the policy has them, from the sizes asked for, which `r`
// holds; those and `from`, of the input, are constants. Throws Shape error for an empty axis.
void keep_aspect(Resize& r, const Shape& from, const std::vector<std::int64_t>& axes,
                 AspectPolicy policy);
// The region of `r` from the roi of `axes`; the whole of the other axes.
void set_region(Resize& r, std::size_t rank, const std::vector<std::int64_t>& axes,
                const std::vector<double>& roi);

// floor(size · scale) in f32, as ONNX Runtime computes it; throws Shape error when that is no size.
std::int64_t scaled_size(std::int64_t size, double scale);

}  // namespace treadle::ops
