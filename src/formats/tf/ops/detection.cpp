// Boxes: NonMaxSuppression and CropAndResize.
#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/crop_and_resize.hpp"
#include "ops/move.hpp"
#include "ops/non_max_suppression.hpp"
#include "ops/shape_of.hpp"

namespace treadle::tf {
namespace {

struct Selected {
  ValueId indices;  // i32 [count]
  Dim count;
};

// The most boxes to keep, where it is known. Outputs that are padded to it are made in full.
void check_most(NodeContext& c) {
  constexpr std::int64_t kMostPadded = 1 << 24;
  const Fact& most = c.fact(2);
  if (!most.value) return;
  check(most.value->elements() == 1, ErrorKind::Shape,
        "input 2 'max_output_size' is {}, expected one number", most.str());
  const std::int64_t n = most.value->to_i64()[0];
  check(n >= 0, ErrorKind::Shape, "input 2 'max_output_size' is {}, expected 0 or more", n);
  check(n <= kMostPadded || !c.bool_attr("pad_to_max_output_size", false), ErrorKind::Memory,
        "input 2 'max_output_size' is {}, to which the outputs are padded; expected {} or less", n,
        kMostPadded);
}

// Inputs boxes [n, 4], scores [n], the most boxes to keep, IoU threshold, score threshold.
Selected select_boxes(NodeContext& c) {
  Graph& g = c.graph();
  check_most(c);
  check(c.fact(0).rank() == 2 && c.fact(1).rank() == 1, ErrorKind::Shape,
        "boxes have shape {} and scores {}, expected [n, 4] and [n]", str(c.fact(0).shape),
        str(c.fact(1).shape));
  const ValueId boxes = ops::unsqueeze(g, c.fresh_name(), c.in(0), {0});
  const ValueId scores = ops::unsqueeze(g, c.fresh_name(), c.in(1), {0, 1});
  std::vector<ValueId> inputs{boxes, scores, ops::cast(g, c.fresh_name(), c.in(2), DType::I64)};
  if (c.node().op == "NonMaxSuppression") {
    inputs.push_back(
        c.constant(Tensor::scalar<float>(static_cast<float>(c.float_attr("iou_threshold", 0.5)))));
  } else {
    for (std::size_t i = 3; i < std::min<std::size_t>(c.inputs(), 5); ++i)
      inputs.push_back(c.in(i));
  }
  const Dim count = g.fresh_symbol(c.name());
  const ValueId all = c.add1(make_op<ops::NonMaxSuppression>(false, count), std::move(inputs));
  const ValueId column = c.add1(make_op<ops::Slice>(1, Dim(2), Dim(1)), {all});
  const ValueId flat = ops::squeeze(g, c.fresh_name(), column, {1});
  return {ops::cast(g, c.fresh_name(), flat, DType::I32), count};
}

ValueId count_of(NodeContext& c, ValueId v) {
  const ValueId n = c.add1(make_op<ops::SizeOf>(), {v});
  return ops::cast(c.graph(), c.fresh_name(), n, DType::I32);
}

// Zeros at the end up to the most boxes to keep, when the attribute asks for them.
ValueId padded(NodeContext& c, ValueId v, const Dim& count) {
  if (!c.bool_attr("pad_to_max_output_size", false)) return v;
  const auto most = c.symbolic(2);
  ops::Pad pad;
  pad.before = {Dim(0)};
  pad.after = {most.at(0) - count};
  return c.add1(make_op<ops::Pad>(std::move(pad)), {v});
}

}  // namespace

std::vector<ValueId> import_non_max_suppression(NodeContext& c) {
  return {select_boxes(c).indices};
}

std::vector<ValueId> import_non_max_suppression_v4(NodeContext& c) {
  const Selected s = select_boxes(c);
  const ValueId count = count_of(c, s.indices);
  return {padded(c, s.indices, s.count), count};
}

// With a Gaussian that lowers the scores of boxes that overlap, unless its sigma is 0.
std::vector<ValueId> import_non_max_suppression_v5(NodeContext& c) {
  const Fact& sigma = c.fact(5);
  if (sigma.value && sigma.value->elements() == 1 && sigma.value->to_f64()[0] == 0) {
    const Selected s = select_boxes(c);
    const ValueId count = count_of(c, s.indices);
    const ValueId scores = c.add1(make_op<ops::Gather>(0), {c.in(1), s.indices});
    return {padded(c, s.indices, s.count), padded(c, scores, s.count), count};
  }
  check_most(c);
  const Dim count = c.graph().fresh_symbol(c.name());
  const auto all = c.graph().add(c.fresh_name(), make_op<ops::SoftNonMaxSuppression>(count),
                                 {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), c.in(5)});
  const ValueId indices = ops::cast(c.graph(), c.fresh_name(), all[0], DType::I32);
  return {padded(c, indices, count), padded(c, all[1], count), count_of(c, indices)};
}

std::vector<ValueId> import_crop_and_resize(NodeContext& c) {
  const auto size = c.symbolic(3);
  check(size.size() == 2, ErrorKind::Shape, "input 3 'crop_size' has {} elements, expected 2",
        size.size());
  const std::string method = c.string_attr("method", "bilinear");
  check(method == "bilinear" || method == "nearest", ErrorKind::Parse, "attribute 'method' is '{}'",
        method);
  ops::CropAndResize op;
  op.height = size[0];
  op.width = size[1];
  op.nearest = method == "nearest";
  op.extrapolation = c.float_attr("extrapolation_value", 0);
  const ValueId image = ops::cast(c.graph(), c.fresh_name(), c.in(0), DType::F32);
  return {c.add1(make_op<ops::CropAndResize>(op), {image, c.in(1), c.in(2)})};
}

}  // namespace treadle::tf
