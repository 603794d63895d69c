// treadle bench
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "base/cpu_features.hpp"
#include "cli/command.hpp"
#include "cli/inputs.hpp"
#include "cli/instructions.hpp"
#include "cli/json.hpp"
#include "cli/model_args.hpp"
#include "cli/process.hpp"
#include "cli/report_command.hpp"
#include "cli/terminal.hpp"
#include "formats/options.hpp"

namespace treadle::cli {
namespace {

struct Args {
  ModelArgs model;
  InputArgs input;
  double seconds = 2;
  std::int64_t runs = 0;  // 0: as many as the time allows
  std::string pin;
  bool instructions = false;
};

struct Result {
  double load_ms = 0, ready_ms = 0, first_ms = 0;
  std::vector<double> eval_ms;  // sorted
  std::vector<double> samples;  // of them, evenly taken, in the order of the runs
  double rss_ready_mb = 0, rss_peak_mb = 0;
  std::optional<double> allocs_per_run;
  // A run's, and the most that the device's buffers held; nullopt without a device.
  std::optional<double> copies, syncs, device_mb;
  MemoryPlan memory;
};

// The value below which `part` of the sorted values lie (nearest rank).
double quantile(const std::vector<double>& sorted, double part) {
  const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[std::min(at, sorted.size() - 1)];
}

void run_once(Session& session, std::span<const Value> inputs) {
  if (auto error = session.run(inputs)) throw *error;
}

// Runs until two rounds differ by less than 5 % or a tenth of the time is spent.
void warm_up(Session& session, std::span<const Value> inputs, double seconds) {
  const Timer all;
  double last = 0;
  for (int i = 0; i < 1000 && all.ms() < seconds * 100; ++i) {
    const Timer one;
    run_once(session, inputs);
    const double now = one.ms();
    if (i >= 3 && std::abs(now - last) < 0.05 * now) break;
    last = now;
  }
}

std::vector<double> measure(Session& session, std::span<const Value> inputs, const Args& args) {
  constexpr std::size_t kFewest = 5, kMost = 100'000;
  const std::size_t most = args.runs > 0 ? static_cast<std::size_t>(args.runs) : kMost;
  std::vector<double> times;
  times.reserve(std::min<std::size_t>(most, 4096));
  const Timer all;
  while (times.size() < most) {
    if (args.runs == 0 && times.size() >= kFewest && all.ms() >= args.seconds * 1000) break;
    const Timer one;
    run_once(session, inputs);
    times.push_back(one.ms());
  }
  return times;
}

std::vector<double> evenly_taken(const std::vector<double>& values) {
  constexpr std::size_t kMost = 200;
  if (values.size() <= kMost) return values;
  std::vector<double> out;
  for (std::size_t i = 0; i < kMost; ++i) out.push_back(values[i * values.size() / kMost]);
  return out;
}

// What the allocator and the device do in a run.
void count_calls(Session& session, std::span<const Value> inputs, Result& r) {
  constexpr int kRuns = 4;
  const DeviceCounters device_before = session.device_counters();
  const auto before = allocation_count();
  for (int i = 0; i < kRuns; ++i) run_once(session, inputs);
  const auto after = allocation_count();
  const DeviceCounters device = session.device_counters();
  if (before && after) r.allocs_per_run = static_cast<double>(*after - *before) / kRuns;
  if (!session.program().device) return;
  const auto copies = [](const DeviceCounters& c) { return c.copies_to_device + c.copies_to_host; };
  r.copies = static_cast<double>(copies(device) - copies(device_before)) / kRuns;
  r.syncs = static_cast<double>(device.syncs - device_before.syncs) / kRuns;
  r.device_mb = static_cast<double>(session.program().device->peak_bytes()) / (1 << 20);
}

// Where the phases of a start begin and end; what lies between them is not measured.
struct Phases {
  std::function<void()> begin;
  // Of a phase, which begins the next; one that ends twice has both parts.
  std::function<void(const char* name)> end;
};

struct Ready {
  std::shared_ptr<const Model> loaded, model;  // of any sizes, and of those of the inputs
  std::vector<Value> inputs;
};

// The phases "load" (read and import) and "ready" (simplify and lower).
Ready make_ready(const Args& args, const Phases& phases) {
  ModelOptions options = to_options(args.model);
  options.cut_inputs = input_names(args.input);
  phases.begin();
  const KnownShapes known = array_shapes(args.input);
  Ready out;
  try {
    ImportedModel imported = import_with_shapes(args.model.path, options, known);
    phases.end("load");
    out.loaded = Model::from(std::move(imported), options);
  } catch (const formats::NeedsSizes&) {
    out.loaded = load_with_shapes(args.model.path, options, known);
    phases.end("load");
  }
  phases.end("ready");
  out.inputs = make_inputs(out.loaded->inputs(), args.input, options.symbols, Missing::Random);
  phases.begin();
  out.model = out.loaded->for_inputs(out.inputs);
  if (out.loaded->needs_sizes()) phases.end("ready");
  return out;
}

// The phase "first", with binding.
Session first_run(const Ready& ready, const Phases& phases) {
  phases.begin();
  Session session(ready.model->program());
  run_once(session, ready.inputs);
  phases.end("first");
  ready.model->release_weights();
  return session;
}

Result bench(const Args& args) {
  Result r;
  std::map<std::string_view, double> ms;
  Timer timer;
  const Phases phases{[&] { timer = {}; },
                      [&](const char* name) {
                        ms[name] += timer.ms();
                        timer = {};
                      }};
  const Ready ready = make_ready(args, phases);
  r.rss_ready_mb = resident_mb();
  Session session = first_run(ready, phases);
  r.load_ms = ms["load"];
  r.ready_ms = ms["load"] + ms["ready"];
  r.first_ms = ms["first"];
  const auto& inputs = ready.inputs;
  warm_up(session, inputs, args.seconds);
  r.eval_ms = measure(session, inputs, args);
  r.samples = evenly_taken(r.eval_ms);
  std::sort(r.eval_ms.begin(), r.eval_ms.end());
  count_calls(session, inputs, r);
  r.memory = session.memory();
  r.rss_peak_mb = peak_resident_mb();
  return r;
}

double rounded(double v) {
  return std::round(v * 1e6) / 1e6;  // small models run in microseconds
}

Json or_null(const std::optional<double>& v) {
  return v ? Json(rounded(*v)) : Json(nullptr);
}

Json to_json(const Args& args, const Result& r) {
  Json j{{"model", args.model.path},
         {"target", args.model.target},
         {"threads", args.model.threads},
         {"load_ms", rounded(r.load_ms)},
         {"ready_ms", rounded(r.ready_ms)},
         {"first_ms", rounded(r.first_ms)},
         {"eval_ms",
          {{"min", rounded(r.eval_ms.front())},
           {"median", rounded(quantile(r.eval_ms, 0.5))},
           {"p95", rounded(quantile(r.eval_ms, 0.95))},
           {"n", r.eval_ms.size()}}},
         {"rss_ready_mb", rounded(r.rss_ready_mb)},
         {"rss_peak_mb", rounded(r.rss_peak_mb)}};
  j["allocs_per_run"] = r.allocs_per_run ? Json(*r.allocs_per_run) : Json(nullptr);
  j["arena_mb"] = rounded(static_cast<double>(r.memory.arena_bytes) / (1 << 20));
  j["device_mb"] = or_null(r.device_mb);
  j["copies"] = or_null(r.copies);
  j["syncs"] = or_null(r.syncs);
  Json& samples = j["samples"]["eval_ms"] = Json::array();
  for (const double ms : r.samples) samples.push_back(rounded(ms));
  return j;
}

constexpr const char* kLoadRow = "load (read and import)";
constexpr const char* kReadyRow = "ready (load, simplify, lower)";
constexpr const char* kFirstRow = "first run (with binding)";

std::int64_t counted_runs(const Args& args) {
  return std::max<std::int64_t>(args.runs, 1);
}

// What is counted, by the process that valgrind runs. How often the model runs does not depend on
// the clock.
void run_counted(const Args& args) {
  const Phases phases{begin_phase, end_phase};
  const Ready ready = make_ready(args, phases);
  Session session = first_run(ready, phases);
  const std::int64_t runs = counted_runs(args);
  begin_phase();
  for (std::int64_t i = 0; i < runs; ++i) run_once(session, ready.inputs);
  end_phase("eval");
  say_json({{"isa", name_of(active_isa())}});
}

int run_instructions(const Args& args) {
  check(args.model.target == "cpu" && args.model.threads == 1, ErrorKind::Parse,
        "--instructions: expected --target cpu and --threads 1, got {} and {}", args.model.target,
        args.model.threads);
  if (under_valgrind()) {
    run_counted(args);
    return kRight;
  }
  PhaseCounts counts = count_phases();
  const auto millions = [&](const char* phase) {
    return static_cast<double>(counts.instructions[phase]) / 1e6;
  };
  const double load = millions("load"), ready = load + millions("ready");
  const double first = millions("first");
  const double eval = millions("eval") / static_cast<double>(counted_runs(args));
  const std::string isa = Json::parse(counts.out).at("isa").get<std::string>();
  if (args.model.json) {
    say_json({{"model", args.model.path},
              {"isa", isa},
              {"load_minstr", rounded(load)},
              {"ready_minstr", rounded(ready)},
              {"first_minstr", rounded(first)},
              {"eval_minstr", rounded(eval)}});
    return kRight;
  }
  say(fmt::format("{} on cpu, 1 thread, {}\n", args.model.path, isa));
  Table table({"", "million instructions"}, {false, true});
  const auto row = [&](const char* what, double count) {
    table.row({what, fmt::format("{:.3f}", count)});
  };
  row(kLoadRow, load);
  row(kReadyRow, ready);
  row(kFirstRow, first);
  row("run", eval);
  say(table.str());
  return kRight;
}

int run(const Args& args) {
  if (args.instructions) return run_instructions(args);
  if (!args.pin.empty()) pin_to(args.pin);
  const Result r = bench(args);
  if (args.model.json) {
    say_json(to_json(args, r));
    return kRight;
  }
  say(fmt::format("{} on {}, {} thread{}\n", args.model.path, args.model.target, args.model.threads,
                  args.model.threads == 1 ? "" : "s"));
  Table table({"", "ms"}, {false, true});
  const auto row = [&](const char* what, double ms) {
    table.row({what, fmt::format("{:.3f}", ms)});
  };
  row(kLoadRow, r.load_ms);
  row(kReadyRow, r.ready_ms);
  row(kFirstRow, r.first_ms);
  row("run, fastest", r.eval_ms.front());
  row("run, median", quantile(r.eval_ms, 0.5));
  row("run, 95 % below", quantile(r.eval_ms, 0.95));
  say(table.str());
  say(fmt::format(
      "{} runs; memory {:.1f} MB when ready, {:.1f} MB at its peak; {} allocations a run\n",
      r.eval_ms.size(), r.rss_ready_mb, r.rss_peak_mb,
      r.allocs_per_run ? fmt::format("{:g}", *r.allocs_per_run) : "uncounted"));
  return kRight;
}

}  // namespace

Command add_bench(CLI::App& root) {
  auto args = std::make_shared<Args>();
  CLI::App* app = root.add_subcommand("bench", "Measure load time, run time and memory");
  add_model_args(*app, args->model);
  // Not of the commands below `bench`; run() asks for it.
  CLI::Option* model = app->get_option("MODEL")->required(false);
  const std::vector<Command> below = {add_bench_suite(*app), report::add_report(*app)};
  add_input_args(*app, args->input);
  CLI::Option* const time = app->add_option("--time", args->seconds, "Seconds to spend on runs")
                                ->check(CLI::Range(0.01, 3600.0))
                                ->capture_default_str();
  app->add_option("--runs", args->runs, "Number of runs, whatever the time")
      ->check(CLI::Range(1, 100'000'000));
  CLI::Option* const pin =
      app->add_option("--pin", args->pin, "Processors to stay on, e.g. 0 or 0,2-3");
  app->add_flag("--instructions", args->instructions,
                "Count instructions in place of time, by valgrind; one run, or as many as --runs")
      ->excludes(time)
      ->excludes(pin);
  app->footer(
      "Inputs that are not given are random numbers.\nExamples:\n"
      "  treadle bench model.onnx\n"
      "  treadle bench model.onnx --threads 2 --shape x=1,3,480,640 --json\n"
      "  treadle bench model.onnx --instructions\n"
      "  treadle bench suite bench/suites/quick.toml --out now.jsonl\n"
      "  treadle bench report main.jsonl now.jsonl --history bench/history");
  return {app, [=] {
            for (const Command& c : below)
              if (app->got_subcommand(c.app)) return c.run();
            check(model->count() > 0, ErrorKind::Parse, "MODEL is required");
            return run(*args);
          }};
}

}  // namespace treadle::cli
