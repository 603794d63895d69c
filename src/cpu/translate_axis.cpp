#include <vector>

#include "cpu/translators.hpp"
#include "kernels/copy/copy.hpp"
#include "ops/axis.hpp"

namespace treadle::cpu {

using kernels::BoundCopy;
using kernels::CopyAxis;

Translation translate_transpose(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Transpose>();
  if (ctx.in(0).dtype == DType::String) return {};
  return {kernel("transpose", [perm = op->perm](const BindContext& b) {
    const Shape in = b.in[0]->shape.strides(), out = b.out[0]->shape.strides();
    std::vector<CopyAxis> axes;
    for (std::size_t i = 0; i < perm.size(); ++i) {
      axes.push_back({b.out[0]->shape[i], in[static_cast<std::size_t>(perm[i])], out[i]});
    }
    BoundCopy copy(size_of(b.in[0]->dtype), axes);
    return bound([copy = std::move(copy)](RunContext& c) {
      copy.run(c.in[0]->data, c.out[0]->data, c.parallel);
    });
  })};
}

Translation translate_expand(const TranslateContext& ctx) {
  if (ctx.in(0).dtype == DType::String) return {};
  return {kernel("expand", [](const BindContext& b) {
    const Shape &from = b.in[0]->shape, &to = b.out[0]->shape;
    check(from.rank() == to.rank(), ErrorKind::Shape, "{} does not expand to {}", from.str(),
          to.str());
    const Shape in = from.strides(), out = to.strides();
    std::vector<CopyAxis> axes;
    for (std::size_t i = 0; i < to.size(); ++i) {
      check(from[i] == to[i] || from[i] == 1, ErrorKind::Shape,
            "axis {} of {} does not expand to {}", i, from.str(), to.str());
      axes.push_back({to[i], from[i] == 1 ? 0 : in[i], out[i]});
    }
    BoundCopy copy(size_of(b.in[0]->dtype), axes);
    return bound([copy = std::move(copy)](RunContext& c) {
      copy.run(c.in[0]->data, c.out[0]->data, c.parallel);
    });
  })};
}

}  // namespace treadle::cpu
