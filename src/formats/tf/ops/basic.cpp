// Constants, shapes and casts.
#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/cast.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/random.hpp"
#include "ops/range.hpp"
#include "ops/shape_of.hpp"

namespace treadle::tf {

namespace {

// x broadcast to the shape that input i holds.
std::vector<ValueId> broadcast_to(NodeContext& c, ValueId x, std::size_t i) {
  const Fact& f = c.fact(i);
  check(f.rank() == 1, ErrorKind::Shape, "input {} has shape {}, expected a vector of sizes", i,
        str(f.shape));
  const auto dims = f.symbolic();
  check_sizes(dims || f.shape[0].is_const(), f.shape, "the size of input {}, {}, must be known", i,
              f.str());
  const std::int64_t rank = dims ? static_cast<std::int64_t>(dims->size()) : f.shape[0].value();
  check(rank >= c.graph().fact(x).rank(), ErrorKind::Unsupported,
        "input {} is {}: the rank of the result is less than that of {}", i, f.str(),
        c.graph().fact(x).str());
  if (!dims) {
    SymShape sizes;
    for (std::int64_t k = 0; k < rank; ++k) sizes.push_back(c.graph().fresh_symbol(c.name()));
    return {c.add1(make_op<ops::DynamicExpand>(std::move(sizes)), {x, c.in(i)})};
  }
  const SymShape from = c.graph().fact(x).shape;
  SymShape padded(dims->size() - from.size(), Dim(1));
  padded.insert(padded.end(), from.begin(), from.end());
  x = ops::reshape(c.graph(), c.fresh_name(), x, std::move(padded));
  return {c.add1(make_op<ops::Expand>(SymShape(dims->begin(), dims->end())), {x})};
}

}  // namespace

std::vector<ValueId> import_const(NodeContext& c) {
  return {c.constant(c.tensor_attr("value"))};
}

std::vector<ValueId> import_identity(NodeContext& c) {
  return {c.in(0)};
}

std::vector<ValueId> import_cast(NodeContext& c) {
  return {ops::cast(c.graph(), c.fresh_name(), c.in(0), c.type_attr("DstT", DType::F32))};
}

std::vector<ValueId> import_shape(NodeContext& c) {
  const ValueId shape = c.add1(make_op<ops::ShapeOf>(), {c.in(0)});
  return {ops::cast(c.graph(), c.fresh_name(), shape, c.type_attr("out_type", DType::I32))};
}

std::vector<ValueId> import_rank(NodeContext& c) {
  return {c.constant(Tensor::scalar<std::int32_t>(c.fact(0).rank()))};
}

std::vector<ValueId> import_size(NodeContext& c) {
  const ValueId size = c.add1(make_op<ops::SizeOf>(), {c.in(0)});
  return {ops::cast(c.graph(), c.fresh_name(), size, c.type_attr("out_type", DType::I32))};
}

std::vector<ValueId> import_fill(NodeContext& c) {
  check(c.fact(1).rank() == 0, ErrorKind::Shape, "input 1 'value' has shape {}, expected a scalar",
        str(c.fact(1).shape));
  return broadcast_to(c, c.in(1), 0);
}

std::vector<ValueId> import_broadcast_to(NodeContext& c) {
  return broadcast_to(c, c.in(0), 1);
}

namespace {

std::vector<ValueId> filled_like(NodeContext& c, double value) {
  const ValueId one = ops::scalar_like(c.graph(), c.fresh_name() + "/value", value, c.in(0));
  return {c.add1(make_op<ops::Expand>(c.fact(0).shape), {one})};
}

}  // namespace

std::vector<ValueId> import_zeros_like(NodeContext& c) {
  return filled_like(c, 0);
}
std::vector<ValueId> import_ones_like(NodeContext& c) {
  return filled_like(c, 1);
}

std::vector<ValueId> import_range(NodeContext& c) {
  auto length = ops::range_length(c.fact(0), c.fact(1), c.fact(2));
  const bool fresh = !length;
  if (fresh) length = c.graph().fresh_symbol("range");
  return {c.add1(make_op<ops::Range>(*length, fresh), {c.in(0), c.in(1), c.in(2)})};
}

std::vector<ValueId> import_identity_n(NodeContext& c) {
  return c.given();
}

std::vector<ValueId> import_shape_n(NodeContext& c) {
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    const ValueId shape = c.add1(make_op<ops::ShapeOf>(), {c.in(i)});
    out.push_back(ops::cast(c.graph(), c.fresh_name(), shape, c.type_attr("out_type", DType::I32)));
  }
  return out;
}

std::vector<ValueId> import_action(NodeContext&) {
  return {};
}

namespace {

ValueId random(NodeContext& c, ops::RandomFn fn, DType dtype, double a, double b) {
  const auto dims = c.symbolic(0);
  // Seeds of 0 ask for one that differs from run to run; here the node's name stands for it.
  const auto seed = static_cast<std::uint64_t>(c.int_attr("seed", 0)) * 0x9e3779b97f4a7c15u +
                    static_cast<std::uint64_t>(c.int_attr("seed2", 0)) +
                    std::hash<std::string>{}(c.name());
  return c.add1(make_op<ops::Random>(fn, dtype, SymShape(dims.begin(), dims.end()), seed, a, b),
                {});
}

}  // namespace

std::vector<ValueId> import_random_uniform(NodeContext& c) {
  return {random(c, ops::RandomFn::Uniform, c.type_attr("dtype", DType::F32), 0, 1)};
}

std::vector<ValueId> import_random_normal(NodeContext& c) {
  return {random(c, ops::RandomFn::Normal, c.type_attr("dtype", DType::F32), 0, 1)};
}

// floor(uniform · (high − low)) + low.
std::vector<ValueId> import_random_uniform_int(NodeContext& c) {
  const auto low = c.constant_ints(1), high = c.constant_ints(2);
  check(low.size() == 1 && high.size() == 1 && low[0] < high[0], ErrorKind::Shape,
        "inputs 1 and 2 are no range of integers");
  const ValueId u = random(c, ops::RandomFn::Uniform, DType::F64, static_cast<double>(low[0]),
                           static_cast<double>(high[0]));
  const ValueId whole = ops::unary(c.graph(), c.fresh_name(), ops::UnaryFn::Floor, u);
  return {ops::cast(c.graph(), c.fresh_name(), whole, c.fact(1).dtype)};
}

}  // namespace treadle::tf
