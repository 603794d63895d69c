#include "onnx_backend/run_path.hpp"

#include <utility>

#include "api/model.hpp"
#include "graph/evaluate.hpp"
#include "passes/simplify.hpp"
#include "plan/session.hpp"

namespace treadle::backend {
namespace {

std::vector<Value> run_session(const std::shared_ptr<const Program>& program,
                               const std::vector<Value>& inputs) {
  Session session(program);
  for (int run = 0; run < 2; ++run) {
    if (auto error = session.run(inputs)) throw *std::move(error);
  }
  std::vector<Value> outputs;
  for (std::size_t i = 0; i < program->outputs.size(); ++i) {
    const Value& v = session.output(i);
    outputs.push_back(v.is_tensor() ? Value(v.tensor().clone()) : v);
  }
  return outputs;
}

}  // namespace

PathRunner::PathRunner(Graph graph, Path path) : graph_(std::move(graph)) {
  if (path != Path::Reference) simplify(graph_);
  if (path != Path::Session) return;
  Graph lowered = graph_;
  program_ = lower_model(lowered, {});
}

std::vector<Value> PathRunner::run(const std::vector<Value>& inputs) const {
  return program_ ? run_session(program_, inputs) : evaluate(graph_, inputs);
}

}  // namespace treadle::backend
