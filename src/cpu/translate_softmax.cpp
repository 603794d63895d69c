#include "cpu/split.hpp"
#include "cpu/translators.hpp"
#include "kernels/softmax/softmax.hpp"
#include "ops/softmax.hpp"

namespace treadle::cpu {

Translation translate_softmax(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Softmax>();
  if (ctx.in(0).dtype != DType::F32 || !are_neighbours(op->axes)) return {};
  const std::int64_t first = op->axes.front(), last = op->axes.back();
  const bool logarithm = op->log;
  return {kernel("softmax_f32",
                 [=](const BindContext& b) {
                   const kernels::Split split = split_around(b.in[0]->shape, first, last);
                   return bound([=, table = &kernels::rows()](RunContext& c) {
                     kernels::softmax(*table, split, logarithm, c.in[0]->as<const float>(),
                                      c.out[0]->as<float>(), c.parallel);
                   });
                 }),
          0};
}

}  // namespace treadle::cpu
