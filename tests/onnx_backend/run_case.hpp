// One ONNX backend test: a folder with model.onnx and test_data_set_*.
#pragma once

#include <string>

#include "onnx_backend/compare_values.hpp"

namespace treadle::backend {

enum class Status { Pass, Fail, Unsupported };

struct Outcome {
  Status status = Status::Pass;
  std::string reason;
};

// How the model is run: by the reference evaluator as imported, the same after simplification, or
// simplified, lowered and run by a Session.
enum class Path { Reference, Simplified, Session };

Outcome run_case(const std::string& folder, Path path, const Tolerance& tolerance);

}  // namespace treadle::backend
