// Speed of the matrix product: GF/s on one thread and the share of this core's measured peak.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/cpu_features.hpp"
#include "kernels/gemm/dot.hpp"
#include "kernels/gemm/gemm.hpp"
#include "timing.hpp"

namespace {

using namespace treadle;
using namespace treadle::bench;
using namespace treadle::kernels;

// GF/s of the tile itself with all operands in the first-level cache.
double peak() {
  const DotKernels& kernels = dot_kernels();
  const int vectors = kernels.main_vectors, rows = kernels.rows[vectors];
  const std::int64_t k = 128;
  const int width = kernels.main_width();
  std::vector<float> a(static_cast<std::size_t>(rows * k), 0.5f);
  std::vector<float> b(static_cast<std::size_t>(width * k), 0.25f);
  std::vector<float> c(static_cast<std::size_t>(rows * width));
  std::vector<const float*> ap;
  std::vector<float*> cp;
  for (int r = 0; r < rows; ++r) {
    ap.push_back(a.data() + r * k);
    cp.push_back(c.data() + r * width);
  }
  DotTile tile;
  tile.a = ap.data();
  tile.k = k;
  tile.b = b.data();
  tile.c = cp.data();
  tile.n = width;
  const auto fn = kernels.tile[vectors][rows];
  const double t = best_time([&] {
    for (int i = 0; i < 1000; ++i) fn(tile);
  });
  return 2e3 * static_cast<double>(rows * width * k) / t / 1e9;
}

void measure(double top, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
  for (float& x : a) x = uniform(random);
  for (float& x : b) x = uniform(random);
  std::vector<float> c(static_cast<std::size_t>(m * n)), packed(packed_b_floats(k, n));
  const double pack_time = best_time([&] { pack_b(b.data(), n, 1, k, n, packed.data()); });
  const double pack_t_time = best_time([&] { pack_b(b.data(), 1, k, k, n, packed.data()); });
  GemmArgs g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a.data();
  g.lda = k;
  g.packed_b = packed.data();
  g.c = c.data();
  g.ldc = n;
  g.epilogue.act = Act::Relu;
  std::vector<std::byte> workspace(gemm_workspace_bytes(g, 1));
  const double t = best_time([&] { gemm(g, workspace.data(), serial()); });
  const double rate = 2.0 * static_cast<double>(m * n * k) / t / 1e9;
  const double bytes = 4.0 * static_cast<double>(k * n) / 1e9;
  std::printf(
      "%5ld x %5ld x %5ld  %7.1f GF/s  %5.1f %%  weights %5.1f GB/s  pack %4.1f / T %4.1f GB/s\n",
      static_cast<long>(m), static_cast<long>(n), static_cast<long>(k), rate, 100 * rate / top,
      bytes / t, bytes / pack_time, bytes / pack_t_time);
}

}  // namespace

int main(int argc, char** argv) {
  const double top = peak();
  std::printf("%s on %s: tile in L1 %.1f GF/s\n", dot_kernels().name, cpu_name().c_str(), top);
  if (argc == 4) {
    measure(top, std::atol(argv[1]), std::atol(argv[2]), std::atol(argv[3]));
    return 0;
  }
  const std::int64_t shapes[][3] = {
      {3136, 64, 64},   {3136, 256, 64},  {784, 512, 128},  {49, 2048, 512},    {3136, 64, 576},
      {784, 128, 1152}, {49, 512, 4608},  {512, 3072, 768}, {1024, 1024, 1024}, {3136, 144, 24},
      {3136, 24, 144},  {196, 1024, 256}, {8, 4096, 4096},  {4, 4096, 4096},    {1, 4096, 4096},
      {1, 768, 768},    {1, 1000, 2048},  {512, 21, 256},   {1000, 8, 64}};
  for (const auto& s : shapes) measure(top, s[0], s[1], s[2]);
  return 0;
}
