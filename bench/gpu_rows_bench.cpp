// Pools, reductions, softmax, norms, gathers and resizes on a GPU, beside a plain copy's limit.
//
//   gpu_rows_bench [f32] [f16] [only=TEXT] [device=sim]
// Times are of recordings replayed, for one run of the operator: medians of 9. GB/s counts what has
// to be read and written once: below 50 MB most of it stays in the cache, as it does in a model.
// Peers: ../shared/research/peers_gpu.md.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gpu/cumulative_plan.hpp"
#include "gpu/gather_plan.hpp"
#include "gpu/norm_plan.hpp"
#include "gpu/pool_plan.hpp"
#include "gpu/reduce_plan.hpp"
#include "gpu/resize_plan.hpp"
#include "gpu/softmax_plan.hpp"
#include "gpu_timing.hpp"

namespace treadle::gpu {
namespace {

using kernels::Split;
// Enqueues one run from input to output.
using Job = std::function<void(Queue&, DeviceAddress x, DeviceAddress y, DeviceAddress workspace)>;

struct Row {
  std::string name;
  std::int64_t in, out;  // elements
  std::size_t workspace = 0;
  double peer_f32 = 0, peer_f16 = 0;  // microseconds; 0: not measured
  Job job;
};

// Microseconds a run.
double time_of(bench::DeviceTimer& timer, const Row& row, std::int64_t element) {
  const DeviceBufferPtr x = timer.filled(row.in * element), y = timer.filled(row.out * 8),
                        workspace = timer.filled(static_cast<std::int64_t>(row.workspace));
  return timer.time(
      [&](Queue& queue) { row.job(queue, x->address(), y->address(), workspace->address()); });
}

std::string text_of(const Split& s) {
  return fmt::format("[{}, {}, {}]", s.outer, s.length, s.inner);
}

Row softmax(const Split& s, DType dtype, double f32 = 0, double f16 = 0) {
  const SoftmaxPlan plan(s, dtype, false);
  return {"softmax " + text_of(s),
          s.elements(),
          s.elements(),
          0,
          f32,
          f16,
          [plan](Queue& q, DeviceAddress x, DeviceAddress y, DeviceAddress) {
            plan.run(q, x, y, "bench");
          }};
}

Row norm(const Split& s, DType dtype, double f32 = 0, double f16 = 0) {
  const NormPlan plan(s, dtype, true, 1e-5);
  return {"norm " + text_of(s),
          s.elements(),
          s.elements(),
          plan.workspace_bytes(),
          f32,
          f16,
          [plan](Queue& q, DeviceAddress x, DeviceAddress y, DeviceAddress w) {
            plan.run(q, x, y, w, "bench");
          }};
}

Row reduce(ops::ReduceFn fn, const Split& s, DType dtype) {
  const ReducePlan plan(fn, dtype, {s.outer, s.length, s.inner}, {1});
  return {std::string(ops::name_of(fn)) + " " + text_of(s),
          s.elements(),
          s.outer * s.inner,
          plan.workspace_bytes(),
          0,
          0,
          [plan](Queue& q, DeviceAddress x, DeviceAddress y, DeviceAddress w) {
            plan.run(q, x, y, w, "bench");
          }};
}

Row arg_max(const Split& s, DType dtype) {
  const ArgReducePlan plan(ops::ArgReduce(true, 1, false), dtype, {s.outer, s.length, s.inner});
  return {"arg-max " + text_of(s),
          s.elements(),
          s.outer * s.inner,
          0,
          0,
          0,
          [plan](Queue& q, DeviceAddress x, DeviceAddress y, DeviceAddress) {
            plan.run(q, x, y, "bench");
          }};
}

Row cumulative(const Split& s, DType dtype) {
  const CumulativePlan plan(ops::Cumulative(ops::CumulativeFn::Sum, 1), dtype,
                            {s.outer, s.length, s.inner});
  return {"cumulative sum " + text_of(s),
          s.elements(),
          s.elements(),
          0,
          0,
          0,
          [plan](Queue& q, DeviceAddress x, DeviceAddress y, DeviceAddress) {
            plan.run(q, x, y, "bench");
          }};
}

Row resize(Device& device, ops::ResizeMode mode, const Shape& from, const Shape& to, DType dtype) {
  ops::Resize op;
  op.mode = mode;
  for (const std::int64_t d : to) op.sizes.push_back(d);
  const ResizePlan plan(device, op, dtype, from, to);
  const char* name = mode == ops::ResizeMode::Nearest  ? "nearest "
                     : mode == ops::ResizeMode::Linear ? "linear "
                                                       : "cubic ";
  return {name + from.str() + "→" + to.str(),
          from.elements(),
          to.elements(),
          plan.workspace_bytes(),
          0,
          0,
          [plan](Queue& q, DeviceAddress x, DeviceAddress y, DeviceAddress w) {
            plan.run(q, x, y, w, "bench");
          }};
}

// A square kernel over channels-last [images, side, side, channels].
Row pool(ops::PoolKind kind, std::int64_t window, std::int64_t stride, bool same, const Shape& x,
         DType dtype, double f32 = 0, double f16 = 0) {
  ops::Pool op;
  op.kind = kind;
  op.layout = ops::Layout::ChannelsLast;
  op.kernel = {window, window};
  op.strides = {stride, stride};
  op.dilations = {1, 1};
  if (same) {
    op.padding.mode = ops::AutoPad::SameUpper;
  } else {
    op.padding.before = op.padding.after = {0, 0};
  }
  const PoolPlan plan(op, dtype, x);
  return {fmt::format("{} pool {}x{}/{} {}", kind == ops::PoolKind::Max ? "max" : "average", window,
                      window, stride, x.str()),
          x.elements(),
          plan.output().elements(),
          plan.workspace_bytes(),
          f32,
          f16,
          [plan](Queue& q, DeviceAddress from, DeviceAddress to, DeviceAddress w) {
            plan.run(q, {from, to, 0, w}, "bench");
          }};
}

void add_pools(std::vector<Row>& rows, DType t) {
  using ops::PoolKind;
  // With the peers' times at batch 1, microseconds.
  const auto add = [&](PoolKind kind, std::int64_t window, std::int64_t stride, bool same,
                       std::int64_t side, std::int64_t channels, double f32, double f16) {
    rows.push_back(pool(kind, window, stride, same, {1, side, side, channels}, t, f32, f16));
    rows.push_back(pool(kind, window, stride, same, {32, side, side, channels}, t));
  };
  add(PoolKind::Max, 3, 2, false, 147, 64, 7.44, 7.61);
  add(PoolKind::Max, 3, 2, false, 71, 192, 5.60, 5.61);
  add(PoolKind::Max, 3, 2, true, 112, 64, 4.95, 5.04);
  add(PoolKind::Max, 2, 2, false, 320, 64, 21.43, 18.00);
  add(PoolKind::Average, 3, 1, true, 35, 192, 4.55, 4.58);
  add(PoolKind::Average, 7, 7, false, 7, 1280, 2.23, 2.21);
  add(PoolKind::Average, 8, 8, false, 8, 2048, 2.31, 2.31);
}

std::vector<Row> rows_of(Device& device, DType t) {
  using ops::ReduceFn;
  using ops::ResizeMode;
  return {softmax({6144, 512, 1}, t, 6.28, 6.38),
          softmax({197 * 12, 197, 1}, t),
          softmax({65536, 1000, 1}, t),
          softmax({1, 50257, 1}, t),
          softmax({4096, 4096, 1}, t),
          softmax({1, 21, 513 * 513}, t),
          norm({512, 768, 1}, t, 3.99, 3.56),
          norm({65536, 768, 1}, t),
          norm({4096, 4096, 1}, t),
          norm({32, 256 * 256, 1}, t),
          norm({1, 256 * 256, 32}, t),
          reduce(ReduceFn::Mean, {1, 49, 2048}, t),
          reduce(ReduceFn::Mean, {32, 49, 2048}, t),
          reduce(ReduceFn::Sum, {65536, 768, 1}, t),
          reduce(ReduceFn::Sum, {1, 50'000'000, 1}, t),
          reduce(ReduceFn::Max, {64, 1024, 768}, t),
          reduce(ReduceFn::Sum, {1, 65536, 768}, t),
          reduce(ReduceFn::LogSumExp, {65536, 768, 1}, t),
          arg_max({1, 50257, 1}, t),
          arg_max({513 * 513, 21, 1}, t),
          cumulative({1024, 4096, 1}, t),
          cumulative({64, 1024, 768}, t),
          resize(device, ResizeMode::Linear, {1, 16, 160, 160}, {1, 16, 320, 320}, t),
          resize(device, ResizeMode::Linear, {1, 160, 160, 16}, {1, 320, 320, 16}, t),
          resize(device, ResizeMode::Linear, {32, 64, 64, 64}, {32, 128, 128, 64}, t),
          resize(device, ResizeMode::Cubic, {32, 64, 64, 64}, {32, 128, 128, 64}, t),
          resize(device, ResizeMode::Nearest, {32, 64, 64, 64}, {32, 128, 128, 64}, t)};
}

int run(const std::vector<std::string_view>& arguments) {
  std::vector<DType> types;
  std::string only;
  bool sim = false;
  for (const std::string_view a : arguments) {
    if (a == "f32") types.push_back(DType::F32);
    if (a == "f16") types.push_back(DType::F16);
    if (a.starts_with("only=")) only = a.substr(5);
    if (a == "device=sim") sim = true;
  }
  if (types.empty()) types = {DType::F32, DType::F16};
  bench::DeviceTimer timer(sim);
  fmt::print("{}\n\n| run | dtype | us | GB/s | peer us | ratio |\n|---|---|---|---|---|---|\n",
             timer.device().name());
  for (const DType t : types) {
    std::vector<Row> rows = rows_of(timer.device(), t);
    add_pools(rows, t);
    for (const Row& row : rows) {
      if (row.name.find(only) == std::string::npos) continue;
      const auto element = static_cast<std::int64_t>(size_of(t));
      const double us = time_of(timer, row, element);
      const double bytes = static_cast<double>((row.in + row.out) * element);
      const double peer = t == DType::F32 ? row.peer_f32 : row.peer_f16;
      const std::string beside =
          peer == 0 ? "|  |  " : fmt::format("| {:.2f} | {:.2f} ", peer, us / peer);
      fmt::print("| {} | {} | {:.2f} | {:.0f} {}|\n", row.name, name_of(t), us, bytes / us * 1e-3,
                 beside);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace treadle::gpu

int main(int argc, char** argv) {
  try {
    return treadle::gpu::run({argv + 1, argv + argc});
  } catch (const treadle::Error& e) {
    fmt::print(stderr, "gpu_rows_bench: {}\n", e.what());
    return 1;
  }
}
