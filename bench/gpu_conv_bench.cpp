// Convolutions and matrix products on a GPU: chosen kernel beside the direct one and the best peer.
//
//   gpu_conv_bench [table|sweep] [f32] [f16] [batch=N]… [only=TEXT] [device=sim]
// table: each shape, batches 1 and 32 unless given. sweep: every variant and number of splits of
// each shape. Times are of recordings replayed, for one run of the operator: medians of 9. Peers:
// ../shared/research/peers_gpu.md, batch 1.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gpu/conv_plan.hpp"
#include "gpu/gemm_plan.hpp"
#include "gpu_timing.hpp"

namespace treadle::gpu {
namespace {

using kernels::ConvDesc;

struct Row {
  const char* name;
  std::int64_t H, W, Cin, Cout, kH, kW, stride, group;
  double peer_f32, peer_f16;  // microseconds, batch 1; 0: not measured

  ConvDesc desc(std::int64_t batch) const {
    ConvDesc d;
    d.N = batch;
    d.H = H;
    d.W = W;
    d.Cin = Cin;
    d.Cout = Cout;
    d.kH = kH;
    d.kW = kW;
    d.stride_h = d.stride_w = stride;
    d.group = group;
    d.pad_top = (kH - 1) / 2;
    d.pad_left = (kW - 1) / 2;
    d.H_out = (H - 1) / stride + 1;
    d.W_out = (W - 1) / stride + 1;
    return d;
  }
};

constexpr Row kConvs[] = {
    {"3x3 56² 64→128", 56, 56, 64, 128, 3, 3, 1, 1, 26.63, 5.77},
    {"3x3 28² 128→256", 28, 28, 128, 256, 3, 3, 1, 1, 38.97, 6.23},
    {"3x3 112² 32→64", 112, 112, 32, 64, 3, 3, 1, 1, 0, 0},
    {"1x1 56² 64→64", 56, 56, 64, 64, 1, 1, 1, 1, 0, 0},
    {"3x3 14² 256→512", 14, 14, 256, 512, 3, 3, 1, 1, 68.19, 7.96},
    {"3x3 7² 512→512", 7, 7, 512, 512, 3, 3, 1, 1, 131.18, 11.91},
    {"3x3 147² 32→64", 147, 147, 32, 64, 3, 3, 1, 1, 43.65, 7.68},
    {"3x3 320² 64→16", 320, 320, 64, 16, 3, 3, 1, 1, 172.14, 23.35},
    {"3x3 160² 16→16", 160, 160, 16, 16, 3, 3, 1, 1, 21.93, 5.12},
    {"7x7/2 224² 3→64", 224, 224, 3, 64, 7, 7, 2, 1, 16.59, 12.58},
    {"3x3/2 224² 3→32", 224, 224, 3, 32, 3, 3, 2, 1, 5.28, 5.15},
    {"1x7 17² 192→192", 17, 17, 192, 192, 1, 7, 1, 1, 41.63, 6.46},
    {"1x1 112² 32→16", 112, 112, 32, 16, 1, 1, 1, 1, 3.66, 2.59},
    {"1x1 112² 16→96", 112, 112, 16, 96, 1, 1, 1, 1, 4.59, 3.23},
    {"1x1 56² 24→144", 56, 56, 24, 144, 1, 1, 1, 1, 3.49, 2.77},
    {"1x1 56² 64→256", 56, 56, 64, 256, 1, 1, 1, 1, 6.60, 2.82},
    {"1x1 35² 192→64", 35, 35, 192, 64, 1, 1, 1, 1, 5.60, 2.54},
    {"1x1 14² 96→576", 14, 14, 96, 576, 1, 1, 1, 1, 3.90, 2.50},
    {"1x1 14² 576→96", 14, 14, 576, 96, 1, 1, 1, 1, 8.64, 3.02},
    {"1x1 7² 320→1280", 7, 7, 320, 1280, 1, 1, 1, 1, 8.77, 2.80},
    {"1x1 7² 512→2048", 7, 7, 512, 2048, 1, 1, 1, 1, 10.55, 3.13},
    {"1x1 8² 2048→320", 8, 8, 2048, 320, 1, 1, 1, 1, 12.53, 4.96},
};
constexpr Row kDepthwise[] = {
    {"dw 3x3 112² 32", 112, 112, 32, 32, 3, 3, 1, 32, 2.58, 2.95},
    {"dw 3x3 56² 144", 56, 56, 144, 144, 3, 3, 1, 144, 2.89, 3.46},
    {"dw 3x3 14² 576", 14, 14, 576, 576, 3, 3, 1, 576, 1.89, 2.48},
    {"dw 3x3 7² 960", 7, 7, 960, 960, 3, 3, 1, 960, 2.43, 2.40},
    {"dw 3x3/2 112² 96", 112, 112, 96, 96, 3, 3, 2, 96, 2.79, 4.11},
    {"dw 3x3/2 112² 32", 112, 112, 32, 32, 3, 3, 2, 32, 0, 0},
    {"dw 3x3/2 56² 144", 56, 56, 144, 144, 3, 3, 2, 144, 2.01, 2.60},
    {"dw 3x3/2 28² 192", 28, 28, 192, 192, 3, 3, 2, 192, 1.85, 2.46},
    {"dw 3x3/2 14² 576", 14, 14, 576, 576, 3, 3, 2, 576, 1.84, 2.45},
    {"dw 3x3/2 7² 960", 7, 7, 960, 960, 3, 3, 2, 960, 0, 0},
    {"dw 5x5 112² 32", 112, 112, 32, 32, 5, 5, 1, 32, 0, 0},
    {"dw 5x5 56² 144", 56, 56, 144, 144, 5, 5, 1, 144, 0, 0},
    {"dw 5x5 28² 240", 28, 28, 240, 240, 5, 5, 1, 240, 4.06, 3.06},
    {"dw 5x5 14² 576", 14, 14, 576, 576, 5, 5, 1, 576, 0, 0},
    {"dw 5x5 14² 672", 14, 14, 672, 672, 5, 5, 1, 672, 2.93, 3.60},
    {"dw 5x5 7² 960", 7, 7, 960, 960, 5, 5, 1, 960, 0, 0},
    {"dw 5x5 7² 1152", 7, 7, 1152, 1152, 5, 5, 1, 1152, 2.76, 3.52},
    {"dw 5x5/2 56² 144", 56, 56, 144, 144, 5, 5, 2, 144, 3.02, 3.66},
    {"dw 5x5/2 14² 672", 14, 14, 672, 672, 5, 5, 2, 672, 2.86, 3.56},
};

struct Product {
  const char* name;
  std::int64_t M, N, K;
  double peer_f32, peer_f16;
};
constexpr Product kProducts[] = {
    {"1024³", 1024, 1024, 1024, 55.39, 5.36},      {"2048³", 2048, 2048, 2048, 340.70, 25.05},
    {"197 768→3072", 197, 3072, 768, 41.12, 4.73}, {"512 768→2304", 512, 2304, 768, 65.51, 5.58},
    {"512 3072→768", 512, 768, 3072, 97.85, 7.74}, {"1 768→3072", 1, 3072, 768, 3.98, 3.62},
    {"1 3072→768", 1, 768, 3072, 3.84, 6.31},      {"1 768→50257", 1, 50257, 768, 40.70, 31.10},
    {"8 768→3072", 8, 3072, 768, 7.22, 3.57},      {"1 2048→1000", 1, 1000, 2048, 3.32, 12.47},
};

class Bench : public bench::DeviceTimer {
 public:
  using DeviceTimer::DeviceTimer;

  // Microseconds a run.
  template <typename Plan>
  double time(const Plan& plan, std::int64_t left, std::int64_t right, std::int64_t y) {
    const DeviceBufferPtr a = filled(left), b = filled(right), out = filled(y),
                          workspace = filled(static_cast<std::int64_t>(plan.workspace_bytes()));
    ProductAddresses at;
    at.left = a->address();
    at.right = b->address();
    at.y = out->address();
    const PreparedLaunches launches = plan.prepare(at, workspace->address(), "bench");
    return DeviceTimer::time([&](Queue& queue) {
      for (const PreparedLaunch& l : launches) queue.launch(l.get());
    });
  }
};

struct Wish {
  bool sweep = false;
  std::vector<DType> types;
  std::vector<std::int64_t> batches;
  std::string only;
  bool sim = false;

  bool wants(const char* name) const { return std::strstr(name, only.c_str()) != nullptr; }
};

std::string peer_text(double us, double peer, std::int64_t batch) {
  if (peer == 0 || batch != 1) return "|  |  ";
  return fmt::format("| {:.2f} | {:.2f} ", peer, us / peer);
}

double conv_time(Bench& bench, const ConvDesc& d, DType type, const std::string& variant) {
  const ConvPlan plan(d, type, {}, variant);
  const auto element = static_cast<std::int64_t>(size_of(type));
  return bench.time(plan, d.N * d.H * d.W * d.Cin * element,
                    static_cast<std::int64_t>(plan.weight_bytes()),
                    d.N * d.H_out * d.W_out * d.Cout * element);
}

double flops(const ConvDesc& d) {
  return 2.0 * static_cast<double>(d.N * d.H_out * d.W_out * d.Cout) *
         static_cast<double>(d.taps() * d.cin_per_group());
}
double bytes(const ConvDesc& d, DType type) {
  return static_cast<double>(d.N * d.H * d.W * d.Cin + d.N * d.H_out * d.W_out * d.Cout) *
         static_cast<double>(size_of(type));
}

void conv_row(Bench& bench, const Row& row, DType type, std::int64_t batch) {
  const ConvDesc d = row.desc(batch);
  const std::string name = ConvPlan(d, type).name();
  const double us = conv_time(bench, d, type, "");
  const double direct = conv_time(bench, d, type, "direct");
  fmt::print("| {} | {} | {} | {} | {:.2f} | {:.1f} | {:.0f} | {:.2f} | {:.1f} {}|\n", row.name,
             batch, name_of(type), name, us, flops(d) / us * 1e-6, bytes(d, type) / us * 1e-3,
             direct, direct / us,
             peer_text(us, type == DType::F32 ? row.peer_f32 : row.peer_f16, batch));
  std::fflush(stdout);
}

void product_row(Bench& bench, const Product& p, DType type, const std::string& variant) {
  GemmDesc d = matrix_product(p.M, p.N, p.K);
  d.b_k = packed_stride(p.N);
  d.b_padded = true;
  const auto element = static_cast<std::int64_t>(size_of(type));
  const GemmPlan plan(d, type, {}, variant);
  const double us =
      bench.time(plan, p.M * p.K * element, p.K * d.b_k * element, p.M * p.N * element);
  const double work = 2.0 * static_cast<double>(p.M * p.N) * static_cast<double>(p.K);
  const double moved = static_cast<double>((p.M * p.K + p.K * p.N + p.M * p.N) * element);
  fmt::print("| {} | {} | {} | {:.2f} | {:.1f} | {:.0f} {}|\n", p.name, name_of(type), plan.name(),
             us, work / us * 1e-6, moved / us * 1e-3,
             peer_text(us, type == DType::F32 ? p.peer_f32 : p.peer_f16, 1));
  std::fflush(stdout);
}

void table(Bench& bench, const Wish& wish) {
  fmt::print(
      "| shape | batch | dtype | kernel | µs | TFLOP/s | GB/s | direct µs | times | peer µs | "
      "of peer |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const DType type : wish.types) {
    for (const std::int64_t batch : wish.batches) {
      for (const Row& row : kConvs) {
        if (wish.wants(row.name)) conv_row(bench, row, type, batch);
      }
      for (const Row& row : kDepthwise) {
        if (wish.wants(row.name)) conv_row(bench, row, type, batch);
      }
    }
  }
  fmt::print(
      "\n| product | dtype | kernel | µs | TFLOP/s | GB/s | peer µs | of peer |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const DType type : wish.types) {
    for (const Product& p : kProducts) {
      if (wish.wants(p.name)) product_row(bench, p, type, "");
    }
  }
}

std::vector<std::string> with_splits(const std::string& name, std::int64_t batch, std::int64_t k) {
  std::vector<std::string> all{name};
  if (batch > 1 || name.find('_') == std::string::npos || name.starts_with("depthwise")) return all;
  for (const int splits : {2, 3, 4, 6, 8, 12, 16, 24, 32}) {
    if (k >= splits * 48) all.push_back(name + "/" + std::to_string(splits));
  }
  return all;
}

void sweep_row(Bench& bench, const Row& row, DType type, std::int64_t batch) {
  const ConvDesc d = row.desc(batch);
  fmt::print("{} batch {} {}: chosen {}\n", row.name, batch, name_of(type),
             ConvPlan(d, type).name());
  std::vector<std::pair<double, std::string>> all;
  for (const std::string& name : conv_variants(d, type)) {
    if (name == "direct" && batch > 1 && d.group == 1) continue;
    if (d.group > 1 && name.starts_with("gemm")) continue;
    const std::int64_t k = d.taps() * d.cin_per_group();
    for (const std::string& variant : with_splits(name, batch, k)) {
      if (ConvPlan(d, type, {}, variant).name() != variant) continue;
      all.emplace_back(conv_time(bench, d, type, variant), variant);
    }
  }
  std::sort(all.begin(), all.end());
  for (const auto& [us, variant] : all) fmt::print("  {:9.2f} {}\n", us, variant);
  std::fflush(stdout);
}

void sweep(Bench& bench, const Wish& wish) {
  for (const DType type : wish.types) {
    for (const std::int64_t batch : wish.batches) {
      for (const Row& row : kConvs) {
        if (wish.wants(row.name)) sweep_row(bench, row, type, batch);
      }
      for (const Row& row : kDepthwise) {
        if (wish.wants(row.name)) sweep_row(bench, row, type, batch);
      }
    }
    for (const Product& p : kProducts) {
      if (!wish.wants(p.name)) continue;
      for (const std::string& name : gemm_variants(matrix_product(p.M, p.N, p.K), type)) {
        for (const std::string& variant : with_splits(name, 1, p.K)) {
          product_row(bench, p, type, variant);
        }
      }
    }
  }
}

Wish parse(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "f32") {
      wish.types.push_back(DType::F32);
    } else if (a == "f16") {
      wish.types.push_back(DType::F16);
    } else if (a.starts_with("batch=")) {
      wish.batches.push_back(std::stoll(std::string(a.substr(6))));
    } else if (a.starts_with("only=")) {
      wish.only = a.substr(5);
    } else if (a == "device=sim") {
      wish.sim = true;
    } else if (a == "sweep") {
      wish.sweep = true;
    } else {
      check(a == "table", ErrorKind::Unsupported, "unknown argument '{}'", a);
    }
  }
  if (wish.types.empty()) wish.types = {DType::F32, DType::F16};
  if (wish.batches.empty()) wish.batches = {1, 32};
  return wish;
}

}  // namespace
}  // namespace treadle::gpu

int main(int argc, char** argv) {
  using namespace treadle::gpu;
  try {
    const Wish wish = parse(argc, argv);
    Bench bench(wish.sim);
    fmt::print("{}\n\n", bench.device().name());
    wish.sweep ? sweep(bench, wish) : table(bench, wish);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gpu_conv_bench: {}\n", e.what());
    return 1;
  }
}
