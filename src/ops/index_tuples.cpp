#include "ops/index_tuples.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

std::int64_t tuple_size(const Fact& x, const Fact& indices, std::int64_t batch_dims) {
  need_integer(indices, 1);
  check(batch_dims >= 0 && batch_dims < indices.rank() && batch_dims <= x.rank(), ErrorKind::Shape,
        "batch_dims {} does not fit input {} and indices {}", batch_dims, x.str(), indices.str());
  const Dim& k = indices.shape.back();
  check(k.is_const(), ErrorKind::Shape, "the last axis of indices {} must be constant",
        indices.str());
  check(batch_dims + k.value() <= x.rank(), ErrorKind::Shape,
        "index tuples of {} and {} batch axes exceed input {}", k.value(), batch_dims, x.str());
  return k.value();
}

IndexTuples index_tuples(const Shape& x, const TensorView& indices, std::int64_t batch_dims) {
  const auto batch = static_cast<std::size_t>(batch_dims);
  check(indices.shape.rank() > batch_dims, ErrorKind::Shape, "indices {} have too few axes",
        indices.shape.str());
  const auto k = static_cast<std::size_t>(indices.shape.back());
  check(batch + k <= x.size(), ErrorKind::Shape, "indices {} exceed input {}", indices.shape.str(),
        x.str());
  const auto strides = row_major({x.data(), x.size()});
  IndexTuples out;
  for (std::size_t d = batch + k; d < x.size(); ++d) out.run = checked_mul(out.run, x[d]);
  Shape tuples = indices.shape;
  tuples.erase(tuples.rank() - 1);
  for (std::size_t d = 0; d < batch; ++d) {
    check(tuples[d] == x[d], ErrorKind::Shape, "batch axis {} of indices {} and input {} differ", d,
          indices.shape.str(), x.str());
  }
  const std::vector<std::int64_t> at = read_ints(indices);
  std::size_t next = 0;
  for_each_index(tuples, [&](const std::vector<std::int64_t>& i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < batch; ++d) offset += i[d] * strides[d];
    for (std::size_t d = batch; d < batch + k; ++d) {
      offset += wrap_index(at[next++], x[d], static_cast<std::int64_t>(d)) * strides[d];
    }
    out.offsets.push_back(offset);
  });
  return out;
}

}  // namespace treadle::ops
