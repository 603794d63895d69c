// Reference data as the models folder keeps it: io.json, inputs and outputs as .npy.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace treadle::cli {

using TensorMap = std::map<std::string, Tensor, std::less<>>;

// One call of the model.
struct IoCase {
  std::string name;
  TensorMap inputs, outputs;
};

// A trace: the model called once a frame, each state fed from an output of the call before.
struct IoStream {
  struct State {
    std::string input, output;
    Tensor initial, last;  // last: the state after the last frame, may be undefined
  };
  std::string input, output;
  Tensor frames, expected;  // [frames, frame shape…]
  std::vector<State> states;
  TensorMap constants;
};

// A decoder with past_*/present_* caches that takes the most likely token each time.
struct IoDecode {
  Tensor prefill_ids, ids, last_logits;
};

struct IoData {
  std::vector<IoCase> cases;
  std::vector<IoStream> streams;
  std::vector<IoDecode> decodes;
};

// Reads DIR/io.json and the arrays that it names (all inside DIR); a folder without io.json but
// with output.npy is one case with a nameless input, ../input_*.npy. Throws Parse or Io error.
IoData read_io(const std::string& folder);

}  // namespace treadle::cli
