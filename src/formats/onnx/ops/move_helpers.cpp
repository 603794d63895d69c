#include "formats/onnx/ops/move_helpers.hpp"

#include <algorithm>
#include <bit>

#include "formats/onnx/proto.hpp"
#include "formats/onnx/types.hpp"
#include "ops/move.hpp"
#include "ops/shape_of.hpp"

namespace treadle::onnx {

ValueId ints_constant(NodeContext& c, const std::vector<std::int64_t>& values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return c.constant_value(Tensor::from<std::int64_t>(shape, values));
}

ValueId int_constant(NodeContext& c, std::int64_t value) {
  return c.constant_value(Tensor::scalar(value));
}

ValueId size_value(NodeContext& c, ValueId x, std::int64_t axis) {
  const Dim& d = c.graph().fact(x).shape[static_cast<std::size_t>(axis)];
  if (d.is_const()) return int_constant(c, d.value());
  const ValueId shape = c.add1(make_op<ops::ShapeOf>(), {x});
  return c.add1(make_op<ops::Gather>(0), {shape, int_constant(c, axis)});
}

std::int64_t axis_attr(NodeContext& c, std::int64_t fallback, int rank) {
  return ops::normal_axis(c.int_attr("axis", fallback), rank);
}

bool known_before(NodeContext& c, const SymShape& shape, const Fact* x) {
  std::vector<std::string> wanted;
  for (const Dim& d : shape) d.collect_symbols(wanted);
  if (wanted.empty()) return true;
  std::vector<std::string> known;
  const auto add = [&](const Fact& f) {
    for (const Dim& d : f.shape) d.collect_symbols(known);
  };
  if (x != nullptr) add(*x);
  for (const ValueId v : c.graph().inputs()) add(c.graph().fact(v));
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& s) {
    return std::find(known.begin(), known.end(), s) != known.end();
  });
}

std::int64_t element_count(NodeContext& c, std::size_t i, std::string_view role) {
  const Fact& f = c.fact(i);
  check(f.rank() == 1, ErrorKind::Shape, "input {} '{}' has shape {}, expected one axis", i, role,
        str(f.shape));
  check(f.shape[0].is_const(), ErrorKind::Unsupported,
        "input {} '{}' has an unknown number of elements: the output has no known rank", i, role);
  const std::int64_t n = f.shape[0].value();
  check(n <= kMaxRank, ErrorKind::Shape, "input {} '{}' has {} elements, the highest rank is {}", i,
        role, n, kMaxRank);
  return n;
}

SymShape fresh_sizes(NodeContext& c, std::string_view hint, std::size_t count) {
  SymShape out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(c.graph().fresh_symbol(hint));
  return out;
}

ValueId slice(NodeContext& c, ValueId x, std::int64_t axis, const Dim& start, const Dim& length,
              std::int64_t step) {
  const Dim& size = c.graph().fact(x).shape[static_cast<std::size_t>(axis)];
  if (step == 1 && start.is(0) && length == size) return x;
  if (length.is(0) || length.is(1)) step = 1;
  return c.add1(make_op<ops::Slice>(axis, start, length, step), {x});
}

ValueId expand(NodeContext& c, ValueId x, const SymShape& shape) {
  SymShape from = c.graph().fact(x).shape;
  const SymShape given = from;
  SymShape to = shape;
  while (from.size() < to.size()) from.insert(from.begin(), 1);
  while (to.size() < from.size()) to.insert(to.begin(), 1);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = broadcast(from[i], to[i]);
  if (from.size() > given.size()) {
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < from.size() - given.size(); ++i) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
    x = c.add1(make_op<ops::Unsqueeze>(std::move(axes)), {x});
  }
  return from == to ? x : c.add1(make_op<ops::Expand>(std::move(to)), {x});
}

std::uint64_t seed_of(NodeContext& c) {
  const Attribute* seed = c.attribute("seed");
  // The generators have a float, Dropout an integer.
  if (seed != nullptr && seed->type == kInt) return static_cast<std::uint64_t>(seed->i);
  if (seed != nullptr) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(c.float_attr("seed", 0.0)));
  }
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char ch : c.name()) {
    hash = (hash ^ static_cast<unsigned char>(ch)) * 0x100000001b3u;
  }
  return hash;
}

DType dtype_attr(NodeContext& c, std::string_view name, DType fallback) {
  return c.has_attr(name) ? dtype_of_onnx(c.int_attr(name, 0)) : fallback;
}

}  // namespace treadle::onnx
