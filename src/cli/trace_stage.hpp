// Runs a model as it is after one stage and shows every value that it computes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/model.hpp"
#include "graph/value.hpp"

namespace treadle::cli {

// What `compare` compares: a stage, "reference" (lowered, every operator through eval) or the
// lowered program, on the target of the options.
enum class Side { Import, Simplified, Reference, Lowered };
// "sim", "metal", "cuda", "cuda:1".
bool names_device(std::string_view name);
// Of a device: Lowered.
std::optional<Side> side_from_name(std::string_view name);

// A computed value: its name, and the node that made it ("node 'conv1' (Conv, #3)").
using ValueObserver =
    std::function<void(const std::string& name, const std::string& node, const Tensor& value)>;

// Loads the model as `options` say and runs it on `make(ports)`. Values without a name and values
// that are no tensors are left out; outputs of the graph come last, under their output names.
void trace(Side side, const std::string& path, const ModelOptions& options,
           const std::function<std::vector<Value>(std::span<const Port>)>& make,
           const ValueObserver& observer);

}  // namespace treadle::cli
