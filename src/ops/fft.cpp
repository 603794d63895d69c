#include "ops/fft.hpp"

#include <algorithm>
#include <bit>
#include <numbers>
#include <utility>

#include "base/error.hpp"
#include "tensor/limit.hpp"

namespace treadle::ops {
namespace {

using Complex = std::complex<double>;

// Squares of indices fit 64 bits.
constexpr std::size_t kLongest = std::size_t{1} << 31;

// exp(−2πi·k/n).
Complex root(std::size_t k, std::size_t n) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

// std::complex's own product takes care of infinities, at several times the cost.
Complex multiply(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void conjugate(Complex* x, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) x[k] = std::conj(x[k]);
}

}  // namespace

// Bluestein: jk = (j² + k² − (k−j)²)/2 turns the sum into a convolution with exp(πi·k²/n), which
// transforms of a power of two of at least 2n − 1 points compute.
FourierPlan::FourierPlan(std::size_t n)
    : n_(n), padded_(n < 2 || std::has_single_bit(n) ? n : std::bit_ceil(2 * n - 1)) {
  // Half as many roots as points, chirp, spectrum and the work of a transform.
  check(n <= kLongest &&
            static_cast<std::int64_t>(padded_ * 4 * sizeof(Complex)) <= TensorLimit::current(),
        ErrorKind::Memory, "a transform of length {} needs more than {} bytes", n,
        TensorLimit::current());
  for (std::size_t k = 0; k < padded_ / 2; ++k) roots_.push_back(root(k, padded_));
  if (padded_ == n_) return;
  for (std::size_t k = 0; k < n; ++k) chirp_.push_back(root(k * k % (2 * n), 2 * n));
  spectrum_.assign(padded_, Complex{});
  spectrum_[0] = std::conj(chirp_[0]);
  for (std::size_t k = 1; k < n; ++k) {
    spectrum_[k] = spectrum_[padded_ - k] = std::conj(chirp_[k]);
  }
  radix2(spectrum_.data());
}

// Cooley and Tukey, decimation in time over padded_ points.
void FourierPlan::radix2(Complex* x) const {
  for (std::size_t i = 1, j = 0; i < padded_; ++i) {
    std::size_t bit = padded_ >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (std::size_t half = 1; half < padded_; half *= 2) {
    const std::size_t step = padded_ / (2 * half);
    for (std::size_t first = 0; first < padded_; first += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const Complex a = x[first + k], b = multiply(x[first + k + half], roots_[k * step]);
        x[first + k] = a + b;
        x[first + k + half] = a - b;
      }
    }
  }
}

void FourierPlan::transform(Complex* x, bool inverse) const {
  if (inverse) conjugate(x, n_);
  if (chirp_.empty()) {
    if (n_ > 1) radix2(x);
  } else {
    std::vector<Complex> work(padded_);
    for (std::size_t k = 0; k < n_; ++k) work[k] = multiply(x[k], chirp_[k]);
    radix2(work.data());
    // The inverse transform as the conjugate of the transform of the conjugate.
    for (std::size_t k = 0; k < padded_; ++k) work[k] = std::conj(multiply(work[k], spectrum_[k]));
    radix2(work.data());
    const double scale = 1.0 / static_cast<double>(padded_);
    for (std::size_t k = 0; k < n_; ++k) {
      x[k] = multiply(std::conj(work[k]), chirp_[k]) * scale;
    }
  }
  if (inverse) conjugate(x, n_);
}

}  // namespace treadle::ops
