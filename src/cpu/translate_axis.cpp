#include "cpu/bound_copy.hpp"
#include "cpu/translators.hpp"
#include "ops/axis.hpp"

namespace treadle::cpu {

Translation translate_transpose(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Transpose>();
  if (ctx.in(0).dtype == DType::String) return {};
  return {kernel("transpose", [perm = op->perm](const BindContext& b) {
    return bound_copy(b, transpose_desc(perm, b.in[0]->shape, b.out[0]->shape));
  })};
}

Translation translate_expand(const TranslateContext& ctx) {
  if (ctx.in(0).dtype == DType::String) return {};
  return {kernel("expand", [](const BindContext& b) {
    return bound_copy(b, expand_desc(b.in[0]->shape, b.out[0]->shape));
  })};
}

}  // namespace treadle::cpu
