#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Einsum over one or more inputs: every matrix product. `inputs[k]` has one letter an axis of input
// k, `output` one an axis of the output, each letter once (importers turn repeated letters of one
// operand into a diagonal first); letters not in the output are summed. An axis of size 1 broadcasts
// against a larger one under the same letter. Batched matmul: "bmk","bkn"→"bmn".
// All inputs have one dtype; f16/bf16 accumulate in f32, integers wrap.
class Contract final : public Operator {
 public:
  Contract(std::vector<std::string> in, std::string out) : inputs(std::move(in)), output(std::move(out)) {}
  std::vector<std::string> inputs;
  std::string output;

  TREADLE_OPERATOR(Contract);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
