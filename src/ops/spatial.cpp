#include "ops/spatial.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace treadle::ops {

const char* name_of(Layout l) {
  return l == Layout::ChannelsFirst ? "channels_first" : "channels_last";
}

const char* name_of(WeightLayout l) {
  switch (l) {
    case WeightLayout::OIHW:
      return "OIHW";
    case WeightLayout::HWIO:
      return "HWIO";
    case WeightLayout::OHWI:
      return "OHWI";
    case WeightLayout::IOHW:
      return "IOHW";
  }
  return "?";
}

const char* name_of(AutoPad p) {
  switch (p) {
    case AutoPad::Explicit:
      return "explicit";
    case AutoPad::Valid:
      return "valid";
    case AutoPad::SameUpper:
      return "same_upper";
    case AutoPad::SameLower:
      return "same_lower";
  }
  return "?";
}

int channel_axis(Layout l, int rank) {
  return l == Layout::ChannelsFirst ? 1 : rank - 1;
}

int spatial_axis(Layout l, int spatial) {
  return l == Layout::ChannelsFirst ? spatial + 2 : spatial + 1;
}

SymShape spatial_dims(const SymShape& shape, Layout l) {
  check(shape.size() >= 2, ErrorKind::Shape, "shape {} has no batch and channel axes", str(shape));
  const auto first = shape.begin() + spatial_axis(l, 0);
  return SymShape(first, first + static_cast<std::ptrdiff_t>(shape.size()) - 2);
}

SymShape make_shape(Layout l, const Dim& n, const Dim& c, const SymShape& spatial) {
  SymShape out{n};
  if (l == Layout::ChannelsFirst) out.push_back(c);
  out.insert(out.end(), spatial.begin(), spatial.end());
  if (l == Layout::ChannelsLast) out.push_back(c);
  return out;
}

namespace {

// Cells that a dilated kernel spans.
std::int64_t extent(std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
  check(kernel > 0, ErrorKind::Shape, "kernel size is {}, expected at least 1", kernel);
  check(stride > 0, ErrorKind::Shape, "stride is {}, expected at least 1", stride);
  check(dilation > 0, ErrorKind::Shape, "dilation is {}, expected at least 1", dilation);
  return checked_add(checked_mul(kernel - 1, dilation), 1);
}

}  // namespace

Window window(const Dim& in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
              AutoPad mode, std::int64_t before, std::int64_t after, bool ceil_mode) {
  const std::int64_t span = extent(kernel, stride, dilation);
  if (mode == AutoPad::SameUpper || mode == AutoPad::SameLower) {
    const Dim out = ceil_div(in, Dim(stride));
    const Dim total = max(Dim(0), (out - 1) * stride + span - in);
    const Dim less = floor_div(total, Dim(2));
    const Dim more = total - less;
    return mode == AutoPad::SameUpper ? Window{out, less, more} : Window{out, more, less};
  }
  if (mode == AutoPad::Valid) before = after = 0;
  const Dim room = in + before + after - span;
  Dim out = (ceil_mode ? ceil_div(room, Dim(stride)) : floor_div(room, Dim(stride))) + 1;
  if (ceil_mode) out = min(out, ceil_div(in + before, Dim(stride)));
  check(!out.is_const() || out.value() >= 0, ErrorKind::Shape,
        "a kernel of {} (dilation {}) does not fit an axis of {} padded by {} and {}", kernel,
        dilation, in.str(), before, after);
  return {out, before, after};
}

ConcreteWindow window(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                      std::int64_t dilation, AutoPad mode, std::int64_t before, std::int64_t after,
                      bool ceil_mode) {
  const Window w = window(Dim(in), kernel, stride, dilation, mode, before, after, ceil_mode);
  return {w.out.value(), w.before.value(), w.after.value()};
}

DataStrides data_strides(const Shape& shape, Layout layout) {
  const Shape strides = shape.strides();
  const int rank = shape.rank();
  DataStrides out;
  out.n = strides[0];
  out.c = strides[static_cast<std::size_t>(channel_axis(layout, rank))];
  for (int i = 0; i < rank - 2; ++i) {
    out.spatial.push_back(strides[static_cast<std::size_t>(spatial_axis(layout, i))]);
  }
  return out;
}

WeightAxes weight_axes(WeightLayout layout, int rank, bool transposed) {
  switch (layout) {
    case WeightLayout::OIHW:
      return {0, 1, 2};
    case WeightLayout::IOHW:
      return {1, 0, 2};
    case WeightLayout::HWIO:
      return transposed ? WeightAxes{rank - 2, rank - 1, 0} : WeightAxes{rank - 1, rank - 2, 0};
    case WeightLayout::OHWI:
      check(!transposed, ErrorKind::Shape, "a transposed convolution takes no OHWI weight");
      return {0, rank - 1, 1};
  }
  fail(ErrorKind::Internal, "unknown weight layout");
}

void check_spatial(const std::vector<std::int64_t>& values, int count, std::int64_t least,
                   const char* what) {
  check(static_cast<int>(values.size()) == count, ErrorKind::Shape,
        "'{}' has {} entries, expected one for each of {} spatial axes", what, values.size(),
        count);
  for (const std::int64_t v : values) {
    check(v >= least, ErrorKind::Shape, "'{}' holds {}, expected at least {}", what, v, least);
    check(v <= std::numeric_limits<std::int32_t>::max(), ErrorKind::Shape,
          "'{}' holds {}, expected less than 2^31", what, v);
  }
}

void check_padding(const Padding& padding, int count) {
  if (padding.mode != AutoPad::Explicit) return;
  check_spatial(padding.before, count, 0, "pads before");
  check_spatial(padding.after, count, 0, "pads after");
}

std::vector<std::int64_t> kernel_sizes(const SymShape& weight, const WeightAxes& axes) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i + 2 < weight.size(); ++i) {
    const Dim& size = weight[static_cast<std::size_t>(axes.spatial) + i];
    check(size.is_const(), ErrorKind::Unsupported,
          "input 1 'w' has shape {}, its kernel sizes must be known when the model is loaded",
          str(weight));
    out.push_back(size.value());
  }
  check_spatial(out, static_cast<int>(out.size()), 1, "kernel");
  return out;
}

bool next_index(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = index.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

}  // namespace treadle::ops
