// Conv (channels last) and Contract in i32, whatever is constant.
#include "cpu/contract_plan.hpp"
#include "cpu/conv_desc.hpp"
#include "cpu/translators.hpp"
#include "kernels/product_i32/product_i32.hpp"

namespace treadle::cpu {
namespace {

void run_contract(const ContractPlan& plan, RunContext& c) {
  for_each_step(plan.loops, [&](std::ptrdiff_t in_a, std::ptrdiff_t in_b, std::ptrdiff_t to) {
    kernels::ProductI32Args p;
    p.m = plan.m.size;
    p.n = plan.n.size;
    p.k = plan.k.size;
    p.a = c.in[plan.swapped ? 1 : 0]->as<const std::int32_t>() + in_a;
    p.a_row = plan.m.a;
    p.a_column = plan.k.a;
    p.b = c.in[plan.swapped ? 0 : 1]->as<const std::int32_t>() + in_b;
    p.b_row = plan.k.b;
    p.b_column = plan.n.b;
    p.c = c.out[0]->as<std::int32_t>() + to;
    p.c_row = plan.m.c;
    kernels::product_i32(p, c.parallel);
  });
}

bool is_constant_kernel(const ops::Conv& op, const SymShape& w) {
  const ops::WeightAxes axes = ops::weight_axes(op.weight_layout, static_cast<int>(w.size()));
  for (std::size_t i = 0; i + 2 < w.size(); ++i) {
    if (!w[static_cast<std::size_t>(axes.spatial) + i].is_const()) return false;
  }
  return true;
}

}  // namespace

Translation translate_conv_i32(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Conv>();
  const int rank = ctx.in(0).rank();
  if (ctx.in(0).dtype != DType::I32 || op->layout != ops::Layout::ChannelsLast || rank > 5 ||
      !is_constant_kernel(*op, ctx.in(1).shape)) {
    return {};
  }
  return {kernel("conv_i32", [keep = ctx.node.op, op](const BindContext& b) {
    const kernels::ConvDesc d = conv_desc(*op, b.in[0]->shape, b.in[1]->shape);
    kernels::check_conv(d);
    return bound(
        [d, strides = weight_strides(op->weight_layout, d)](RunContext& c) {
          const bool bias = c.in.size() > 2 && c.in[2];
          kernels::conv_i32(d, c.in[0]->as<const std::int32_t>(), c.in[1]->as<const std::int32_t>(),
                            strides, bias ? c.in[2]->as<const std::int32_t>() : nullptr,
                            c.out[0]->as<std::int32_t>(), c.workspace, c.parallel);
        },
        kernels::conv_i32_workspace_bytes(d));
  })};
}

Translation translate_contract_i32(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Contract>();
  if (!is_gemm(*op) || ctx.in(0).dtype != DType::I32) return {};
  return {kernel("contract_i32", [keep = ctx.node.op, op](const BindContext& b) {
    return bound([plan = plan_contract(*op, b.in[0]->shape, b.in[1]->shape, b.out[0]->shape)](
                     RunContext& c) { run_contract(plan, c); });
  })};
}

}  // namespace treadle::cpu
