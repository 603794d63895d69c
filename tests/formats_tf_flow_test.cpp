// TensorFlow 1 control flow that is broken: an error for each, never a hang. What runs is compared
// with TensorFlow in formats_tf_cases_test.cpp.
#include <gtest/gtest.h>

#include "api/model.hpp"
#include "formats/tf/load.hpp"
#include "graph/evaluate.hpp"
#include "onnx_model_builder.hpp"
#include "plan/session.hpp"

namespace treadle::tf {
namespace {

using treadle::testing::pbf_writer;

using Inputs = std::vector<std::string>;

std::string node(const std::string& name, const std::string& op, const Inputs& inputs,
                 const std::string& frame = "") {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, name);
  w.add_string(2, op);
  for (const auto& i : inputs) w.add_string(3, i);
  const auto attr = [&](const std::string& key, const std::string& value) {
    std::string entry;
    pbf_writer e(entry);
    e.add_string(1, key);
    e.add_message(2, value);
    w.add_message(5, entry);
  };
  if (!frame.empty()) {
    std::string text;
    pbf_writer(text).add_string(2, frame);
    attr("frame_name", text);
  }
  if (op == "Placeholder" || op == "Const") {
    std::string type, shape, tensor;
    pbf_writer(type).add_int64(6, name[0] == 'p' ? 10 : 1);  // p…: bool, else f32
    attr("dtype", type);
    pbf_writer(shape).add_message(7, std::string());
    attr("shape", shape);
    std::string value;
    pbf_writer t(value);
    t.add_int32(1, name[0] == 'p' ? 10 : 1);
    t.add_message(2, std::string());
    pbf_writer(tensor).add_message(8, value);
    if (op == "Const") attr("value", tensor);
  }
  return out;
}

// x turned while it is below the limit: x ← x + x.
std::map<std::string, std::string> loop() {
  std::map<std::string, std::string> n;
  const auto add = [&](const std::string& name, const std::string& op, const Inputs& in,
                       const std::string& frame = "") { n[name] = node(name, op, in, frame); };
  add("x", "Placeholder", {});
  add("limit", "Placeholder", {});
  add("enter", "Enter", {"x"}, "f");
  add("limit_in", "Enter", {"limit"}, "f");
  add("merge", "Merge", {"enter", "next"});
  add("less", "Less", {"merge", "limit_in"});
  add("cond", "LoopCond", {"less"});
  add("switch", "Switch", {"merge", "cond"});
  add("body", "Identity", {"switch:1"});
  add("twice", "Add", {"body", "body"});
  add("next", "NextIteration", {"twice"});
  add("exit", "Exit", {"switch"});
  return n;
}

Graph load_nodes(const std::map<std::string, std::string>& nodes, const std::string& output) {
  std::string out;
  pbf_writer w(out);
  for (const auto& [name, n] : nodes) w.add_message(1, n);
  LoadOptions options;
  options.outputs = {output};
  return load(MappedFile::from_memory(out), "m.pb", options);
}

std::string message(const std::map<std::string, std::string>& nodes,
                    const std::string& output = "exit") {
  try {
    load_nodes(nodes, output);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

void expect_error(const std::string& changed, const std::string& by, const std::string& text) {
  auto nodes = loop();
  if (by.empty())
    nodes.erase(changed);
  else
    nodes[changed] = by;
  const std::string got = message(nodes);
  EXPECT_NE(got.find(text), std::string::npos) << changed << ": '" << got << "'";
}

TEST(TfFlow, TheLoopRuns) {
  const Graph g = load_nodes(loop(), "exit");
  ASSERT_EQ(g.inputs().size(), 2u);
  // In the order of the file: limit, x.
  const auto out = evaluate(g, {Tensor::scalar<float>(20), Tensor::scalar<float>(3)});
  EXPECT_EQ(out[0].tensor().span<float>()[0], 24);
}

TEST(TfFlow, BrokenFrames) {
  expect_error("enter", node("enter", "Enter", {"x"}), "no attribute 'frame_name'");
  expect_error("enter", node("enter", "Identity", {"x"}), "NextIteration and no Enter");
  expect_error("next", "", "'next', which is not in the graph");
  expect_error("cond", node("cond", "Identity", {"less"}), "");
  expect_error("next", node("next", "Identity", {"twice"}), "cycle");
  expect_error("exit", node("exit", "Exit", {"x"}), "leaves a loop, but is in none");
  expect_error("exit", node("exit", "Exit", {"twice"}), "does not leave the loop through a Switch");
  expect_error("exit", node("exit", "Exit", {"switch:1"}),
               "does not leave the loop through a Switch");
  expect_error("exit", node("exit", "Identity", {"twice"}), "is read in the loop ''");
  expect_error("exit", node("exit", "Identity", {"next"}), "reads a NextIteration");
  expect_error("limit_in", node("limit_in", "Enter", {"limit"}, "g"), "inputs from the loops");
  expect_error("less", node("less", "Less", {"merge", "limit"}), "inputs from the loops");
  expect_error("merge", node("merge", "Merge", {"next", "next"}), "NextIteration and no Enter");
  expect_error("merge", node("merge", "Merge", {"next"}), "has 1 inputs, expected 2");
  expect_error("twice", node("twice", "Add", {"twice", "body"}), "cycle");
}

TEST(TfFlow, ALoopNeedsOneCondition) {
  auto nodes = loop();
  nodes["cond2"] = node("cond2", "LoopCond", {"less"});
  nodes["enter2"] = node("enter2", "Enter", {"x"}, "f");
  nodes["merge2"] = node("merge2", "Merge", {"enter2", "next2"});
  nodes["switch2"] = node("switch2", "Switch", {"merge2", "cond2"});
  nodes["next2"] = node("next2", "NextIteration", {"switch2:1"});
  nodes["twice"] = node("twice", "Add", {"body", "switch2:1"});
  EXPECT_NE(message(nodes).find("2 LoopCond"), std::string::npos) << message(nodes);
}

TEST(TfFlow, EndlessLoopsMeetTheLimit) {
  auto nodes = loop();
  nodes["twice"] = node("twice", "Neg", {"body"});
  std::string bytes;
  pbf_writer w(bytes);
  for (const auto& [name, n] : nodes) w.add_message(1, n);
  ModelOptions options;
  options.limits.max_iterations = 1000;
  const auto model = Model::load(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
  Session session(model->program());
  const std::vector<Value> inputs{Tensor::scalar<float>(20), Tensor::scalar<float>(3)};
  const auto error = session.run(inputs);
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(std::string(error->what()).find("1000"), std::string::npos) << error->what();
}

TEST(TfFlow, BrokenConditions) {
  const auto with = [](const std::string& merged, const std::string& other) {
    std::map<std::string, std::string> n;
    n["x"] = node("x", "Placeholder", {});
    n["p"] = node("p", "Placeholder", {});
    n["pq"] = node("pq", "Placeholder", {});
    n["s"] = node("s", "Switch", {"x", "p"});
    n["s2"] = node("s2", "Switch", {"x", "pq"});
    n["alone"] = node("alone", "Switch", {"x"});
    n["a"] = node("a", "Neg", {"s"});
    n["m"] = node("m", "Merge", {merged, other});
    n["mixed"] = node("mixed", "Add", {"s", "s:1"});
    return n;
  };
  EXPECT_EQ(message(with("a", "s:1"), "m"), "");
  EXPECT_EQ(message(with("s:1", "a"), "m"), "");
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"a", "s"}, {"a", "x"}, {"a", "s2:1"}, {"x", "x"}})
    EXPECT_NE(message(with(a, b), "m").find("does not join the two branches"), std::string::npos)
        << a << " " << b;
  EXPECT_NE(message(with("a", "s:1"), "mixed").find("different branches"), std::string::npos);
  EXPECT_NE(message(with("a", "s:1"), "a").find("one branch of a condition only"),
            std::string::npos);
  EXPECT_NE(message(with("a", "s:1"), "alone").find("has no predicate"), std::string::npos);
  EXPECT_NE(message(with("a", "s:5"), "m"), "");
}

// All that is wrong, and nothing that only follows from it.
TEST(TfFlow, CheckListsEachProblem) {
  std::string out;
  pbf_writer w(out);
  w.add_message(1, node("x", "Placeholder", {}));
  w.add_message(1, node("a", "NoSuchOperator", {"x"}));
  w.add_message(1, node("b", "Neg", {"a"}));
  w.add_message(1, node("c", "Squeeze", {}));
  w.add_message(1, node("d", "Softmax", {"x"}));
  w.add_message(1, node("e", "Add", {"c", "d"}));
  const auto problems = check_model(MappedFile::from_memory(out), "m.pb");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_NE(problems[0].text.find("NoSuchOperator"), std::string::npos) << problems[0].text;
  const std::string rest = problems[1].text + problems[2].text;
  EXPECT_NE(rest.find("'c' (Squeeze"), std::string::npos) << rest;
  EXPECT_NE(rest.find("'d' (Softmax"), std::string::npos) << rest;
}

// Outputs that are not of the type of what their node computes with.
TEST(TfInterface, TypesOfOutputs) {
  std::string out;
  pbf_writer w(out);
  w.add_message(1, node("x", "Placeholder", {}));
  w.add_message(1, node("rank", "Rank", {"x"}));
  w.add_message(1, node("where", "Where", {"x"}));
  w.add_message(1, node("top", "TopKV2", {"x", "rank"}));
  w.add_message(1, node("nan", "IsNan", {"x"}));
  LoadOptions options;
  options.outputs = {"rank", "where", "top", "top:1", "nan"};
  const auto found = interface(MappedFile::from_memory(out), "m.pb", options);
  std::vector<DType> types;
  for (const auto& o : found.outputs) types.push_back(o.fact.dtype);
  EXPECT_EQ(types, (std::vector{DType::I32, DType::I64, DType::F32, DType::I32, DType::Bool}));
}

// `name` as an input of f32 with a shape as the file holds it.
std::string shaped(const std::string& name, const std::string& shape) {
  std::string out = node(name, "", {}), type, value;
  pbf_writer w(out);
  w.add_string(2, "Placeholder");
  pbf_writer(type).add_int64(6, 1);
  pbf_writer(value).add_message(7, shape);
  for (const auto& [key, v] : {std::pair("dtype", type), std::pair("shape", value)}) {
    std::string entry;
    pbf_writer e(entry);
    e.add_string(1, key);
    e.add_message(2, v);
    w.add_message(5, entry);
  }
  return out;
}

std::string sized(std::int64_t size) {
  std::string dim, shape;
  pbf_writer(dim).add_int64(1, size);
  pbf_writer(shape).add_message(2, dim);
  return shape;
}

Graph two_inputs(const std::string& a, const std::string& b, const LoadOptions& options = {}) {
  std::string out;
  pbf_writer w(out);
  w.add_message(1, shaped("a", a));
  w.add_message(1, shaped("b", b));
  w.add_message(1, node("y", "Neg", {"a"}));
  w.add_message(1, node("z", "Neg", {"b"}));
  return load(MappedFile::from_memory(out), "m.pb", options);
}

// Named, and no error where a shape from outside takes its place.
TEST(TfInterface, BrokenShapes) {
  try {
    two_inputs(sized(3), sized(-2));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'b' (Placeholder): a size is -2"), std::string::npos)
        << e.what();
  }
  LoadOptions options;
  options.input_shapes["b"] = {Dim(4)};
  const Graph g = two_inputs(sized(3), sized(-2), options);
  EXPECT_EQ(str(g.fact(g.inputs().at(1)).shape), "[4]");
}

TEST(TfInterface, NamesOfOpenSizes) {
  const auto names = [](const Graph& g) {
    return str(g.fact(g.inputs().at(0)).shape) + str(g.fact(g.inputs().at(1)).shape);
  };
  EXPECT_EQ(names(two_inputs(sized(-1), sized(3))), "[batch][3]");
  EXPECT_EQ(names(two_inputs(sized(-1), sized(-1))), "[a_0][b_0]");
}

TEST(TfFlow, DeepNesting) {
  std::map<std::string, std::string> n;
  n["x"] = node("x", "Placeholder", {});
  n["p"] = node("p", "Placeholder", {});
  std::string at = "x", in = "p";
  for (int i = 0; i < 200; ++i) {
    const std::string k = std::to_string(i);
    n["e" + k] = node("e" + k, "Enter", {at}, "f" + k);
    at = "e" + k;
  }
  EXPECT_NE(message(n, at).find("nested deeper"), std::string::npos);
}

// One after another: none of it may use the stack.
TEST(TfFlow, ManyConditionsInARow) {
  std::map<std::string, std::string> n;
  n["x"] = node("x", "Placeholder", {});
  n["p"] = node("p", "Placeholder", {});
  std::string at = "x";
  for (int i = 0; i < 3000; ++i) {
    const std::string k = std::to_string(i);
    n["s" + k] = node("s" + k, "Switch", {at, "p"});
    n["a" + k] = node("a" + k, "Neg", {"s" + k + ":1"});
    n["m" + k] = node("m" + k, "Merge", {"s" + k, "a" + k});
    at = "m" + k;
  }
  EXPECT_EQ(message(n, at), "");
}

// A Case of x with the index −1, or one that only the run knows.
std::string case_of(int count, bool known) {
  const auto attr = [](const std::string& key, const std::string& value) {
    std::string entry;
    pbf_writer e(entry);
    e.add_string(1, key);
    e.add_message(2, value);
    return entry;
  };
  std::string list, value, type, index, tensor, choose, argument, signature, function, library, out;
  pbf_writer branches(list);
  for (int i = 0; i < count; ++i) branches.add_message(9, std::string("\n\x01g", 3));
  pbf_writer(value).add_message(1, list);
  pbf_writer c(choose);
  c.add_string(1, "choose");
  c.add_string(2, "Case");
  c.add_string(3, "i");
  c.add_string(3, "x");
  c.add_message(5, attr("branches", value));
  pbf_writer(type).add_int64(6, 3);
  pbf_writer t(tensor);
  t.add_int32(1, 3);
  t.add_message(2, std::string());
  t.add_int32(7, -1);
  value.clear();
  pbf_writer(value).add_message(8, tensor);
  pbf_writer i(index);
  i.add_string(1, "i");
  i.add_string(2, known ? "Const" : "Placeholder");
  i.add_message(5, attr("dtype", type));
  if (known) i.add_message(5, attr("value", value));
  std::string scalar;
  pbf_writer(scalar).add_message(7, std::string());
  if (!known) i.add_message(5, attr("shape", scalar));
  // g(v) → v
  pbf_writer a(argument);
  a.add_string(1, "v");
  a.add_int64(3, 1);
  pbf_writer s(signature);
  s.add_string(1, "g");
  s.add_message(2, argument);
  s.add_message(3, argument);
  std::string result;
  pbf_writer r(result);
  r.add_string(1, "v");
  r.add_string(2, "v");
  pbf_writer f(function);
  f.add_message(1, signature);
  f.add_message(4, result);
  pbf_writer(library).add_message(1, function);
  pbf_writer w(out);
  w.add_message(1, node("x", "Placeholder", {}));
  w.add_message(1, index);
  w.add_message(1, choose);
  w.add_message(2, library);
  return out;
}

// A known index takes its branch at once; the last one stands for every other index.
TEST(TfFlow, ACaseOfManyBranches) {
  const Graph g = load(MappedFile::from_memory(case_of(200'000, true)), "m.pb");
  EXPECT_EQ(evaluate(g, {Tensor::scalar<float>(3)})[0].tensor().span<float>()[0], 3);
}

// The graphs of the branches count, also where no node is in them.
TEST(TfFlow, BranchesMeetTheLimitOfNodes) {
  LoadOptions options;
  options.limits.max_nodes = 10'000;
  const auto load_case = [&](int count) {
    load(MappedFile::from_memory(case_of(count, false)), "m.pb", options);
  };
  EXPECT_NO_THROW(load_case(100));
  try {
    load_case(1000);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Memory) << e.what();
    EXPECT_NE(std::string(e.what()).find("more than 10000 nodes"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace treadle::tf
