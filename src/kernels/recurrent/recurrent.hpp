// LSTM and GRU sequences in f32 with the usual activations (sigmoid, tanh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/threads.hpp"
#include "kernels/math/rows.hpp"

namespace treadle::kernels {

enum class RecurrentCell : std::uint8_t { Lstm, Gru };

// Packed weights of one direction. Layouts as in ONNX: w [G·H, I], r [G·H, H], bias [2·G·H] (null:
// zeros); gates i, o, f, c or z, r, h.
class RecurrentWeights {
 public:
  RecurrentWeights(RecurrentCell cell, bool linear_before_reset, std::int64_t features,
                   std::int64_t hidden, const float* w, const float* r, const float* bias);

  RecurrentCell cell;
  bool linear_before_reset;
  std::int64_t features, hidden;
  std::int64_t gates() const { return cell == RecurrentCell::Lstm ? 4 : 3; }
  // Gates whose recurrent part is one product of the state as it is.
  std::int64_t first_gates() const { return cell == RecurrentCell::Lstm ? 4 : 2; }
  std::size_t bytes() const;

  std::vector<float> input;        // w, packed
  std::vector<float> first, last;  // r of the first gates; GRU: of the candidate
  std::vector<float> bias;         // added to the input part
  std::vector<float> last_bias;    // GRU with linear_before_reset: added to the candidate's product
};

struct RecurrentArgs {
  std::int64_t time = 0, batch = 0;
  bool backward = false;
  const float* x = nullptr;  // [time, batch, features]
  float* y = nullptr;        // y + t · y_step: the states [batch, hidden] after step t
  std::ptrdiff_t y_step = 0;
  float* h = nullptr;  // [batch, hidden]: the first state; becomes the last one
  float* c = nullptr;  // the same for LSTM's cells
};

std::size_t recurrent_workspace_bytes(const RecurrentWeights& w, std::int64_t time,
                                      std::int64_t batch, int threads);
void recurrent(const Rows& table, const RecurrentWeights& w, const RecurrentArgs& args,
               void* workspace, Parallel& parallel);

}  // namespace treadle::kernels
