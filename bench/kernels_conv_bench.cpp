// Speed of convolutions on one thread: effective GF/s (direct operations over time), for the chosen
// algorithm and for the exact one.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "base/cpu_features.hpp"
#include "kernels/conv/conv.hpp"
#include "kernels/gemm/dot.hpp"
#include "timing.hpp"

namespace {

using namespace treadle;
using namespace treadle::bench;
using namespace treadle::kernels;

struct ShapeLine {
  const char* name;
  std::int64_t kernel, stride, cin, cout, size;
  bool depthwise;
};

constexpr ShapeLine kShapes[] = {
    {"stem 7x7s2 3-64 224", 7, 2, 3, 64, 224, false},
    {"stem 3x3s2 3-32 224", 3, 2, 3, 32, 224, false},
    {"3x3 16-16 160", 3, 1, 16, 16, 160, false},
    {"3x3 24-24 56", 3, 1, 24, 24, 56, false},
    {"3x3 32-32 112", 3, 1, 32, 32, 112, false},
    {"3x3 64-64 56", 3, 1, 64, 64, 56, false},
    {"3x3 128-128 28", 3, 1, 128, 128, 28, false},
    {"3x3 256-256 14", 3, 1, 256, 256, 14, false},
    {"3x3 512-512 7", 3, 1, 512, 512, 7, false},
    {"3x3 64-64 224", 3, 1, 64, 64, 224, false},
    {"3x3 128-128 112", 3, 1, 128, 128, 112, false},
    {"3x3 256-256 56", 3, 1, 256, 256, 56, false},
    {"3x3 512-512 28", 3, 1, 512, 512, 28, false},
    {"3x3 512-512 14", 3, 1, 512, 512, 14, false},
    {"3x3 128-32 28", 3, 1, 128, 32, 28, false},
    {"3x3 192-384 13", 3, 1, 192, 384, 13, false},
    {"3x3s2 128-128 56", 3, 2, 128, 128, 56, false},
    {"1x1 64-256 56", 1, 1, 64, 256, 56, false},
    {"1x1 256-64 56", 1, 1, 256, 64, 56, false},
    {"1x1 1024-256 14", 1, 1, 1024, 256, 14, false},
    {"1x1 512-2048 7", 1, 1, 512, 2048, 7, false},
    {"1x1 24-144 56", 1, 1, 24, 144, 56, false},
    {"dw3x3 144 56", 3, 1, 144, 144, 56, true},
    {"dw3x3s2 96 112", 3, 2, 96, 96, 112, true},
    {"dw3x3 960 7", 3, 1, 960, 960, 7, true},
    {"dw5x5 240 28", 5, 1, 240, 240, 28, true},
};

void measure(const ShapeLine& s, bool exact) {
  ConvDesc d;
  d.H = d.W = s.size;
  d.Cin = s.cin;
  d.Cout = s.cout;
  d.kH = d.kW = s.kernel;
  d.stride_h = d.stride_w = s.stride;
  d.pad_top = d.pad_left = s.kernel / 2;
  d.group = s.depthwise ? s.cin : 1;
  d.H_out = d.W_out = (s.size + 2 * d.pad_top - s.kernel) / s.stride + 1;
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(static_cast<std::size_t>(d.H * d.W * d.Cin));
  std::vector<float> w(static_cast<std::size_t>(d.Cout * d.cin_per_group() * d.taps()));
  std::vector<float> y(static_cast<std::size_t>(d.H_out * d.W_out * d.Cout));
  for (float& v : x) v = uniform(random);
  for (float& v : w) v = uniform(random);
  const std::vector<float> bias(static_cast<std::size_t>(d.Cout), 0.5f);
  Epilogue e;
  e.bias = bias.data();
  e.act = Act::Relu;
  const double start = seconds();
  const auto conv = make_conv(d, w.data(), oihw_strides(d), {.exact = exact});
  const double made = seconds() - start;
  if (exact && std::string(conv->name()) == explain_conv(d).back().name) return;
  void* workspace = ::operator new (conv->workspace_bytes(1) + 64, std::align_val_t{64});
  const double t =
      best_time([&] { conv->run(x.data(), y.data(), d.Cout, e, workspace, serial()); });
  ::operator delete (workspace, std::align_val_t{64});
  const double flops = 2.0 * static_cast<double>(d.H_out * d.W_out * d.Cout * d.cin_per_group()) *
                       static_cast<double>(d.taps());
  std::printf("%-22s %-10s %8.1f GF/s %9.1f us  made in %7.2f ms\n", s.name, conv->name(),
              flops / t / 1e9, t * 1e6, made * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%s on %s\n", dot_kernels().name, cpu_name().c_str());
  const std::string filter = argc > 1 ? argv[1] : "";
  for (const ShapeLine& s : kShapes) {
    if (std::string(s.name).find(filter) == std::string::npos) continue;
    measure(s, false);
    measure(s, true);
  }
  return 0;
}
