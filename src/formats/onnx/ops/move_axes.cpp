// Transpose, Squeeze, Unsqueeze, DepthToSpace, SpaceToDepth.
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/dynamic_axis.hpp"

namespace treadle::onnx {
namespace {

// The axes, from the attribute before opset 13 and from input 1 since.
std::optional<std::vector<std::int64_t>> axes_of(NodeContext& c) {
  if (c.opset() < 13) return c.ints_attr("axes");
  if (!c.has(1)) return std::nullopt;
  return c.constant_ints(1);
}

// Whether only the run knows the axes.
bool computed_axes(NodeContext& c) {
  return c.opset() >= 13 && c.has(1) && c.fact(1).value == nullptr;
}

Dim divided(const Dim& size, std::int64_t by, std::string_view what) {
  if (const auto exact = exact_div(size, by)) return *exact;
  check(!size.is_const(), ErrorKind::Shape, "{} {} is no multiple of {}", what, size.str(), by);
  return floor_div(size, by);
}

std::int64_t block_size(NodeContext& c) {
  check(c.fact(0).rank() == 4, ErrorKind::Shape, "input 0 has rank {}, expected 4",
        c.fact(0).rank());
  const std::int64_t b = c.int_attr("blocksize", {});
  check(b > 0 && b < (1 << 20), ErrorKind::Shape, "attribute 'blocksize' is {}", b);
  return b;
}

// Whether a block's place is the outer part of the channel number (DCR), not the inner one (CRD).
bool depth_first(NodeContext& c) {
  const std::string mode = c.string_attr("mode", "DCR");
  check(mode == "DCR" || mode == "CRD", ErrorKind::Parse,
        "attribute 'mode' is '{}', expected DCR or CRD", mode);
  return mode == "DCR";
}

}  // namespace

std::vector<ValueId> import_transpose(NodeContext& c) {
  const int rank = c.fact(0).rank();
  Perm perm;
  if (const auto given = c.ints_attr("perm")) {
    for (const std::int64_t p : *given) perm.push_back(static_cast<int>(ops::normal_axis(p, rank)));
  } else {
    for (int i = rank; i-- > 0;) perm.push_back(i);
  }
  return {c.add1(make_op<ops::Transpose>(std::move(perm)), {c.in(0)})};
}

std::vector<ValueId> import_squeeze(NodeContext& c) {
  if (computed_axes(c)) {
    const std::int64_t rank = c.fact(0).rank() - element_count(c, 1, "axes");
    check(rank >= 0, ErrorKind::Shape, "input 1 'axes' has more values than the rank {}",
          c.fact(0).rank());
    SymShape sizes = fresh_sizes(c, "squeezed", static_cast<std::size_t>(rank));
    return {c.add1(make_op<ops::DynamicSqueeze>(std::move(sizes)), {c.in(0), c.in(1)})};
  }
  const Fact& x = c.fact(0);
  std::vector<std::int64_t> axes;
  if (const auto given = axes_of(c)) {
    axes = ops::normal_axes(*given, x.rank());
  } else {
    for (int i = 0; i < x.rank(); ++i) {
      if (x.shape[static_cast<std::size_t>(i)].is(1)) axes.push_back(i);
    }
  }
  if (axes.empty()) return {c.in(0)};
  return {c.add1(make_op<ops::Squeeze>(std::move(axes)), {c.in(0)})};
}

std::vector<ValueId> import_unsqueeze(NodeContext& c) {
  const bool computed = computed_axes(c);
  auto axes = axes_of(c);
  check(computed || axes.has_value(), ErrorKind::Parse, "the axes are required");
  if (axes && axes->empty()) return {c.in(0)};
  const std::int64_t count =
      computed ? element_count(c, 1, "axes") : static_cast<std::int64_t>(axes->size());
  const std::int64_t rank = count + c.fact(0).rank();
  check(rank <= kMaxRank, ErrorKind::Shape, "the output's rank {} is above the limit of {}", rank,
        kMaxRank);
  if (computed) {
    SymShape sizes = fresh_sizes(c, "unsqueezed", static_cast<std::size_t>(rank));
    return {c.add1(make_op<ops::DynamicUnsqueeze>(std::move(sizes)), {c.in(0), c.in(1)})};
  }
  axes = ops::normal_axes(*axes, static_cast<int>(rank));
  return {c.add1(make_op<ops::Unsqueeze>(*std::move(axes)), {c.in(0)})};
}

std::vector<ValueId> import_depth_to_space(NodeContext& c) {
  const std::int64_t b = block_size(c);
  const SymShape s = c.fact(0).shape;
  const Dim depth = divided(s[1], b * b, "the number of channels");
  const bool dcr = depth_first(c);
  ValueId x = reshape(
      c, c.in(0),
      dcr ? SymShape{s[0], b, b, depth, s[2], s[3]} : SymShape{s[0], depth, b, b, s[2], s[3]});
  x = c.add1(make_op<ops::Transpose>(dcr ? Perm{0, 3, 4, 1, 5, 2} : Perm{0, 1, 4, 2, 5, 3}), {x});
  return {reshape(c, x, {s[0], depth, s[2] * b, s[3] * b})};
}

std::vector<ValueId> import_space_to_depth(NodeContext& c) {
  const std::int64_t b = block_size(c);
  const SymShape s = c.fact(0).shape;
  const Dim h = divided(s[2], b, "the height");
  const Dim w = divided(s[3], b, "the width");
  ValueId x = reshape(c, c.in(0), {s[0], s[1], h, b, w, b});
  const bool dcr = depth_first(c);
  x = c.add1(make_op<ops::Transpose>(dcr ? Perm{0, 3, 5, 1, 2, 4} : Perm{0, 1, 3, 5, 2, 4}), {x});
  return {reshape(c, x, {s[0], s[1] * (b * b), h, w})};
}

}  // namespace treadle::onnx
