// What convolution and pooling share: layouts, padding, output sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/operator.hpp"

namespace treadle::ops {

// Data is [N, C, spatial…] or [N, spatial…, C], any spatial rank of at least 1.
enum class Layout : std::uint8_t { ChannelsFirst, ChannelsLast };
// Convolution weights: OIHW = [Cout, Cin/group, k…] (ONNX), HWIO = [k…, Cin/group, Cout]
// (TensorFlow), OHWI = [Cout, k…, Cin/group]. For ConvTranspose O is the output channel count per
// group: IOHW = [Cin, Cout/group, k…] (ONNX).
enum class WeightLayout : std::uint8_t { OIHW, HWIO, OHWI, IOHW };
enum class AutoPad : std::uint8_t { Explicit, Valid, SameUpper, SameLower };

const char* name_of(Layout l);
const char* name_of(WeightLayout l);
const char* name_of(AutoPad p);

struct Padding {
  AutoPad mode = AutoPad::Explicit;
  // One entry a spatial axis, used when mode is Explicit.
  std::vector<std::int64_t> before, after;
};

// Positions of the axes in a tensor of `rank`.
int channel_axis(Layout l, int rank);
int spatial_axis(Layout l, int spatial);
// Sizes of the spatial axes of `shape`.
SymShape spatial_dims(const SymShape& shape, Layout l);
// [N, C, spatial] in the order of the layout.
SymShape make_shape(Layout l, const Dim& n, const Dim& c, const SymShape& spatial);

// One spatial axis of a window: input size → output size and the padding in use.
// Explicit: floor (or ceil) of (in + before + after − ((k−1)·dilation + 1)) / stride, plus 1; with
// `ceil_mode` a last window that would start beyond input + before is dropped. Same:
// ceil(in/stride), padding split evenly, the odd one after (upper) or before (lower); never
// negative.
struct Window {
  Dim out;
  Dim before;
  Dim after;
};
Window window(const Dim& in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
              AutoPad mode, std::int64_t before, std::int64_t after, bool ceil_mode = false);

// The same with numbers.
struct ConcreteWindow {
  std::int64_t out = 0, before = 0, after = 0;
};
ConcreteWindow window(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                      std::int64_t dilation, AutoPad mode, std::int64_t before, std::int64_t after,
                      bool ceil_mode = false);

// Strides of a data tensor in `layout`: of the batch, of the channels and of each spatial axis.
struct DataStrides {
  std::int64_t n = 0, c = 0;
  std::vector<std::int64_t> spatial;
};
DataStrides data_strides(const Shape& shape, Layout layout);

// Where the axes of a weight of `rank` are. `transposed`: the weight of a ConvTranspose, for which
// HWIO reads [k…, Cout, Cin] and OHWI is not allowed (Shape error).
struct WeightAxes {
  int out = 0, in = 1, spatial = 2;  // spatial: the first of them
};
WeightAxes weight_axes(WeightLayout layout, int rank, bool transposed = false);

// Throws Shape error unless `values` has `count` entries, each at least `least`; `what` names it.
void check_spatial(const std::vector<std::int64_t>& values, int count, std::int64_t least,
                   const char* what);
// Throws Shape error unless an Explicit padding has `count` entries that are not negative.
void check_padding(const Padding& padding, int count);
// Constant sizes of the spatial axes of a weight; throws Unsupported error when one is symbolic.
std::vector<std::int64_t> kernel_sizes(const SymShape& weight, const WeightAxes& axes);

// Counts `index` up within `sizes`, the last axis fastest; false when it wraps to all zeros.
bool next_index(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& sizes);

}  // namespace treadle::ops
