// Einsum.
#include "formats/onnx/ops/math_helpers.hpp"
#include "ops/einsum.hpp"

namespace treadle::onnx {

std::vector<ValueId> import_einsum(NodeContext& c) {
  std::vector<ValueId> inputs;
  for (std::size_t k = 0; k < c.inputs(); ++k) inputs.push_back(c.in(k));
  return {ops::einsum(c.graph(), c.fresh_name(), c.string_attr("equation", std::nullopt),
                      std::move(inputs))};
}

}  // namespace treadle::onnx
