// JSON for --json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/model.hpp"

namespace treadle::cli {

using Json = nlohmann::ordered_json;

// One line on standard output.
void say_json(const Json& j);

// ["batch", 3, 224, 224]: numbers, and expressions as text.
Json to_json(const SymShape& shape);
Json to_json(const Shape& shape);
// {"name", "dtype", "shape"} of tensors, {"name", "type"} of other values.
Json to_json(const Port& port);

}  // namespace treadle::cli
