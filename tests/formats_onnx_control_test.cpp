#include <gtest/gtest.h>

#include "formats/onnx/load.hpp"
#include "graph/evaluate.hpp"
#include "onnx_model_builder.hpp"

namespace treadle::onnx {
namespace {

using namespace treadle::testing;

Graph load_text(const std::string& bytes) {
  return load(MappedFile::from_memory(bytes), "m.onnx");
}

std::vector<double> numbers(const Value& v) {
  return v.tensor().to_f64();
}
using Numbers = std::vector<double>;

const std::string kX = value("x", 1, {"n"});
const std::string kC = value("c", 9, {});
std::string any(const std::string& name) {
  return value(name, 1, {"?"});
}
Tensor flag(bool b) {
  return Tensor::scalar(b);
}

// y = c ? w : x + w, with w from outside and returned directly.
std::string branches(const std::vector<std::string>& inputs,
                     std::vector<std::string> initializers) {
  const auto then_graph = graph({{}, {}, {any("w")}});
  const auto else_graph = graph({{node("Add", {"x", "w"}, {"s"})}, {}, {any("s")}});
  return model({{node("If", {"c"}, {"y"},
                      {graph_attribute("then_branch", then_graph),
                       graph_attribute("else_branch", else_graph)})},
                inputs,
                {any("y")},
                std::move(initializers)});
}

TEST(OnnxIf, CapturesAndReturnsOuterValues) {
  const Graph g = load_text(branches({kX, kC, value("w", 1, {"n"})}, {}));
  const auto x = Tensor::of<float>({2}, {1, 2});
  const auto w = Tensor::of<float>({2}, {10, 20});
  EXPECT_EQ(numbers(evaluate(g, {x, flag(true), w})[0]), (Numbers{10, 20}));
  EXPECT_EQ(numbers(evaluate(g, {x, flag(false), w})[0]), (Numbers{11, 22}));
}

TEST(OnnxIf, ConstantConditionLeavesNoIf) {
  const Graph g =
      load_text(branches({kX, value("w", 1, {"n"})}, {tensor({"c", {}, 9, std::string(1, 0)})}));
  for (NodeId id = 0; id < g.node_count(); ++id) EXPECT_NE(g.node(id).op->name(), "If");
  EXPECT_EQ(numbers(evaluate(g, {Tensor::of<float>({1}, {1}), Tensor::of<float>({1}, {5})})[0]),
            (Numbers{6}));
}

TEST(OnnxIf, BranchesOfDifferentSizes) {
  const auto then_graph = graph({{}, {}, {any("a")}});
  const auto else_graph = graph({{}, {}, {any("b")}});
  const Graph g = load_text(model({{node("If", {"c"}, {"i"},
                                         {graph_attribute("then_branch", then_graph),
                                          graph_attribute("else_branch", else_graph)}),
                                    node("Add", {"i", "i"}, {"y"})},
                                   {kC},
                                   {any("y")},
                                   {floats("a", {2}, {1, 2}), floats("b", {3}, {3, 4, 5})}}));
  EXPECT_EQ(numbers(evaluate(g, {flag(true)})[0]), (Numbers{2, 4}));
  EXPECT_EQ(numbers(evaluate(g, {flag(false)})[0]), (Numbers{6, 8, 10}));
}

TEST(OnnxIf, NestedCaptureTwoLevelsUpAndHiding) {
  // Inner branches see x two levels up; both branches define a value of one name.
  const auto inner_then = graph({{node("Add", {"x", "x"}, {"r"})}, {}, {any("r")}});
  const auto inner_else = graph({{node("Mul", {"x", "x"}, {"r"})}, {}, {any("r")}});
  const auto outer_then = graph({{node("If", {"d"}, {"t"},
                                       {graph_attribute("then_branch", inner_then),
                                        graph_attribute("else_branch", inner_else)})},
                                 {},
                                 {any("t")}});
  const auto outer_else = graph({{node("Neg", {"x"}, {"t"})}, {}, {any("t")}});
  const Graph g = load_text(model({{node("If", {"c"}, {"y"},
                                         {graph_attribute("then_branch", outer_then),
                                          graph_attribute("else_branch", outer_else)})},
                                   {kX, kC, value("d", 9, {})},
                                   {any("y")}}));
  const auto x = Tensor::of<float>({1}, {3});
  EXPECT_EQ(numbers(evaluate(g, {x, flag(true), flag(true)})[0]), (Numbers{6}));
  EXPECT_EQ(numbers(evaluate(g, {x, flag(true), flag(false)})[0]), (Numbers{9}));
  EXPECT_EQ(numbers(evaluate(g, {x, flag(false), flag(true)})[0]), (Numbers{-3}));
}

std::string scalar_i64(const std::string& name, std::int64_t v) {
  return tensor({name, {}, 7, raw_bytes(std::vector<std::int64_t>{v})});
}

// The body's input hides the outer 'x'.
TEST(OnnxLoop, CarriesScansAndHides) {
  const auto body =
      graph({{node("Add", {"x", "step"}, {"next"}), node("Identity", {"next"}, {"seen"}),
              node("Identity", {"go"}, {"go_on"})},
             {value("i", 7, {}), value("go", 9, {}), any("x")},
             {value("go_on", 9, {}), any("next"), any("seen")}});
  const Graph g = load_text(
      model({{node("Loop", {"m", "", "start"}, {"y", "all"}, {graph_attribute("body", body)})},
             {kX, value("start", 1, {"n"}), value("step", 1, {"n"})},
             {any("y"), value("all", 1, {"3", "n"})},
             {scalar_i64("m", 3)}}));
  EXPECT_TRUE(g.fact(g.outputs()[1]).shape[0].is(3));
  const auto out = evaluate(
      g, {Tensor::of<float>({1}, {99}), Tensor::of<float>({1}, {1}), Tensor::of<float>({1}, {2})});
  EXPECT_EQ(numbers(out[0]), (Numbers{7}));
  EXPECT_EQ(numbers(out[1]), (Numbers{3, 5, 7}));
  EXPECT_EQ(out[1].tensor().shape(), (Shape{3, 1}));
}

TEST(OnnxLoop, CarriedValueMayGrow) {
  const auto body = graph({{node("Concat", {"v", "x"}, {"next"}, {int_attribute("axis", 0)}),
                            node("Identity", {"go"}, {"go_on"})},
                           {value("i", 7, {}), value("go", 9, {}), any("v")},
                           {value("go_on", 9, {}), any("next")}});
  const Graph g =
      load_text(model({{node("Loop", {"m", "", "x"}, {"y"}, {graph_attribute("body", body)})},
                       {value("x", 1, {"2"}), value("m", 7, {})},
                       {any("y")}}));
  const auto x = Tensor::of<float>({2}, {1, 2});
  EXPECT_FALSE(g.fact(g.outputs()[0]).shape[0].is_const());
  EXPECT_EQ(numbers(evaluate(g, {x, Tensor::scalar<std::int64_t>(2)})[0]),
            (Numbers{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(numbers(evaluate(g, {x, Tensor::scalar<std::int64_t>(0)})[0]), (Numbers{1, 2}));
}

TEST(OnnxScan, SumsAlongAnAxisBackwards) {
  const auto body =
      graph({{node("Add", {"s", "e"}, {"next"}), node("Identity", {"next"}, {"seen"})},
             {any("s"), any("e")},
             {any("next"), any("seen")}});
  const auto ints = [](const std::string& name, std::int64_t v) {
    return attribute(name, 7, [&](pbf_writer& w) { w.add_int64(8, v); });
  };
  const Graph g =
      load_text(model({{node("Scan", {"zero", "x"}, {"y", "all"},
                             {graph_attribute("body", body), int_attribute("num_scan_inputs", 1),
                              ints("scan_input_axes", 1), ints("scan_input_directions", 1),
                              ints("scan_output_axes", -1)})},
                       {value("x", 1, {"2", "3"})},
                       {any("y"), value("all", 1, {"2", "3"})},
                       {floats("zero", {2}, {0, 0})}}));
  const auto out = evaluate(g, {Tensor::of<float>({2, 3}, {1, 2, 3, 10, 20, 30})});
  EXPECT_EQ(numbers(out[0]), (Numbers{6, 60}));
  EXPECT_EQ(numbers(out[1]), (Numbers{3, 5, 6, 30, 50, 60}));
}

TEST(OnnxSequence, BuildsInsertsAndErases) {
  const Graph g = load_text(
      model({{node("SequenceEmpty", {}, {"e"}), node("SequenceInsert", {"e", "a"}, {"s1"}),
              node("SequenceInsert", {"s1", "b", "zero"}, {"s2"}),
              node("SequenceAt", {"s2", "minus"}, {"y"}), node("SequenceLength", {"s2"}, {"n"}),
              node("ConcatFromSequence", {"s2"}, {"j"}, {int_attribute("axis", 0)})},
             {value("a", 1, {"2"}), value("b", 1, {"3"})},
             {any("y"), value("n", 7, {}), any("j")},
             {scalar_i64("zero", 0), scalar_i64("minus", -1)}}));
  const auto out = evaluate(g, {Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({3}, {3, 4, 5})});
  EXPECT_EQ(numbers(out[0]), (Numbers{1, 2}));
  EXPECT_EQ(numbers(out[1]), (Numbers{2}));
  EXPECT_EQ(numbers(out[2]), (Numbers{3, 4, 5, 1, 2}));
}

// For each sample: (sample + its partner) · x, with x from outside of the body, and the partner.
std::string mapped(const std::vector<std::string>& partners) {
  const auto body = graph({{node("Add", {"p", "q"}, {"sum"}), node("Mul", {"sum", "x"}, {"r"})},
                           {any("p"), any("q")},
                           {any("r"), any("q")}});
  return model(
      {{node("SequenceConstruct", {"a", "b"}, {"s"}), node("SequenceConstruct", partners, {"t"}),
        node("SequenceMap", {"s", "t"}, {"u", "v"}, {graph_attribute("body", body)}),
        node("ConcatFromSequence", {"u"}, {"y"}, {int_attribute("axis", 0)}),
        node("ConcatFromSequence", {"v"}, {"z"}, {int_attribute("axis", 0)})},
       {value("a", 1, {"2"}), value("b", 1, {"3"}), value("x", 1, {"1"})},
       {any("y"), any("z")}});
}

TEST(OnnxSequence, MapsSamplesOfDifferentSizes) {
  const std::vector<Value> in{Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({3}, {3, 4, 5}),
                              Tensor::of<float>({1}, {10})};
  const auto out = evaluate(load_text(mapped({"a", "b"})), in);
  EXPECT_EQ(numbers(out[0]), (Numbers{20, 40, 60, 80, 100}));
  EXPECT_EQ(numbers(out[1]), (Numbers{1, 2, 3, 4, 5}));
  // A sequence that is too short.
  EXPECT_THROW(evaluate(load_text(mapped({"a"})), in), Error);
}

// SequenceMap over `s` in a SequenceMap over `s` …, so deep; the innermost one adds 1.
std::string nested_map(int depth) {
  std::string body = graph({{node("Add", {"e", "one"}, {"r"})}, {any("e")}, {any("r")}});
  for (int i = 0; i < depth; ++i) {
    body = graph({{node("SequenceMap", {"s"}, {"t"}, {graph_attribute("body", body)}),
                   node("SequenceAt", {"t", "zero"}, {"r"})},
                  {any("e")},
                  {any("r")}});
  }
  return model({{node("SequenceConstruct", {"a"}, {"s"}),
                 node("SequenceMap", {"s"}, {"t"}, {graph_attribute("body", body)}),
                 node("SequenceAt", {"t", "zero"}, {"y"})},
                {value("a", 1, {"2"})},
                {any("y")},
                {scalar_i64("zero", 0), floats("one", {1}, {1})}});
}

// Each body is imported once: with more than that, this would take as good as for ever.
TEST(OnnxSequence, MapsNestDeep) {
  const Graph g = load_text(nested_map(30));
  EXPECT_EQ(numbers(evaluate(g, {Tensor::of<float>({2}, {1, 2})})[0]), (Numbers{2, 3}));
}

// What is mapped has no element: the body, which cannot be imported on a scalar, gives only types.
TEST(OnnxSequence, MapsWhatIsKnownToBeEmpty) {
  const auto body = graph({{node("Transpose", {"p"}, {"t"}, {ints_attribute("perm", {1, 0})}),
                            node("Cast", {"t"}, {"r"}, {int_attribute("to", 7)})},
                           {any("p")},
                           {value("r", 7, {"?", "?"})}});
  const Graph g = load_text(
      model({{node("SequenceEmpty", {}, {"e"}),
              node("SequenceMap", {"e"}, {"u"}, {graph_attribute("body", body)}),
              node("SequenceLength", {"u"}, {"n"}), node("SequenceInsert", {"u", "x"}, {"v"}),
              node("SequenceAt", {"v", "zero"}, {"y"})},
             {value("x", 7, {"2"})},
             {value("n", 7, {}), value("y", 7, {"2"})},
             {scalar_i64("zero", 0)}}));
  const auto out = evaluate(g, {Tensor::of<std::int64_t>({2}, {5, 6})});
  EXPECT_EQ(numbers(out[0]), (Numbers{0}));
  EXPECT_EQ(numbers(out[1]), (Numbers{5, 6}));
  // Elements of another type than the body gives do not fit.
  EXPECT_THROW(load_text(model({{node("SequenceEmpty", {}, {"e"}),
                                 node("SequenceMap", {"e"}, {"u"}, {graph_attribute("body", body)}),
                                 node("SequenceInsert", {"u", "x"}, {"v"}),
                                 node("SequenceAt", {"v", "zero"}, {"y"})},
                                {kX},
                                {any("y")},
                                {scalar_i64("zero", 0)}})),
               Error);
}

// A value of the sequence type `element` names: an encoded TypeProto of a tensor without a shape.
std::string sequence_of(const std::string& name, int type) {
  std::string tensor_type, element, sequence_type, whole, out;
  pbf_writer(tensor_type).add_int32(1, type);
  pbf_writer(element).add_message(1, tensor_type);
  pbf_writer(sequence_type).add_message(1, element);
  pbf_writer(whole).add_message(4, sequence_type);
  pbf_writer w(out);
  w.add_string(1, name);
  w.add_message(2, whole);
  return out;
}

TEST(OnnxSequence, DeclaredTypesMustHold) {
  const auto with_output = [](const std::string& declared) {
    return model({{node("SequenceConstruct", {"x"}, {"y"})}, {kX}, {declared}});
  };
  EXPECT_NO_THROW(load_text(with_output(sequence_of("y", 1))));
  EXPECT_THROW(load_text(with_output(sequence_of("y", 7))), Error);
  EXPECT_THROW(load_text(with_output(any("y"))), Error);
  EXPECT_THROW(load_text(model({{node("Neg", {"x"}, {"y"})}, {kX}, {sequence_of("y", 1)}})), Error);
}

TEST(OnnxSequence, GivenValuesAreChecked) {
  const Graph g = load_text(
      model({{node("SequenceLength", {"s"}, {"n"})}, {sequence_of("s", 1)}, {value("n", 7, {})}}));
  const Value one = Tensor::of<float>({1}, {1}), other = Tensor::of<std::int64_t>({1}, {1});
  EXPECT_EQ(numbers(evaluate(g, {Value::sequence({one, one})})[0]), (Numbers{2}));
  EXPECT_THROW(evaluate(g, {Value::sequence({one, other})}), Error);
  EXPECT_THROW(evaluate(g, {Value::optional(one)}), Error);
  EXPECT_THROW(evaluate(g, {one}), Error);
}

}  // namespace
}  // namespace treadle::onnx
