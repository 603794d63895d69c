#include "ops/loop.hpp"

#include <utility>

#include "base/error.hpp"

namespace treadle::ops {

StridedLoop strided_loop(std::span<const std::int64_t> dims,
                         std::vector<std::vector<std::int64_t>> strides) {
  StridedLoop loop;
  loop.strides.resize(strides.size());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    bool merges = !loop.dims.empty();
    for (std::size_t k = 0; merges && k < strides.size(); ++k) {
      merges = loop.strides[k].back() == strides[k][axis] * dims[axis];
    }
    if (merges) {
      loop.dims.back() *= dims[axis];
      for (std::size_t k = 0; k < strides.size(); ++k) loop.strides[k].back() = strides[k][axis];
    } else {
      loop.dims.push_back(dims[axis]);
      for (std::size_t k = 0; k < strides.size(); ++k) loop.strides[k].push_back(strides[k][axis]);
    }
  }
  if (loop.dims.empty()) {
    loop.dims.push_back(1);
    for (auto& s : loop.strides) s.push_back(1);
  }
  return loop;
}

StridedLoop broadcast_loop(std::string_view what, const Shape& out,
                           std::span<const Shape* const> inputs) {
  const auto rank = out.size();
  std::vector<std::vector<std::int64_t>> strides;
  const Shape own = out.strides();
  strides.emplace_back(own.begin(), own.end());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Shape& in = *inputs[k];
    check(in.rank() == out.rank(), ErrorKind::Shape, "{}: input {} has rank {}, expected {} as {}",
          what, k, in.rank(), out.rank(), out.str());
    const Shape s = in.strides();
    std::vector<std::int64_t> mine(rank, 0);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (in[axis] == out[axis]) {
        mine[axis] = out[axis] == 1 ? 0 : s[axis];
        continue;
      }
      check(in[axis] == 1, ErrorKind::Shape,
            "{}: input {} has shape {}, expected size 1 or {} at axis {} (broadcast to {})", what,
            k, in.str(), out[axis], axis, out.str());
    }
    strides.push_back(std::move(mine));
  }
  return strided_loop(std::span(out.begin(), rank), std::move(strides));
}

}  // namespace treadle::ops
