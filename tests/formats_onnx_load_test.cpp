#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "formats/onnx/load.hpp"
#include "graph/evaluate.hpp"
#include "onnx_model_builder.hpp"

namespace treadle::onnx {
namespace {

using namespace treadle::testing;

Graph load_text(const std::string& bytes, const LoadOptions& options = {}) {
  return load(MappedFile::from_memory(bytes), "m.onnx", options);
}

// The error of a load that must fail.
std::string error_of(const std::string& bytes, const LoadOptions& options = {}) {
  try {
    load_text(bytes, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

::testing::AssertionResult contains(const std::string& text,
                                    const std::vector<std::string>& parts) {
  for (const auto& p : parts) {
    if (text.find(p) == std::string::npos) {
      return ::testing::AssertionFailure() << "'" << text << "' lacks '" << p << "'";
    }
  }
  return ::testing::AssertionSuccess();
}

std::vector<float> run1(const Graph& g, std::vector<Value> inputs) {
  const auto out = evaluate(g, std::move(inputs));
  const auto s = out.at(0).tensor().span<float>();
  return {s.begin(), s.end()};
}

const std::string kX = value("x", 1, {"2"});
const std::string kY = value("y", 1, {"2"});

TEST(OnnxLoad, RotaryEmbeddingChecksItsCaches) {
  const std::string in = value("x", 1, {"1", "4", "8"});
  const auto of = [&](std::vector<std::int64_t> cache, const std::vector<float>& values) {
    return error_of(
        model({{node("RotaryEmbedding", {"x", "p", "c", "c"}, {"y"}, {}, "com.microsoft")},
               {in, value("p", 7, {"1", "4"})},
               {value("y", 1, {"1", "4", "8"})},
               {floats("c", std::move(cache), values)}},
              {opset("", 17), opset("com.microsoft", 1)}));
  };
  EXPECT_EQ(of({4, 2}, std::vector<float>(8)), "no error");
  EXPECT_TRUE(contains(of({4}, std::vector<float>(4)),
                       {"RotaryEmbedding", "the cos of the positions has shape [1, 4]"}));
}

// A scale of one element is a scalar; so is then its zero point, whose size is a symbol.
TEST(OnnxLoad, ZeroPointWithASymbolicSize) {
  const auto g = load_text(model({{node("DequantizeLinear", {"x", "s", "z"}, {"y"})},
                                  {value("x", 3, {"2"}), value("z", 3, {"n"})},
                                  {kY},
                                  {floats("s", {1}, {0.5f})}}));
  const Tensor x = Tensor::of<std::int8_t>({2}, {0, 4});
  EXPECT_EQ(run1(g, {x, Tensor::of<std::int8_t>({1}, {-2})}), (std::vector<float>{1, 3}));
  EXPECT_THROW(run1(g, {x, Tensor::of<std::int8_t>({2}, {-2, 0})}), Error);
}

TEST(OnnxLoad, AddsAnInitializerAndKeepsNames) {
  const auto g = load_text(model({{node("Add", {"x", "w"}, {"s"}), node("Add", {"s", "w"}, {"y"})},
                                  {kX},
                                  {kY},
                                  {floats("w", {2}, {1, 2})}}));
  EXPECT_EQ(run1(g, {Tensor::of<float>({2}, {10, 20})}), (std::vector<float>{12, 24}));
  EXPECT_EQ(g.value_name(g.outputs()[0]), "y");
  EXPECT_EQ(g.value_name(g.inputs()[0]), "x");
}

TEST(OnnxLoad, SortsNodes) {
  const auto g = load_text(
      model({{node("Add", {"s", "x"}, {"y"}), node("Add", {"x", "x"}, {"s"})}, {kX}, {kY}}));
  EXPECT_EQ(run1(g, {Tensor::of<float>({2}, {1, 2})}), (std::vector<float>{3, 6}));
}

TEST(OnnxLoad, RefusesCyclesAndBrokenNames) {
  EXPECT_TRUE(contains(
      error_of(
          model({{node("Add", {"a", "x"}, {"y"}), node("Add", {"y", "x"}, {"a"})}, {kX}, {kY}})),
      {"m.onnx", "cycle", "node 'y' (Add, #0)", "node 'a' (Add, #1)"}));
  EXPECT_TRUE(contains(error_of(model({{node("Add", {"x", "nope"}, {"y"})}, {kX}, {kY}})),
                       {"node 'y' (Add, #0)", "input 1", "'nope'"}));
  EXPECT_TRUE(contains(
      error_of(
          model({{node("Add", {"x", "x"}, {"y"}), node("Sub", {"x", "x"}, {"y"})}, {kX}, {kY}})),
      {"'y' is defined twice", "Add, #0", "Sub, #1"}));
  EXPECT_TRUE(contains(error_of(model({{node("Add", {"x", "x"}, {"x"})}, {kX}, {kX}})), {"'x'"}));
  EXPECT_TRUE(
      contains(error_of(model({{node("Identity", {"x"}, {"z"})}, {kX}, {kY}})), {"output 'y'"}));
  EXPECT_TRUE(contains(error_of(model({{}, {kX}, {}})), {"no outputs"}));
}

TEST(OnnxLoad, RefusesOpsets) {
  const GraphText g{{node("Identity", {"x"}, {"y"})}, {kX}, {kY}};
  EXPECT_TRUE(contains(error_of(model(g, {})), {"no opset_import"}));
  EXPECT_TRUE(contains(error_of(model(g, {opset("", 0)})), {"version 0"}));
  EXPECT_TRUE(contains(error_of(model(g, {opset("", 999)})), {"999", "28"}));
  EXPECT_TRUE(contains(error_of(model(g, {opset("other", 1)})), {"ai.onnx"}));
  EXPECT_EQ(error_of(model(g, {opset("ai.onnx", 13)})), "no error");
}

TEST(OnnxLoad, RefusesBrokenFiles) {
  EXPECT_TRUE(contains(error_of(""), {"m.onnx", "empty"}));
  std::string no_graph;
  pbf_writer(no_graph).add_int64(1, 8);
  EXPECT_TRUE(contains(error_of(no_graph), {"no graph"}));
  const std::string whole =
      model({{node("Add", {"x", "w"}, {"y"})}, {kX}, {kY}, {floats("w", {2}, {1, 2})}});
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_NE(error_of(whole.substr(0, n)), "no error") << n;
  }
  unsigned seed = 1;
  for (int round = 0; round < 200; ++round) {
    std::string noise(1024, 0);
    for (char& ch : noise) ch = static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24);
    EXPECT_NE(error_of(noise), "no error");
    // One changed byte must never do worse than an error.
    std::string changed = whole;
    changed[(seed >> 8) % changed.size()] = static_cast<char>(seed >> 16);
    error_of(changed);
  }
}

TEST(OnnxLoad, ListsAllUnknownOperators) {
  const std::string text =
      error_of(model({{node("Frob", {"x"}, {"a"}, {}, "acme"), node("Add", {"a", "x"}, {"b"}),
                       node("Nix", {"b"}, {"c"}), node("Nix", {"c"}, {"y"})},
                      {kX},
                      {kY}}));
  EXPECT_TRUE(contains(
      text, {"2 operators", "acme.Frob (1 node, first node 'a'", "Nix of opset ", " (2 nodes"}));
}

TEST(OnnxLoad, InitializersMustFitTheirShape) {
  const auto with = [](const std::string& t) {
    return error_of(model({{node("Identity", {"w"}, {"y"})}, {}, {value("y", 1, {"n"})}, {t}}));
  };
  EXPECT_TRUE(contains(with(tensor({"w", {4}, 1, "abcd"})), {"tensor 'w'", "16 bytes", "got 4"}));
  EXPECT_TRUE(contains(with(tensor({"w", {-1}, 1, "abcd"})), {"tensor 'w'", "dims[0] is -1"}));
  EXPECT_TRUE(contains(with(tensor({"w", {1}, 999, "abcd"})), {"tensor 'w'", "999"}));
  EXPECT_TRUE(contains(with(tensor({"w", {1}, 8, "abcd"})), {"tensor 'w'", "string"}));
  EXPECT_TRUE(
      contains(with(tensor({"w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, 1, ""})), {"w"}));
  std::string both = floats("w", {1}, {1});
  const std::vector<float> one{1};
  pbf_writer(both).add_packed_float(4, one.begin(), one.end());
  EXPECT_TRUE(contains(with(both), {"tensor 'w'", "more than one"}));
}

TEST(OnnxLoad, ReadsTypedFields) {
  const auto typed = [](int type, int field, std::vector<std::int64_t> values) {
    std::string t;
    pbf_writer w(t);
    w.add_int64(1, static_cast<std::int64_t>(values.size()));
    w.add_int32(2, type);
    w.add_string(8, "w");
    w.add_packed_int64(static_cast<unsigned>(field), values.begin(), values.end());
    const Graph g =
        load_text(model({{node("Identity", {"w"}, {"y"})}, {}, {value("y", type, {"n"})}, {t}}));
    return evaluate(g, {}).at(0).tensor();
  };
  EXPECT_TRUE(
      typed(10, 5, {0x3c00, 0xc000}).identical(Tensor::of<Half>({2}, {Half(1.f), Half(-2.f)})));
  EXPECT_TRUE(typed(9, 5, {0, 7}).identical(Tensor::of<bool>({2}, {false, true})));
  EXPECT_TRUE(typed(3, 5, {-128, 127}).identical(Tensor::of<std::int8_t>({2}, {-128, 127})));
  EXPECT_TRUE(typed(7, 7, {-5, 6}).identical(Tensor::of<std::int64_t>({2}, {-5, 6})));
  EXPECT_TRUE(typed(12, 11, {4294967295}).identical(Tensor::of<std::uint32_t>({1}, {4294967295u})));
  EXPECT_EQ(typed(27, 5, {1, 63}).to_f64(), (std::vector<double>{0.125, -7.5}));
  EXPECT_EQ(typed(20, 5, {0x40}).to_f64(), (std::vector<double>{1}));
  EXPECT_THROW(typed(17, 5, {300}), Error);
  EXPECT_THROW(typed(3, 5, {300}), Error);
  EXPECT_THROW(typed(1, 5, {1}), Error);
}

TEST(OnnxLoad, UnpacksNarrowTypes) {
  const auto raw = [](int type, std::int64_t n, const std::string& bytes) {
    const std::string t = tensor({"w", {n}, type, bytes});
    const Graph g =
        load_text(model({{node("Identity", {"w"}, {"y"})}, {}, {value("y", type, {"n"})}, {t}}));
    return evaluate(g, {}).at(0).tensor();
  };
  const Tensor i4 = raw(22, 3, "\x8f\x07");
  EXPECT_EQ(i4.dtype(), DType::I4);
  EXPECT_EQ(i4.to_i64(), (std::vector<std::int64_t>{-1, -8, 7}));
  EXPECT_EQ(raw(26, 5, "\x1b\x02").to_i64(), (std::vector<std::int64_t>{-1, -2, 1, 0, -2}));
  EXPECT_EQ(raw(25, 4, "\x1b").to_i64(), (std::vector<std::int64_t>{3, 2, 1, 0}));
  EXPECT_EQ(raw(23, 3, "\x21\x0f").to_f64(), (std::vector<double>{0.5, 1, -6}));
  // Four codes in three bytes: 1, 2, 3, 63.
  EXPECT_EQ(raw(27, 4, "\x81\x30\xfc").to_f64(), (std::vector<double>{0.125, 0.25, 0.375, -7.5}));
  EXPECT_EQ(raw(28, 1, "\x01").to_f64(), (std::vector<double>{0.0625}));
  EXPECT_EQ(raw(17, 2, "\x38\xb8").to_f64(), (std::vector<double>{1, -1}));
  EXPECT_THROW(raw(22, 3, "\x8f"), Error);
  EXPECT_THROW(raw(27, 4, "\x81\x30"), Error);
}

TEST(OnnxLoad, NarrowTypesAreNotComputedWith) {
  const std::string t = tensor({"w", {3}, 22, std::string("\x8f\x07", 2)});
  EXPECT_TRUE(contains(
      error_of(model({{node("Add", {"w", "w"}, {"y"})}, {}, {value("y", 22, {"3"})}, {t}})),
      {"Add", "i4"}));
}

TEST(OnnxLoad, BoolBytesAreNormalised) {
  const std::string t = tensor({"w", {3}, 9, std::string("\x00\x02\xff", 3)});
  const Graph g =
      load_text(model({{node("Identity", {"w"}, {"y"})}, {}, {value("y", 9, {"3"})}, {t}}));
  EXPECT_TRUE(evaluate(g, {}).at(0).tensor().identical(Tensor::of<bool>({3}, {false, true, true})));
}

class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("treadle_ext_{}", ::getpid());
    std::filesystem::create_directories(folder_ / "sub");
    const std::vector<float> values{1, 2, 3, 4};
    std::ofstream(folder_ / "sub" / "w.bin", std::ios::binary) << raw_bytes(values);
    std::filesystem::create_symlink(folder_ / "sub" / "w.bin", folder_ / "link.bin");
  }
  ~ExternalData() override { std::filesystem::remove_all(folder_); }

  std::string try_load(const std::vector<std::pair<std::string, std::string>>& entries) {
    const auto path = folder_ / "模型é.onnx";
    std::ofstream(path, std::ios::binary)
        << model({{node("Identity", {"w"}, {"y"})}, {}, {kY}, {external("w", 2, entries)}});
    try {
      const Graph g = load(path.string());
      const auto v = run1(g, {});
      return fmt::format("{} {}", v[0], v[1]);
    } catch (const Error& e) {
      return e.what();
    }
  }
  std::filesystem::path folder_;
};

TEST_F(ExternalData, ReadsARange) {
  EXPECT_EQ(try_load({{"location", "sub/w.bin"}, {"offset", "4"}, {"length", "8"}}), "2 3");
  EXPECT_EQ(try_load({{"location", "sub/w.bin"}, {"offset", "8"}}), "3 4");
}

TEST_F(ExternalData, StaysInItsFolder) {
  EXPECT_TRUE(contains(try_load({{"location", "../w.bin"}}), {"tensor 'w'", "plain path"}));
  EXPECT_TRUE(contains(try_load({{"location", "/etc/passwd"}}), {"tensor 'w'", "plain path"}));
  EXPECT_TRUE(contains(try_load({{"location", "link.bin"}, {"length", "8"}}), {"symbolic link"}));
  EXPECT_TRUE(contains(try_load({{"location", "sub"}}), {"not a regular file"}));
  EXPECT_TRUE(contains(try_load({{"location", "sub/w.bin"}, {"offset", "12"}, {"length", "8"}}),
                       {"12 to 20", "16 bytes"}));
  EXPECT_TRUE(contains(try_load({{"location", "sub/w.bin"}, {"offset", "-4"}}), {"offset"}));
  EXPECT_TRUE(
      contains(try_load({{"location", "sub/w.bin"}, {"where", "4"}}), {"unknown key 'where'"}));
  EXPECT_TRUE(contains(try_load({{"location", "sub/w.bin"}, {"length", "4"}}), {"8 bytes, got 4"}));
}

TEST(OnnxLoad, LabelsAreLabels) {
  const auto a = value("a", 1, {"1", "p"});
  const auto b = value("b", 1, {"1", "q"});
  const Graph g =
      load_text(model({{node("Add", {"a", "b"}, {"y"})}, {a, b}, {value("y", 1, {"batch", "z"})}}));
  EXPECT_EQ(run1(g, {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({1, 2}, {3, 4})}),
            (std::vector<float>{4, 6}));
  EXPECT_THROW(
      evaluate(g, {Tensor::of<float>({1, 3}, {1, 2, 3}), Tensor::of<float>({1, 2}, {3, 4})}),
      Error);
}

TEST(OnnxLoad, OptionsSetShapesAndSymbols) {
  const auto x = value("x", 1, {"batch", "-1"});
  const GraphText g{{node("Identity", {"x"}, {"y"})}, {x}, {value("y", 1, {"b", "c"})}};
  LoadOptions options;
  options.symbols = {{"batch", 4}};
  const Graph sized = load_text(model(g), options);
  EXPECT_TRUE(sized.fact(sized.inputs()[0]).shape[0].is(4));
  EXPECT_FALSE(sized.fact(sized.inputs()[0]).shape[1].is_const());
  options.symbols = {{"nothing", 4}};
  EXPECT_TRUE(contains(error_of(model(g), options), {"'nothing'"}));
  options.symbols.clear();
  options.input_shapes["x"] = {Dim(2), Dim(5)};
  const Graph shaped = load_text(model(g), options);
  EXPECT_EQ(str(shaped.fact(shaped.inputs()[0]).shape), "[2, 5]");
}

TEST(OnnxLoad, InitializersThatAreInputsAreConstantsUnlessOverridden) {
  const GraphText g{{node("Add", {"x", "w"}, {"y"})},
                    {kX, value("w", 1, {"2"})},
                    {kY},
                    {floats("w", {2}, {1, 2})}};
  EXPECT_EQ(load_text(model(g)).inputs().size(), 1u);
  LoadOptions options;
  options.input_shapes["w"] = {Dim(2)};
  EXPECT_EQ(load_text(model(g), options).inputs().size(), 2u);
}

TEST(OnnxLoad, CutsAtInnerValues) {
  const GraphText g{{node("Frob", {"x"}, {"a"}, {}, "acme"), node("Add", {"a", "a"}, {"b"}),
                     node("Sub", {"b", "a"}, {"y"})},
                    {kX},
                    {kY},
                    {},
                    {value("a", 1, {"2"})}};
  LoadOptions options;
  options.inputs = {"a"};
  options.outputs = {"b"};
  const Graph cut = load_text(model(g), options);
  ASSERT_EQ(cut.inputs().size(), 1u);
  EXPECT_EQ(cut.value_name(cut.inputs()[0]), "a");
  EXPECT_EQ(run1(cut, {Tensor::of<float>({2}, {1, 2})}), (std::vector<float>{2, 4}));
  options.inputs = {"nope"};
  EXPECT_TRUE(contains(error_of(model(g), options), {"'nope'"}));
}

TEST(OnnxLoad, ExpandsFunctions) {
  const auto f =
      function({"my",
                "Scaled",
                {"p"},
                {"q"},
                {"factor"},
                {attribute("bias", 1, [](pbf_writer& w) { w.add_float(2, 0.5f); })},
                {node("Constant", {}, {"k"}, {reference_attribute("value_float", 1, "factor")}),
                 node("Constant", {}, {"b"}, {reference_attribute("value_float", 1, "bias")}),
                 node("Mul", {"p", "k"}, {"m"}), node("Add", {"m", "b"}, {"q"})}});
  const auto call =
      node("Scaled", {"x"}, {"y"},
           {attribute("factor", 1, [](pbf_writer& w) { w.add_float(2, 3.f); })}, "my", "call");
  const Graph g = load_text(model({{call}, {kX}, {kY}}, {opset("", 17), opset("my", 1)}, {f}));
  EXPECT_EQ(run1(g, {Tensor::of<float>({2}, {1, 2})}), (std::vector<float>{3.5, 6.5}));
  EXPECT_EQ(g.value_name(g.outputs()[0]), "y");
}

TEST(OnnxLoad, RefusesRecursiveFunctions) {
  const auto f = function({"my", "F", {"p"}, {"q"}, {}, {}, {node("F", {"p"}, {"q"}, {}, "my")}});
  EXPECT_TRUE(contains(
      error_of(model({{node("F", {"x"}, {"y"}, {}, "my")}, {kX}, {kY}}, {opset("", 17)}, {f})),
      {"calls itself"}));
}

TEST(OnnxLoad, FunctionsThatDoubleAreBounded) {
  std::vector<std::string> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string inner = i == 0 ? "Identity" : fmt::format("F{}", i - 1);
    const std::string domain = i == 0 ? "" : "my";
    functions.push_back(
        function({"my",
                  fmt::format("F{}", i),
                  {"p"},
                  {"q"},
                  {},
                  {},
                  {node(inner, {"p"}, {"t"}, {}, domain), node(inner, {"t"}, {"q"}, {}, domain)}}));
  }
  LoadOptions options;
  options.limits.max_nodes = 10'000;
  EXPECT_TRUE(contains(error_of(model({{node("F39", {"x"}, {"y"}, {}, "my")}, {kX}, {kY}},
                                      {opset("", 17)}, functions),
                                options),
                       {"more than 10000 nodes"}));
}

TEST(OnnxLoad, LargeGraphsTakeLinearTime) {
  GraphText g{{}, {kX}, {value("v20000", 1, {"2"})}};
  std::string last = "x";
  for (int i = 1; i <= 20'000; ++i) {
    const std::string next = fmt::format("v{}", i);
    g.nodes.push_back(node("Neg", {last}, {next}));
    last = next;
  }
  const auto bytes = model(g);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(load_text(bytes).live_nodes(), 20'001u);
  // Quadratic work would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(OnnxCheck, CollectsEveryProblem) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("treadle_check_{}.onnx", ::getpid());
  std::ofstream(path, std::ios::binary)
      << model({{node("Frob", {"x"}, {"a"}), node("Add", {"x"}, {"b"}),
                 node("Add", {"x", "gone"}, {"c"}), node("Add", {"a", "b"}, {"y"})},
                {kX},
                {kY}});
  const auto problems = check_model(path.string());
  std::filesystem::remove(path);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_TRUE(contains(problems[0].text, {"'b' (Add, #1)"}));
  EXPECT_TRUE(contains(problems[1].text, {"'c' (Add, #2)", "'gone'"}));
  EXPECT_TRUE(contains(problems[2].text, {"Frob"}));
  EXPECT_EQ(problems[2].kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace treadle::onnx
