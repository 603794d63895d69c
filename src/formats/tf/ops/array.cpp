// TensorArrays (TensorFlow 1) and TensorLists (2), as arrays.hpp describes them.
#include "base/error.hpp"
#include "formats/tf/arrays.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/move.hpp"
#include "ops/range.hpp"
#include "ops/scatter_nd.hpp"
#include "ops/shape_of.hpp"

namespace treadle::tf {
namespace {

ValueId scalar_i64(NodeContext& c, ValueId v) {
  const Fact& f = c.graph().fact(v);
  check(f.kind == Fact::Kind::Tensor && is_integer(f.dtype) && f.rank() == 0, ErrorKind::Type,
        "a length or index is {}, expected an integer scalar", f.str());
  return ops::cast(c.graph(), c.fresh_name(), v, DType::I64);
}

// The shape of elements, when it is known in full.
std::optional<SymShape> full_shape(const std::optional<std::vector<std::int64_t>>& sizes) {
  if (!sizes) return std::nullopt;
  SymShape out;
  for (std::int64_t s : *sizes) {
    if (s < 0) return std::nullopt;
    out.emplace_back(s);
  }
  return out;
}

// The same of an input: −1 alone stands for any rank.
std::optional<SymShape> element_shape(NodeContext& c, std::size_t i) {
  const Fact& f = c.fact(i);
  if (f.rank() == 0 || !f.value) return std::nullopt;
  return full_shape(f.value->to_i64());
}

ValueId create(NodeContext& c, ValueId length, DType dtype,
               const std::optional<SymShape>& element) {
  length = scalar_i64(c, length);
  if (!element || dtype == DType::String) return length;
  return new_array(c.graph(), c.fresh_name(), length, dtype, *element);
}

// An array whose elements look like `element`, written or not.
ValueId written(NodeContext& c, ValueId array, DType dtype, const SymShape& element) {
  if (!is_unwritten(c.graph().fact(array))) return array;
  return new_array(c.graph(), c.fresh_name(), array, dtype, element);
}

ValueId require_written(NodeContext& c, ValueId array, const std::optional<SymShape>& element,
                        DType dtype) {
  if (!is_unwritten(c.graph().fact(array))) return array;
  check(element.has_value(), ErrorKind::Unsupported,
        "the array is read before anything is written to it, and the file does not say what its "
        "elements look like");
  return written(c, array, dtype, *element);
}

ValueId write(NodeContext& c, ValueId array, ValueId index, ValueId value) {
  const Fact f = c.graph().fact(value);
  array = written(c, array, f.dtype, f.shape);
  const ValueId at =
      ops::reshape(c.graph(), c.fresh_name(), scalar_i64(c, index), {Dim(1), Dim(1)});
  const ValueId row = ops::unsqueeze(c.graph(), c.fresh_name(), value, {0});
  return c.add1(make_op<ops::ScatterNd>(), {array, at, row});
}

ValueId read(NodeContext& c, ValueId array, ValueId index) {
  return c.add1(make_op<ops::Gather>(0), {array, scalar_i64(c, index)});
}

// Whether indices are 0 … size − 1.
bool is_all(const Graph& g, ValueId indices, const Dim& size) {
  const Fact& f = g.fact(indices);
  if (f.value) {
    const auto v = f.value->to_i64();
    for (std::size_t i = 0; i < v.size(); ++i)
      if (v[i] != static_cast<std::int64_t>(i)) return false;
    return size.is(static_cast<std::int64_t>(v.size()));
  }
  const Node& n = g.node(indices.node);
  const auto* range = n.op->as<ops::Range>();
  const auto is = [&](std::size_t i, std::int64_t want) {
    const auto v = g.fact(n.inputs[i]).symbolic();
    return v && v->size() == 1 && (*v)[0].is(want);
  };
  return range && range->length == size && is(0, 0) && is(2, 1);
}

ValueId gather(NodeContext& c, ValueId array, ValueId indices) {
  if (is_all(c.graph(), indices, c.graph().fact(array).shape[0])) return array;
  return c.add1(make_op<ops::Gather>(0), {array, indices});
}

ValueId scatter(NodeContext& c, ValueId array, ValueId indices, ValueId values) {
  const Fact f = c.graph().fact(values);
  check(f.rank() >= 1, ErrorKind::Shape, "the values are a scalar, expected one axis or more");
  const Fact& before = c.graph().fact(array);
  if (is_unwritten(before) && is_all(c.graph(), indices, f.shape[0])) {
    const auto length = before.symbolic();
    if (!length || (*length)[0] == f.shape[0]) return values;
  }
  array = written(c, array, f.dtype, SymShape(f.shape.begin() + 1, f.shape.end()));
  const ValueId at = ops::unsqueeze(c.graph(), c.fresh_name(), indices, {1});
  return c.add1(make_op<ops::ScatterNd>(), {array, at, values});
}

ValueId length(NodeContext& c, ValueId array) {
  if (is_unwritten(c.graph().fact(array)))
    return ops::cast(c.graph(), c.fresh_name(), array, DType::I32);
  const ValueId shape = c.add1(make_op<ops::ShapeOf>(), {array});
  const ValueId first = c.add1(make_op<ops::Slice>(0, Dim(0), Dim(1)), {shape});
  const ValueId one = ops::reshape(c.graph(), c.fresh_name(), first, {});
  return ops::cast(c.graph(), c.fresh_name(), one, DType::I32);
}

// The elements joined on their first axis, and the length of each.
std::vector<ValueId> join(NodeContext& c, ValueId array) {
  const SymShape s = c.graph().fact(array).shape;
  check(s.size() >= 2, ErrorKind::Shape,
        "elements of the array are scalars: they cannot be joined");
  SymShape joined{s[0] * s[1]};
  joined.insert(joined.end(), s.begin() + 2, s.end());
  const ValueId shape = c.add1(make_op<ops::ShapeOf>(), {array});
  const ValueId each = c.add1(make_op<ops::Slice>(0, Dim(1), Dim(1)), {shape});
  return {ops::reshape(c.graph(), c.fresh_name(), array, std::move(joined)),
          c.add1(make_op<ops::Expand>(SymShape{s[0]}), {each})};
}

}  // namespace

std::vector<ValueId> import_tensor_array(NodeContext& c) {
  const ValueId length = scalar_i64(c, c.in(0));
  return {length, create(c, length, c.type_attr("dtype", DType::F32),
                         full_shape(c.shape_attr("element_shape")))};
}

std::vector<ValueId> import_tensor_array_write(NodeContext& c) {
  return {write(c, c.in(3), c.in(1), c.in(2))};
}

std::vector<ValueId> import_tensor_array_read(NodeContext& c) {
  return {read(c, require_written(c, c.in(2), std::nullopt, DType::F32), c.in(1))};
}

std::vector<ValueId> import_tensor_array_gather(NodeContext& c) {
  const auto element = full_shape(c.shape_attr("element_shape"));
  return {
      gather(c, require_written(c, c.in(2), element, c.type_attr("dtype", DType::F32)), c.in(1))};
}

std::vector<ValueId> import_tensor_array_scatter(NodeContext& c) {
  return {scatter(c, c.in(3), c.in(1), c.in(2))};
}

std::vector<ValueId> import_tensor_array_size(NodeContext& c) {
  return {length(c, c.in(1))};
}

std::vector<ValueId> import_tensor_array_concat(NodeContext& c) {
  return join(c, require_written(c, c.in(1), std::nullopt, DType::F32));
}

std::vector<ValueId> import_tensor_array_split(NodeContext& c) {
  const auto lengths = c.constant_ints(2);
  const SymShape s = c.fact(1).shape;
  check(!s.empty() && !lengths.empty(), ErrorKind::Shape, "there is nothing to split");
  for (std::int64_t l : lengths)
    check(l == lengths[0], ErrorKind::Unsupported,
          "input 2 'lengths' has {} and {}: only equal lengths are supported", lengths[0], l);
  SymShape split{Dim(static_cast<std::int64_t>(lengths.size())), Dim(lengths[0])};
  split.insert(split.end(), s.begin() + 1, s.end());
  return {ops::reshape(c.graph(), c.fresh_name(), c.in(1), std::move(split))};
}

std::vector<ValueId> import_list_reserve(NodeContext& c) {
  return {create(c, c.in(1), c.type_attr("element_dtype", DType::F32), element_shape(c, 0))};
}

std::vector<ValueId> import_list_empty(NodeContext& c) {
  const ValueId none = c.constant(Tensor::scalar<std::int64_t>(0));
  return {create(c, none, c.type_attr("element_dtype", DType::F32), element_shape(c, 0))};
}

std::vector<ValueId> import_list_from_tensor(NodeContext& c) {
  check(c.fact(0).rank() >= 1, ErrorKind::Shape, "input 0 is a scalar, expected one axis or more");
  return {c.in(0)};
}

std::vector<ValueId> import_list_get(NodeContext& c) {
  const auto list =
      require_written(c, c.in(0), element_shape(c, 2), c.type_attr("element_dtype", DType::F32));
  return {read(c, list, c.in(1))};
}

std::vector<ValueId> import_list_set(NodeContext& c) {
  return {write(c, c.in(0), c.in(1), c.in(2))};
}

std::vector<ValueId> import_list_stack(NodeContext& c) {
  return {
      require_written(c, c.in(0), element_shape(c, 1), c.type_attr("element_dtype", DType::F32))};
}

std::vector<ValueId> import_list_gather(NodeContext& c) {
  const auto list =
      require_written(c, c.in(0), element_shape(c, 2), c.type_attr("element_dtype", DType::F32));
  return {gather(c, list, c.in(1))};
}

std::vector<ValueId> import_list_scatter(NodeContext& c) {
  check(c.node().op == "TensorListScatterV2", ErrorKind::Unsupported,
        "only TensorListScatterV2 is supported");
  const Fact& count = c.fact(3);
  check(count.value != nullptr, ErrorKind::Unsupported,
        "input 3 'num_elements' must be a constant, got {}", count.str());
  const std::int64_t n = c.constant_ints(3).at(0);
  const auto rows = c.fact(0).shape.empty() ? Dim(0) : c.fact(0).shape[0];
  ValueId length = c.in(3);
  if (n < 0) {
    check(rows.is_const(), ErrorKind::Unsupported, "input 0 has {} rows, expected a known number",
          rows.str());
    length = c.constant(Tensor::scalar<std::int64_t>(rows.value()));
  }
  return {scatter(c, scalar_i64(c, length), c.in(1), c.in(0))};
}

std::vector<ValueId> import_list_scatter_into(NodeContext& c) {
  return {scatter(c, c.in(0), c.in(2), c.in(1))};
}

std::vector<ValueId> import_list_length(NodeContext& c) {
  return {length(c, c.in(0))};
}

std::vector<ValueId> import_list_push(NodeContext& c) {
  const Fact f = c.fact(1);
  const ValueId list = written(c, c.in(0), f.dtype, f.shape);
  const ValueId row = ops::unsqueeze(c.graph(), c.fresh_name(), c.in(1), {0});
  return {c.add1(make_op<ops::Concat>(0), {list, row})};
}

std::vector<ValueId> import_list_concat(NodeContext& c) {
  return join(c, require_written(c, c.in(0), std::nullopt, DType::F32));
}

}  // namespace treadle::tf
