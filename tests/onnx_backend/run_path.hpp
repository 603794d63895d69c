// A graph run in each of the ways that must give the same answer.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.hpp"
#include "graph/value.hpp"
#include "plan/program.hpp"

namespace treadle::backend {

// By the reference evaluator as imported, the same after simplification, or simplified and lowered
// as a Model is and run by a Session.
enum class Path { Reference, Simplified, Session };

class PathRunner {
 public:
  // Throws Error as simplification and lowering do.
  PathRunner(Graph graph, Path path);

  // Throws Error. A session runs twice, so that what it keeps between runs is used; the outputs
  // are those of the second run.
  std::vector<Value> run(const std::vector<Value>& inputs) const;

  // As imported, or simplified; its inputs and outputs are the model's.
  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
  std::shared_ptr<const Program> program_;
};

}  // namespace treadle::backend
