// Repeats infer on the concrete inputs of an evaluation.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Symbols may hide at import what does not fit at run time. Throws what infer throws for the actual
// shapes, and a Shape error when an output's place has another shape than these give.
void recheck(const Operator& op, EvalContext& ctx);

}  // namespace treadle::ops
