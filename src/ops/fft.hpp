// Discrete Fourier transforms of any length.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace treadle::ops {

// A plan for one length n: y[k] = Σ_j x[j]·exp(∓2πi·jk/n), the sum alone (no factor 1/n).
// O(n log n): radix 2 for powers of two, Bluestein's algorithm for other lengths.
class FourierPlan {
 public:
  // Throws Memory error when the plan would take more than a tensor may.
  explicit FourierPlan(std::size_t n);
  std::size_t size() const { return n_; }
  // In place; x has n elements. `inverse` takes the sign +.
  void transform(std::complex<double>* x, bool inverse) const;

 private:
  void radix2(std::complex<double>* x) const;

  std::size_t n_, padded_;                   // padded_: n or the power of two that Bluestein uses
  std::vector<std::complex<double>> roots_;  // exp(−2πi·k/padded), k < padded/2
  std::vector<std::complex<double>> chirp_;  // exp(−πi·k²/n); empty for powers of two
  std::vector<std::complex<double>> spectrum_;  // of the conjugate chirp, over padded_ points
};

}  // namespace treadle::ops
