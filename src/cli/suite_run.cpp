#include "cli/suite_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "base/error.hpp"
#include "cli/process.hpp"
#include "cli/suite_child.hpp"

namespace treadle::cli {
namespace {

constexpr int kRepeats = 2;      // of a disturbed measurement
constexpr int kFirstProbes = 3;  // so that the first measurement has a best to be held against

// Counts repeat: a second round shows that they do, a third would say no more.
constexpr int kCountedRounds = 2;
// How much longer than a measurement counting may take.
constexpr double kCountingTime = 10;

// `more`: what is measured, and for how long.
std::vector<std::string> bench_args(const SuiteEntry& e, const SuiteProgram& program,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> args = {program.path, "bench",  e.model,     "--json",
                                   "--target",   e.target, "--threads", std::to_string(e.threads)};
  args.insert(args.end(), more.begin(), more.end());
  const auto add = [&](const char* option, std::string value) {
    args.push_back(option);
    args.push_back(std::move(value));
  };
  for (const auto& [name, source] : e.inputs) add("--input", name + "=" + source);
  for (const std::string& shape : e.shapes) add("--shape", shape);
  for (const std::string& symbol : e.symbols) add("--set", symbol);
  if (e.pulse) add("--pulse", std::to_string(*e.pulse));
  return args;
}

std::vector<std::string> compare_args(const SuiteEntry& e, const SuiteProgram& program) {
  return {program.path,  "compare",
          e.model,       "--json",
          "--io",        e.accuracy->io,
          "--target",    e.target,
          "--threads",   std::to_string(e.threads),
          "--tolerance", fmt::format("{:g}", e.accuracy->tolerance),
          "--rtol",      fmt::format("{:g}", e.accuracy->rtol)};
}

// What is wrong with the outputs, or empty.
std::string accuracy_error(const SuiteEntry& e, const SuiteProgram& program) {
  if (!e.accuracy) return {};
  const ChildResult answer = run_child(compare_args(e, program), e.timeout);
  if (answer.ok()) return {};
  const Json report = Json::parse(answer.out, nullptr, false);
  if (answer.timed_out || answer.signal != 0 || !report.is_object())
    return "accuracy: " + why_failed(answer, e.timeout);
  const auto first = report.find("first_mismatch");
  return "accuracy: " + (first != report.end()
                             ? first->dump(-1, ' ', false, Json::error_handler_t::replace)
                             : why_failed(answer, e.timeout));
}

// `has`: a key of what it writes.
std::string bench_error(const ChildResult& answer, double timeout, const char* has) {
  if (!answer.ok()) return why_failed(answer, timeout);
  const Json j = Json::parse(answer.out, nullptr, false);
  if (!j.is_object() || !j.contains(has))
    return "`bench --json` wrote no measurement: " + answer.out.substr(0, 200);
  return {};
}

class Runner {
 public:
  Runner(const Suite& suite, const std::vector<SuiteProgram>& programs, const SuiteHooks& hooks)
      : suite_(suite), programs_(programs), hooks_(hooks) {}

  SuiteSummary run(const std::string& only) {
    const Timer timer;
    summary_.run = run_name();
    summary_.suite = suite_.name;
    const auto entries = choose(suite_, only, programs_, summary_.skipped);
    summary_.entries = entries.size();
    if (suite_.instructions) count_all(entries);
    const auto plan = turns(entries.size(), programs_.size(), suite_.rounds);
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const SuiteEntry& entry = entries[plan[i].entry];
      if (hooks_.progress)
        hooks_.progress(i, plan.size(), fmt::format("round {} {}", plan[i].round + 1, entry.id));
      take_turn(entry, plan[i]);
    }
    summary_.seconds = timer.ms() / 1000;
    return std::move(summary_);
  }

 private:
  struct Counted {
    std::string error, out;
  };

  // All counting comes before all measuring and takes every processor: what else the machine does
  // changes no count.
  void count_all(const std::vector<SuiteEntry>& entries) {
    std::vector<std::pair<Turn, Counted*>> jobs;
    std::set<std::size_t> counted;
    const int rounds = std::min(suite_.rounds, kCountedRounds);
    for (const Turn& turn : turns(entries.size(), programs_.size(), rounds)) {
      const SuiteEntry& entry = entries[turn.entry];
      if (!counts_instructions(suite_, entry) || !wrong_outputs(entry, turn.program).empty())
        continue;
      jobs.emplace_back(turn, &counted_[{entry.id, turn.program, turn.round}]);
      counted.insert(turn.entry);
    }
    summary_.counted = counted.size();
    std::atomic<std::size_t> next = 0;
    std::mutex progress;
    const auto work = [&] {
      for (std::size_t i = next++; i < jobs.size(); i = next++) {
        const auto& [turn, out] = jobs[i];
        if (hooks_.progress) {
          const std::lock_guard lock(progress);
          hooks_.progress(i, jobs.size(), "counting " + entries[turn.entry].id);
        }
        *out = count(entries[turn.entry], programs_[turn.program]);
      }
    };
    const std::size_t workers =
        std::min<std::size_t>(jobs.size(), std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::future<void>> running;
    for (std::size_t i = 0; i < workers; ++i)
      running.push_back(std::async(std::launch::async, work));
    for (auto& worker : running) worker.get();
  }

  static Counted count(const SuiteEntry& entry, const SuiteProgram& program) {
    const double timeout = kCountingTime * entry.timeout;
    const ChildResult answer = run_child(bench_args(entry, program, {"--instructions"}), timeout);
    std::string error = bench_error(answer, timeout, "eval_minstr");
    return {error.empty() ? error : "instructions: " + error, answer.out};
  }

  void take_turn(const SuiteEntry& entry, const Turn& turn) {
    Measurement start;
    start.round = turn.round;
    start.error = wrong_outputs(entry, turn.program);
    // Every attempt has the count of its round: the report takes the last one.
    const auto counted = counted_.find({entry.id, turn.program, turn.round});
    if (counted != counted_.end()) {
      start.error = counted->second.error;
      start.instructions = counted->second.out;
    }
    for (int attempt = 0; attempt <= kRepeats; ++attempt) {
      const Measurement m = measure(entry, turn, start);
      write(entry, turn.program, m);
      if (!m.disturbed) break;
    }
  }

  // Adds the time to what was counted.
  Measurement measure(const SuiteEntry& entry, const Turn& turn, Measurement m) {
    const std::string kind = fmt::format("{}-{}", entry.target, entry.threads);
    const SuiteProgram& program = programs_[turn.program];
    first_probes(entry, kind);
    m.time = time_now();
    m.before = hooks_.probe(entry.target, entry.threads);
    if (m.error.empty()) {
      const ChildResult answer =
          run_child(bench_args(entry, program, {"--time", fmt::format("{:g}", entry.seconds)}),
                    entry.timeout);
      m.error = bench_error(answer, entry.timeout, "eval_ms");
      m.bench = answer.out;
    }
    m.after = hooks_.probe(entry.target, entry.threads);
    const bool disturbed = judge_.disturbed(kind, m.before.rate, m.after.rate);
    // What failed is no measurement, and fails again.
    m.disturbed = disturbed && m.error.empty();
    return m;
  }

  // Compared once for each entry and program: the speed of what is wrong says nothing.
  const std::string& wrong_outputs(const SuiteEntry& entry, std::size_t program) {
    const auto [at, fresh] = accuracy_.try_emplace({entry.id, program});
    if (fresh) at->second = accuracy_error(entry, programs_[program]);
    return at->second;
  }

  void first_probes(const SuiteEntry& entry, const std::string& kind) {
    if (!probed_.insert(kind).second) return;
    for (int i = 0; i < kFirstProbes; ++i)
      judge_.saw(kind, hooks_.probe(entry.target, entry.threads).rate);
  }

  void write(const SuiteEntry& entry, std::size_t program, const Measurement& m) {
    ++summary_.measurements;
    if (m.disturbed) ++summary_.disturbed;
    if (!m.error.empty()) ++summary_.failed;
    hooks_.write(program, to_record(summary_.run, suite_.name, entry, programs_[program], m,
                                    programs_.size() > 1));
  }

  const Suite& suite_;
  const std::vector<SuiteProgram>& programs_;
  const SuiteHooks& hooks_;
  SuiteSummary summary_;
  Disturbance judge_;
  std::set<std::string> probed_;
  std::map<std::pair<std::string, std::size_t>, std::string> accuracy_;
  std::map<std::tuple<std::string, std::size_t, int>, Counted> counted_;  // entry, program, round
};

// Why a program cannot run the entry's target here: in short and at length; empty: it can.
std::pair<std::string, std::string> why_no_target(const SuiteEntry& entry,
                                                  const std::vector<SuiteProgram>& programs) {
  const bool metal = entry.target == "metal";
  if (!metal && !entry.target.starts_with("cuda")) return {};
  for (const SuiteProgram& p : programs) {
    const std::string& why = metal ? p.why_no_metal : p.why_no_cuda;
    if (!why.empty()) return {metal ? "no Metal device" : "no CUDA device", why};
  }
  return {};
}

}  // namespace

std::vector<SuiteEntry> choose(const Suite& suite, const std::string& only,
                               const std::vector<SuiteProgram>& programs,
                               std::vector<SuiteSummary::Skipped>& skipped) {
  std::vector<SuiteEntry> out;
  bool any = false;
  for (const SuiteEntry& entry : suite.entries) {
    if (entry.id.find(only) == std::string::npos) continue;
    any = true;
    const auto [no_target, why] = why_no_target(entry, programs);
    if (!entry.skip.empty())
      skipped.push_back({entry.id, entry.skip, entry.skip_detail});
    else if (!no_target.empty())
      skipped.push_back({entry.id, no_target, why});
    else
      out.push_back(entry);
  }
  check(any, ErrorKind::Parse, "--only '{}': no entry of suite '{}' has that in its name", only,
        suite.name);
  return out;
}

bool counts_instructions(const Suite& suite, const SuiteEntry& entry) {
  return suite.instructions && entry.target == "cpu" && entry.threads == 1;
}

SuiteSummary run_suite(const Suite& suite, const std::string& only,
                       const std::vector<SuiteProgram>& programs, const SuiteHooks& hooks) {
  return Runner(suite, programs, hooks).run(only);
}

std::map<std::string, std::size_t> by_reason(const SuiteSummary& summary) {
  std::map<std::string, std::size_t> out;
  for (const auto& s : summary.skipped) ++out[s.reason];
  return out;
}

}  // namespace treadle::cli
