// Faults that users of other engines met and that need more than one model each: omitted inputs,
// scopes, reshape targets, stages that must agree, initializers that lie. Through import alone,
// with every kernel, and with none. Expected values are computed by hand.
#include <gtest/gtest.h>

#include "api/model.hpp"
#include "graph/evaluate.hpp"
#include "onnx_model_builder.hpp"
#include "plan/session.hpp"

namespace treadle {
namespace {

using namespace treadle::testing;
using Numbers = std::vector<double>;

struct Result {
  Shape shape;
  Numbers values;
  bool operator==(const Result&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Result& r) {
  return out << r.shape.str() << ::testing::PrintToString(r.values);
}

Result result(const Value& v) {
  const Tensor& t = v.tensor();
  if (is_float(t.dtype())) return {t.shape(), t.to_f64()};
  const auto ints = t.to_i64();
  return {t.shape(), Numbers(ints.begin(), ints.end())};
}

std::vector<Result> run_session(const std::string& text, const std::vector<Value>& inputs,
                                const ModelOptions& options) {
  const auto m = Model::load(bytes(text), options)->for_inputs(inputs);
  Session s(m->program());
  if (auto error = s.run(inputs)) throw *error;
  std::vector<Result> out;
  for (std::size_t i = 0; i < m->outputs().size(); ++i) out.push_back(result(s.output(i)));
  return out;
}

// Outputs as imported, simplified, lowered with kernels and lowered without: all must be equal.
std::vector<Result> run(const std::string& text, const std::vector<Value>& inputs,
                        ModelOptions options = {}) {
  const auto lowered = run_session(text, inputs, options);
  ImportedModel m = import_model(bytes(text), options);
  const auto evaluated = [&] {
    std::vector<Result> out;
    for (const Value& v : evaluate(m.graph, inputs)) out.push_back(result(v));
    return out;
  };
  EXPECT_EQ(evaluated(), lowered) << "import";
  simplify_model(m.graph);
  EXPECT_EQ(evaluated(), lowered) << "simplified";
  options.lower.reference = true;
  EXPECT_EQ(run_session(text, inputs, options), lowered) << "reference";
  return lowered;
}

std::string error_of(const std::string& text, const std::vector<Value>& inputs = {}) {
  try {
    run_session(text, inputs, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& p : parts)
    EXPECT_NE(text.find(p), std::string::npos) << "no '" << p << "' in: " << text;
}

Tensor row(std::initializer_list<float> v) {
  return Tensor::of<float>({static_cast<std::int64_t>(v.size())}, v);
}

TEST(Omitted, TrailingInputsMayBeMissingOrEmpty) {
  const std::string x = value("x", 1, {"3"}), y = value("y", 1, {"3"});
  const auto clip = [&](const std::vector<std::string>& in) {
    return model({{node("Clip", in, {"y"})},
                  {x},
                  {y},
                  {tensor({"lo", {}, 1, raw_bytes(std::vector<float>{0})}),
                   tensor({"hi", {}, 1, raw_bytes(std::vector<float>{1})})}});
  };
  const std::vector<Value> in{row({-1, 0.5f, 2})};
  EXPECT_EQ(run(clip({"x"}), in)[0].values, (Numbers{-1, 0.5, 2}));
  EXPECT_EQ(run(clip({"x", ""}), in)[0].values, (Numbers{-1, 0.5, 2}));
  EXPECT_EQ(run(clip({"x", "lo"}), in)[0].values, (Numbers{0, 0.5, 2}));
  EXPECT_EQ(run(clip({"x", "lo", ""}), in)[0].values, (Numbers{0, 0.5, 2}));
  EXPECT_EQ(run(clip({"x", "", "hi"}), in)[0].values, (Numbers{-1, 0.5, 1}));
  expect_parts(error_of(clip({"", "lo"}), in), {"Clip"});
}

TEST(Omitted, OutputsInTheMiddleAndModelsWithoutInputs) {
  // Of TopK only the indices; all from initializers that no input lists.
  const std::string text = model({{node("TopK", {"w", "k"}, {"", "i"}, {int_attribute("axis", 0)})},
                                  {},
                                  {value("i", 7, {"2"})},
                                  {floats("w", {3}, {5, 9, 7}), i64s("k", {2})}});
  EXPECT_EQ(run(text, {})[0].values, (Numbers{1, 2}));
}

TEST(Omitted, AnInitializerThatIsAnInputToo) {
  const std::string text = model({{node("Add", {"x", "w"}, {"y"})},
                                  {value("x", 1, {"2"}), value("w", 1, {"2"})},
                                  {value("y", 1, {"2"})},
                                  {floats("w", {2}, {1, 2})}});
  EXPECT_EQ(run(text, {row({10, 20})})[0].values, (Numbers{11, 22}));
  ModelOptions open;
  open.cut_inputs = {"x", "w"};
  EXPECT_EQ(run(text, {row({10, 20}), row({5, 5})}, open)[0].values, (Numbers{15, 25}));
}

Value flag(bool v) {
  return Tensor::scalar<bool>(v);
}

std::string if_node(const std::string& c, const std::string& out, const std::string& a,
                    const std::string& b) {
  return node("If", {c}, {out},
              {graph_attribute("then_branch", a), graph_attribute("else_branch", b)});
}

TEST(Scopes, ABranchThatIsAnOuterValue) {
  const std::string text =
      model({{if_node("c", "y", graph({{}, {}, {untyped("x")}}), graph({{}, {}, {untyped("w")}}))},
             {value("x", 1, {"1"}), value("c", 9, {})},
             {untyped("y")},
             {floats("w", {1}, {-5})}});
  EXPECT_EQ(run(text, {row({5}), flag(false)})[0].values, (Numbers{-5}));
  EXPECT_EQ(run(text, {row({5}), flag(true)})[0].values, (Numbers{5}));
}

TEST(Scopes, SameNamesInBothBranchesAndShapesThatDiffer) {
  const std::string text =
      model({{if_node("c", "b",
                      graph({{node("Concat", {"x", "x"}, {"r"}, {int_attribute("axis", 0)})},
                             {},
                             {untyped("r")}}),
                      graph({{node("Neg", {"x"}, {"r"})}, {}, {untyped("r")}})),
              node("Abs", {"b"}, {"y"})},
             {value("x", 1, {"n"}), value("c", 9, {})},
             {untyped("y")}});
  EXPECT_EQ(run(text, {row({1, -2}), flag(true)})[0], (Result{{4}, {1, 2, 1, 2}}));
  EXPECT_EQ(run(text, {row({1, -2}), flag(false)})[0], (Result{{2}, {1, 2}}));
}

// The body's "w" is its own input; the outer "w" is what two levels up inside the branch sees.
TEST(Scopes, BodyInputsHideOuterValues) {
  const std::string branch = graph({{node("Add", {"w", "k"}, {"r"})}, {}, {untyped("r")}});
  const std::string other = graph({{node("Sub", {"w", "k"}, {"r"})}, {}, {untyped("r")}});
  const std::string body =
      graph({{if_node("c", "next", branch, other), node("Identity", {"go"}, {"on"})},
             {value("i", 7, {}), value("go", 9, {}), value("w", 1, {"1"})},
             {value("on", 9, {}), value("next", 1, {"1"})}});
  const std::string text =
      model({{node("Loop", {"m", "", "x"}, {"l"}, {graph_attribute("body", body)}),
              node("Add", {"l", "w"}, {"y"})},
             {value("x", 1, {"1"}), value("c", 9, {})},
             {value("y", 1, {"1"})},
             {floats("w", {1}, {100}), floats("k", {1}, {2}),
              tensor({"m", {}, 7, raw_bytes(std::vector<std::int64_t>{3})})}});
  EXPECT_EQ(run(text, {row({1}), flag(true)})[0].values, (Numbers{107}));
  EXPECT_EQ(run(text, {row({1}), flag(false)})[0].values, (Numbers{95}));
}

std::string reshape(const std::vector<std::string>& x_dims, const std::vector<std::int64_t>& target,
                    bool dynamic, std::int64_t allowzero = 0) {
  GraphText g{
      {node("Reshape", {"x", "t"}, {"y"}, {int_attribute("allowzero", allowzero)}, "", "rs")},
      {value("x", 1, x_dims)},
      {untyped("y")}};
  if (dynamic)
    g.inputs.push_back(value("t", 7, {std::to_string(target.size())}));
  else
    g.initializers.push_back(i64s("t", target));
  return model(g);
}

TEST(ReshapeTargets, ConstantDynamicAndSymbolic) {
  const Tensor x = Tensor::zeros(DType::F32, {2, 3, 4});
  const auto shape = [&](const std::vector<std::string>& dims,
                         const std::vector<std::int64_t>& target, bool dynamic) {
    std::vector<Value> in{x};
    if (dynamic) {
      in.push_back(Tensor::from<std::int64_t>({static_cast<std::int64_t>(target.size())},
                                              std::span<const std::int64_t>(target)));
    }
    return run(reshape(dims, target, dynamic), in)[0].shape;
  };
  for (const bool dynamic : {false, true}) {
    for (const std::vector<std::string>& dims :
         {std::vector<std::string>{"2", "3", "4"}, {"N", "3", "4"}, {"N", "M", "K"}}) {
      EXPECT_EQ(shape(dims, {0, -1}, dynamic), (Shape{2, 12}));
      EXPECT_EQ(shape(dims, {-1, 0}, dynamic), (Shape{8, 3}));
      EXPECT_EQ(shape(dims, {0, 0, 2, -1}, dynamic), (Shape{2, 3, 2, 2}));
    }
  }
  const ImportedModel kept = import_model(bytes(reshape({"N", "3", "4"}, {0, -1}, false)), {});
  EXPECT_EQ(str(kept.graph.fact(kept.graph.outputs()[0]).shape), "[N, 12]");
}

TEST(ReshapeTargets, ErrorsNameNodeAndTarget) {
  const Tensor x = Tensor::zeros(DType::F32, {2, 3, 4});
  for (const std::vector<std::int64_t>& target :
       {std::vector<std::int64_t>{5, -1}, {-1, -1}, {4, 3, 2, 0}, {-2, 12}, {7}}) {
    expect_parts(error_of(reshape({"2", "3", "4"}, target, false), {x}),
                 {"'rs'", "Reshape", fmt::format("{}", target.back())});
    const Tensor t = Tensor::from<std::int64_t>({static_cast<std::int64_t>(target.size())},
                                                std::span<const std::int64_t>(target));
    expect_parts(error_of(reshape({"2", "3", "4"}, target, true), {x, t}), {"'rs'", "Reshape"});
    expect_parts(error_of(reshape({"N", "M", "K"}, target, false), {x}), {"'rs'", "Reshape"});
  }
  const Tensor none = Tensor::zeros(DType::F32, {0, 3});
  EXPECT_EQ(run(reshape({"0", "3"}, {3, 0}, false, 1), {none})[0].shape, (Shape{3, 0}));
  expect_parts(
      error_of(reshape({"0", "4"}, {0, -1}, false, 1), {Tensor::zeros(DType::F32, {0, 4})}),
      {"'rs'", "Reshape", "-1"});
}

TEST(Stages, CastsToTheSameTypeAndDivisionByThem) {
  const std::string text = model(
      {{node("Cast", {"x"}, {"c"}, {int_attribute("to", 1)}), node("Mul", {"c", "one"}, {"m"}),
        node("Div", {"m", "c"}, {"d"}), node("Mul", {"d", "x"}, {"y"})},
       {value("x", 1, {"n"})},
       {value("y", 1, {"n"})},
       {floats("one", {1}, {1})}});
  EXPECT_EQ(run(text, {row({2, 4})})[0].values, (Numbers{2, 4}));
}

// "c" is wanted by the fusion of convolution and activation, and is an output as well.
TEST(Stages, AnOutputInsideAFusion) {
  const std::string text =
      model({{node("Conv", {"x", "w"}, {"c"}), node("Relu", {"c"}, {"r"}),
              node("Add", {"r", "c"}, {"y"})},
             {value("x", 1, {"1", "1", "1", "3"})},
             {value("y", 1, {"1", "1", "1", "3"}), value("c", 1, {"1", "1", "1", "3"}),
              value("r", 1, {"1", "1", "1", "3"})},
             {floats("w", {1, 1, 1, 1}, {2})}});
  const auto out = run(text, {Tensor::of<float>({1, 1, 1, 3}, {-1, 0, 3})});
  EXPECT_EQ(out[0].values, (Numbers{-2, 0, 12}));
  EXPECT_EQ(out[1].values, (Numbers{-2, 0, 6}));
  EXPECT_EQ(out[2].values, (Numbers{0, 0, 6}));
}

TEST(Stages, OneValueTwiceAndInputsAsOutputs) {
  const std::string x = value("x", 1, {"n"});
  const std::string text =
      model({{node("Relu", {"x"}, {"r"}), node("Identity", {"r"}, {"a"}),
              node("Identity", {"a"}, {"b"}), node("Identity", {"x"}, {"same"})},
             {x},
             {value("a", 1, {"n"}), value("b", 1, {"n"}), x, value("same", 1, {"n"}),
              value("r", 1, {"n"})}});
  const auto out = run(text, {row({-1, 2})});
  ASSERT_EQ(out.size(), 5u);
  for (const std::size_t i : {0, 1, 4}) EXPECT_EQ(out[i].values, (Numbers{0, 2})) << i;
  for (const std::size_t i : {2, 3}) EXPECT_EQ(out[i].values, (Numbers{-1, 2})) << i;
}

TEST(Stages, ConstantsAsOutputs) {
  const std::string text =
      model({{node("Identity", {"w"}, {"y"}), node("Relu", {"w"}, {"z"})},
             {},
             {value("y", 1, {"2"}), value("z", 1, {"2"}), value("w", 1, {"2"})},
             {floats("w", {2}, {-1, 2})}});
  const auto out = run(text, {});
  EXPECT_EQ(out[0].values, (Numbers{-1, 2}));
  EXPECT_EQ(out[1].values, (Numbers{0, 2}));
  EXPECT_EQ(out[2].values, (Numbers{-1, 2}));
}

// y = Identity(w) for one initializer of the type.
std::string initializer(const std::string& t, int type) {
  std::string tensor_type, y_type, y;
  pbf_writer(tensor_type).add_int32(1, type);
  pbf_writer(y_type).add_message(1, tensor_type);
  pbf_writer w(y);
  w.add_string(1, "y");
  w.add_message(2, y_type);
  return model({{node("Identity", {"w"}, {"y"})}, {}, {y}, {t}});
}

TEST(Initializers, LiesNameTensorExpectedAndGot) {
  const auto lie = [](int type, const std::vector<std::int64_t>& dims, std::size_t size) {
    return error_of(initializer(tensor({"w", dims, type, std::string(size, 'a')}), type));
  };
  // type, bytes of an element
  for (const auto& [type, width] : std::vector<std::pair<int, std::size_t>>{{1, 4},
                                                                            {2, 1},
                                                                            {3, 1},
                                                                            {4, 2},
                                                                            {5, 2},
                                                                            {6, 4},
                                                                            {7, 8},
                                                                            {9, 1},
                                                                            {10, 2},
                                                                            {11, 8},
                                                                            {12, 4},
                                                                            {13, 8},
                                                                            {16, 2}}) {
    for (const std::size_t got : {std::size_t{0}, 3 * width, 5 * width, 4 * width + 1}) {
      expect_parts(lie(type, {4}, got), {"tensor 'w'", fmt::format("{} bytes", 4 * width),
                                         got == 0 ? "" : fmt::format("{}", got)});
    }
    expect_parts(lie(type, {-1}, width), {"tensor 'w'", "-1"});
    EXPECT_EQ(lie(type, {}, width), "no error") << type;
    expect_parts(lie(type, {}, 2 * width + 1), {"tensor 'w'"});
  }
  expect_parts(lie(8, {1}, 4), {"tensor 'w'", "string"});
  // 4 bits an element: three elements take two bytes.
  EXPECT_EQ(lie(22, {3}, 2), "no error");
  EXPECT_EQ(lie(21, {4}, 2), "no error");
  expect_parts(lie(22, {3}, 1), {"tensor 'w'", "2 bytes", "1"});
  expect_parts(lie(21, {3}, 3), {"tensor 'w'", "2 bytes", "3"});
}

TEST(Initializers, StringsWhereNumbersAreExpected) {
  std::string t;
  pbf_writer w(t);
  w.add_int64(1, 1);
  w.add_int32(2, 8);
  w.add_string(6, "text");
  w.add_string(8, "w");
  expect_parts(error_of(model({{node("Add", {"x", "w"}, {"y"}, {}, "", "sum")},
                               {value("x", 1, {"1"})},
                               {value("y", 1, {"1"})},
                               {t}}),
                        {row({1})}),
               {"Add", "'sum'", "string"});
}

}  // namespace
}  // namespace treadle
