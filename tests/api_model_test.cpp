// The public API, used as a program outside the library would.
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <thread>

#include "onnx_model_builder.hpp"
#include "treadle/treadle.h"
#include "treadle/treadle.hpp"

namespace {

namespace onnx_text = treadle::testing;
using treadle::v1::LoadOptions;
using treadle::v1::Model;
using treadle::v1::Session;
using treadle::v1::Status;
using treadle::v1::StatusCode;
using treadle::v1::Tensor;

// sum = a + b over [batch, 2], y = relu(sum).
std::string sum_model() {
  using namespace onnx_text;
  return model({{node("Add", {"a", "b"}, {"sum"}), node("Relu", {"sum"}, {"y"})},
                {value("a", 1, {"batch", "2"}), value("b", 1, {"batch", "2"})},
                {value("y", 1, {"batch", "2"})}});
}

Model load(const std::string& text, const LoadOptions& options = {}) {
  return Model::load(std::as_bytes(std::span(text)), options);
}

std::vector<float> floats(const Tensor& t) {
  const auto v = t.values<float>();
  return {v.begin(), v.end()};
}

TEST(Api, DescribesInputsAndOutputs) {
  const Model m = load(sum_model());
  ASSERT_EQ(m.inputs().size(), 2u);
  EXPECT_EQ(m.inputs()[0].name, "a");
  EXPECT_EQ(m.inputs()[0].shape, (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(m.inputs()[0].dims, (std::vector<std::string>{"batch", "2"}));
  ASSERT_EQ(m.outputs().size(), 1u);
  EXPECT_EQ(m.outputs()[0].name, "y");
}

// y is declared with a label that a terminal would obey, one that is no UTF-8, and a wrong size.
std::string wrongly_declared() {
  using namespace onnx_text;
  return model({{node("Relu", {"a"}, {"y"})},
                {value("a", 1, {"n", "m", "2"})},
                {value("y", 1, {"\x1b[31mé", "\xff\n", "3"})}});
}

TEST(Api, WarningsGoToTheCaller) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const Model m = load(wrongly_declared(), options);
  ASSERT_EQ(warnings.size(), 1u);
  for (const char* part : {"'y'", "\\x1b[31m", "\\xff\\x0a", "3]", "f32[n, m, 2]"}) {
    EXPECT_NE(warnings[0].find(part), std::string::npos) << warnings[0];
  }
  for (const char c : warnings[0]) EXPECT_TRUE(c >= ' ' && c < 127) << warnings[0];
  load(sum_model(), options);
  EXPECT_EQ(warnings.size(), 1u);
  // What it throws ends the loading.
  options.warn = [](const std::string&) { throw std::runtime_error("no warnings here"); };
  EXPECT_THROW(load(wrongly_declared(), options), std::exception);
}

TEST(CApi, WarningsGoToTheCaller) {
  std::vector<std::string> warnings;
  treadle_options o;
  treadle_options_init(&o);
  EXPECT_EQ(o.warn, nullptr);
  o.warn = [](const char* text, void* to) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(text);
  };
  o.warn_data = &warnings;
  const std::string text = wrongly_declared();
  treadle_model* m = nullptr;
  ASSERT_EQ(treadle_model_load_memory(text.data(), text.size(), &o, &m), TREADLE_OK);
  treadle_model_free(m);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("output 'y' is declared with shape"), std::string::npos);
  // A caller that was built before there were warnings.
  warnings.clear();
  o.size = offsetof(treadle_options, warn);
  ASSERT_EQ(treadle_model_load_memory(text.data(), text.size(), &o, &m), TREADLE_OK);
  treadle_model_free(m);
  EXPECT_TRUE(warnings.empty());
}

TEST(Api, RunsByNameAndByOrder) {
  const Model m = load(sum_model());
  Session s(m);
  const Tensor a = Tensor::from<float>({1, 2}, {1, -5}), b = Tensor::from<float>({1, 2}, {2, 3});
  ASSERT_TRUE(s.run({{"b", b}, {"a", a}}).ok());
  EXPECT_EQ(floats(s.output(0)), (std::vector<float>{3, 0}));
  const Tensor in_order[] = {Tensor::from<float>({2, 2}, {1, 1, 1, 1}),
                             Tensor::from<float>({2, 2}, {1, 2, 3, -4})};
  ASSERT_TRUE(s.run(in_order).ok());
  EXPECT_EQ(floats(s.output("y")), (std::vector<float>{2, 3, 4, 0}));
  EXPECT_EQ(s.output("y").shape(), (std::vector<std::int64_t>{2, 2}));
}

TEST(Api, RunReportsErrorsAndTheSessionGoesOn) {
  const Model m = load(sum_model());
  Session s(m);
  const Tensor good = Tensor::from<float>({1, 2}, {1, 2});
  Status status = s.run({{"a", good}});
  EXPECT_NE(status.message().find("input 'b' is missing"), std::string::npos) << status.message();
  status = s.run({{"a", good}, {"c", good}});
  EXPECT_NE(status.message().find("no input 'c'"), std::string::npos) << status.message();
  status = s.run({{"a", good}, {"b", Tensor::from<float>({1, 3}, {1, 2, 3})}});
  EXPECT_EQ(status.code(), StatusCode::Shape);
  status = s.run({{"a", good}, {"b", Tensor::from<double>({1, 2}, {1, 2})}});
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(s.run({{"a", good}, {"b", good}}).ok());
  EXPECT_EQ(floats(s.output(0)), (std::vector<float>{2, 4}));
}

TEST(Api, OptionsFixShapesCutAndAddOutputs) {
  LoadOptions options;
  options.symbols = {"batch=3"};
  EXPECT_EQ(load(sum_model(), options).inputs()[1].shape, (std::vector<std::int64_t>{3, 2}));
  options = {};
  options.cut_inputs = {"sum"};
  const Model cut = load(sum_model(), options);
  ASSERT_EQ(cut.inputs().size(), 1u);
  EXPECT_EQ(cut.inputs()[0].name, "sum");
  options = {};
  options.extra_outputs = {"sum"};
  const Model more = load(sum_model(), options);
  Session s(more);
  const Tensor a = Tensor::from<float>({1, 2}, {1, -5});
  ASSERT_TRUE(s.run({{"a", a}, {"b", a}}).ok());
  EXPECT_EQ(floats(s.output("sum")), (std::vector<float>{2, -10}));
  options = {};
  options.shapes = {"a=1;2"};
  EXPECT_THROW(load(sum_model(), options), treadle::v1::Error);
}

TEST(Api, WhatIsNoModelIsNamed) {
  const auto message = [](std::string_view bytes) -> std::string {
    try {
      Model::load(std::as_bytes(std::span(bytes.data(), bytes.size())));
    } catch (const treadle::v1::Error& e) {
      EXPECT_EQ(e.code(), StatusCode::Parse);
      return e.what();
    }
    return "no error";
  };
  EXPECT_NE(message("").find("it is empty"), std::string::npos);
  EXPECT_NE(message("PK\x03\x04 and so on").find("zip archive"), std::string::npos);
  EXPECT_NE(message("hello").find("neither an ONNX model"), std::string::npos);
  EXPECT_NE(message(std::string_view("\x93NUMPY\x01\x00", 8)).find("NumPy"), std::string::npos);
}

TEST(Api, TensorsCheckTypesAndSizes) {
  EXPECT_THROW(Tensor::from<float>({2, 2}, {1, 2, 3}), treadle::v1::Error);
  const Tensor t = Tensor::from<std::int64_t>({2}, {4, 5});
  EXPECT_THROW((void)t.values<float>(), treadle::v1::Error);
  Tensor shared = t, own = t.clone();
  shared.values<std::int64_t>()[0] = 9;
  EXPECT_EQ(t.values<std::int64_t>()[0], 9);
  EXPECT_EQ(own.values<std::int64_t>()[0], 4);
  float data[2] = {1, 2};
  const Tensor wrapped = Tensor::wrap(treadle::v1::DataType::Float32, {2}, data);
  data[1] = 7;
  EXPECT_EQ(wrapped.values<float>()[1], 7.0f);
  EXPECT_FALSE(Tensor().defined());
}

TEST(Api, OneModelManyThreads) {
  const Model m = load(sum_model());
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (std::size_t k = 0; k < right.size(); ++k)
    threads.emplace_back([&, k] {
      Session s(m);
      for (int i = 0; i < 50; ++i) {
        const float v = static_cast<float>(k) + static_cast<float>(i);
        const Tensor a = Tensor::from<float>({1, 2}, {v, v});
        if (s.run({{"a", a}, {"b", a}}).ok() && s.output(0).values<float>()[1] == 2 * v) ++right[k];
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, std::vector<int>(8, 50));
}

TEST(CApi, LoadsRunsAndReports) {
  const std::string text = sum_model();
  treadle_options options;
  treadle_options_init(&options);
  const char* symbols[] = {"batch=1"};
  options.symbols = symbols;
  options.symbol_count = 1;
  treadle_model* m = nullptr;
  ASSERT_EQ(treadle_model_load_memory(text.data(), text.size(), &options, &m), TREADLE_OK)
      << treadle_last_error();
  EXPECT_EQ(treadle_model_input_count(m), 2u);
  treadle_port port;
  ASSERT_EQ(treadle_model_input(m, 0, &port), TREADLE_OK);
  EXPECT_STREQ(port.name, "a");
  EXPECT_EQ(port.shape[0], 1);
  EXPECT_EQ(treadle_model_input(m, 2, &port), TREADLE_INVALID_ARGUMENT);

  treadle_session* s = nullptr;
  ASSERT_EQ(treadle_session_create(m, &s), TREADLE_OK);
  treadle_model_free(m);
  float data[2] = {1, 2};
  treadle_tensor t = {TREADLE_F32, 2, {1, 2}, data, sizeof data};
  ASSERT_EQ(treadle_session_set_input(s, 0, &t), TREADLE_OK);
  EXPECT_NE(treadle_session_run(s), TREADLE_OK);
  EXPECT_NE(std::string(treadle_last_error()).find("'b' is missing"), std::string::npos);
  ASSERT_EQ(treadle_session_set_input_named(s, "b", &t), TREADLE_OK);
  ASSERT_EQ(treadle_session_run(s), TREADLE_OK) << treadle_last_error();
  treadle_tensor out;
  ASSERT_EQ(treadle_session_output(s, 0, &out), TREADLE_OK);
  EXPECT_EQ(out.bytes, 8u);
  EXPECT_EQ(static_cast<float*>(out.data)[1], 4.0f);
  t.bytes = 4;
  EXPECT_EQ(treadle_session_set_input(s, 0, &t), TREADLE_SHAPE);
  treadle_session_free(s);
}

TEST(CApi, NullsAreErrorsNotCrashes) {
  treadle_model* m = nullptr;
  EXPECT_EQ(treadle_model_load(nullptr, nullptr, &m), TREADLE_INVALID_ARGUMENT);
  EXPECT_EQ(treadle_model_load("x", nullptr, nullptr), TREADLE_INVALID_ARGUMENT);
  EXPECT_EQ(treadle_session_run(nullptr), TREADLE_INVALID_ARGUMENT);
  EXPECT_EQ(treadle_model_input_count(nullptr), 0u);
  treadle_model_free(nullptr);
  treadle_session_free(nullptr);
  treadle_options old;
  treadle_options_init(&old);
  old.size = 0;
  EXPECT_EQ(treadle_model_load("x", &old, &m), TREADLE_PARSE);
}

}  // namespace
