#include "cli/json.hpp"

#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"

namespace treadle::cli {

void say_json(const Json& j) {
  // Names in models need not be UTF-8: what is not is replaced.
  say(j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Json to_json(const SymShape& shape) {
  Json out = Json::array();
  for (const Dim& d : shape) {
    if (d.is_const())
      out.push_back(d.value());
    else
      out.push_back(d.str());
  }
  return out;
}

Json to_json(const Shape& shape) {
  return std::vector<std::int64_t>(shape.begin(), shape.end());
}

Json to_json(const Port& port) {
  if (port.fact.kind != Fact::Kind::Tensor) return {{"name", port.name}, {"type", port.fact.str()}};
  return {{"name", port.name},
          {"dtype", name_of(port.fact.dtype)},
          {"shape", to_json(port.fact.shape)}};
}

}  // namespace treadle::cli
