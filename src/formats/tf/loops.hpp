// Loops of TensorFlow (frames and While functions) as the core operator Loop.
#pragma once

#include <string>
#include <vector>

#include "formats/tf/importer.hpp"

namespace treadle::tf {

struct LoopParts {
  std::string name;
  std::vector<ValueId> init;  // of the variables, in the outer graph
  Functions::Step condition;  // one bool: whether the variables make one more turn
  Functions::Step step;       // the variables after a turn
};

// Adds the loop and returns the variables after it. Variables that no turn changes are captured;
// those that are arrays (see arrays.hpp) get the shape that the first write gives them, and become
// outputs collected by the loop when each turn writes its own element. A loop that counts up to a
// limit gets its number of turns (counted.hpp). Throws Unsupported error for a variable whose rank
// changes.
std::vector<ValueId> add_loop(Builder& outer, Functions& functions, const LoopParts& parts);

}  // namespace treadle::tf
