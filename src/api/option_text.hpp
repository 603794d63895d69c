// Options as people write them: "image=1,3,224,224", "batch=4".
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "api/model.hpp"

namespace treadle {

// Splits at the first '='; throws Parse error naming `what` when there is none or a side is empty.
std::pair<std::string, std::string> split_assignment(std::string_view text, std::string_view what);
// "name=1,3,H,W": sizes are numbers or symbols. Names may hold ':' and '/'.
void add_shape(std::string_view text, ModelOptions& options);
// "batch=4".
void add_symbol(std::string_view text, ModelOptions& options);

}  // namespace treadle
