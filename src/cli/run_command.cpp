// treadle run
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/inputs.hpp"
#include "cli/json.hpp"
#include "cli/model_args.hpp"
#include "cli/process.hpp"
#include "cli/terminal.hpp"
#include "tensor/npy.hpp"
#include "tensor/npz.hpp"

namespace treadle::cli {
namespace {

struct Args {
  ModelArgs model;
  InputArgs input;
  std::string output;
  bool explain = false;
};

struct Statistics {
  double min = 0, max = 0, mean = 0;
  std::int64_t not_finite = 0;
};

std::optional<Statistics> statistics(const Tensor& t) {
  if (t.dtype() == DType::String || is_complex(t.dtype()) || t.elements() == 0) return std::nullopt;
  const std::vector<double> values = t.to_f64();
  Statistics s;
  std::int64_t finite = 0;
  double sum = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    s.min = finite == 0 ? v : std::min(s.min, v);
    s.max = finite == 0 ? v : std::max(s.max, v);
    sum += v;
    ++finite;
  }
  s.not_finite = static_cast<std::int64_t>(values.size()) - finite;
  if (finite > 0) s.mean = sum / static_cast<double>(finite);
  return s;
}

std::string first_values(const Tensor& t, std::size_t count) {
  std::vector<std::string> parts;
  const auto add = [&](const auto& values, auto&& text) {
    for (std::size_t i = 0; i < std::min(count, values.size()); ++i)
      parts.push_back(text(values[i]));
  };
  if (t.dtype() == DType::String)
    add(t.span<std::string>(), [](const std::string& s) { return "\"" + s.substr(0, 40) + "\""; });
  else if (is_float(t.dtype()) || is_narrow_float(t.dtype()))
    add(t.to_f64(), [](double v) { return fmt::format("{:.5g}", v); });
  else if (!is_complex(t.dtype()))
    add(t.to_i64(), [](std::int64_t v) { return fmt::format("{}", v); });
  return fmt::format("{}{}", fmt::join(parts, " "),
                     t.elements() > static_cast<std::int64_t>(parts.size()) ? " …" : "");
}

// A file name for a value: what a folder cannot hold becomes '_', and names stay different.
std::string file_name(const std::string& name, std::set<std::string>& taken) {
  std::string base;
  for (const char c : name)
    base += std::isalnum(static_cast<unsigned char>(c)) ||
                    std::string_view("._-").find(c) != std::string_view::npos
                ? c
                : '_';
  if (base.empty() || base[0] == '.') base = "_" + base;
  std::string out = base;
  for (int i = 2; !taken.insert(out).second; ++i) out = fmt::format("{}_{}", base, i);
  return out;
}

void write_outputs(const NamedTensors& outputs, const std::string& where) {
  if (where.ends_with(".npz")) return write_npz_file(where, outputs);
  std::error_code code;
  std::filesystem::create_directories(where, code);
  check(!code, ErrorKind::Io, "{}: cannot be made: {}", where, code.message());
  std::set<std::string> taken;
  for (const auto& [name, tensor] : outputs)
    write_npy_file(where + "/" + file_name(name, taken) + ".npy", tensor);
}

Json describe_json(const std::string& name, const Tensor& t) {
  Json j{{"name", name}, {"dtype", name_of(t.dtype())}, {"shape", to_json(t.shape())}};
  if (const auto s = statistics(t)) {
    j["min"] = s->min;
    j["max"] = s->max;
    j["mean"] = s->mean;
    j["not_finite"] = s->not_finite;
  }
  return j;
}

void print_table(const NamedTensors& outputs) {
  Table table({"output", "type", "min", "max", "mean", "first values"},
              {false, false, true, true, true, false});
  for (const auto& [name, t] : outputs) {
    const auto s = statistics(t);
    const auto number = [&](double v) { return s ? fmt::format("{:.5g}", v) : std::string("-"); };
    const Statistics n = s.value_or(Statistics{});
    table.row({name, fmt::format("{}{}", name_of(t.dtype()), t.shape().str()), number(n.min),
               number(n.max), number(n.mean), first_values(t, 5)});
    if (n.not_finite > 0)
      table.row({"", styled(Style::Red, fmt::format("{} not finite", n.not_finite))});
  }
  say(table.str());
}

int run(const Args& args) {
  ModelOptions options = to_options(args.model);
  options.cut_inputs = input_names(args.input);
  const Timer load_timer;
  const auto loaded = load_with_shapes(args.model.path, options, array_shapes(args.input));
  double load_ms = load_timer.ms();
  const auto inputs = make_inputs(loaded->inputs(), args.input, options.symbols, Missing::Error);
  const Timer sizes_timer;
  const auto model = loaded->for_inputs(inputs);
  load_ms += sizes_timer.ms();
  Session session(model->program());
  const Timer timer;
  if (auto error = session.run(inputs)) throw error->in(args.model.path);
  const double run_ms = timer.ms();

  NamedTensors outputs;
  for (std::size_t i = 0; i < model->outputs().size(); ++i) {
    const Value& v = session.output(i);
    const std::string& name = model->outputs()[i].name;
    if (v.is_tensor()) {
      outputs.emplace_back(name, v.tensor());
    } else if (v.kind() == Value::Kind::Sequence) {
      for (std::size_t k = 0; k < v.items().size(); ++k)
        if (v.items()[k].is_tensor())
          outputs.emplace_back(fmt::format("{}[{}]", name, k), v.items()[k].tensor());
    } else if (v.held() != nullptr && v.held()->is_tensor()) {
      outputs.emplace_back(name, v.held()->tensor());
    }
  }
  if (!args.output.empty()) write_outputs(outputs, args.output);
  if (args.model.json) {
    Json j{{"model", args.model.path},
           {"load_ms", load_ms},
           {"run_ms", run_ms},
           {"outputs", Json::array()}};
    if (args.explain) {
      j["explain"] = explain_json(*model->program());
      j["syncs"] = planned_syncs(*model->program());
    }
    for (const auto& [name, t] : outputs) j["outputs"].push_back(describe_json(name, t));
    say_json(j);
    return kRight;
  }
  if (args.explain) say(explain_text(*model->program()) + "\n");
  print_table(outputs);
  say(fmt::format("\nloaded in {:.1f} ms, first run {:.2f} ms{}\n", load_ms, run_ms,
                  args.output.empty() ? "" : ", outputs in " + args.output));
  return kRight;
}

}  // namespace

Command add_run(CLI::App& root) {
  auto args = std::make_shared<Args>();
  CLI::App* app = root.add_subcommand("run", "Run a model once and show its outputs");
  add_model_args(*app, args->model);
  add_input_args(*app, args->input);
  app->add_option("--output", args->output,
                  "Where outputs go: a folder (one .npy each) or a file.npz");
  app->add_flag("--explain", args->explain,
                "Say for each node where it runs, by which kernel, or why not on the device");
  app->footer(
      "Examples:\n"
      "  treadle run mobilenet.onnx --input data=photo.jpg --image-scale 0.00392157\n"
      "  treadle run model.onnx --input a=a.npy --input b=b.npy --output out.npz\n"
      "  treadle run model.onnx --input random:7 --shape x=1,3,224,224");
  return {app, [args] { return run(*args); }};
}

}  // namespace treadle::cli
