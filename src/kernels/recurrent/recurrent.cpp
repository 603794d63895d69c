#include "kernels/recurrent/recurrent.hpp"

#include <algorithm>

#include "base/shape.hpp"
#include "kernels/gemm/gemm.hpp"

namespace treadle::kernels {
namespace {

// Row-major [rows, columns] as the packed right-hand side of x · mᵀ.
std::vector<float> packed(const float* m, std::int64_t rows, std::int64_t columns) {
  std::vector<float> out(packed_b_floats(columns, rows));
  pack_b(m, 1, columns, columns, rows, out.data());
  return out;
}

// c = a · mᵀ (+ c) + bias, over rows of a with c's rows `ldc` apart.
GemmArgs product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                 float* c, std::int64_t ldc, bool accumulate, const float* bias) {
  GemmArgs g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a;
  g.lda = k;
  g.packed_b = b;
  g.c = c;
  g.ldc = ldc;
  g.accumulate = accumulate;
  g.epilogue.bias = bias;
  return g;
}

struct Space {
  float* gates;      // [time, batch, G·H]: the input part
  float* candidate;  // GRU: [batch, H]
  float* reset;      // GRU: [batch, H]
  void* gemm;
};

std::int64_t aligned(std::int64_t floats) {
  return (floats + 15) / 16 * 16;
}

// Both in floats.
std::int64_t gates_size(const RecurrentWeights& w, std::int64_t time, std::int64_t batch) {
  return checked_add(checked_mul(checked_mul(time, batch), w.gates() * w.hidden), 16) / 16 * 16;
}
std::int64_t state_size(const RecurrentWeights& w, std::int64_t batch) {
  return aligned(checked_mul(batch, w.hidden));
}

void lstm_step(const Rows& t, const RecurrentWeights& w, const RecurrentArgs& a, float* gates,
               const Space& space, Parallel& parallel) {
  const std::int64_t n = w.hidden;
  gemm(product(a.batch, 4 * n, n, a.h, w.first.data(), gates, 4 * n, true, nullptr), space.gemm,
       parallel);
  for (std::int64_t b = 0; b < a.batch; ++b) {
    const float* g = gates + b * 4 * n;
    t.lstm_cell(g, g + n, g + 2 * n, g + 3 * n, a.c + b * n, a.h + b * n, n);
  }
}

void gru_step(const Rows& t, const RecurrentWeights& w, const RecurrentArgs& a, float* gates,
              const Space& space, Parallel& parallel) {
  const std::int64_t n = w.hidden;
  gemm(product(a.batch, 2 * n, n, a.h, w.first.data(), gates, 3 * n, true, nullptr), space.gemm,
       parallel);
  for (std::int64_t b = 0; b < a.batch; ++b) {
    float* g = gates + b * 3 * n;
    t[Fn1::Sigmoid](g, g, 2 * n, 0, 0);
    if (!w.linear_before_reset) t.both(Fn2::Mul)(g + n, a.h + b * n, space.reset + b * n, n);
  }
  const float* state = w.linear_before_reset ? a.h : space.reset;
  const float* bias = w.linear_before_reset ? w.last_bias.data() : nullptr;
  gemm(product(a.batch, n, n, state, w.last.data(), space.candidate, n, false, bias), space.gemm,
       parallel);
  for (std::int64_t b = 0; b < a.batch; ++b) {
    const float *z = gates + b * 3 * n, *r = z + n, *x = z + 2 * n;
    float *candidate = space.candidate + b * n, *h = a.h + b * n;
    if (w.linear_before_reset) t.both(Fn2::Mul)(candidate, r, candidate, n);
    t.both(Fn2::Add)(candidate, x, candidate, n);
    t[Fn1::Tanh](candidate, candidate, n, 0, 0);
    // h = candidate + z (h − candidate).
    t.both(Fn2::Sub)(h, candidate, h, n);
    t.both(Fn2::Mul)(h, z, h, n);
    t.both(Fn2::Add)(h, candidate, h, n);
  }
}

}  // namespace

RecurrentWeights::RecurrentWeights(RecurrentCell kind, bool linear, std::int64_t inputs,
                                   std::int64_t states, const float* w, const float* r,
                                   const float* both_biases)
    : cell(kind), linear_before_reset(linear), features(inputs), hidden(states) {
  const std::int64_t rows = gates() * hidden, first_rows = first_gates() * hidden;
  input = packed(w, rows, features);
  first = packed(r, first_rows, hidden);
  if (cell == RecurrentCell::Gru) last = packed(r + first_rows * hidden, hidden, hidden);
  bias.assign(static_cast<std::size_t>(rows), 0.0f);
  last_bias.assign(static_cast<std::size_t>(hidden), 0.0f);
  if (!both_biases) return;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool apart = cell == RecurrentCell::Gru && linear_before_reset && i >= first_rows;
    bias[static_cast<std::size_t>(i)] = both_biases[i] + (apart ? 0.0f : both_biases[rows + i]);
    if (apart) last_bias[static_cast<std::size_t>(i - first_rows)] = both_biases[rows + i];
  }
}

std::size_t RecurrentWeights::bytes() const {
  return (input.size() + first.size() + last.size() + bias.size() + last_bias.size()) *
         sizeof(float);
}

std::size_t recurrent_workspace_bytes(const RecurrentWeights& w, std::int64_t time,
                                      std::int64_t batch, int threads) {
  const std::int64_t n = w.hidden, rows = w.gates() * n;
  const std::int64_t floats =
      checked_add(gates_size(w, time, batch), checked_mul(2, state_size(w, batch)));
  const GemmArgs all =
      product(time * batch, rows, w.features, nullptr, nullptr, nullptr, rows, false, nullptr);
  const GemmArgs step =
      product(batch, w.first_gates() * n, n, nullptr, nullptr, nullptr, rows, true, nullptr);
  const GemmArgs last = product(batch, n, n, nullptr, nullptr, nullptr, n, false, nullptr);
  const std::size_t gemm_bytes =
      std::max({gemm_workspace_bytes(all, threads), gemm_workspace_bytes(step, threads),
                gemm_workspace_bytes(last, threads)});
  return static_cast<std::size_t>(checked_mul(floats, sizeof(float))) + gemm_bytes;
}

void recurrent(const Rows& table, const RecurrentWeights& w, const RecurrentArgs& a,
               void* workspace, Parallel& parallel) {
  if (a.batch == 0 || a.time == 0) return;
  const std::int64_t rows = w.gates() * w.hidden, states = a.batch * w.hidden;
  Space space;
  space.gates = static_cast<float*>(workspace);
  space.candidate = space.gates + gates_size(w, a.time, a.batch);
  space.reset = space.candidate + state_size(w, a.batch);
  space.gemm = space.reset + state_size(w, a.batch);
  gemm(product(a.time * a.batch, rows, w.features, a.x, w.input.data(), space.gates, rows, false,
               w.bias.data()),
       space.gemm, parallel);
  for (std::int64_t i = 0; i < a.time; ++i) {
    const std::int64_t t = a.backward ? a.time - 1 - i : i;
    float* gates = space.gates + t * a.batch * rows;
    if (w.cell == RecurrentCell::Lstm) {
      lstm_step(table, w, a, gates, space, parallel);
    } else {
      gru_step(table, w, a, gates, space, parallel);
    }
    std::copy_n(a.h, states, a.y + t * a.y_step);
  }
}

}  // namespace treadle::kernels
