// treadle dump
#include <fmt/format.h>
#include <fnmatch.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <map>

#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/inputs.hpp"
#include "cli/json.hpp"
#include "cli/model_args.hpp"
#include "cli/terminal.hpp"
#include "graph/basic_ops.hpp"

namespace treadle::cli {
namespace {

struct Args {
  ModelArgs model;
  std::string stage = "simplified", pattern;
  InputArgs input;
};

// One line of the list, from a graph's node or a program's step.
struct Row {
  std::int64_t id = 0;
  std::string op, name, facts, params;
  std::int64_t weight_bytes = 0;
  Dim flops = 0;
};

// "conv*" as the shell has it; text without wildcards matches anywhere in the name or the operator.
bool matches(const std::string& pattern, const Row& row) {
  if (pattern.empty()) return true;
  if (pattern.find_first_of("*?[") == std::string::npos)
    return row.name.find(pattern) != std::string::npos || row.op == pattern;
  return fnmatch(pattern.c_str(), row.name.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), row.op.c_str(), 0) == 0;
}

std::vector<Row> rows_of(const Graph& graph) {
  std::vector<Row> out;
  for (const NodeId id : graph.order(true)) {
    const Node& n = graph.node(id);
    Row row{id, std::string(n.op->name()), n.name, {}, {}, 0, 0};
    std::vector<Fact> facts;
    for (const Output& o : n.outputs) {
      row.facts += (row.facts.empty() ? "" : ", ") + o.fact.str();
      facts.push_back(o.fact);
    }
    if (const auto* c = n.op->as<Constant>()) {
      const Tensor& t = *c->value();
      if (t.dtype() != DType::String) row.weight_bytes = static_cast<std::int64_t>(t.bytes());
    } else {
      row.params = n.op->params_text();
      row.flops = n.op->cost(graph.input_facts(n), facts).flops;
    }
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<Row> rows_of(const Program& program) {
  std::vector<Row> out;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& s = program.steps[i];
    Row row{static_cast<std::int64_t>(i), s.op_name, s.name, {}, {}, 0, s.cost.flops};
    row.params = s.kernel ? std::string(s.kernel->name()) : "eval";
    if (!s.fused.empty()) row.params += " " + s.fused;
    for (const int v : s.out) {
      if (v < 0) continue;
      const ProgramValue& value = program.values[static_cast<std::size_t>(v)];
      row.facts += (row.facts.empty() ? "" : ", ") + value.fact.str();
    }
    if (s.kernel) row.weight_bytes = static_cast<std::int64_t>(s.kernel->packed_bytes());
    out.push_back(std::move(row));
  }
  return out;
}

struct Totals {
  std::map<std::string, int> kinds;
  std::int64_t weight_bytes = 0;
  Dim flops = 0;
};

Totals totals_of(const std::vector<Row>& rows) {
  Totals t;
  for (const Row& r : rows) {
    ++t.kinds[r.op];
    t.weight_bytes += r.weight_bytes;
    t.flops = t.flops + r.flops;
  }
  return t;
}

Json to_json(const Row& r) {
  Json j{{"id", r.id}, {"op", r.op}, {"name", r.name}, {"facts", r.facts}};
  if (!r.params.empty()) j["params"] = r.params;
  if (r.weight_bytes > 0) j["weight_bytes"] = r.weight_bytes;
  if (!r.flops.is(0)) j["flops"] = r.flops.str();
  return j;
}

void print_ports(std::string_view title, const std::vector<Port>& ports) {
  for (const Port& p : ports)
    say(fmt::format("{} {} {}\n", styled(Style::Bold, title), p.name, p.fact.str()));
}

std::string macs_text(const Dim& flops) {
  const auto known = flops.as_const();
  return known ? count_text(static_cast<double>(*known) / 2) + "MACs"
               : "(" + flops.str() + ")/2 MACs";
}

void print(const std::vector<Row>& rows, const Args& args) {
  for (const Row& r : rows) {
    if (!matches(args.pattern, r)) continue;
    std::string line = fmt::format(
        "{:>5} {} {}  {}", r.id, styled(Style::Bold, fmt::format("{:<16}", r.op)), r.name, r.facts);
    if (!r.params.empty()) line += "  " + styled(Style::Dim, r.params);
    if (r.weight_bytes > 0)
      line += fmt::format("  [{}]", bytes_text(static_cast<double>(r.weight_bytes)));
    say(line + "\n");
  }
}

void print_totals(const Totals& t, std::size_t count) {
  std::string kinds;
  for (const auto& [kind, n] : t.kinds)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", n, kind);
  say(fmt::format("\n{} {} nodes: {}\n", styled(Style::Bold, "total"), count, kinds));
  say(fmt::format("weights {}, {}\n", bytes_text(static_cast<double>(t.weight_bytes)),
                  macs_text(t.flops)));
}

int dump_bound(const Args& args, const ModelOptions& options) {
  const auto loaded = Model::load(args.model.path, options);
  const auto inputs = make_inputs(loaded->inputs(), args.input, options.symbols, Missing::Random);
  const auto model = loaded->for_inputs(inputs);
  Session session(model->program());
  if (auto error = session.run(inputs)) throw error->in(args.model.path);
  const MemoryPlan memory = session.memory();
  if (args.model.json) {
    say_json({{"stage", "bound"},
              {"arena_bytes", memory.arena_bytes},
              {"lower_bound_bytes", memory.lower_bound_bytes},
              {"workspace_bytes", memory.workspace_bytes},
              {"binding", session.print_binding()}});
    return kRight;
  }
  say(session.print_binding());
  say(fmt::format("\narena {} (lower bound {}), workspace {}\n",
                  bytes_text(static_cast<double>(memory.arena_bytes)),
                  bytes_text(static_cast<double>(memory.lower_bound_bytes)),
                  bytes_text(static_cast<double>(memory.workspace_bytes))));
  return kRight;
}

int run(const Args& args) {
  const Stage stage = *stage_from_name(args.stage);
  ModelOptions options = to_options(args.model);
  options.cut_inputs = input_names(args.input);
  if (stage == Stage::Bound) return dump_bound(args, options);
  ImportedModel imported = import_model(args.model.path, options);
  if (stage != Stage::Import) simplify_model(imported.graph);
  const auto inputs = graph_inputs(imported.graph), outputs = graph_outputs(imported.graph);
  const std::shared_ptr<const Program> program =
      stage == Stage::Lowered ? lower_model(imported.graph, options) : nullptr;
  const auto rows = program ? rows_of(*program) : rows_of(imported.graph);
  const Totals totals = totals_of(rows);
  const bool on_device = program && program->device;
  if (args.model.json) {
    Json j{{"model", args.model.path}, {"format", name_of(imported.format)}, {"stage", args.stage}};
    for (const auto& p : inputs) j["inputs"].push_back(cli::to_json(p));
    for (const auto& p : outputs) j["outputs"].push_back(cli::to_json(p));
    j["nodes"] = Json::array();
    for (const Row& r : rows)
      if (matches(args.pattern, r)) j["nodes"].push_back(to_json(r));
    j["totals"] = {{"nodes", rows.size()},
                   {"operators", totals.kinds},
                   {"weight_bytes", totals.weight_bytes},
                   {"flops", totals.flops.str()}};
    if (on_device) j["totals"]["syncs"] = planned_syncs(*program);
    say_json(j);
    return kRight;
  }
  say(fmt::format("{} ({}, stage {})\n", args.model.path, name_of(imported.format), args.stage));
  print_ports("input ", inputs);
  print_ports("output", outputs);
  say("\n");
  print(rows, args);
  print_totals(totals, rows.size());
  if (on_device) say(fmt::format("{} device-to-host syncs a run\n", planned_syncs(*program)));
  return kRight;
}

}  // namespace

Command add_dump(CLI::App& root) {
  auto args = std::make_shared<Args>();
  CLI::App* app =
      root.add_subcommand("dump", "Print a model: inputs, outputs, one line a node, totals");
  add_model_args(*app, args->model);
  app->add_option("--stage", args->stage,
                  "import: as read; simplified: after rewriting; lowered: kernels; bound: shapes, "
                  "memory and kernel variants")
      ->check(CLI::IsMember({"import", "simplified", "lowered", "bound"}))
      ->capture_default_str();
  app->add_option("--node", args->pattern,
                  "Only nodes whose name or operator matches, e.g. 'layer3/*' or Conv");
  app->add_option("--input", args->input.inputs,
                  "NAME=SOURCE as for run; a NAME inside the model cuts it there");
  app->footer(
      "Examples:\n  treadle dump model.onnx\n  treadle dump model.onnx --stage lowered "
      "--node Conv\n  treadle dump model.onnx --json");
  return {app, [args] { return run(*args); }};
}

}  // namespace treadle::cli
