// QuantizeLinear of elementwise functions of dequantised bytes, as one step.
#pragma once

#include <optional>
#include <variant>

#include "cpu/fuse.hpp"
#include "kernels/quantize/byte_chain.hpp"

namespace treadle::cpu {

// Functions of one input: a table of its 256 bytes. Of two inputs of one shape how they are
// combined, of one without a function how it is converted.
struct ByteChain {
  std::variant<kernels::ByteTable, kernels::CombineBytes> function;
};

// Adds each QuantizeLinear with what comes before it to the fusions, where bytes with one scale go
// in and come out.
void find_byte_chains(const Graph& graph, const std::vector<NodeId>& order, Fusions& fusions);

}  // namespace treadle::cpu
