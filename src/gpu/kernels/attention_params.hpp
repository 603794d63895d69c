// Parameters of the attention kernels. A head is one of q's; heads count over the batch too.
#pragma once

#include "gpu/dialect/types.hpp"

namespace tk {

// Query i reads the keys from i + low to i + high, as far as there are such.
struct AttentionParams {
  tk_i64 mask_batch, mask_head;  // strides of the mask, 0 where it is repeated
  tk_divisor heads;              // a batch entry
  tk_divisor group;              // heads that share keys and values
  tk_divisor tiles;              // of queries; the queries themselves for attention_few
  tk_divisor blocks;             // of columns of v
  tk_i32 queries, keys, depth, width;
  tk_i32 low, high;
  tk_i32 masked, mask_row, mask_key;  // strides again
  // They may be read, and y written, by aligned vectors of four.
  tk_i32 vectors, value_vectors, mask_vectors;
  // attention_few: how the keys of a query are shared out, 2^columns_log threads a row of v, and
  // the rows of y in all.
  tk_i32 splits, split_keys, columns_log, rows;
  float scale, softcap;  // 0: none
};
static_assert(sizeof(AttentionParams) == 16 + 4 * 12 + 18 * 4, "no padding");

}  // namespace tk
