// The activations that com.microsoft's fused operators name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/onnx/importer.hpp"

namespace treadle::onnx::nn {

// The activation of x. `params` are what the file gives of its parameters, in the order alpha, beta
// (or gamma); those that are missing have the defaults of the operator of that name. Throws
// Unsupported error for another activation.
ValueId activate(NodeContext& ctx, const std::string& activation, ValueId x,
                 const std::vector<std::optional<double>>& params);

}  // namespace treadle::onnx::nn
