// Small TensorFlow graphs against what TensorFlow itself gave: tests/tf/make_cases.py.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "api/model.hpp"
#include "formats/tf/load.hpp"
#include "graph/evaluate.hpp"
#include "npz_cases.hpp"
#include "ops/elements.hpp"
#include "ops/unify.hpp"
#include "plan/session.hpp"
#include "tensor/file.hpp"
#include "tensor/npz.hpp"

namespace treadle::tf {
namespace {

using namespace treadle::testing;

const Cases& cases() {
  static const Cases all = read_cases(std::string(TREADLE_TF_CASES) + "/cases.npz");
  return all;
}

double element(const Tensor& t, std::size_t i) {
  double v = 0;
  dispatch(t.dtype(), [&]<typename T>(T) {
    v = static_cast<double>(static_cast<ops::compute_t<T>>(t.span<T>()[i]));
  });
  return v;
}

void expect_equal(const Tensor& got, const Tensor& want, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape())
      << what << " " << got.shape().str() << " instead of " << want.shape().str();
  for (std::size_t i = 0; i < static_cast<std::size_t>(want.elements()); ++i) {
    const double a = element(got, i), b = element(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(b)))
        << what << " element " << i << ": " << a << " instead of " << b;
  }
}

double tolerance_of(const std::string& name) {
  // TensorFlow takes the weights of this kernel from a table of 1024 entries.
  if (name.starts_with("ResizeBicubic_False_False") || name.starts_with("ResizeBicubic_True"))
    return 5e-3;
  if (name.starts_with("ResizeBicubic")) return 1e-3;
  return 2e-5;
}

// Whether the file does not say sizes, or how many axes an input has, that an operator must know.
bool is_unsized(const std::string& name) {
  return name.starts_with("unsized");
}

class TfCases : public ::testing::TestWithParam<std::string> {};

TEST_P(TfCases, ReferenceEvaluation) {
  const Case& c = cases().at(GetParam());
  LoadOptions options;
  for (const auto& [name, want] : c.outputs) options.outputs.push_back(name);
  if (is_unsized(GetParam()))
    for (const auto& [name, tensor] : c.inputs) options.input_shapes[name] = to_sym(tensor.shape());
  const Graph g = load(MappedFile::from_memory(c.graph), GetParam(), options);
  check_consistent(g);
  const auto got = evaluate(g, inputs_of(c, graph_inputs(g)));
  for (std::size_t i = 0; i < options.outputs.size(); ++i)
    expect_equal(got[i].tensor(), c.outputs.at(options.outputs[i]), tolerance_of(GetParam()),
                 options.outputs[i]);
}

// Simplified and lowered to the CPU's kernels.
TEST_P(TfCases, Session) {
  const Case& c = cases().at(GetParam());
  const auto bytes = std::as_bytes(std::span(c.graph.data(), c.graph.size()));
  ModelOptions options;
  for (const auto& [name, want] : c.outputs) options.extra_outputs.push_back(name);
  const auto loaded = Model::load(bytes, options);
  EXPECT_EQ(loaded->needs_sizes(), is_unsized(GetParam()));
  const auto inputs = inputs_of(c, loaded->inputs());
  const auto model = loaded->for_inputs(inputs);
  Session session(model->program());
  for (int run = 0; run < 2; ++run) {
    const auto error = session.run(inputs);
    ASSERT_FALSE(error.has_value()) << error->what();
    for (std::size_t i = 0; i < model->outputs().size(); ++i) {
      const auto want = c.outputs.find(model->outputs()[i].name);
      if (want != c.outputs.end())
        expect_equal(session.output(i).tensor(), want->second, tolerance_of(GetParam()),
                     want->first);
    }
  }
}

// Of an input of which the file has no shape; another one is asked for at each run.
TEST(TfUnsized, InterfaceAndCheck) {
  const Case& c = cases().at("unsized_matmul");
  const auto bytes = std::as_bytes(std::span(c.graph.data(), c.graph.size()));
  const auto model = Model::load(bytes, {});
  EXPECT_EQ(model->format(), Format::TensorFlow);
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_TRUE(ops::has_unknown_rank(model->inputs()[0].fact));
  ASSERT_EQ(model->outputs().size(), 3u);
  EXPECT_EQ(model->outputs()[0].name, "out0");
  EXPECT_EQ(model->outputs()[1].fact.dtype, DType::I32);
  EXPECT_EQ(model->outputs()[2].fact.dtype, DType::Bool);
  for (const Shape& shape : {Shape{1, 3}, Shape{7, 3}}) {
    const std::vector<Value> inputs{Tensor::zeros(DType::F32, shape)};
    const auto sized = model->for_inputs(inputs);
    Session session(sized->program());
    const auto error = session.run(inputs);
    ASSERT_FALSE(error.has_value()) << error->what();
    EXPECT_EQ(session.output(0).tensor().shape(), (Shape{shape[0], 2}));
  }
  const std::vector<Value> wrong{Tensor::zeros(DType::F32, {2, 4})};
  EXPECT_THROW(model->for_inputs(wrong), Error);

  const std::string path = ::testing::TempDir() + "unsized.pb";
  write_file(path, bytes);
  EXPECT_TRUE(treadle::check_model(path, ModelOptions{}).empty());
  ModelOptions sizes;
  sizes.shapes["x"] = SymShape{Dim(2), Dim(4)};
  EXPECT_EQ(treadle::check_model(path, sizes).size(), 1u) << "MatMul of 4 columns by 3 rows";
}

// A cut where the file says no shape waits too.
TEST(TfUnsized, CutInside) {
  const Case& c = cases().at("unsized_conv");
  const auto bytes = std::as_bytes(std::span(c.graph.data(), c.graph.size()));
  ModelOptions options;
  options.cut_inputs = {"Conv2D"};
  const auto model = Model::load(bytes, options);
  ASSERT_TRUE(model->needs_sizes());
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "Conv2D");
  const std::vector<Value> inputs{c.outputs.at("out0")};
  const auto sized = model->for_inputs(inputs);
  Session session(sized->program());
  ASSERT_FALSE(session.run(inputs).has_value());
  expect_equal(session.output(0).tensor(), c.outputs.at("out0"), 0, "out0");
}

// A folder stands for the SavedModel in it; outputs are those of its signature, "a" before "b".
TEST(TfSavedModel, FrozenOnesLoad) {
  const std::string folder = std::string(TREADLE_TF_CASES) + "/frozen";
  std::map<std::string, Tensor> io;
  for (auto& [name, tensor] : read_npz_file(folder + "/io.npz")) io.emplace(name, tensor);
  const auto model = Model::load(folder, {});
  ASSERT_EQ(model->inputs().size(), 1u);
  ASSERT_EQ(model->outputs().size(), 2u);
  Session session(model->program());
  const std::vector<Value> inputs{io.at("x")};
  ASSERT_FALSE(session.run(inputs).has_value());
  expect_equal(session.output(0).tensor(), io.at("a"), 1e-6, "a");
  expect_equal(session.output(1).tensor(), io.at("b"), 1e-6, "b");
}

TEST(TfSavedModel, VariablesMustBeFrozen) {
  const std::string folder = std::string(TREADLE_TF_CASES) + "/variables";
  try {
    Model::load(folder, {});
    FAIL() << "the model was loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    EXPECT_NE(std::string(e.what()).find("variables are not frozen"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(treadle::check_model(folder, ModelOptions{}).size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(All, TfCases, ::testing::ValuesIn(names(cases())), [](const auto& test) {
  std::string name = test.param;
  for (char& ch : name)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
});

}  // namespace
}  // namespace treadle::tf
