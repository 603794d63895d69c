#pragma once

#include <cstdint>
#include <vector>

#include "graph/operator.hpp"

namespace treadle::ops {

// The decisions of a support vector classifier that compares each two classes. Input k [N, S], what
// the kernel makes of each row and support vector. The support vectors are ordered by class:
// `counts` of each of the C classes, S together. For classes i < j the decision value is
//   rho + Σ coefficients[j − 1, s]·k[n, s] over s of i + Σ coefficients[i, s]·k[n, s] over s of j,
// above 0 a vote for i, else for j (LIBSVM, Chang and Lin 2011, section 4.1). Outputs: the values
// f32 [N, C·(C − 1)/2] in the order (0, 1), (0, 2), …, (1, 2), …; the class with most votes, the
// first of equals, i64 [N]. The constructor throws Parse error when the parameters do not fit.
class OneVersusOne final : public Operator {
 public:
  // coefficients: f32 [C − 1, S]; one rho a pair.
  OneVersusOne(std::vector<std::int64_t> count, Tensor coefficient, std::vector<double> offset);
  std::vector<std::int64_t> counts;
  Tensor coefficients;
  std::vector<double> rho;
  TREADLE_OPERATOR(OneVersusOne);

 private:
  std::int64_t vectors_ = 0;
};

// Probabilities of `classes` classes from those of pairs: x f32 [N, C·(C − 1)/2] holds for i < j
// the probability of i given that it is i or j, in the order of OneVersusOne; out f32 [N, C].
// Minimises Σ (p_j·x_ij − p_i·x_ji)² (Wu, Lin and Weng 2004, "Probability Estimates for
// Multi-class Classification by Pairwise Coupling", their second method) by the iteration of
// LIBSVM (Chang and Lin 2011, section 8): it ends at a residual below 0.005/C.
class PairwiseCoupling final : public Operator {
 public:
  explicit PairwiseCoupling(std::int64_t c) : classes(c) {}
  std::int64_t classes;
  TREADLE_OPERATOR(PairwiseCoupling);
};

}  // namespace treadle::ops
