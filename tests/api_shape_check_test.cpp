// Sizes that are equal for some values of the symbols only: right where they are, a Shape error
// that names the node where they are not, whatever the kernel.
#include <gtest/gtest.h>

#include "api/public.hpp"
#include "graph/graph.hpp"
#include "onnx_model_builder.hpp"
#include "ops/contract.hpp"
#include "plan/shape_check.hpp"

namespace {

using namespace treadle::testing;
using treadle::v1::Status;
using treadle::v1::StatusCode;
using treadle::v1::Tensor;
using Sizes = std::vector<std::int64_t>;

struct Case {
  const char* what;
  std::string node;
  std::vector<std::string> x, z;  // sizes of the inputs
  std::string weights;            // initializer, may be empty
  Sizes x_right, z_right, x_wrong, z_wrong, y;
};

std::string weights(std::vector<std::int64_t> dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return floats("w", std::move(dims), std::vector<float>(static_cast<std::size_t>(n), 0.5f));
}

std::vector<Case> cases() {
  const auto call = [](const char* op, std::vector<std::string> in,
                       std::vector<std::string> attributes = {}) {
    return node(op, in, {"y"}, attributes, "", "it");
  };
  const std::string axis1 = int_attribute("axis", 1);
  return {
      {"product with weights",
       call("MatMul", {"x", "w"}),
       {"m", "k"},
       {},
       weights({4, 2}),
       {3, 4},
       {},
       {3, 3},
       {},
       {3, 2}},
      {"product with wide weights",
       call("MatMul", {"x", "w"}),
       {"b", "m", "k"},
       {},
       weights({128, 2}),
       {1, 3, 128},
       {},
       {1, 3, 7},
       {},
       {1, 3, 2}},
      {"product of inputs",
       call("MatMul", {"x", "z"}),
       {"m", "k"},
       {"j", "n"},
       "",
       {2, 5},
       {5, 3},
       {2, 4},
       {5, 3},
       {2, 3}},
      {"batches of products",
       call("MatMul", {"x", "z"}),
       {"a", "m", "k"},
       {"b", "k", "n"},
       "",
       {6, 2, 5},
       {6, 5, 3},
       {6, 2, 5},
       {4, 5, 3},
       {6, 2, 3}},
      {"general product",
       call("Gemm", {"x", "z", "w"}),
       {"m", "k"},
       {"j", "n"},
       weights({3}),
       {2, 5},
       {5, 3},
       {2, 5},
       {5, 4},
       {2, 3}},
      {"sum", call("Add", {"x", "z"}), {"n"}, {"m"}, "", {5}, {5}, {5}, {4}, {5}},
      {"sum with weights",
       call("Add", {"x", "w"}),
       {"n", "m"},
       {},
       weights({8}),
       {2, 8},
       {},
       {2, 7},
       {},
       {2, 8}},
      {"concatenation",
       call("Concat", {"x", "z"}, {axis1}),
       {"n", "a"},
       {"m", "b"},
       "",
       {2, 3},
       {2, 4},
       {2, 3},
       {5, 4},
       {2, 7}},
      {"convolution",
       call("Conv", {"x", "w"}),
       {"n", "c", "h", "v"},
       {},
       weights({6, 4, 3, 3}),
       {1, 4, 9, 9},
       {},
       {1, 3, 9, 9},
       {},
       {1, 6, 7, 7}},
      {"slope",
       call("PRelu", {"x", "w"}),
       {"n", "c"},
       {},
       weights({5}),
       {2, 5},
       {},
       {2, 6},
       {},
       {2, 5}},
      {"norm",
       call("LayerNormalization", {"x", "w"}),
       {"n", "c"},
       {},
       weights({5}),
       {2, 5},
       {},
       {2, 6},
       {},
       {2, 5}},
  };
}

Tensor ones(const Sizes& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return Tensor::from<float>(shape, std::vector<float>(static_cast<std::size_t>(n), 1.0f));
}

void check_case(const Case& c, const treadle::v1::LoadOptions& options) {
  std::vector<std::string> inputs{value("x", 1, c.x)}, constants;
  if (!c.z.empty()) inputs.push_back(value("z", 1, c.z));
  if (!c.weights.empty()) constants.push_back(c.weights);
  const auto m = treadle::v1::Model::load(
      bytes(model({{c.node}, inputs, {untyped("y")}, constants})), options);
  treadle::v1::Session s(m);
  const auto run = [&](const Sizes& x, const Sizes& z) {
    return z.empty() ? s.run({{"x", ones(x)}}) : s.run({{"x", ones(x)}, {"z", ones(z)}});
  };
  for (int round = 0; round < 2; ++round) {
    const Status wrong = run(c.x_wrong, c.z_wrong);
    EXPECT_EQ(wrong.code(), StatusCode::Shape) << wrong.message();
    EXPECT_NE(wrong.message().find("node 'it"), std::string::npos) << wrong.message();
    const Status right = run(c.x_right, c.z_right);
    ASSERT_TRUE(right.ok()) << right.message();
    EXPECT_EQ(s.output("y").shape(), c.y);
  }
}

TEST(ShapeCheck, SizesThatOnlySomeSymbolsMakeEqual) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    check_case(c, {});
  }
}

TEST(ShapeCheck, AlsoOnADevice) {
  treadle::v1::LoadOptions options;
  options.target = "sim";
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    check_case(c, options);
  }
}

// Only what can go wrong is looked at again.
TEST(ShapeCheck, NothingIsKeptWhereAllSymbolsFit) {
  using namespace treadle;
  Graph g;
  const auto input = [&](const char* name, SymShape shape) {
    return g.add_source(name, Fact::tensor(DType::F32, std::move(shape)));
  };
  const ValueId a = input("a", {Dim::symbol("m"), Dim::symbol("k")}),
                b = input("b", {Dim::symbol("k"), Dim::symbol("n")}),
                c = input("c", {Dim::symbol("j"), 4});
  const auto product = [&](const char* name, ValueId l, ValueId r) {
    return g.add1(name, std::make_shared<ops::Contract>(std::vector<std::string>{"mk", "kn"}, "mn"),
                  {l, r});
  };
  const ValueId fits = product("fits", a, b), may_not = product("may not", a, c);
  EXPECT_FALSE(shape_check(g, g.node(fits.node), "fits"));
  const auto check = shape_check(g, g.node(may_not.node), "may not");
  ASSERT_TRUE(check);
  EXPECT_NO_THROW(verify(*check, {{"m", 2}, {"k", 3}, {"j", 3}}));
  try {
    verify(*check, {{"m", 2}, {"k", 3}, {"j", 5}});
    FAIL() << "k is 3 and 5";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Shape);
    EXPECT_NE(std::string(e.what()).find("may not"), std::string::npos) << e.what();
  }
}

}  // namespace
