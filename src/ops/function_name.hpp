// What one of the general operators computes.
#pragma once

#include <string_view>

#include "graph/operator.hpp"

namespace treadle::ops {

// "add" of a Binary, "relu" of a Unary, "sum" of a Reduce; empty for other operators.
std::string_view function_name(const Operator& op);

}  // namespace treadle::ops
