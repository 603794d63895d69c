// Synthetic measurements for the tests of `bench report`: seeded, and the same on every machine.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "cli/json.hpp"
#include "cli/report_records.hpp"

namespace treadle::cli {

// std::normal_distribution differs between libraries; this does not.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  // A factor with that relative deviation.
  double factor(double deviation) { return std::exp(deviation * normal()); }

 private:
  std::mt19937_64 engine_;
};

// What a planted fault does to one model.
struct Plant {
  double eval = 1, ready = 1, more_mb = 0;
};

// A suite of four models in the proportions of real ones.
struct Bench {
  struct Model {
    std::string name;
    double eval_ms, ready_ms, memory_mb;
  };
  std::vector<Model> models = {{"mnist", 0.033, 0.8, 8.5},
                               {"mobilenet", 4.2, 42, 31},
                               {"inception", 38, 160, 120},
                               {"wakeword", 0.3, 5, 9.1}};
  double round_noise = 0.01, day_noise = 0.01;
  int rounds = 5;
  std::map<std::string, Plant> plants;
};

inline Json bench_record(const std::string& entry, const std::string& run, int day, int round) {
  return {{"schema", 1},
          {"run", run},
          {"time", fmt::format("2026-{:02}-{:02}T08:00:{:02}Z", 1 + day / 28, 1 + day % 28, round)},
          {"engine", "treadle"},
          {"engine_version", "0.1.0"},
          {"commit", "c" + run},
          {"machine", {{"cpu", "AMD EPYC"}, {"cores", 2}, {"memory_mb", 1}, {"gpu", nullptr}}},
          {"suite", "quick"},
          {"entry", entry},
          {"model", entry},
          {"target", "cpu"},
          {"threads", 1},
          {"precision", "f32"},
          {"round", round},
          {"disturbed", false},
          {"ok", true},
          {"error", nullptr},
          {"metrics", {{"eval_ms", nullptr}, {"decode_tps", nullptr}}}};
}

// One round of one model.
struct BenchRound {
  std::string model;
  int round;
  std::vector<std::pair<const char*, double>> metrics;
};

// One invocation of the suite.
inline std::vector<BenchRound> bench_rounds(const Bench& bench, Noise& noise) {
  std::vector<BenchRound> out;
  for (const auto& m : bench.models) {
    const auto found = bench.plants.find(m.name);
    const Plant plant = found == bench.plants.end() ? Plant{} : found->second;
    const double today = noise.factor(bench.day_noise), load_today = noise.factor(bench.day_noise);
    for (int r = 0; r < bench.rounds; ++r) {
      const auto jitter = [&] { return noise.factor(bench.round_noise); };
      const double eval = m.eval_ms * today * plant.eval * jitter();
      const double ready = m.ready_ms * load_today * plant.ready * jitter();
      const double memory = m.memory_mb * noise.factor(0.003);
      out.push_back({m.name,
                     r,
                     {{"load_ms", ready / 2},
                      {"ready_ms", ready},
                      {"first_ms", m.eval_ms * 4 * today * jitter()},
                      {"eval_ms", eval},
                      {"eval_min_ms", eval * 0.97},
                      {"rss_ready_mb", memory * 0.9},
                      {"rss_peak_mb", memory + plant.more_mb},
                      {"binary_mb", 21.4}}});
    }
  }
  return out;
}

// The same as a file.
inline std::string bench_run(const Bench& bench, const std::string& run, int day, Noise& noise) {
  std::string out;
  for (const BenchRound& round : bench_rounds(bench, noise)) {
    Json record = bench_record(round.model, run, day, round.round);
    for (const auto& [name, value] : round.metrics) record["metrics"][name] = value;
    out += record.dump() + "\n";
  }
  return out;
}

// The same as if it had been read; the days follow each other.
inline void add_bench_run(const Bench& bench, Noise& noise, const std::string& run,
                          report::Records& out) {
  const std::size_t index = out.runs.size();
  out.runs.push_back({run, fmt::format("2026-01-01T00:00:{:02}Z", index), ""});
  for (const BenchRound& round : bench_rounds(bench, noise)) {
    report::Round r{index, round.round, false, {}};
    r.values.fill(std::numeric_limits<double>::quiet_NaN());
    for (const auto& [name, value] : round.metrics) r.values[report::metric_at(name)] = value;
    out.series[{"treadle", round.model, "cpu", 1, "f32", "here"}].push_back(r);
  }
}

}  // namespace treadle::cli
