// Loads a damaged model and runs it once.
#pragma once

#include <string>
#include <string_view>

namespace treadle::hostile {

struct Attempt {
  bool loaded = false;
  bool ran = false;
  std::string message;  // of the error that ended it; empty when there was none
  std::string fault;    // what is wrong with the error itself; empty when nothing
};

// Imports, simplifies, lowers and, where inputs and arithmetic are small, runs with seeded inputs.
// What leaves it is a fault of the library: only treadle::Error is expected, and dealt with.
Attempt attempt(std::string_view bytes, unsigned seed);

}  // namespace treadle::hostile
