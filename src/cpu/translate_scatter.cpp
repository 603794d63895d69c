// ScatterNd with constant indices: a copy of the input, then one block a tuple.
#include <cstring>

#include "base/error.hpp"
#include "cpu/translators.hpp"
#include "ops/index_tuples.hpp"
#include "ops/scatter_nd.hpp"

namespace treadle::cpu {

Translation translate_scatter_nd(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::ScatterNd>();
  if (op.reduce != ops::ScatterReduce::None || !ctx.constant(1) ||
      ctx.in(0).dtype == DType::String) {
    return {};
  }
  const auto bind = [](const BindContext& b) {
    ops::IndexTuples tuples = ops::index_tuples(b.in[0]->shape, *b.in[1], 0);
    const std::size_t block = static_cast<std::size_t>(tuples.run) * size_of(b.in[0]->dtype);
    check(b.in[2]->bytes() == tuples.offsets.size() * block, ErrorKind::Shape,
          "updates have shape {}, expected {} blocks of {} elements", b.in[2]->shape.str(),
          tuples.offsets.size(), tuples.run);
    const std::size_t element = size_of(b.in[0]->dtype);
    return bound([offsets = std::move(tuples.offsets), block, element](RunContext& c) {
      auto* y = static_cast<std::uint8_t*>(c.out[0]->data);
      if (c.out[0]->data != c.in[0]->data && c.out[0]->bytes() != 0) {
        std::memcpy(y, c.in[0]->data, c.out[0]->bytes());
      }
      const auto* from = static_cast<const std::uint8_t*>(c.in[2]->data);
      if (block == 0) return;
      for (const std::int64_t to : offsets) {
        std::memcpy(y + static_cast<std::size_t>(to) * element, from, block);
        from += block;
      }
    });
  };
  return {kernel("scatter_nd", bind), 0};
}

}  // namespace treadle::cpu
