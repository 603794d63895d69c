// Models with operators of ai.onnx.ml against what ONNX Runtime gave (tests/ml/make_cases.py), and
// attributes that do not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "api/model.hpp"
#include "formats/onnx/load.hpp"
#include "graph/evaluate.hpp"
#include "npz_cases.hpp"
#include "onnx_model_builder.hpp"
#include "plan/session.hpp"

namespace treadle::onnx {
namespace {

using namespace treadle::testing;

const Cases& cases() {
  static const Cases all = read_cases(std::string(TREADLE_ML_CASES) + "/cases.npz");
  return all;
}

void expect_equal(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what << " " << got.shape().str();
  if (!is_float(want.dtype())) {
    EXPECT_TRUE(got.identical(want)) << what;
    return;
  }
  const auto a = got.to_f64(), b = want.to_f64();
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    EXPECT_LE(std::fabs(a[i] - b[i]), 2e-5 + 1e-4 * std::fabs(b[i]))
        << what << " element " << i << ": " << a[i] << " instead of " << b[i];
  }
}

class OnnxMlCases : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxMlCases, ReferenceEvaluation) {
  const Case& c = cases().at(GetParam());
  const Graph g = load(MappedFile::from_memory(c.graph), GetParam());
  check_consistent(g);
  const auto ports = graph_outputs(g);
  const auto got = evaluate(g, inputs_of(c, graph_inputs(g)));
  ASSERT_EQ(ports.size(), c.outputs.size());
  for (std::size_t i = 0; i < ports.size(); ++i)
    expect_equal(got[i].tensor(), c.outputs.at(ports[i].name), ports[i].name);
}

// Simplified and lowered to the CPU's kernels.
TEST_P(OnnxMlCases, Session) {
  const Case& c = cases().at(GetParam());
  const auto model = Model::load(std::as_bytes(std::span(c.graph)));
  Session session(model->program());
  for (int run = 0; run < 2; ++run) {
    const auto error = session.run(inputs_of(c, model->inputs()));
    ASSERT_FALSE(error.has_value()) << error->what();
    for (std::size_t i = 0; i < model->outputs().size(); ++i) {
      const std::string& name = model->outputs()[i].name;
      expect_equal(session.output(i).tensor(), c.outputs.at(name), name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnnxMlCases, ::testing::ValuesIn(names(cases())),
                         [](const auto& p) { return p.param; });

std::string floats_attr(const std::string& name, const std::vector<float>& values) {
  return attribute(name, 6, [&](pbf_writer& w) {
    for (const float v : values) w.add_float(7, v);
  });
}
std::string ints_attr(const std::string& name, const std::vector<std::int64_t>& values) {
  return attribute(name, 7, [&](pbf_writer& w) {
    for (const std::int64_t v : values) w.add_int64(8, v);
  });
}
std::string strings_attr(const std::string& name, const std::vector<std::string>& values) {
  return attribute(name, 8, [&](pbf_writer& w) {
    for (const std::string& v : values) w.add_bytes(9, v);
  });
}
std::string string_attr(const std::string& name, const std::string& v) {
  return attribute(name, 3, [&](pbf_writer& w) { w.add_bytes(4, v); });
}

// One node over x [N, columns] of that element type, with outputs y and z.
Graph load_node(const std::string& op, const std::vector<std::string>& attributes,
                const std::string& columns = "2", int type = 1) {
  const std::vector<std::string> outputs = op.ends_with("Classifier")
                                               ? std::vector<std::string>{"y", "z"}
                                               : std::vector<std::string>{"y"};
  std::vector<std::string> infos;
  for (const std::string& o : outputs) {
    std::string info;
    pbf_writer(info).add_string(1, o);
    infos.push_back(info);
  }
  return load(MappedFile::from_memory(model({{node(op, {"x"}, outputs, attributes, "ai.onnx.ml")},
                                             {value("x", type, {"n", columns})},
                                             infos},
                                            {opset("", 17), opset("ai.onnx.ml", 3)})),
              "m.onnx");
}

void expect_refused(const std::string& op, const std::vector<std::string>& attributes,
                    const std::string& part, const std::string& columns = "2", int type = 1) {
  try {
    load_node(op, attributes, columns, type);
    ADD_FAILURE() << op << ": loaded, though " << part;
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_TRUE(text.find(part) != std::string::npos && text.find(op) != std::string::npos) << text;
  }
}

TEST(OnnxMl, LinearModelsThatDoNotFit) {
  const auto labels = ints_attr("classlabels_ints", {1, 2});
  const auto four = floats_attr("coefficients", {1, 2, 3, 4});
  const auto two = floats_attr("intercepts", {0, 0});
  EXPECT_NO_THROW(load_node("LinearClassifier", {labels, four, two}));
  EXPECT_NO_THROW(load_node("LinearClassifier", {labels, four}));
  expect_refused("LinearClassifier", {labels, four, floats_attr("intercepts", {0, 0, 0})},
                 "3 rows of coefficients for 2 labels");
  expect_refused("LinearClassifier", {labels, floats_attr("coefficients", {1, 2, 3}), two},
                 "3 entries, expected a multiple of 2");
  expect_refused("LinearClassifier", {labels, four, two}, "features", "3");
  expect_refused("LinearClassifier", {four, two}, "expected labels");
  expect_refused("LinearClassifier",
                 {labels, strings_attr("classlabels_strings", {"a", "b"}), four, two},
                 "expected labels");
  expect_refused("LinearClassifier", {labels, two}, "'coefficients' (floats) is required");
  expect_refused("LinearClassifier", {labels, four, two, string_attr("post_transform", "SOFT")},
                 "'post_transform' is 'SOFT'");
  expect_refused("LinearClassifier", {labels, four, two}, "expected numbers", "2", 8);
  expect_refused("LinearRegressor", {four, int_attribute("targets", -2)}, "multiple of -2");
  expect_refused("LinearRegressor", {four, int_attribute("targets", 0)}, "multiple of 0");
  expect_refused("LinearRegressor",
                 {four, int_attribute("targets", std::numeric_limits<std::int64_t>::min())},
                 "multiple of");
  expect_refused("LinearRegressor", {four, floats_attr("intercepts", {0, 0})},
                 "'intercepts' has 2 entries, expected 1", "4");
}

TEST(OnnxMl, SupportVectorsThatDoNotFit) {
  const auto labels = ints_attr("classlabels_ints", {1, 2});
  const auto vectors = floats_attr("support_vectors", {1, 0, 0, 1});
  const auto weights = floats_attr("coefficients", {1, -1});
  const auto rho = floats_attr("rho", {0});
  const auto counts = [](std::vector<std::int64_t> n) { return ints_attr("vectors_per_class", n); };
  EXPECT_NO_THROW(load_node("SVMClassifier", {labels, vectors, weights, rho, counts({1, 1})}));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const auto& n : {std::vector<std::int64_t>{2, 1}, {-1, 3}, {huge, huge}, {huge, 3}, {1, 0}})
    expect_refused("SVMClassifier", {labels, vectors, weights, rho, counts(n)}, "coefficients");
  expect_refused("SVMClassifier", {labels, vectors, weights, rho, counts({1, 1, 0})},
                 "3 entries for 2 labels");
  expect_refused("SVMClassifier",
                 {labels, vectors, weights, floats_attr("rho", {0, 0}), counts({1, 1})},
                 "2 offsets for the 1 pairs");
  expect_refused("SVMClassifier",
                 {labels, floats_attr("support_vectors", {1, 0, 0}), weights, rho, counts({1, 1})},
                 "'support_vectors' has 3 entries");
  expect_refused("SVMClassifier",
                 {labels, vectors, weights, rho, counts({1, 1}), string_attr("kernel_type", "RBF")},
                 "'kernel_params'");
  expect_refused("SVMClassifier",
                 {labels, vectors, weights, rho, counts({1, 1}), string_attr("kernel_type", "X"),
                  floats_attr("kernel_params", {1, 1, 1})},
                 "'kernel_type' is 'X'");
  expect_refused("SVMClassifier",
                 {labels, vectors, weights, rho, counts({1, 1}), floats_attr("prob_a", {1, 2}),
                  floats_attr("prob_b", {1})},
                 "'prob_a' has 2 entries, expected 1");
  expect_refused("SVMClassifier", {labels, vectors, weights, rho, counts({1, 1})}, "features", "5");
  expect_refused("SVMRegressor", {vectors, weights, rho, int_attribute("n_supports", 3)},
                 "expected a multiple of 3");
  expect_refused("SVMRegressor", {vectors, weights, rho, int_attribute("n_supports", -1)},
                 "'n_supports' is -1");
  expect_refused("SVMRegressor", {vectors, weights, int_attribute("n_supports", 2)}, "'rho'");
}

TEST(OnnxMl, TreesThatDoNotFit) {
  const auto tree = [](std::int64_t yes, std::int64_t no, std::int64_t target,
                       std::int64_t feature = 0) {
    return std::vector<std::string>{ints_attr("classlabels_int64s", {7, 8, 9}),
                                    ints_attr("nodes_treeids", {0, 0, 0}),
                                    ints_attr("nodes_nodeids", {0, 1, 2}),
                                    ints_attr("nodes_featureids", {feature, 0, 0}),
                                    floats_attr("nodes_values", {0, 0, 0}),
                                    ints_attr("nodes_truenodeids", {yes, 0, 0}),
                                    ints_attr("nodes_falsenodeids", {no, 0, 0}),
                                    ints_attr("class_treeids", {0, 0}),
                                    strings_attr("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}),
                                    ints_attr("class_nodeids", {1, 2}),
                                    ints_attr("class_ids", {0, target}),
                                    floats_attr("class_weights", {1, 1})};
  };
  EXPECT_NO_THROW(load_node("TreeEnsembleClassifier", tree(1, 2, 2)));
  const std::string op = "TreeEnsembleClassifier";
  expect_refused(op, tree(0, 2, 2), "node 0 is in no tree");
  expect_refused(op, tree(1, 9, 2), "node 9 of tree 0");
  expect_refused(op, tree(1, 2, 3), "target 3 of 3");
  expect_refused(op, tree(1, 2, -1), "target -1 of 3");
  expect_refused(op, tree(1, 2, 2, std::int64_t{1} << 40), "'nodes_featureids' holds");
  expect_refused(op, tree(1, 2, 2, 5), "test 6 features");
  auto with_base = tree(1, 2, 2);
  with_base.push_back(floats_attr("base_values", {1, 2}));
  expect_refused(op, with_base, "2 base values for 3 targets");
}

TEST(OnnxMl, FeaturesThatDoNotFit) {
  expect_refused("Scaler", {floats_attr("scale", {1, 2}), floats_attr("offset", {1})},
                 "2 and 1 entries");
  expect_refused("Scaler", {floats_attr("scale", {1, 2, 3}), floats_attr("offset", {1, 2, 3})},
                 "features");
  expect_refused("Scaler", {floats_attr("scale", {}), floats_attr("offset", {})}, "is empty");
  expect_refused("Normalizer", {string_attr("norm", "L3")}, "'norm' is 'L3'");
  expect_refused("Imputer", {ints_attr("imputed_value_int64s", {1})}, "'imputed_value_floats'");
  expect_refused("Imputer", {floats_attr("imputed_value_floats", {1, 2, 3})}, "features");
  expect_refused("Imputer", {ints_attr("imputed_value_int64s", {std::int64_t{1} << 40})},
                 "no int32", "2", 6);
  expect_refused("OneHotEncoder", {}, "expected one of them");
  expect_refused("OneHotEncoder", {ints_attr("cats_int64s", {1})}, "are integers", "2", 8);
  expect_refused("CategoryMapper",
                 {ints_attr("cats_int64s", {1, 2}), strings_attr("cats_strings", {"a"})},
                 "vectors of one length", "2", 7);
  expect_refused("FeatureVectorizer", {ints_attr("inputdimensions", {2, 2})}, "1 entries");
  expect_refused("FeatureVectorizer", {ints_attr("inputdimensions", {-2})}, "holds -2");
  expect_refused("ZipMap", {ints_attr("classlabels_int64s", {1, 2, 3})}, "features");
  expect_refused("DictVectorizer", {strings_attr("string_vocabulary", {"a"})}, "not supported");
}

// An unknown number of columns turns out wrong when the model runs.
TEST(OnnxMl, ColumnsKnownLate) {
  const Graph g =
      load_node("Scaler", {floats_attr("scale", {1, 2, 3}), floats_attr("offset", {0, 0, 0})}, "f");
  const std::vector<Value> right{Tensor::of<float>(Shape{1, 3}, {1, 1, 1})};
  EXPECT_EQ(evaluate(g, right)[0].tensor().to_f64(), (std::vector<double>{1, 2, 3}));
  for (const std::int64_t columns : {1, 2, 6}) {
    const std::vector<Value> wrong{Tensor::zeros(DType::F32, Shape{2, columns})};
    EXPECT_THROW(evaluate(g, wrong), Error) << columns;
  }
}

TEST(OnnxMl, UnknownCategoryIsAnErrorWithoutZeros) {
  const Graph g = load_node("OneHotEncoder",
                            {ints_attr("cats_int64s", {4, 5}), int_attribute("zeros", 0)}, "1", 7);
  const std::vector<Value> known{Tensor::of<std::int64_t>(Shape{2, 1}, {5, 4})};
  EXPECT_EQ(evaluate(g, known)[0].tensor().to_f64(), (std::vector<double>{0, 1, 1, 0}));
  const std::vector<Value> unknown{Tensor::of<std::int64_t>(Shape{2, 1}, {5, 6})};
  EXPECT_THROW(evaluate(g, unknown), Error);
}

// What is computed counts; the warning names what the file says.
TEST(OnnxMl, WrongDeclaredShapesAreWarnings) {
  for (const std::vector<std::string>& dims : {std::vector<std::string>{"n"}, {"n", "3"}}) {
    const std::string bytes =
        model({{node("Neg", {"x"}, {"y"})}, {value("x", 1, {"n", "2"})}, {value("y", 1, dims)}});
    std::vector<std::string> warnings;
    LoadOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    const Graph g = load(MappedFile::from_memory(bytes), "m.onnx", options);
    EXPECT_EQ(str(g.fact(g.outputs()[0]).shape), "[n, 2]");
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("output 'y' is declared with shape [n"), std::string::npos);
  }
  const std::string other_type =
      model({{node("Neg", {"x"}, {"y"})}, {value("x", 1, {"2"})}, {value("y", 7, {"2"})}});
  EXPECT_THROW(load(MappedFile::from_memory(other_type), "m.onnx"), Error);
}

}  // namespace
}  // namespace treadle::onnx
