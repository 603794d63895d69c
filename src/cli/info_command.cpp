// treadle info
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <thread>

#include "base/cpu_features.hpp"
#include "cli/build_info.hpp"
#include "cli/command.hpp"
#include "cli/devices.hpp"
#include "cli/instructions.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"

namespace treadle::cli {
namespace {

int run(bool json) {
  const Limits limits;
  const CacheSizes& cache = cache_sizes();
  const unsigned processors = std::thread::hardware_concurrency();
  const Json j{
      {"version", TREADLE_BUILD_VERSION},
      {"commit", TREADLE_BUILD_COMMIT},
      {"compiler", TREADLE_BUILD_COMPILER},
      {"system", TREADLE_BUILD_SYSTEM},
      {"build_type", TREADLE_BUILD_TYPE},
      {"flags", TREADLE_BUILD_FLAGS},
      {"sanitizers", TREADLE_BUILD_SANITIZE},
      {"cpu", cpu_name()},
      {"processors", processors},
      {"cache", {{"l1", cache.l1}, {"l2", cache.l2}, {"l3", cache.l3}}},
      {"isa_found", name_of(detected_isa())},
      {"isa_used", name_of(active_isa())},
      {"targets", {"cpu", "cuda", "metal", "sim"}},
      {"devices", devices_json()},
      {"counts_instructions", can_mark_phases()},
      {"formats", {"onnx", "tensorflow"}},
      {"limits",
       {{"max_tensor_bytes", limits.max_tensor_bytes},
        {"max_nodes", limits.max_nodes},
        {"max_nesting", limits.max_nesting},
        {"max_rank", kMaxRank},
        {"max_iterations", limits.max_iterations},
        {"max_seconds", limits.max_seconds}}},
  };
  if (json) {
    say_json(j);
    return kRight;
  }
  const auto line = [](std::string_view key, const std::string& value) {
    say(fmt::format("{} {}\n", styled(Style::Bold, fmt::format("{:<14}", key)), value));
  };
  line("version", fmt::format("{} (commit {})", TREADLE_BUILD_VERSION, TREADLE_BUILD_COMMIT));
  line("compiler", TREADLE_BUILD_COMPILER " on " TREADLE_BUILD_SYSTEM);
  line("build", fmt::format("{}: {}{}", TREADLE_BUILD_TYPE, TREADLE_BUILD_FLAGS,
                            std::string_view(TREADLE_BUILD_SANITIZE).empty()
                                ? ""
                                : ", sanitizers " TREADLE_BUILD_SANITIZE));
  line("processor", fmt::format("{}, {} available", cpu_name(), processors));
  line("caches", fmt::format("L1 {}, L2 {}, L3 {}", bytes_text(static_cast<double>(cache.l1)),
                             bytes_text(static_cast<double>(cache.l2)),
                             bytes_text(static_cast<double>(cache.l3))));
  line("instructions", fmt::format("{} found, {} used (cap with TREADLE_ISA)",
                                   name_of(detected_isa()), name_of(active_isa())));
  line("targets", "cpu, cuda, metal, sim");
  line("cuda", cuda_line());
  line("metal", metal_line());
  line("formats", "ONNX, TensorFlow frozen GraphDef");
  line("limits",
       fmt::format("tensor {}, {} nodes, nesting {}, rank {}, {} iterations a run",
                   bytes_text(static_cast<double>(limits.max_tensor_bytes)), limits.max_nodes,
                   limits.max_nesting, kMaxRank, limits.max_iterations));
  return kRight;
}

}  // namespace

Command add_info(CLI::App& root) {
  auto json = std::make_shared<bool>(false);
  CLI::App* app = root.add_subcommand(
      "info", "Version, build, instruction sets found and used, devices, limits");
  app->add_flag("--json", *json, "Write JSON instead of text");
  return {app, [json] { return run(*json); }};
}

}  // namespace treadle::cli
