#include "cpu/copy_desc.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace treadle::cpu {

CopyDesc block_desc(const Shape& sizes, const Shape& in, const Shape& out) {
  const Shape from = in.strides(), to = out.strides();
  CopyDesc d;
  for (std::size_t i = 0; i < sizes.size(); ++i) d.axes.push_back({sizes[i], from[i], to[i]});
  return d;
}

CopyDesc transpose_desc(const std::vector<int>& perm, const Shape& in, const Shape& out) {
  const Shape from = in.strides(), to = out.strides();
  CopyDesc d;
  for (std::size_t i = 0; i < perm.size(); ++i)
    d.axes.push_back({out[i], from[static_cast<std::size_t>(perm[i])], to[i]});
  return d;
}

CopyDesc expand_desc(const Shape& in, const Shape& out) {
  check(in.rank() == out.rank(), ErrorKind::Shape, "{} does not expand to {}", in.str(), out.str());
  CopyDesc d = block_desc(out, in, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    check(in[i] == out[i] || in[i] == 1, ErrorKind::Shape, "axis {} of {} does not expand to {}", i,
          in.str(), out.str());
    if (in[i] == 1) d.axes[i].in = 0;
  }
  return d;
}

CopyDesc tile_desc(const Shape& in, const Shape& out) {
  check(in.rank() == out.rank(), ErrorKind::Shape, "{} does not tile to {}", in.str(), out.str());
  const Shape from = in.strides(), to = out.strides();
  CopyDesc d;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool whole = in[i] == 0 ? out[i] == 0 : out[i] % in[i] == 0;
    check(whole, ErrorKind::Shape, "axis {} of {} does not tile to {}", i, in.str(), out.str());
    d.axes.push_back({in[i] == 0 ? 1 : out[i] / in[i], 0, to[i] * in[i]});
    d.axes.push_back({in[i], from[i], to[i]});
  }
  return d;
}

CopyDesc slice_desc(std::size_t axis, std::int64_t first, std::int64_t step, const Shape& in,
                    const Shape& out) {
  const std::int64_t count = out[axis], size = in[axis];
  bool fits = count == 0 || (first >= 0 && first < size);
  if (fits && count > 1) {
    const std::int64_t room = step > 0 ? size - 1 - first : first;
    fits = step != 0 && count - 1 <= room / (step > 0 ? step : -std::max(step, -size - 1));
  }
  check(fits, ErrorKind::Shape, "{} elements from {} by {} leave axis {} of input {}", count, first,
        step, axis, in.str());
  CopyDesc d = block_desc(out, in, out);
  const std::int64_t stride = d.axes[axis].in;
  d.axes[axis].in = count > 1 ? stride * step : 0;
  d.from = count == 0 ? 0 : first * stride;
  return d;
}

CopyDesc concat_desc(std::size_t axis, std::int64_t at, const Shape& in, const Shape& out) {
  bool fits = in.rank() == out.rank();
  for (std::size_t i = 0; fits && i < out.size(); ++i) fits = i == axis || in[i] == out[i];
  check(fits, ErrorKind::Shape, "cannot join {} into {}", in.str(), out.str());
  CopyDesc d = block_desc(in, in, out);
  d.to = at * out.strides()[axis];
  return d;
}

void check_concat_end(std::size_t axis, std::int64_t at, const Shape& out) {
  check(at == out[axis], ErrorKind::Shape,
        "inputs have {} elements along axis {}, output {} has {}", at, axis, out.str(), out[axis]);
}

}  // namespace treadle::cpu
