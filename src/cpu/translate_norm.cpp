#include "cpu/split.hpp"
#include "cpu/translators.hpp"
#include "kernels/norm/norm.hpp"
#include "ops/norm.hpp"

namespace treadle::cpu {

Translation translate_norm(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Norm>();
  if (ctx.in(0).dtype != DType::F32 || !are_neighbours(op->axes)) return {};
  const std::int64_t first = op->axes.front(), last = op->axes.back();
  const bool center = op->center;
  const float epsilon = static_cast<float>(op->epsilon);
  return {kernel("norm_f32",
                 [=](const BindContext& b) {
                   const kernels::Split split = split_around(b.in[0]->shape, first, last);
                   return bound([=, table = &kernels::rows()](RunContext& c) {
                     kernels::normalize(*table, split, center, epsilon, c.in[0]->as<const float>(),
                                        c.out[0]->as<float>(), c.parallel);
                   });
                 }),
          0};
}

}  // namespace treadle::cpu
