// What bounds a run: iterations, seconds, bytes; and what a run leaves of the caller's
// floating-point state.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/cpu_features.hpp"
#include "onnx_model_builder.hpp"
#include "treadle/treadle.h"
#include "treadle/treadle.hpp"

namespace {

using namespace treadle::testing;
using treadle::v1::LoadOptions;
using treadle::v1::Model;
using treadle::v1::Session;
using treadle::v1::Status;
using treadle::v1::StatusCode;
using treadle::v1::Tensor;

Model load(const std::string& text, const LoadOptions& options = {}) {
  return Model::load(bytes(text), options);
}

std::string scalar_i64(const std::string& name, std::int64_t v) {
  return tensor({name, {}, 7, raw_bytes(std::vector<std::int64_t>{v})});
}

// y = x + 1 repeated m times; with `collect` each value is kept.
std::string counting_loop(bool collect = false, bool sequence = false) {
  std::vector<std::string> nodes{node("Add", {"v", "one"}, {"next"}),
                                 node("Identity", {"go"}, {"go_on"})};
  std::vector<std::string> in{value("i", 7, {}), value("go", 9, {}), value("v", 1, {"n"})};
  std::vector<std::string> out{value("go_on", 9, {}), value("next", 1, {"n"})};
  std::vector<std::string> loop_in{"m", "", "x"}, loop_out{"y"}, before;
  if (sequence) {
    nodes.push_back(node("SequenceInsert", {"s", "next"}, {"longer"}));
    std::string tensor_type, sequence_type, type, v;
    pbf_writer(tensor_type).add_int32(1, 1);
    pbf_writer(sequence_type).add_message(1, tensor_type);
    std::string element;
    pbf_writer(element).add_message(1, sequence_type);
    pbf_writer(type).add_message(4, element);
    const auto named = [&](const std::string& name) {
      std::string text;
      pbf_writer w(text);
      w.add_string(1, name);
      w.add_message(2, type);
      return text;
    };
    in.push_back(named("s"));
    out.push_back(named("longer"));
    loop_in.push_back("empty");
    loop_out.push_back("all");
    before.push_back(node("SequenceEmpty", {}, {"empty"}));
  }
  if (collect) {
    nodes.push_back(node("Identity", {"next"}, {"seen"}));
    out.push_back(value("seen", 1, {"n"}));
    loop_out.push_back("all");
  }
  before.push_back(node("Loop", loop_in, loop_out,
                        {graph_attribute("body", graph({nodes, in, out}))}, "", "lp"));
  return model({before,
                {value("x", 1, {"n"}), value("m", 7, {})},
                {value("y", 1, {"n"})},
                {floats("one", {1}, {1})}});
}

Status run_loop(const Model& m, std::int64_t trips, std::int64_t n, float* last = nullptr) {
  Session s(m);
  const Tensor x(treadle::v1::DataType::Float32, {n});
  Status status = s.run({{"x", x}, {"m", Tensor::from<std::int64_t>({}, {trips})}});
  if (last != nullptr && status.ok()) *last = s.output(0).values<float>()[0];
  return status;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& p : parts)
    EXPECT_NE(text.find(p), std::string::npos) << "no '" << p << "' in: " << text;
}

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

TEST(LoopLimit, LongLoopsRun) {
  float last = 0;
  ASSERT_TRUE(run_loop(load(counting_loop()), 200'000, 1, &last).ok());
  EXPECT_EQ(last, 200'000.f);
}

TEST(LoopLimit, EndlessLoopsEndNamingNodeAndLimit) {
  LoadOptions options;
  options.max_iterations = 1000;
  for (const bool reference : {false, true}) {
    options.reference = reference;
    const Model m = load(counting_loop(), options);
    const Status s = run_loop(m, kForEver, 1);
    EXPECT_EQ(s.code(), StatusCode::Memory);
    expect_parts(s.message(), {"'lp'", "Loop", "1000 iterations", "max_iterations"});
    float last = 0;
    EXPECT_TRUE(run_loop(m, 1000, 1, &last).ok()) << "the limit itself is allowed";
    EXPECT_EQ(last, 1000.f);
    EXPECT_FALSE(run_loop(m, 1001, 1).ok());
  }
}

TEST(LoopLimit, ASessionGoesOnAfterwards) {
  LoadOptions options;
  options.max_iterations = 10;
  const Model m = load(counting_loop(), options);
  Session s(m);
  const Tensor x = Tensor::from<float>({1}, {5});
  EXPECT_FALSE(s.run({{"x", x}, {"m", Tensor::from<std::int64_t>({}, {11})}}).ok());
  for (int i = 0; i < 3; ++i) {
    // Each run has all of its iterations.
    ASSERT_TRUE(s.run({{"x", x}, {"m", Tensor::from<std::int64_t>({}, {10})}}).ok());
    EXPECT_EQ(s.output(0).values<float>()[0], 15.f);
  }
}

// Nested loops count together: 40 times 40 is more than 1000.
TEST(LoopLimit, NestedLoopsCountTogether) {
  const auto body_of = [](const std::vector<std::string>& nodes) {
    std::vector<std::string> all = nodes;
    all.push_back(node("Identity", {"go"}, {"go_on"}));
    return graph({all,
                  {value("i", 7, {}), value("go", 9, {}), value("v", 1, {"1"})},
                  {value("go_on", 9, {}), value("next", 1, {"1"})}});
  };
  const std::string inner = body_of({node("Add", {"v", "one"}, {"next"})});
  const std::string outer =
      body_of({node("Loop", {"m", "", "v"}, {"next"}, {graph_attribute("body", inner)})});
  const std::string text =
      model({{node("Loop", {"m", "", "x"}, {"y"}, {graph_attribute("body", outer)})},
             {value("x", 1, {"1"}), value("m", 7, {})},
             {value("y", 1, {"1"})},
             {floats("one", {1}, {1})}});
  LoadOptions options;
  options.max_iterations = 1000;
  const Model m = load(text, options);
  float last = 0;
  ASSERT_TRUE(run_loop(m, 20, 1, &last).ok());
  EXPECT_EQ(last, 400.f);
  expect_parts(run_loop(m, 40, 1).message(), {"Loop", "1000 iterations"});
}

TEST(LoopLimit, ScanCountsToo) {
  const std::string body = graph({{node("Add", {"s", "e"}, {"next"})},
                                  {value("s", 1, {"1"}), value("e", 1, {"1"})},
                                  {value("next", 1, {"1"})}});
  LoadOptions options;
  options.max_iterations = 7;
  const Model m = load(
      model({{node("Scan", {"x", "r"}, {"y"},
                   {graph_attribute("body", body), int_attribute("num_scan_inputs", 1)}, "", "sc")},
             {value("x", 1, {"1"}), value("r", 1, {"n", "1"})},
             {value("y", 1, {"1"})}}),
      options);
  Session s(m);
  const Tensor x = Tensor::from<float>({1}, {1});
  const std::vector<float> ones(8, 1.f);
  ASSERT_TRUE(s.run({{"x", x}, {"r", Tensor::from<float>({7, 1}, std::span(ones).first(7))}}).ok());
  EXPECT_EQ(s.output(0).values<float>()[0], 8.f);
  expect_parts(s.run({{"x", x}, {"r", Tensor::from<float>({8, 1}, ones)}}).message(),
               {"'sc'", "Scan", "7 iterations"});
}

TEST(LoopLimit, TimeEndsARun) {
  LoadOptions options;
  options.max_seconds = 1e-3;
  options.max_iterations = kForEver;
  expect_parts(run_loop(load(counting_loop(), options), kForEver, 1).message(),
               {"'lp'", "max_seconds", "0.001"});
}

// What loops collect is bounded by max_tensor_bytes, as scan outputs and in sequences.
TEST(LoopLimit, CollectedBytesEnd) {
  LoadOptions options;
  options.max_tensor_bytes = 4 << 20;
  for (const bool sequence : {false, true}) {
    const Model m = load(counting_loop(!sequence, sequence), options);
    EXPECT_TRUE(run_loop(m, 20, 16 << 10).ok());  // 20 times 64 KB
    const Status s = run_loop(m, kForEver, 16 << 10);
    EXPECT_EQ(s.code(), StatusCode::Memory);
    expect_parts(s.message(), {"'lp'", "4194304"});
  }
}

// Loading does not run loops over constants.
TEST(LoopLimit, LoopsOfConstantsAreNotRunWhileLoading) {
  const std::string body =
      graph({{node("Identity", {"v"}, {"next"}), node("Identity", {"go"}, {"go_on"})},
             {value("i", 7, {}), value("go", 9, {}), value("v", 1, {"1"})},
             {value("go_on", 9, {}), value("next", 1, {"1"})}});
  const std::string text =
      model({{node("Loop", {"m", "", "one"}, {"y"}, {graph_attribute("body", body)}, "", "lp")},
             {},
             {value("y", 1, {"1"})},
             {floats("one", {1}, {1}), scalar_i64("m", kForEver)}});
  LoadOptions options;
  options.max_iterations = 3;
  const Model m = load(text, options);
  Session s(m);
  expect_parts(s.run({}).message(), {"'lp'", "3 iterations"});
}

TEST(LoopLimit, COptions) {
  treadle_options o;
  treadle_options_init(&o);
  EXPECT_EQ(o.max_iterations, LoadOptions{}.max_iterations);
  o.max_iterations = -1;
  treadle_model* m = nullptr;
  const std::string text = counting_loop();
  EXPECT_NE(treadle_model_load_memory(text.data(), text.size(), &o, &m), TREADLE_OK);
  o.max_iterations = 5;
  ASSERT_EQ(treadle_model_load_memory(text.data(), text.size(), &o, &m), TREADLE_OK);
  treadle_model_free(m);
}

// y = x · 2^-20: 2^-120 becomes the denormal 2^-140, or zero when denormals are flushed.
std::vector<float> tiny_products(const LoadOptions& options) {
  const Model m = load(model({{node("Mul", {"x", "w"}, {"y"})},
                              {value("x", 1, {"n"})},
                              {value("y", 1, {"n"})},
                              {floats("w", {1}, {0x1p-20f})}}),
                       options);
  Session s(m);
  const std::vector<float> x(100'000, 0x1p-120f);
  EXPECT_TRUE(s.run({{"x", Tensor::from<float>({100'000}, x)}}).ok());
  const auto y = s.output(0).values<float>();
  return {y.begin(), y.end()};
}

TEST(Denormals, AreZeroOnEachThreadUnlessKept) {
  for (const int threads : {1, 4}) {
    for (const bool reference : {false, true}) {
      LoadOptions options;
      options.threads = threads;
      options.reference = reference;
      for (const float y : tiny_products(options)) ASSERT_EQ(y, 0.f);
      options.flush_denormals = false;
      for (const float y : tiny_products(options)) ASSERT_EQ(y, 0x1p-140f);
    }
  }
}

TEST(Denormals, TheCallersStateComesBack) {
  const std::uint64_t before = treadle::fp_control();
  tiny_products({});
  EXPECT_EQ(treadle::fp_control(), before);
  // Also a state that is not the usual one, and after a run that fails.
  const treadle::FlushDenormals flush;
  const std::uint64_t flushed = treadle::fp_control();
  LoadOptions keep;
  keep.flush_denormals = false;
  tiny_products({});
  EXPECT_EQ(treadle::fp_control(), flushed);
  LoadOptions options;
  options.max_iterations = 3;
  EXPECT_FALSE(run_loop(load(counting_loop(), options), 4, 1).ok());
  EXPECT_EQ(treadle::fp_control(), flushed);
}

}  // namespace
