// What a suite says at its end.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/json.hpp"
#include "cli/suite_run.hpp"

namespace treadle::cli {

// A line for each entry and program: medians over the rounds.
class SuiteResults {
 public:
  void add(std::size_t program, const Json& record);

  std::string text(const std::vector<SuiteProgram>& programs) const;
  Json json(const std::vector<SuiteProgram>& programs) const;

 private:
  struct Line {
    // By metric: of what was not disturbed, and of all.
    std::map<std::string, std::vector<double>> calm, all;
    std::string error;  // the first
  };
  std::vector<std::pair<std::string, std::size_t>> order_;  // entry, program
  std::map<std::pair<std::string, std::size_t>, Line> lines_;

  static double median_of(const Line& line, const std::string& metric);
  bool any_has(const std::string& metric) const;
};

std::string to_text(const SuiteSummary& summary);
Json to_json(const SuiteSummary& summary);

}  // namespace treadle::cli
