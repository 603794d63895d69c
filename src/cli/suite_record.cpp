#include "cli/suite_record.hpp"

#include <fmt/chrono.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/suite_child.hpp"

namespace treadle::cli {
namespace {

constexpr double kMegabyte = 1 << 20;

std::string text_at(const Json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Json at(const Json& j, const char* key) {
  const auto found = j.is_object() ? j.find(key) : j.end();
  return j.is_object() && found != j.end() ? *found : Json(nullptr);
}

std::int64_t memory_mb() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) >> 20;
}

// The first device of a kind ("cuda", "metal"), or why there is none; programs from before a kind
// say nothing of it.
std::string read_device(const Json& info, const char* kind, std::string& why_not) {
  const Json of_kind = at(at(info, "devices"), kind), devices = at(of_kind, "devices");
  if (devices.is_array() && !devices.empty() && devices[0].is_string())
    return devices[0].get<std::string>();
  why_not = of_kind.is_object() ? text_at(of_kind, "why_not") : std::string();
  if (why_not.empty()) why_not = "the program names no such device";
  return {};
}

void read_devices(const Json& info, SuiteProgram& p) {
  p.gpu = read_device(info, "cuda", p.why_no_cuda);
  if (p.why_no_cuda.empty() && text_at(at(at(info, "devices"), "cuda"), "architectures").empty())
    p.why_no_cuda = "built without CUDA kernels";
  const std::string metal = read_device(info, "metal", p.why_no_metal);
  if (p.gpu.empty()) p.gpu = metal;
}

// Tokens a second when a run of `ms` handles `tokens` of them.
Json tokens_per_second(std::int64_t tokens, const Json& ms) {
  if (tokens == 0 || !ms.is_number() || ms.get<double>() <= 0) return nullptr;
  return std::round(static_cast<double>(tokens) / ms.get<double>() * 1e6) / 1e3;
}

Json metrics_of(const Json& bench, const Json& counted, const SuiteEntry& entry,
                const SuiteProgram& program) {
  const Json eval = at(bench, "eval_ms");
  Json m;
  for (const char* key : {"load_ms", "ready_ms", "first_ms"}) m[key] = at(bench, key);
  m["eval_ms"] = at(eval, "median");
  m["eval_min_ms"] = at(eval, "min");
  m["prefill_tps"] = tokens_per_second(entry.prefill_tokens, m["eval_ms"]);
  m["decode_tps"] = tokens_per_second(entry.decode_tokens, m["eval_ms"]);
  for (const char* key : {"rss_ready_mb", "rss_peak_mb", "device_mb", "copies", "syncs"})
    m[key] = at(bench, key);
  for (const char* key : {"load_minstr", "ready_minstr", "first_minstr", "eval_minstr"})
    m[key] = at(counted, key);
  m["binary_mb"] = std::round(program.binary_mb * 1e3) / 1e3;
  return m;
}

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

double thousandths(double v) {
  return std::round(v * 1e3) / 1e3;
}

}  // namespace

SuiteProgram ask_program(const std::string& path) {
  constexpr double kSeconds = 60;
  SuiteProgram p;
  p.path = path;
  const ChildResult answer = run_child({path, "info", "--json"}, kSeconds);
  check(answer.ok(), ErrorKind::Io, "--program {}: `info --json`: {}", path,
        why_failed(answer, kSeconds));
  const Json info = Json::parse(answer.out, nullptr, false);
  check(info.is_object(), ErrorKind::Io, "--program {}: `info --json` wrote no JSON: {}", path,
        answer.out.substr(0, 200));
  p.binary_mb = static_cast<double>(std::filesystem::file_size(path)) / kMegabyte;
  p.version = text_at(info, "version");
  p.commit = text_at(info, "commit");
  p.compiler = text_at(info, "compiler");
  p.flags = text_at(info, "flags");
  p.isa = text_at(info, "isa_used");
  p.cpu = text_at(info, "cpu");
  p.counts_instructions = at(info, "counts_instructions") == true;
  if (const Json cores = at(info, "processors"); cores.is_number_integer())
    p.cores = cores.get<std::int64_t>();
  read_devices(info, p);
  return p;
}

Json to_record(const std::string& run, const std::string& suite, const SuiteEntry& entry,
               const SuiteProgram& program, const Measurement& m, bool several) {
  const Json bench = m.error.empty() ? Json::parse(m.bench, nullptr, false) : Json::object();
  const Json counted = m.error.empty() && !m.instructions.empty()
                           ? Json::parse(m.instructions, nullptr, false)
                           : Json::object();
  Json samples = at(bench, "samples");
  Json j{{"schema", 1},
         {"run", run},
         {"time", m.time},
         {"engine", "treadle"},
         {"engine_version", program.version},
         {"commit", program.commit},
         {"compiler", program.compiler},
         {"flags", program.flags},
         {"isa", program.isa},
         {"instructions_isa", at(counted, "isa")},
         {"machine",
          {{"cpu", program.cpu},
           {"cores", program.cores},
           {"memory_mb", memory_mb()},
           {"gpu", or_null(program.gpu)}}},
         {"suite", suite},
         {"entry", entry.id},
         {"model", entry.name},
         {"target", entry.target},
         {"threads", entry.threads},
         {"precision", entry.precision},
         {"round", m.round},
         {"probe",
          {{"before", thousandths(m.before.rate)},
           {"after", thousandths(m.after.rate)},
           {"unit", m.before.unit}}},
         {"disturbed", m.disturbed},
         {"ok", m.error.empty()},
         {"error", or_null(m.error)},
         {"metrics", metrics_of(bench, counted, entry, program)},
         {"samples", samples.is_object() ? std::move(samples) : Json::object()}};
  if (several) j["program"] = program.path;
  return j;
}

std::string time_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string run_name() {
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::time(nullptr)), getpid());
}

}  // namespace treadle::cli
