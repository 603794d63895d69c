#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class CellKind : std::uint8_t { Rnn, Gru, Lstm };
enum class Direction : std::uint8_t { Forward, Reverse, Bidirectional };

// ONNX RNN, GRU and LSTM with layout 0. Inputs: X [T, B, I], W [D, G·H, I], R [D, G·H, H], then
// optional B [D, 2·G·H], sequence_lens i32 [B], initial_h [D, B, H], and for LSTM initial_c and
// P [D, 3·H] (peepholes). G = 1, 3 (z, r, h), 4 (i, o, f, c). Outputs: Y [T, D, B, H],
// Y_h [D, B, H], and for LSTM Y_c. activations: ONNX names, lower case, per direction
// (f for RNN; f, g for GRU; f, g, h for LSTM) with alpha and beta for each.
class Recurrent final : public Operator {
 public:
  CellKind cell = CellKind::Lstm;
  Direction direction = Direction::Forward;
  std::int64_t hidden = 0;
  std::vector<std::string> activations;
  std::vector<double> alpha, beta;  // one an activation
  double clip = 0;                  // 0: none
  bool linear_before_reset = false;
  bool input_forget = false;

  TREADLE_OPERATOR(Recurrent);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
};

}  // namespace treadle::ops
