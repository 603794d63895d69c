// A step that goes through Operator::eval.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plan/kernel.hpp"
#include "plan/program.hpp"

namespace treadle {

// What an evaluating step needs from its session.
class StepHost {
 public:
  virtual ~StepHost() = default;
  // The value (a deep copy when it lies in the arena).
  virtual Value value(int id) const = 0;
  // Stores an output that is Owned, or copies into its place when it is planned.
  virtual void store(int id, Value value) = 0;
  virtual std::vector<Value> run_subprogram(const Step& step, std::size_t which,
                                            std::vector<Value> inputs) = 0;
  virtual const SymbolValues& symbols() const = 0;
};

std::unique_ptr<BoundKernel> bind_eval(const Step& step, StepHost& host);

}  // namespace treadle
