#include "base/narrow.hpp"
#include "cpu/byte_chains.hpp"
#include "cpu/split.hpp"
#include "cpu/translators.hpp"
#include "kernels/quantize/quantize.hpp"
#include "ops/quantize.hpp"

namespace treadle::cpu {
namespace {

using kernels::Split;

bool is_byte(DType t) {
  return t == DType::U8 || t == DType::I8;
}

// One scale for all, or one for each index of `axis`.
bool takes_scale(const TranslateContext& ctx, std::int64_t block_size) {
  if (ctx.in(1).dtype != DType::F32 || block_size != 0) return false;
  return ctx.in(1).rank() <= 1;
}

Split split_of(const BindContext& b, std::int64_t axis) {
  const Shape &x = b.in[0]->shape, &scale = b.in[1]->shape;
  if (scale.elements() == 1) return {1, 1, x.elements()};
  if (axis < 0) axis += x.rank();
  const Split s = split_around(x, axis, axis);
  check(s.length == scale.elements(), ErrorKind::Shape,
        "scale has shape {}, expected one value or {} (axis {} of {})", scale.str(), s.length, axis,
        x.str());
  return s;
}

// The zero points, or null.
template <typename T>
const T* zero_of(const RunContext& c) {
  return c.in.size() > 2 && c.in[2] ? c.in[2]->as<const T>() : nullptr;
}

template <typename T>
KernelPtr quantize_kernel(std::int64_t axis) {
  return kernel("quantize", [axis](const BindContext& b) {
    return bound([split = split_of(b, axis), table = &kernels::rows()](RunContext& c) {
      kernels::quantize(*table, split, c.in[0]->as<const float>(), c.in[1]->as<const float>(),
                        zero_of<T>(c), c.out[0]->as<T>(), c.parallel);
    });
  });
}

template <typename T>
KernelPtr dequantize_kernel(std::int64_t axis) {
  return kernel("dequantize", [axis](const BindContext& b) {
    return bound([split = split_of(b, axis), table = &kernels::rows()](RunContext& c) {
      kernels::dequantize(*table, split, c.in[0]->as<const T>(), c.in[1]->as<const float>(),
                          zero_of<T>(c), c.out[0]->as<float>(), c.parallel);
    });
  });
}

struct RunByteChain {
  RunContext& c;
  void operator()(const kernels::ByteTable& table) const {
    kernels::look_up(table, static_cast<const std::uint8_t*>(c.in[0]->data),
                     static_cast<std::uint8_t*>(c.out[0]->data), c.out[0]->shape.elements(),
                     c.parallel);
  }
  void operator()(const kernels::CombineBytes& combine) const {
    kernels::combine_bytes(kernels::rows(), combine, c.in[0]->data, c.in[1]->data, c.out[0]->data,
                           c.out[0]->shape.elements(), c.parallel);
  }
};

}  // namespace

Translation translate_byte_chain(const TranslateContext& ctx) {
  if (!ctx.fused || !ctx.fused->bytes) return {};
  return {kernel("byte_chain",
                 [chain = ctx.fused->bytes](const BindContext&) {
                   return bound([chain = chain.get()](RunContext& c) {
                     std::visit(RunByteChain{c}, chain->function);
                   });
                 }),
          0};
}

Translation translate_quantize(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::QuantizeLinear>();
  if (ctx.in(0).dtype != DType::F32 || op->precision != DType::F32 || !is_byte(op->to) ||
      !takes_scale(ctx, op->block_size)) {
    return {};
  }
  return {op->to == DType::U8 ? quantize_kernel<std::uint8_t>(op->axis)
                              : quantize_kernel<std::int8_t>(op->axis)};
}

Translation translate_dequantize(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::DequantizeLinear>();
  DType from = ctx.in(0).dtype;
  if (is_narrow_integer(from)) from = byte_of_narrow_integer(from);
  if (!is_byte(from) || op->to != DType::F32 || !takes_scale(ctx, op->block_size)) return {};
  return {from == DType::U8 ? dequantize_kernel<std::uint8_t>(op->axis)
                            : dequantize_kernel<std::int8_t>(op->axis)};
}

}  // namespace treadle::cpu
