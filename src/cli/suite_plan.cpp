#include "cli/suite_plan.hpp"

#include <algorithm>

namespace treadle::cli {

std::vector<Turn> turns(std::size_t entries, std::size_t programs, int rounds) {
  std::vector<Turn> out;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t entry = 0; entry < entries; ++entry)
      for (std::size_t i = 0; i < programs; ++i)
        out.push_back({round, entry, round % 2 == 0 ? i : programs - 1 - i});
  return out;
}

void Disturbance::saw(const std::string& kind, double rate) {
  double& best = best_[kind];
  best = std::max(best, rate);
}

bool Disturbance::disturbed(const std::string& kind, double before, double after) {
  saw(kind, before);
  saw(kind, after);
  const auto [low, high] = std::minmax(before, after);
  return low < (1 - kDifference) * high || low < (1 - kBelowBest) * best_[kind];
}

}  // namespace treadle::cli
