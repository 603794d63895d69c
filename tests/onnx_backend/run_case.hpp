// One ONNX backend test: a folder with model.onnx and test_data_set_*.
#pragma once

#include <string>

#include "onnx_backend/compare_values.hpp"
#include "onnx_backend/run_path.hpp"

namespace treadle::backend {

enum class Status { Pass, Fail, Unsupported };

struct Outcome {
  Status status = Status::Pass;
  std::string reason;
};

Outcome run_case(const std::string& folder, Path path, const Tolerance& tolerance);

}  // namespace treadle::backend
