// Convolution of one, two or three dimensions without tiles, for what the tiled kernel does not
// take: many small groups, large windows, volumes.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/conv_epilogue.hpp"

namespace tk {

// One output channel of kDirectPixelsAThread neighbouring pixels of a row a thread; neighbouring
// threads on neighbouring channels.
template <class T>
TK_FN void conv_direct(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                       TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                       TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_PARAM ConvDirectParams& p,
                       TK_SHARED tk_no_shared&) {
  int channel = int(c.bid.x * c.bdim.x + c.tid.x);
  if (channel >= p.threads) return;
  int column = tk_divmod(channel, p.channels);
  int row = tk_divmod(column, p.columns);
  int slice = tk_divmod(row, p.rows);
  const int image = tk_divmod(slice, p.slices);
  column *= kDirectPixelsAThread;
  const int outputs = int(p.channels.divisor);
  const int source = tk_div(channel, p.group) * p.C;
  const bool vectors = p.C % 4 == 0 && p.window.pixel % 4 == 0;
  const int front = slice * p.sD - p.pD, top = row * p.window.sH - p.window.pT;
  const int left = column * p.window.sW - p.window.pL;
  tk_results<kDirectPixelsAThread, 1, 1> sum;
  tk_clear(sum);
  TK_GLOBAL const T* weight = w + channel;
  const tk_i64 tap = tk_i64(p.C) * outputs;
  for (int d = 0; d < p.kD; ++d) {
    const int z = front + d * p.dD;
    for (int r = 0; r < p.window.kH; ++r) {
      const int h = top + r * p.window.dH;
      if (z < 0 || z >= p.D || h < 0 || h >= p.window.H) {
        weight += tap * p.window.kW;
        continue;
      }
      const tk_i64 line = ((tk_i64(image) * p.D + z) * p.window.H + h) * p.window.W;
      for (int s = 0; s < p.window.kW; ++s) {
        const int across = left + s * p.window.dW;
        for (int k = 0; k < p.C; k += 4) {
          float q[4];
          TK_UNROLL for (int j = 0; j < 4; ++j) {
            q[j] = k + j < p.C ? tk_load(weight + tk_i64(k + j) * outputs) : 0.0f;
          }
          TK_UNROLL for (int o = 0; o < kDirectPixelsAThread; ++o) {
            const int at = across + o * p.window.sW;
            if (at >= 0 && at < p.window.W) {
              tk_vec<4> in;
              tk_load_some(x + ((line + at) * p.window.pixel + source + k), p.C - k, vectors, in);
              TK_UNROLL for (int j = 0; j < 4; ++j) {
                if (k + j < p.C) sum.v[o][0] = tk_fma(in.v[j], q[j], sum.v[o][0]);
              }
            }
          }
        }
        weight += tap;
      }
    }
  }
  tk_place at;
  at.base = ((tk_i64(image) * int(p.slices.divisor) + slice) * int(p.rows.divisor) + row) * p.oW;
  at.row = column;
  at.row_gap = 0;
  at.height = p.oW;
  at.column = channel;
  at.column_gap = 0;
  at.width = outputs;
  tk_finish_all<kDirectPixelsAThread>(p.epilogue, at, bias, slope, residual, y, sum);
}

}  // namespace tk
