// What `compare` found.
#pragma once

#include <string>
#include <vector>

#include "cli/difference.hpp"
#include "cli/json.hpp"

namespace treadle::cli {

// One compared value.
struct Finding {
  std::string where;  // the case ("set0", "stream") or the node
  std::string value;
  Difference difference;
  // Without the value there is nothing to compare; `difference.note` says why. Counts as a mismatch
  // only when `required`.
  bool missing = false;
  bool required = true;
};

struct CompareReport {
  std::string model;
  std::vector<Finding> findings;
  std::size_t skipped = 0;

  bool ok() const;
  // The largest max_abs, and max_rel, over findings with numbers.
  double max_abs() const;
  double max_rel() const;
};

Json to_json(const CompareReport& report);
// A table of mismatches, or of all findings with `all`, and a line that sums up.
std::string to_text(const CompareReport& report, bool all);

}  // namespace treadle::cli
