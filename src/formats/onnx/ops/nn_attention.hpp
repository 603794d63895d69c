// Attention building blocks.
#pragma once

#include <cstdint>
#include <utility>

#include "formats/onnx/importer.hpp"

namespace treadle::onnx::nn {

// [batch, sequence, heads·size] as [batch, heads, sequence, size], and back.
ValueId split_heads(NodeContext& ctx, ValueId x, std::int64_t heads);
ValueId merge_heads(NodeContext& ctx, ValueId x);

// 0, 1, …, count−1 as i64 [count].
ValueId counting(NodeContext& ctx, const Dim& count);
// An i64 scalar.
ValueId dim_value(NodeContext& ctx, const Dim& value);
// 0 where `keep` (Bool) is true, else `otherwise`, in `dtype`.
ValueId additive(NodeContext& ctx, ValueId keep, double otherwise, DType dtype);
// `mask` with leading axes of size 1 up to rank 4.
ValueId to_rank4(NodeContext& ctx, ValueId mask);
// a + b where both are present, else the one that is.
ValueId add_masks(NodeContext& ctx, ValueId a, ValueId b);

struct AttentionParams {
  double scale = 1;
  double softcap = 0;
  std::int64_t left = -1, right = -1;
  Dim offset = 0;
};
// 1/sqrt(head size) of q [B, H, S, D] unless the attribute `scale` gives another one. Where the
// head size is known only at run time, q is scaled and 1 returned.
double attention_scale(NodeContext& ctx, ValueId& q);
// The core operator; `mask` may be omitted.
ValueId attend(NodeContext& ctx, const AttentionParams& p, ValueId q, ValueId k, ValueId v,
               ValueId mask);
// Keys that each query may read by `p.left` and `p.right`, as Bool broadcastable to [B, 1, S, T];
// `offset` (i64, broadcastable to it) counts the keys before the first query.
ValueId window_mask(NodeContext& ctx, const AttentionParams& p, ValueId offset, const Dim& queries,
                    const Dim& keys);

// x [B, H, S, D] with its first `size` elements of each head rotated by cos and sin
// [B or 1, 1, S, size/2]; the pairs are (i, i + size/2), or with `interleaved` (2i, 2i + 1).
ValueId rotate(NodeContext& ctx, ValueId x, ValueId cos, ValueId sin, bool interleaved,
               const Dim& size);

}  // namespace treadle::onnx::nn
