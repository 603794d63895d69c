// treadle profile
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <map>

#include "cli/command.hpp"
#include "cli/inputs.hpp"
#include "cli/json.hpp"
#include "cli/model_args.hpp"
#include "cli/process.hpp"
#include "cli/terminal.hpp"
#include "graph/evaluate.hpp"
#include "tensor/file.hpp"

namespace treadle::cli {
namespace {

struct Args {
  ModelArgs model;
  InputArgs input;
  int runs = 20;
  std::size_t top = 20;
  std::string trace;
};

struct Entry {
  std::string name, op, variant, shapes;
  double ms = 0;  // a run
  double flops = 0, bytes = 0;
  int order = 0;
};

struct Event {
  std::string name, op;
  double start_us = 0, us = 0;
};

// What the observer gathers over all runs.
struct Recorder {
  std::map<const Step*, Entry> entries;
  std::vector<Event> events;
  bool tracing = false;
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();

  void record(const Step& step, std::span<const Value> outputs, std::int64_t ns,
              std::string_view variant) {
    Entry& e = entries[&step];
    e.ms += static_cast<double>(ns) / 1e6;
    if (e.op.empty()) fill(e, step, outputs, variant);
    if (!tracing) return;
    const double end =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - origin)
            .count();
    const double us = static_cast<double>(ns) / 1e3;
    events.push_back({step.name, step.op_name + step.fused, end - us, us});
  }

  void fill(Entry& e, const Step& step, std::span<const Value> outputs, std::string_view variant) {
    e.name = step.name;
    e.op = step.op_name + step.fused;
    e.variant = !variant.empty() ? std::string(variant)
                : step.kernel    ? std::string(step.kernel->name())
                                 : "eval";
    e.order = static_cast<int>(entries.size());
    for (const Value& v : outputs) {
      if (!v.is_tensor() || !v.tensor().defined()) continue;
      e.shapes += v.tensor().shape().str();
      e.bytes += static_cast<double>(v.tensor().bytes());
    }
  }
};

// Operations and the bytes of the inputs follow from the symbols of the inputs' shapes; sizes that
// only the data tells leave them at zero.
void add_costs(Recorder& recorder, const Program& program, const SymbolValues& symbols) {
  for (auto& [step, e] : recorder.entries) {
    try {
      e.flops = static_cast<double>(step->cost.flops.eval(symbols));
      for (const int v : step->in) {
        if (v < 0) continue;
        const Fact& f = program.values[static_cast<std::size_t>(v)].fact;
        if (f.kind == Fact::Kind::Tensor)
          e.bytes += static_cast<double>(eval(f.shape, symbols).elements()) *
                     static_cast<double>(size_of(f.dtype));
      }
    } catch (const Error&) {
      e.flops = 0;
    }
  }
}

std::string rate(const Entry& e) {
  return e.flops > 0 && e.ms > 0 ? fmt::format("{:.2f}", e.flops / e.ms / 1e6) : "-";
}

void write_trace(const std::string& path, const std::vector<Event>& events) {
  Json j{{"displayTimeUnit", "ms"}, {"traceEvents", Json::array()}};
  for (const Event& e : events)
    j["traceEvents"].push_back({{"name", e.name},
                                {"cat", e.op},
                                {"ph", "X"},
                                {"pid", 1},
                                {"tid", 1},
                                {"ts", e.start_us},
                                {"dur", e.us},
                                {"args", {{"op", e.op}}}});
  const std::string text = j.dump(-1, ' ', false, Json::error_handler_t::replace);
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

struct Profile {
  std::vector<Entry> nodes;  // slowest first
  std::map<std::string, Entry> kinds;
  std::map<std::string, int> counts;
  double sum_ms = 0, wall_ms = 0, plain_ms = 0;
  DeviceCounters a_run;  // what the device did in a run that was not observed
  bool on_device = false;
};

DeviceCounters per_run(const DeviceCounters& before, const DeviceCounters& after, int runs) {
  DeviceCounters c;
  for (const auto field : {&DeviceCounters::launches, &DeviceCounters::copies_to_device,
                           &DeviceCounters::copies_to_host, &DeviceCounters::bytes_to_device,
                           &DeviceCounters::bytes_to_host, &DeviceCounters::syncs})
    c.*field = (after.*field - before.*field) / runs;
  return c;
}

Profile profile(const Args& args) {
  ModelOptions options = to_options(args.model);
  options.cut_inputs = input_names(args.input);
  const auto loaded = load_with_shapes(args.model.path, options, array_shapes(args.input));
  const auto inputs = make_inputs(loaded->inputs(), args.input, options.symbols, Missing::Random);
  const auto model = loaded->for_inputs(inputs);
  Session session(model->program());
  const auto run = [&] {
    if (auto error = session.run(inputs)) throw error->in(args.model.path);
  };
  run();
  run();
  Profile p;
  const DeviceCounters before = session.device_counters();
  const Timer plain;
  for (int i = 0; i < args.runs; ++i) run();
  p.plain_ms = plain.ms() / args.runs;
  p.on_device = model->program()->device != nullptr;
  p.a_run = per_run(before, session.device_counters(), args.runs);

  Recorder recorder;
  session.set_observer([&](const Step& s, std::span<const Value> out, std::int64_t ns,
                           std::string_view variant) { recorder.record(s, out, ns, variant); });
  run();
  for (auto& [step, e] : recorder.entries) e.ms = 0;
  const Timer wall;
  for (int i = 0; i < args.runs; ++i) {
    recorder.tracing = !args.trace.empty() && i + 1 == args.runs;
    run();
  }
  p.wall_ms = wall.ms() / args.runs;

  SymbolValues symbols = options.symbols;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    solve_symbols(model->inputs()[i].fact, inputs[i].tensor().dtype(), inputs[i].tensor().shape(),
                  model->inputs()[i].name, symbols);
  add_costs(recorder, *model->program(), symbols);
  for (auto& [step, e] : recorder.entries) {
    e.ms /= args.runs;
    p.sum_ms += e.ms;
    Entry& kind = p.kinds[step->op_name];
    kind.ms += e.ms;
    kind.flops += e.flops;
    kind.bytes += e.bytes;
    ++p.counts[step->op_name];
    p.nodes.push_back(e);
  }
  std::sort(p.nodes.begin(), p.nodes.end(), [](const Entry& a, const Entry& b) {
    return a.ms != b.ms ? a.ms > b.ms : a.order < b.order;
  });
  if (!args.trace.empty()) write_trace(args.trace, recorder.events);
  return p;
}

Json to_json(const Args& args, const Profile& p) {
  Json j{{"model", args.model.path},
         {"runs", args.runs},
         {"wall_ms", p.wall_ms},
         {"sum_ms", p.sum_ms},
         {"unobserved_ms", p.plain_ms}};
  if (p.on_device) {
    j["syncs"] = p.a_run.syncs;
    j["launches"] = p.a_run.launches;
    j["copies_to_device"] = p.a_run.copies_to_device;
    j["copies_to_host"] = p.a_run.copies_to_host;
    j["bytes_to_device"] = p.a_run.bytes_to_device;
    j["bytes_to_host"] = p.a_run.bytes_to_host;
  }
  for (const Entry& e : p.nodes)
    j["nodes"].push_back({{"name", e.name},
                          {"op", e.op},
                          {"kernel", e.variant},
                          {"output", e.shapes},
                          {"ms", e.ms},
                          {"flops", e.flops},
                          {"bytes", e.bytes}});
  for (const auto& [kind, e] : p.kinds)
    j["kinds"].push_back({{"op", kind},
                          {"count", p.counts.at(kind)},
                          {"ms", e.ms},
                          {"flops", e.flops},
                          {"bytes", e.bytes}});
  return j;
}

void print(const Args& args, const Profile& p) {
  const auto share = [&](double ms) {
    return fmt::format("{:.1f} %", p.sum_ms > 0 ? 100 * ms / p.sum_ms : 0.0);
  };
  Table nodes({"ms", "share", "GFLOP/s", "bytes", "operator", "kernel", "name", "output"},
              {true, true, true, true});
  for (std::size_t i = 0; i < p.nodes.size() && (args.top == 0 || i < args.top); ++i) {
    const Entry& e = p.nodes[i];
    nodes.row({fmt::format("{:.4f}", e.ms), share(e.ms), rate(e), bytes_text(e.bytes), e.op,
               e.variant, e.name, e.shapes});
  }
  say(nodes.str());
  if (args.top != 0 && p.nodes.size() > args.top)
    say(styled(Style::Dim,
               fmt::format("… {} more (--top 0 shows all)\n", p.nodes.size() - args.top)));
  std::vector<std::pair<std::string, Entry>> kinds(p.kinds.begin(), p.kinds.end());
  std::sort(kinds.begin(), kinds.end(),
            [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
  Table by_kind({"ms", "share", "GFLOP/s", "bytes", "operator", "nodes"},
                {true, true, true, true, false, true});
  for (const auto& [kind, e] : kinds)
    by_kind.row({fmt::format("{:.4f}", e.ms), share(e.ms), rate(e), bytes_text(e.bytes), kind,
                 fmt::format("{}", p.counts.at(kind))});
  say("\n" + by_kind.str());
  say(
      fmt::format("\nsum of nodes {:.3f} ms, wall {:.3f} ms a run ({:.3f} ms when not observed), "
                  "{} runs\n",
                  p.sum_ms, p.wall_ms, p.plain_ms, args.runs));
  if (p.on_device)
    say(fmt::format(
        "a run: {} launches, {} copies to the device ({}), {} to the host ({}), {} "
        "device-to-host syncs\n",
        p.a_run.launches, p.a_run.copies_to_device,
        bytes_text(static_cast<double>(p.a_run.bytes_to_device)), p.a_run.copies_to_host,
        bytes_text(static_cast<double>(p.a_run.bytes_to_host)), p.a_run.syncs));
}

int run(const Args& args) {
  const Profile p = profile(args);
  if (args.model.json) {
    say_json(to_json(args, p));
  } else {
    print(args, p);
    if (!args.trace.empty())
      say(fmt::format("trace in {}: open it in https://ui.perfetto.dev\n", args.trace));
  }
  return kRight;
}

}  // namespace

Command add_profile(CLI::App& root) {
  auto args = std::make_shared<Args>();
  CLI::App* app =
      root.add_subcommand("profile", "Show where the time goes, by node and by operator");
  add_model_args(*app, args->model);
  add_input_args(*app, args->input);
  app->add_option("--runs", args->runs, "Runs to average over")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--top", args->top, "Nodes to list, slowest first; 0: all")
      ->capture_default_str();
  app->add_option("--trace", args->trace, "Write the last run as a Chrome/Perfetto trace");
  app->footer(
      "Inputs that are not given are random numbers.\nExample:\n"
      "  treadle profile model.onnx --trace trace.json");
  return {app, [args] { return run(*args); }};
}

}  // namespace treadle::cli
