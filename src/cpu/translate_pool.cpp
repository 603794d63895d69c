#include "cpu/translators.hpp"
#include "kernels/pool/pool.hpp"
#include "ops/pool.hpp"

namespace treadle::cpu {
namespace {

using kernels::Fold;
using kernels::PoolArgs;
using kernels::PoolAxis;

// Larger windows, strides and dilations go through eval, whose arithmetic is checked.
constexpr std::int64_t kMaxParameter = 1 << 20;

bool small(const std::vector<std::int64_t>& values) {
  for (const std::int64_t v : values) {
    if (v > kMaxParameter) return false;
  }
  return true;
}

bool takes(const ops::Pool& op) {
  if (op.with_indices || op.kernel.empty() || op.kernel.size() > 3) return false;
  if (op.kind == ops::PoolKind::Lp && op.p != 1 && op.p != 2) return false;
  return small(op.kernel) && small(op.strides) && small(op.dilations) && small(op.padding.before) &&
         small(op.padding.after);
}

PoolArgs resolve(const ops::Pool& op, const Shape& in, const Shape& out) {
  PoolArgs p;
  p.channels_last = op.layout == ops::Layout::ChannelsLast;
  p.average = op.kind == ops::PoolKind::Average;
  p.count_include_pad = op.count_include_pad;
  p.square_root = op.kind == ops::PoolKind::Lp && op.p == 2;
  p.fold = op.kind == ops::PoolKind::Max ? Fold::Max
           : p.average                   ? Fold::Sum
           : op.p == 2                   ? Fold::SumSquare
                                         : Fold::SumAbs;
  p.batch = in[0];
  p.channels = in[static_cast<std::size_t>(ops::channel_axis(op.layout, in.rank()))];
  const std::size_t unused = 3 - op.kernel.size();
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    const auto axis = static_cast<std::size_t>(ops::spatial_axis(op.layout, static_cast<int>(i)));
    const bool is_explicit = op.padding.mode == ops::AutoPad::Explicit;
    const ops::ConcreteWindow w =
        ops::window(in[axis], op.kernel[i], op.strides[i], op.dilations[i], op.padding.mode,
                    is_explicit ? op.padding.before[i] : 0, is_explicit ? op.padding.after[i] : 0,
                    op.ceil_mode);
    check(w.out == out[axis], ErrorKind::Shape, "axis {} of the output has size {}, expected {}",
          axis, out[axis], w.out);
    p.axes[unused + i] =
        PoolAxis{in[axis], w.out, op.kernel[i], op.strides[i], op.dilations[i], w.before, w.after};
  }
  return p;
}

template <typename T>
KernelPtr max_pool_kernel(const TranslateContext& ctx, const ops::Pool* op) {
  return kernel("max_pool_bytes", [keep = ctx.node.op, op](const BindContext& b) {
    return bound([args = resolve(*op, b.in[0]->shape, b.out[0]->shape),
                  table = &kernels::rows()](RunContext& c) {
      kernels::max_pool(*table, args, c.in[0]->as<const T>(), c.out[0]->as<T>(), c.parallel);
    });
  });
}

}  // namespace

Translation translate_max_pool_bytes(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Pool>();
  const DType t = ctx.in(0).dtype;
  if (op->kind != ops::PoolKind::Max || op->layout != ops::Layout::ChannelsLast || !takes(*op))
    return {};
  if (t == DType::U8) return {max_pool_kernel<std::uint8_t>(ctx, op)};
  if (t == DType::I8) return {max_pool_kernel<std::int8_t>(ctx, op)};
  return {};
}

Translation translate_pool(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Pool>();
  if (ctx.in(0).dtype != DType::F32 || !takes(*op)) return {};
  return {kernel("pool_f32", [keep = ctx.node.op, op](const BindContext& b) {
    const PoolArgs args = resolve(*op, b.in[0]->shape, b.out[0]->shape);
    return bound(
        [args, table = &kernels::rows()](RunContext& c) {
          kernels::pool(*table, args, c.in[0]->as<const float>(), c.out[0]->as<float>(),
                        c.parallel);
        },
        0, args.channels_last ? "pool_channels_last" : "pool_channels_first");
  })};
}

}  // namespace treadle::cpu
