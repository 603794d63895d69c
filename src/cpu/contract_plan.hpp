// How a two-operand Contract becomes matrix products.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/shape.hpp"
#include "ops/contract.hpp"

namespace treadle::cpu {

// True when every size of the contraction leads to matrix products: two operands, the last output
// letter stands in one of them only, and the summed letters stand in both, side by side in one
// order.
bool is_gemm(const ops::Contract& op);

// One dimension of a loop around the products, or of the products themselves.
struct LoopDim {
  std::int64_t size = 1;
  std::ptrdiff_t a = 0, b = 0, c = 0;  // strides in elements
};

// Calls body(offset a, b, c) for each step of the loops, the last innermost.
template <typename F>
void for_each_step(std::span<const LoopDim> loops, F&& body) {
  std::int64_t count = 1;
  for (const LoopDim& l : loops) count *= l.size;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::ptrdiff_t a = 0, b = 0, c = 0;
    for (std::size_t d = loops.size(); d-- > 0;) {
      const std::int64_t at = rest % loops[d].size;
      rest /= loops[d].size;
      a += at * loops[d].a;
      b += at * loops[d].b;
      c += at * loops[d].c;
    }
    body(a, b, c);
  }
}

// C[m, n] (+)= Σ_k A[m, k] B[k, n] for each step of `loops`. The column stride of C is 1. When
// `swapped`, A is the operator's second input.
struct ContractPlan {
  bool swapped = false;
  LoopDim m, n, k;
  std::vector<LoopDim> loops;  // output dimensions
};

// Throws Unsupported error when a summed letter broadcasts between others that do not.
ContractPlan plan_contract(const ops::Contract& op, const Shape& a, const Shape& b, const Shape& c);

}  // namespace treadle::cpu
