// Attention on a GPU in one kernel, every variant, beside the same in three: a batched product, a
// softmax and a batched product, with the scores in memory.
//
//   gpu_attention_bench [f32] [f16] [only=TEXT] [device=sim]
// Times are of recordings replayed, for one run of the operator: medians of 9. The three kernels
// neither scale nor mask, so causal attention takes them as long as all of it.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gpu/attention_plan.hpp"
#include "gpu/gemm_plan.hpp"
#include "gpu/softmax_plan.hpp"
#include "gpu_timing.hpp"

namespace treadle::gpu {
namespace {

struct Row {
  const char* name;
  std::int64_t batch, heads, kv_heads, queries, keys, size;
  bool causal;

  std::int64_t group() const { return heads / kv_heads; }
  AttentionDesc desc() const {
    AttentionDesc d;
    d.q = {batch, heads, queries, size};
    d.k = d.v = {batch, kv_heads, keys, size};
    d.right = causal ? 0 : -1;
    d.offset = keys - queries;
    return d;
  }
};

constexpr Row kRows[] = {
    {"vit_b 197", 1, 12, 12, 197, 197, 64, false},
    {"vit_b 197 x8", 8, 12, 12, 197, 197, 64, false},
    {"bert 512", 1, 12, 12, 512, 512, 64, false},
    {"bert 512 x8", 8, 12, 12, 512, 512, 64, false},
    {"size 80 1024", 1, 16, 16, 1024, 1024, 80, false},
    {"size 128 2048", 1, 32, 32, 2048, 2048, 128, false},
    {"size 128 2048 causal", 1, 32, 8, 2048, 2048, 128, true},
    {"size 64 4096", 1, 8, 8, 4096, 4096, 64, false},
    {"cross 64 to 1500", 1, 20, 20, 64, 1500, 64, false},
    {"16 after 2048", 1, 32, 8, 16, 2048, 128, true},
    {"4 after 2048", 1, 32, 8, 4, 2048, 128, true},
    {"decode 512", 1, 12, 12, 1, 512, 64, true},
    {"decode 4096", 1, 32, 8, 1, 4096, 128, true},
    {"decode 4096 x16", 16, 32, 8, 1, 4096, 128, true},
    {"decode 32768", 1, 32, 8, 1, 32768, 128, true},
};

class Bench : public bench::DeviceTimer {
 public:
  using DeviceTimer::DeviceTimer;

  // Microseconds a run.
  double fused(const AttentionDesc& d, DType type, const std::string& variant) {
    const AttentionPlan plan(d, type, variant);
    const auto bytes = [&](const Shape& s) {
      return s.elements() * static_cast<std::int64_t>(size_of(type));
    };
    const DeviceBufferPtr q = filled(bytes(d.q)), k = filled(bytes(d.k)), v = filled(bytes(d.v)),
                          y = filled(bytes(d.q)),
                          workspace = filled(static_cast<std::int64_t>(plan.workspace_bytes()));
    const PreparedLaunches launches = plan.prepare(
        {q->address(), k->address(), v->address(), 0, y->address()}, workspace->address(), "bench");
    return time([&](Queue& queue) {
      for (const PreparedLaunch& l : launches) queue.launch(l.get());
    });
  }

  double unfused(const Row& r, DType type) {
    GemmDesc scores = matrix_product(r.queries, r.keys, r.size, false, true);
    batches(r, r.queries * r.size, r.keys * r.size, r.queries * r.keys, scores);
    GemmDesc values = matrix_product(r.queries, r.size, r.keys);
    batches(r, r.queries * r.keys, r.keys * r.size, r.queries * r.size, values);
    const GemmPlan first(scores, type), second(values, type);
    const std::int64_t rows = r.batch * r.heads * r.queries;
    const SoftmaxPlan softmax({rows, r.keys, 1}, type, false);
    const auto element = static_cast<std::int64_t>(size_of(type));
    const std::int64_t given = r.batch * r.kv_heads * r.keys * r.size * element;
    const DeviceBufferPtr q = filled(rows * r.size * element), k = filled(given), v = filled(given),
                          s = filled(rows * r.keys * element), w = filled(rows * r.keys * element),
                          y = filled(rows * r.size * element);
    const DeviceBufferPtr workspace = filled(
        static_cast<std::int64_t>(std::max(first.workspace_bytes(), second.workspace_bytes())));
    const auto product = [&](const GemmPlan& plan, const DeviceBufferPtr& a,
                             const DeviceBufferPtr& b, const DeviceBufferPtr& c, Queue& queue) {
      ProductAddresses at;
      at.left = a->address();
      at.right = b->address();
      at.y = c->address();
      plan.run(queue, at, workspace->address(), "bench");
    };
    return time([&](Queue& queue) {
      product(first, q, k, s, queue);
      softmax.run(queue, s->address(), w->address(), "bench");
      product(second, w, v, y, queue);
    });
  }

 private:
  // Heads that share keys are the inner batch.
  static void batches(const Row& r, std::int64_t a, std::int64_t b, std::int64_t y, GemmDesc& d) {
    d.batch = {r.batch * r.kv_heads, r.group()};
    d.a_batch = {r.group() * a, a};
    d.b_batch = {b, 0};
    d.y_batch = {r.group() * y, y};
  }
};

struct Wish {
  std::vector<DType> types;
  std::string only;
  bool sim = false;
};

void row(Bench& bench, const Row& r, DType type) {
  const AttentionDesc d = r.desc();
  const std::string chosen = AttentionPlan(d, type).name();
  const double us = bench.fused(d, type, ""), three = bench.unfused(r, type);
  std::string others;
  for (const std::string& variant : attention_variants(d)) {
    // A group a row is far from what so many rows are to run on.
    if (variant == "few" && r.queries > 512) continue;
    others += fmt::format("{}{}: {:.2f}", others.empty() ? "" : ", ", variant,
                          bench.fused(d, type, variant));
  }
  // Causal: half of the square of the last keys.
  const std::int64_t read = 2 * r.keys - (r.causal ? r.queries : 0);
  const double pairs = static_cast<double>(r.batch * r.heads * r.queries * read) / 2;
  const double bytes =
      static_cast<double>(2 * r.batch * r.size * (r.heads * r.queries + r.kv_heads * r.keys)) *
      static_cast<double>(size_of(type));
  fmt::print("| {} | {} | {} | {:.2f} | {:.1f} | {:.0f} | {:.2f} | {:.2f} | {} |\n", r.name,
             name_of(type), chosen, us, 4 * pairs * static_cast<double>(r.size) / us * 1e-6,
             bytes / us * 1e-3, three, three / us, others);
  std::fflush(stdout);
}

Wish parse(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "f32") {
      wish.types.push_back(DType::F32);
    } else if (a == "f16") {
      wish.types.push_back(DType::F16);
    } else if (a.starts_with("only=")) {
      wish.only = a.substr(5);
    } else {
      check(a == "device=sim", ErrorKind::Unsupported, "unknown argument '{}'", a);
      wish.sim = true;
    }
  }
  if (wish.types.empty()) wish.types = {DType::F32, DType::F16};
  return wish;
}

}  // namespace
}  // namespace treadle::gpu

int main(int argc, char** argv) {
  using namespace treadle::gpu;
  try {
    const Wish wish = parse(argc, argv);
    Bench bench(wish.sim);
    fmt::print(
        "{}\n\n| shape | dtype | kernel | µs | TFLOP/s | GB/s | three kernels µs | times | "
        "variants µs |\n|---|---|---|---|---|---|---|---|---|\n",
        bench.device().name());
    for (const treadle::DType type : wish.types) {
      for (const Row& r : kRows) {
        if (std::strstr(r.name, wish.only.c_str()) != nullptr) row(bench, r, type);
      }
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "gpu_attention_bench: {}\n", e.what());
    return 1;
  }
}
