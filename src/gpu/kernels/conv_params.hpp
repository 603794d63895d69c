// Parameters of convolutions and matrix products.
#pragma once

#include "gpu/dialect/types.hpp"

namespace tk {

// The values of treadle::kernels::Act.
enum {
  kActNone,
  kActRelu,
  kActClip,
  kActLeakyRelu,
  kActPRelu,
  kActHardSigmoid,
  kActHardSwish,
  kActSigmoid,
  kActSilu,
  kActTanh,
  kActGelu,
  kActElu
};
enum { kGemvColumns = 32 };  // a group
enum { kNoResidual, kResidualBeforeAct, kResidualAfterAct };
enum { kDirectPixelsAThread = 4 };
// depthwise_ring
enum {
  kRingPixels = 7,  // columns a thread: as many as divide the widths of images that nets take
  kRingBytes = 32,  // of a column that a warp takes
  kRingAcross = 4,  // threads along the columns of a warp
  kRingParts = 4    // warps of a group, at most
};

// What happens to a result before it is stored: kernels/epilogue.hpp. None and Relu come as clips
// with a = -inf or 0 and b = inf. Bias and slope are floats, one a column.
struct EpilogueParams {
  tk_i32 act, bias, residual;
  tk_i32 vectors;  // y and the residual may be accessed by aligned vectors
  float a, b;
  tk_i32 y_stride, residual_stride;  // of rows
};
static_assert(sizeof(EpilogueParams) == 32, "no padding");

// y[n, oh, ow, :] = sum over taps (r, s) of x[n, oh sH + r dH - pT, ow sW + s dW - pL, :] w[r, s].
struct WindowParams {
  tk_i32 H, W;
  tk_i32 kH, kW, sH, sW, dH, dW, pT, pL;
  tk_i32 pixel;  // elements from one pixel of x to the next
};
static_assert(sizeof(WindowParams) == 44, "no padding");

struct DepthwiseParams {
  EpilogueParams epilogue;
  WindowParams window;
  tk_divisor channels;     // of the output, in vectors
  tk_divisor columns;      // threads that share a row of the output
  tk_divisor rows;         // threads that share a column of the output
  tk_divisor multiplier;   // output channels an input channel
  tk_i32 threads;          // with work
  tk_i32 oH, oW, weights;  // channels of the output
  tk_i32 down;             // rows a thread
};
static_assert(sizeof(DepthwiseParams) == 32 + 44 + 48 + 20, "no padding");

// Groups of warps, all at the same rows and columns of other images: those of warp i are `images` i
// and on. Their rows are one sequence, in which an image takes `period` rows: window.pT rows of
// zeros, its own, and rows of zeros that may be those before the next one. Row u of the result sees
// rows u to u + kH - 1 of it and belongs to an image if u % period < oH.
struct DepthwiseRingParams {
  EpilogueParams epilogue;
  WindowParams window;
  tk_divisor slabs;  // of kRingBytes of channels
  tk_divisor period;
  tk_i32 oH, oW, channels;
  tk_i32 all_images, images;  // images: of a warp
  tk_i32 down;                // rows of the result a group
  tk_i32 x_row, y_row;        // elements from one row to the next
  tk_i32 x_step;              // those that a round of copies takes
};
static_assert(sizeof(DepthwiseRingParams) == 32 + 44 + 24 + 36, "no padding");

// Weights [kD, kH, kW, C, O]: C channels of the group's input, O of all groups' output.
struct ConvDirectParams {
  EpilogueParams epilogue;
  WindowParams window;
  tk_divisor channels;  // O
  tk_divisor columns;   // threads that share a row of the output
  tk_divisor rows;      // oH
  tk_divisor slices;    // oD
  tk_divisor group;     // output channels a group
  tk_i32 threads;       // with work
  tk_i32 oW, C, D, kD, sD, dD, pD;
};
static_assert(sizeof(ConvDirectParams) == 32 + 44 + 60 + 32, "no padding");

// A convolution as a matrix product: M pixels of y, N output channels and K = kH kW C of a group.
// Weights [groups, padded_k, padded_n], zero where padded. With `folded`, C counts kW C channels of
// a row of the window, and H, W, sW, pL, dW count elements (see conv_scalars).
struct ConvGemmParams {
  EpilogueParams epilogue;
  WindowParams window;
  tk_divisor tiles;          // of N
  tk_divisor splits;         // of K
  tk_divisor columns, rows;  // oW, oH
  tk_divisor channels;       // C
  tk_divisor taps;           // kW
  tk_i32 M, N, K, C, padded_k, padded_n;
  tk_i32 split_k;  // positions of K that a split takes: a multiple of the tile's
  tk_i32 outputs;  // channels of all groups
  tk_i32 folded;
};
static_assert(sizeof(ConvGemmParams) == 32 + 44 + 72 + 36, "no padding");

// y[b0, b1, m, :] = sum over k of a[b0, b1, m, k] b[b0, b1, k, :]. A stride of 0 broadcasts.
struct GemmParams {
  tk_i64 a_batch[2], b_batch[2], y_batch[2], residual_batch[2];
  EpilogueParams epilogue;
  tk_divisor tiles;    // of N
  tk_divisor rows;     // tiles of M
  tk_divisor batches;  // b1
  tk_i32 M, N, K;
  tk_i32 a_m, a_k, b_k, b_n;    // strides
  tk_i32 a_along_k, b_along_n;  // where neighbouring threads take neighbouring elements
  tk_i32 a_vectors, b_vectors;  // they may be read by aligned vectors of four
  tk_i32 splits, split_k;       // of K; split_k is a multiple of the tile's K
  tk_i32 batch;                 // b0 b1 in all
  tk_i32 unused;
};
static_assert(sizeof(GemmParams) == 64 + 32 + 36 + 60, "no padding");

// Adds the partial results [splits, rows, columns] of a product whose K was split.
struct SplitSumParams {
  tk_i64 step;  // from one split to the next
  EpilogueParams epilogue;
  tk_divisor columns;  // N, in fours
  tk_i32 threads;      // with work
  tk_i32 N, splits, unused[2];
};
static_assert(sizeof(SplitSumParams) == 8 + 32 + 12 + 20, "no padding");

}  // namespace tk
