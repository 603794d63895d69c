// com.microsoft EmbedLayerNormalization.
#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "ops/move.hpp"
#include "ops/norm.hpp"

namespace treadle::onnx {

// Inputs input_ids [B, S], segment_ids, word, position and segment embeddings, gamma, beta, mask
// [B, S], position_ids. Outputs: layer norm of the sum of embeddings; the number of 1s of each mask
// row (0 without a mask); the sum itself.
std::vector<ValueId> import_embed_layer_norm(NodeContext& ctx) {
  Graph& g = ctx.graph();
  const SymShape ids = ctx.fact(0).shape;
  check(ids.size() == 2, ErrorKind::Shape, "input 0 'input_ids' has shape {}, expected rank 2",
        str(ids));
  const auto look_up = [&](ValueId table, ValueId rows) {
    return ctx.add1(make_op<ops::Gather>(0), {table, rows});
  };
  ValueId sum = look_up(ctx.in(2), ctx.in(0));
  const ValueId positions = nn::optional_input(ctx, 8);
  sum = nn::binary(ctx, ops::BinaryFn::Add, sum,
                   positions.present() ? look_up(ctx.in(3), positions)
                                       : nn::slice(ctx, ctx.in(3), 0, 0, ids[1]));
  const ValueId segments = nn::optional_input(ctx, 1);
  if (segments.present()) {
    sum = nn::binary(ctx, ops::BinaryFn::Add, sum, look_up(ctx.in(4), segments));
  }
  ValueId y = ctx.add1(
      make_op<ops::Norm>(std::vector<std::int64_t>{2}, ctx.float_attr("epsilon", 1e-12), true),
      {sum});
  y = nn::binary(ctx, ops::BinaryFn::Mul, y, ctx.in(5));
  y = nn::binary(ctx, ops::BinaryFn::Add, y, ctx.in(6));
  ValueId mask = nn::optional_input(ctx, 7);
  if (!mask.present()) {
    // Zeros of the ids' shape, as int32.
    const ValueId wide = nn::cast(ctx, ctx.in(0), DType::I32);
    mask = nn::binary(ctx, ops::BinaryFn::Sub, wide, wide);
  }
  const ValueId count = ops::reduce(g, ctx.fresh_name(), ops::ReduceFn::Sum,
                                    nn::cast(ctx, mask, DType::I32), {1}, false);
  return {y, count, sum};
}

}  // namespace treadle::onnx
