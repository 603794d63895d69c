#include "cli/trace_stage.hpp"

#include "graph/basic_ops.hpp"
#include "graph/evaluate.hpp"

namespace treadle::cli {
namespace {

void show(const Value& v, const std::string& name, const std::string& node,
          const ValueObserver& observer) {
  if (!name.empty() && v.is_tensor() && v.tensor().defined()) observer(name, node, v.tensor());
}

void trace_graph(Graph graph, const ModelOptions& options,
                 const std::function<std::vector<Value>(std::span<const Port>)>& make,
                 const ValueObserver& observer) {
  const auto results = evaluate(graph, make(graph_inputs(graph)), options.symbols,
                                [&](const Node& n, const std::vector<Value>& values) {
                                  if (n.op->as<Constant>() || n.op->as<Source>()) return;
                                  for (std::size_t i = 0; i < values.size(); ++i)
                                    show(values[i], n.outputs[i].name, describe(n), observer);
                                });
  for (std::size_t i = 0; i < results.size(); ++i)
    show(results[i], graph.output_names()[i], describe(graph.node(graph.outputs()[i].node)),
         observer);
}

void trace_program(const Model& model, const ModelOptions& options,
                   const std::function<std::vector<Value>(std::span<const Port>)>& make,
                   const ValueObserver& observer) {
  const Program& program = *model.program();
  Session session(model.program());
  session.set_symbols(options.symbols);
  session.set_observer(
      [&](const Step& step, std::span<const Value> values, std::int64_t, std::string_view variant) {
        const std::string node = fmt::format("node '{}' ({}{}{}{})", step.name, step.op_name,
                                             step.fused, variant.empty() ? "" : ", ", variant);
        for (std::size_t i = 0; i < values.size(); ++i)
          if (step.out[i] >= 0)
            show(values[i],
                 step.columns > 0 ? step.part
                                  : program.values[static_cast<std::size_t>(step.out[i])].name,
                 node, observer);
      });
  const auto inputs = make(model.inputs());
  if (auto error = session.run(inputs)) throw *error;
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    show(session.output(i), program.output_names[i], "the model's outputs", observer);
}

}  // namespace

bool names_device(std::string_view name) {
  return name == "sim" || name == "metal" || name == "cuda" || name.starts_with("cuda:");
}

std::optional<Side> side_from_name(std::string_view name) {
  if (name == "import") return Side::Import;
  if (name == "simplified") return Side::Simplified;
  if (name == "reference") return Side::Reference;
  if (name == "cpu" || name == "lowered" || name == "bound" || names_device(name))
    return Side::Lowered;
  return std::nullopt;
}

void trace(Side side, const std::string& path, const ModelOptions& options,
           const std::function<std::vector<Value>(std::span<const Port>)>& make,
           const ValueObserver& observer) {
  ImportedModel imported = import_model(path, options);
  if (side == Side::Import || side == Side::Simplified) {
    if (side == Side::Simplified) simplify_model(imported.graph);
    trace_graph(std::move(imported.graph), options, make, observer);
    return;
  }
  ModelOptions lowering = options;
  lowering.lower.reference = side == Side::Reference;
  trace_program(*Model::from(std::move(imported), lowering), lowering, make, observer);
}

}  // namespace treadle::cli
