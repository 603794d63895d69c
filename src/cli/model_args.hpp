// Options that every command which loads a model shares.
#pragma once

#include <string>
#include <vector>

#include "api/model.hpp"

namespace CLI {
class App;
}

namespace treadle::cli {

struct ModelArgs {
  std::string path;
  std::vector<std::string> shapes, symbols, extra_outputs;
  std::string target = "cpu";
  std::string on_unsupported = "cpu";
  std::vector<std::string> keep_on_cpu, avoid_kernels;
  int threads = 1;
  bool exact = false;
  bool reference = false;
  bool json = false;
  bool keep_denormals = false;
  Limits limits;
};

void add_model_args(CLI::App& app, ModelArgs& args);
// Warnings go to standard error. Throws Parse error for malformed --shape and --set.
ModelOptions to_options(const ModelArgs& args);

}  // namespace treadle::cli
