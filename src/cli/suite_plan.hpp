// In which order a suite measures, and which measurements it does not trust.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace treadle::cli {

struct Turn {
  int round = 0;
  std::size_t entry = 0, program = 0;
};

// Rounds outermost, so that an entry's measurements are spread over the run. Within an entry the
// programs change places every round (A B, B A, …): what drifts slowly hits all of them alike.
std::vector<Turn> turns(std::size_t entries, std::size_t programs, int rounds);

// How fast a calibration loop ran; higher is better.
struct Probe {
  double rate = 0;
  std::string unit;
};

// Judges measurements by the calibration loops around them.
class Disturbance {
 public:
  static constexpr double kDifference = 0.05, kBelowBest = 0.10;

  // Takes note of a rate of the loop `kind` ("cpu-1"); only rates of one kind are compared.
  void saw(const std::string& kind, double rate);
  // Whether before and after differ by more than kDifference, or either is more than kBelowBest
  // below the best of this run. Takes note of both.
  bool disturbed(const std::string& kind, double before, double after);

 private:
  std::map<std::string, double> best_;
};

}  // namespace treadle::cli
