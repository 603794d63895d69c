// Small models with inputs and the outputs of another engine, as tests/tf/make_cases.py and
// tests/ml/make_cases.py write them: NAME|graph (bytes of the file), NAME|in|X, NAME|out|Y.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "api/model.hpp"
#include "graph/value.hpp"
#include "tensor/npz.hpp"

namespace treadle::testing {

struct Case {
  std::string graph;
  std::map<std::string, Tensor> inputs, outputs;
};
using Cases = std::map<std::string, Case>;

inline Cases read_cases(const std::string& path) {
  Cases out;
  for (auto& [key, tensor] : read_npz_file(path)) {
    const auto bar = key.find('|');
    Case& c = out[key.substr(0, bar)];
    const std::string rest = key.substr(bar + 1);
    if (rest == "graph") {
      const auto bytes = tensor.span<std::uint8_t>();
      c.graph.assign(bytes.begin(), bytes.end());
    } else if (rest.starts_with("in|")) {
      c.inputs.emplace(rest.substr(3), tensor);
    } else {
      c.outputs.emplace(rest.substr(4), tensor);
    }
  }
  return out;
}

inline std::vector<std::string> names(const Cases& cases) {
  std::vector<std::string> out;
  for (const auto& [name, c] : cases) out.push_back(name);
  return out;
}

inline std::vector<Value> inputs_of(const Case& c, std::span<const Port> ports) {
  std::vector<Value> out;
  for (const Port& p : ports) out.emplace_back(c.inputs.at(p.name));
  return out;
}

}  // namespace treadle::testing
