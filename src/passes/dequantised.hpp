// What rules for quantised graphs look at.
#pragma once

#include <optional>
#include <vector>

#include "passes/match.hpp"

namespace treadle::passes {

// Scale and zero point of QuantizeLinear or DequantizeLinear: constants of 8 bits, one for all
// elements or one for each index of an axis.
struct Scaling {
  std::vector<float> scale;
  std::vector<std::int32_t> zero;  // as many
  DType dtype = DType::U8;
  std::int64_t axis = 0;  // of several
  bool single() const { return scale.size() == 1; }
  bool operator==(const Scaling&) const = default;
};

// A DequantizeLinear from 8 bits to f32, behind nodes that only move elements where its scale is
// one.
struct Dequantised {
  ValueId q;
  Scaling scaling;
  std::vector<NodeId> movers;  // from q on
};
std::optional<Dequantised> dequantised(const Graph& g, ValueId v);

// The scaling of a QuantizeLinear of f32 to 8 bits.
std::optional<Scaling> quantised_to(const Graph& g, const Node& n);

}  // namespace treadle::passes
