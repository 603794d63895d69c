// Products with weights in blocks beside the f32 product of the same sizes, on one thread: the two
// take turns, so that what disturbs one disturbs the other.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/block_product/block_product.hpp"
#include "kernels/gemm/gemm.hpp"
#include "timing.hpp"

namespace {

using namespace treadle;
using namespace treadle::bench;
using namespace treadle::kernels;

std::vector<float> random_floats(std::int64_t n) {
  static std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = uniform(random);
  return v;
}

void measure(int bits, bool zeros, std::int64_t m, std::int64_t n, std::int64_t k) {
  BlockProductArgs args;
  BlockShape& s = args.shape;
  s.N = n;
  s.K = k;
  s.block_size = 32;
  s.bits = bits;
  s.zeros = zeros;
  const std::vector<float> a = random_floats(m * k), scales = random_floats(n * s.blocks());
  std::vector<float> c(static_cast<std::size_t>(m * n)), packed_f32(packed_b_floats(k, n), 0.5f);
  const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n * s.blocks() * 32), 0x5a);
  std::vector<float> packed(packed_block_bytes(s) / sizeof(float) + 1);
  pack_blocks(s, {bytes.data(), scales.data(), DType::F32, bytes.data()}, packed.data(), serial());
  args.packed = packed.data();
  args.rows = m;
  args.x = a.data();
  args.y = c.data();
  GemmArgs g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a.data();
  g.lda = k;
  g.packed_b = packed_f32.data();
  g.c = c.data();
  g.ldc = n;
  std::vector<std::byte> block_space(block_product_workspace_bytes(args, 1)),
      space(gemm_workspace_bytes(g, 1));
  double blocks = 1e9, f32 = 1e9;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const bool first = i == j;
      const double t = best_time([&] {
        if (first) {
          block_product(args, block_space.data(), serial());
        } else {
          gemm(g, space.data(), serial());
        }
      });
      double& best = first ? blocks : f32;
      best = std::min(best, t);
    }
  }
  const auto bytes_read = static_cast<double>(packed_block_bytes(s));
  std::printf("%d bits%s %4ld x %5ld x %5ld  %9.3f ms  %5.1f GB/s  f32 %9.3f ms  %5.2f times\n",
              bits, zeros ? ", zeros" : "       ", static_cast<long>(m), static_cast<long>(n),
              static_cast<long>(k), 1e3 * blocks, bytes_read / blocks / 1e9, 1e3 * f32,
              f32 / blocks);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {
    for (const int bits : {2, 4, 8}) {
      measure(bits, false, std::atol(argv[1]), std::atol(argv[2]), std::atol(argv[3]));
    }
    return 0;
  }
  for (const std::int64_t m : {1, 2, 4, 8, 9, 16, 17, 24, 32, 64, 128, 512}) {
    measure(4, false, m, 4096, 4096);
  }
  measure(4, true, 1, 4096, 4096);
  measure(2, false, 1, 4096, 4096);
  measure(8, false, 1, 4096, 4096);
  measure(4, false, 1, 11008, 4096);
  measure(4, false, 1, 4096, 11008);
  measure(4, false, 64, 11008, 4096);
  measure(4, false, 1, 768, 768);
  measure(4, false, 1000, 64, 64);
  return 0;
}
