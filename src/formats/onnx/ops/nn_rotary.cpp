// Rotary position embedding of ai.onnx and com.microsoft.
#include "base/error.hpp"
#include "formats/onnx/ops/nn_attention.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/options.hpp"
#include "ops/move.hpp"

namespace treadle::onnx {

namespace {

// What is taken of a cache.
void check_table(NodeContext& ctx, ValueId table, std::string_view name) {
  const SymShape& shape = ctx.graph().fact(table).shape;
  check(shape.size() == 3, ErrorKind::Shape,
        "the {} of the positions has shape {}, expected [batch, sequence, size / 2]", name,
        str(shape));
}

// x, [B, S, hidden] or [B, H, S, D], rotated. `cos` and `sin`: [B or 1, S, size/2].
ValueId rotate_any(NodeContext& ctx, ValueId x, ValueId cos, ValueId sin, std::int64_t heads) {
  const int rank = ctx.graph().fact(x).rank();
  check(rank == 3 || rank == 4, ErrorKind::Shape, "input 0 has shape {}, expected rank 3 or 4",
        str(ctx.graph().fact(x).shape));
  check_table(ctx, cos, "cos");
  check_table(ctx, sin, "sin");
  const Dim size = ctx.graph().fact(cos).shape.at(2) * 2;
  if (rank == 3) x = nn::split_heads(ctx, x, heads);
  const ValueId y = nn::rotate(ctx, x, nn::unsqueeze(ctx, cos, {1}), nn::unsqueeze(ctx, sin, {1}),
                               ctx.int_attr("interleaved", 0) != 0, size);
  return rank == 3 ? nn::merge_heads(ctx, y) : y;
}

}  // namespace

std::vector<ValueId> import_rotary_embedding(NodeContext& ctx) {
  ValueId cos = ctx.in(1), sin = ctx.in(2);
  if (const ValueId positions = nn::optional_input(ctx, 3); positions.present()) {
    cos = ctx.add1(make_op<ops::Gather>(0), {cos, positions});
    sin = ctx.add1(make_op<ops::Gather>(0), {sin, positions});
  }
  const std::int64_t heads = ctx.fact(0).rank() == 3 ? ctx.int_attr("num_heads", std::nullopt) : 0;
  return {rotate_any(ctx, ctx.in(0), cos, sin, heads)};
}

// com.microsoft: x, position_ids ([B, S], or [1], the first position), cos_cache, sin_cache.
std::vector<ValueId> import_ms_rotary_embedding(NodeContext& ctx) {
  Graph& g = ctx.graph();
  const SymShape x = ctx.fact(0).shape;
  check(x.size() == 3 || x.size() == 4, ErrorKind::Shape,
        "input 0 has shape {}, expected rank 3 or 4", str(x));
  ValueId positions = nn::cast(ctx, ctx.in(1), DType::I64);
  if (g.fact(positions).rank() == 1) {
    positions = nn::binary(ctx, ops::BinaryFn::Add, nn::counting(ctx, x[x.size() - 2]), positions);
    positions = nn::unsqueeze(ctx, positions, {0});
  }
  const ValueId cos = ctx.add1(make_op<ops::Gather>(0), {ctx.in(2), positions});
  const ValueId sin = ctx.add1(make_op<ops::Gather>(0), {ctx.in(3), positions});
  check_table(ctx, cos, "cos");
  std::int64_t heads = ctx.int_attr("num_heads", 0);
  if (heads == 0 && x.size() == 3) {
    if (!x[2].is_const() || !g.fact(cos).shape.at(2).is_const())
      throw formats::NeedsSizes(
          fmt::format("how many heads of size {} input 0 of shape {} has must be known",
                      (g.fact(cos).shape.at(2) * 2).str(), str(x)));
    heads = nn::divide(x[2], (g.fact(cos).shape.at(2) * 2).value(), "hidden size").value();
  }
  return {rotate_any(ctx, ctx.in(0), cos, sin, heads)};
}

}  // namespace treadle::onnx
