// Speed of u8 x s8 matrix products and convolutions beside those in f32, on one thread: the least
// time of each in interleaved rounds, and what the best set of kernels without VNNI takes.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/cpu_features.hpp"
#include "kernels/conv/conv.hpp"
#include "kernels/gemm/dot.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/product_u8/conv_u8.hpp"
#include "kernels/product_u8/product_u8.hpp"
#include "timing.hpp"

namespace {

using namespace treadle;
using namespace treadle::bench;
using namespace treadle::kernels;

constexpr int kRounds = 5;

// Operands of both kinds, requantised to bytes.
struct Operands {
  std::vector<float> xf, wf, yf;
  std::vector<std::uint8_t> x, y;
  std::vector<std::int32_t> w, start;
  std::vector<float> factor, bias;

  Operands(std::int64_t inputs, std::int64_t weights, std::int64_t outputs, std::int64_t columns)
      : yf(static_cast<std::size_t>(outputs)),
        y(static_cast<std::size_t>(outputs)),
        start(static_cast<std::size_t>(columns + 64)),
        factor(static_cast<std::size_t>(columns + 64), 1e-4f),
        bias(static_cast<std::size_t>(columns), 0.5f) {
    std::minstd_rand random(1);
    for (std::int64_t i = 0; i < inputs; ++i) {
      x.push_back(static_cast<std::uint8_t>(random() >> 8));
      xf.push_back(static_cast<float>(x.back()) / 256);
    }
    for (std::int64_t i = 0; i < weights; ++i) {
      w.push_back(static_cast<std::int32_t>(random() >> 8 & 255) - 128);
      wf.push_back(static_cast<float>(w.back()) / 128);
    }
  }
  FinishU8 finish() const { return {start.data(), factor.data(), StoreU8::Byte, -3, 252, 3}; }
};

struct Times {
  double f32 = 1e9, vnni = 1e9, pairs = 1e9;
};

// The best kernels for this instruction set that need no VNNI.
const KernelsU8& kernels_without_vnni() {
  ChoiceU8 choices[kMaxChoicesU8];
  const std::size_t count = all_kernels_u8(choices);
  const KernelsU8* last = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (choices[i].isa == active_isa()) last = choices[i].kernels;
  }
  return *last;
}

template <typename F, typename V, typename P>
Times interleave(F&& f32, V&& vnni, P&& pairs) {
  Times t;
  for (int round = 0; round < kRounds; ++round) {
    t.f32 = std::min(t.f32, best_time(f32));
    t.vnni = std::min(t.vnni, best_time(vnni));
    t.pairs = std::min(t.pairs, best_time(pairs));
  }
  return t;
}

void print(const char* what, double work, const Times& t) {
  std::printf(
      "%-34s  f32 %7.1f GF/s   u8s8 %7.1f GOP/s, %4.2f x f32   without VNNI %7.1f, %4.2f x\n", what,
      2e-9 * work / t.f32, 2e-9 * work / t.vnni, t.f32 / t.vnni, 2e-9 * work / t.pairs,
      t.f32 / t.pairs);
  std::fflush(stdout);
}

void measure_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  Operands o(m * k, k * n, m * n, n);
  std::vector<float> packed(packed_b_floats(k, n));
  pack_b(o.wf.data(), n, 1, k, n, packed.data());
  GemmArgs g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = o.xf.data();
  g.lda = k;
  g.packed_b = packed.data();
  g.c = o.yf.data();
  g.ldc = n;
  g.epilogue.bias = o.bias.data();
  g.epilogue.act = Act::Relu;
  std::vector<std::byte> workspace(gemm_workspace_bytes(g, 1));
  WeightsU8 w;
  w.b = o.w.data();
  w.k = k;
  w.columns = n;
  w.row_stride = n;
  w.column_stride = 1;
  const SharedPackedU8 best = pack_u8(kernels_u8(), w), plain = pack_u8(kernels_without_vnni(), w);
  GemmU8 u;
  u.m = m;
  u.a = o.x.data();
  u.lda = k;
  u.c = o.y.data();
  u.ldc = n;
  u.finish = o.finish();
  const auto run = [&](const PackedU8& packed_u8) {
    u.weights = &packed_u8;
    gemm_u8(u, serial());
  };
  char what[64];
  std::snprintf(what, sizeof what, "%ld x %ld x %ld", static_cast<long>(m), static_cast<long>(n),
                static_cast<long>(k));
  print(what, static_cast<double>(m * n * k),
        interleave([&] { gemm(g, workspace.data(), serial()); }, [&] { run(*best); },
                   [&] { run(*plain); }));
}

void measure_conv(std::int64_t size, std::int64_t cin, std::int64_t cout, std::int64_t kernel,
                  std::int64_t stride, std::int64_t group) {
  ConvDesc d;
  d.group = group;
  d.H = d.W = size;
  d.Cin = cin;
  d.Cout = cout;
  d.kH = d.kW = kernel;
  d.stride_h = d.stride_w = stride;
  d.pad_top = d.pad_left = kernel / 2;
  d.H_out = d.W_out = (size + 2 * (kernel / 2) - kernel) / stride + 1;
  const std::int64_t pixels = d.H_out * d.W_out;
  Operands o(size * size * cin, cout * d.cin_per_group() * kernel * kernel, pixels * cout, cout);
  const auto conv = make_conv(d, o.wf.data(), oihw_strides(d));
  Epilogue e;
  e.bias = o.bias.data();
  e.act = Act::Relu;
  std::vector<float> workspace(conv->workspace_bytes(1) / 4 + 1);
  const SharedPackedU8 best = pack_conv_u8(kernels_u8(), d, o.w.data(), oihw_strides(d)),
                       plain = pack_conv_u8(kernels_without_vnni(), d, o.w.data(), oihw_strides(d));
  std::vector<std::byte> bytes(conv_u8_workspace_bytes(d));
  ConvU8 u;
  u.x = o.x.data();
  u.outside = 7;
  u.y = o.y.data();
  u.finish = o.finish();
  u.workspace = bytes.data();
  const auto run = [&](const PackedU8& packed) {
    u.weights = &packed;
    conv_u8(d, u, serial());
  };
  char what[64];
  std::snprintf(what, sizeof what, "%ldx%ld/%ld %ld->%ld by %ld at %ld (%s, %s)",
                static_cast<long>(kernel), static_cast<long>(kernel), static_cast<long>(stride),
                static_cast<long>(cin), static_cast<long>(cout), static_cast<long>(group),
                static_cast<long>(size), conv->name(), conv_u8_variant(d));
  print(
      what, static_cast<double>(pixels * cout * d.cin_per_group() * kernel * kernel),
      interleave([&] { conv->run(o.xf.data(), o.yf.data(), cout, e, workspace.data(), serial()); },
                 [&] { run(*best); }, [&] { run(*plain); }));
}

}  // namespace

int main() {
  std::printf("%s: %s, %s; without VNNI %s\n", cpu_name().c_str(), dot_kernels().name,
              kernels_u8().name, kernels_without_vnni().name);
  const std::int64_t gemms[][3] = {
      {1024, 1024, 1024}, {3136, 64, 64},  {3136, 256, 64}, {784, 512, 128},  {49, 2048, 512},
      {512, 3072, 768},   {3136, 144, 24}, {3136, 24, 144}, {196, 1024, 256}, {8, 4096, 4096},
      {1, 4096, 4096},    {1, 1000, 1024}, {1000, 8, 64},   {512, 21, 256},   {4096, 16, 3}};
  for (const auto& s : gemms) measure_gemm(s[0], s[1], s[2]);
  const std::int64_t convs[][6] = {
      {56, 64, 64, 1, 1, 1},     {28, 256, 128, 1, 1, 1}, {7, 512, 2048, 1, 1, 1},
      {56, 64, 64, 3, 1, 1},     {28, 128, 128, 3, 1, 1}, {14, 256, 256, 3, 1, 1},
      {7, 512, 512, 3, 1, 1},    {56, 64, 128, 3, 2, 1},  {28, 32, 96, 5, 1, 1},
      {224, 3, 64, 7, 2, 1},     {112, 16, 32, 3, 1, 1},  {224, 3, 32, 3, 2, 1},
      {112, 32, 32, 3, 1, 32},   {112, 96, 96, 3, 2, 96}, {14, 384, 384, 3, 1, 384},
      {14, 576, 576, 5, 1, 576}, {56, 24, 24, 3, 1, 24},  {28, 128, 128, 3, 1, 32},
      {28, 64, 128, 3, 1, 64},   {28, 96, 96, 3, 1, 32}};
  for (const auto& s : convs) measure_conv(s[0], s[1], s[2], s[3], s[4], s[5]);
  return 0;
}
