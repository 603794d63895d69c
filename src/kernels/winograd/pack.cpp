// Weights of Winograd convolution: G g G^T for each pair of channels, packed as 36 matrices.
#include <algorithm>
#include <cstdint>

#include "base/shape.hpp"
#include "kernels/conv/packed_weights.hpp"
#include "kernels/gemm/pack.hpp"
#include "kernels/winograd/kernel.hpp"

namespace treadle::kernels {
namespace {

constexpr int kMaxWidth = 64;

struct Lanes {
  double v[kMaxWidth];
};

// r = G g for `width` filters at once.
void transform(const Lanes& g0, const Lanes& g1, const Lanes& g2, int width, Lanes* r) {
  for (int j = 0; j < width; ++j) {
    const double a = g0.v[j], b = g1.v[j], c = g2.v[j];
    r[0].v[j] = a;
    r[1].v[j] = (a + b + c) * (1.0 / 3.0);
    r[2].v[j] = (b - a - c) * (1.0 / 3.0);
    r[3].v[j] = (4.0 * a + 2.0 * b + c) * (-4.0 / 15.0);
    r[4].v[j] = (a - 2.0 * b + 4.0 * c) * (1.0 / 15.0);
    r[5].v[j] = c;
  }
}

}  // namespace

void pack_winograd(PackedConvWeights& out, const ConvDesc& d, const float* weights,
                   const WeightStrides& s) {
  const DotKernels& kernels = *out.kernels;
  out.group_floats = packed_floats(kernels, d.Cin, d.Cout);
  const auto plane = static_cast<std::int64_t>(out.group_floats);
  const std::int64_t total = checked_add(checked_mul(plane, kWinogradPlanes), d.Cin);
  out.data = AlignedFloats(static_cast<std::size_t>(total));
  std::fill_n(out.data.data() + plane * kWinogradPlanes, d.Cin, 0.0f);
  for (std::int64_t column = 0; column < d.Cout;) {
    const int width = kernels.panel_width(d.Cout - column);
    const std::int64_t n = std::min<std::int64_t>(width, d.Cout - column);
    float* panel = out.data.data() + column * d.Cin;
    for (std::int64_t i = 0; i < d.Cin; ++i) {
      Lanes g[9] = {}, half[18], row[6];
      const float* w = weights + column * s.o + i * s.i;
      for (std::int64_t j = 0; j < n; ++j, w += s.o) {
        for (int t = 0; t < 9; ++t) g[t].v[j] = double{w[t / 3 * s.h + t % 3 * s.w]};
      }
      for (int x = 0; x < 3; ++x) {
        Lanes r[6];
        transform(g[x], g[3 + x], g[6 + x], width, r);
        for (int y = 0; y < 6; ++y) half[3 * y + x] = r[y];
      }
      for (int y = 0; y < 6; ++y) {
        transform(half[3 * y], half[3 * y + 1], half[3 * y + 2], width, row);
        for (int x = 0; x < 6; ++x) {
          float* to = panel + (6 * y + x) * plane + i * width;
          for (int j = 0; j < width; ++j) to[j] = static_cast<float>(row[x].v[j]);
        }
      }
    }
    column += width;
  }
}

}  // namespace treadle::kernels
