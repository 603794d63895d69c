#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Normal: mean a, standard deviation b. Uniform: from a to below b. Bernoulli: 1 with the
// probability that input 0 holds. Multinomial: input 0 holds log-probabilities [batch, classes],
// out [batch, samples].
enum class RandomFn : std::uint8_t { Normal, Uniform, Bernoulli, Multinomial };

// Random elements from a counter-based generator: element i depends on the seed and i only, so that
// a run gives the same elements on any number of threads. Normal and Uniform have no input and give
// `shape`; Bernoulli gives the shape of its input; Multinomial uses shape[1] as the sample count.
class Random final : public Operator {
 public:
  Random(RandomFn f, DType t, SymShape s, std::uint64_t from_seed, double first = 0,
         double second = 1)
      : fn(f), dtype(t), shape(std::move(s)), seed(from_seed), a(first), b(second) {}
  RandomFn fn;
  DType dtype;
  SymShape shape;
  std::uint64_t seed;
  double a, b;
  TREADLE_OPERATOR(Random);
  bool pure() const override { return false; }
};

// Uniform in [0, 1) with 53 bits: the splitmix64 finaliser over seed and counter.
double random_unit(std::uint64_t seed, std::uint64_t counter);

}  // namespace treadle::ops
