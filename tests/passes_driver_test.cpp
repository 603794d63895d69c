// The driver: order, numbering, bisecting, and work in proportion to the graph.
#include "passes_util.hpp"

namespace treadle::passes_test {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

// Sin(x·1 + 0) after itself, `length` times.
Graph chain(int length) {
  Graph g;
  ValueId v = source(g, "x", {Dim::symbol("N"), 3});
  const ValueId one = ops::scalar_like(g, "one", 1, v), zero = ops::scalar_like(g, "zero", 0, v);
  for (int i = 0; i < length; ++i) {
    const std::string n = "n" + std::to_string(i);
    v = ops::binary(g, n + "m", BinaryFn::Mul, v, one);
    v = ops::binary(g, n + "a", BinaryFn::Add, v, zero);
    v = ops::unary(g, n + "r", UnaryFn::Sin, v);
  }
  g.set_outputs({v}, {"out"});
  return g;
}

TEST(Driver, TheSameGraphGivesTheSamePatches) {
  const auto log = [] {
    std::string text;
    SimplifyOptions options;
    options.trace = [&](int number, std::string_view rule, const std::string& node) {
      text += std::to_string(number) + " " + std::string(rule) + " " + node + "\n";
    };
    Graph g = chain(5);
    simplify(g, options);
    return text + print(g);
  };
  EXPECT_EQ(log(), log());
  EXPECT_NE(log().find("0 remove_binary_identity n0m\n"), std::string::npos);
}

TEST(Driver, StopsAfterTheGivenPatch) {
  for (const int stop : {0, 1, 7}) {
    Graph g = chain(5);
    SimplifyOptions options;
    options.stop_after_patch = stop;
    const SimplifyReport report = check_simplify(g, options);
    EXPECT_EQ(report.patches, stop);
    EXPECT_EQ(count(g, "Binary"), 10 - stop);
  }
}

TEST(Driver, WorkGrowsInProportionToTheGraph) {
  Graph small = chain(100), large = chain(1000);
  const SimplifyReport a = simplify(small), b = simplify(large);
  EXPECT_EQ(a.patches, 200);
  EXPECT_EQ(b.patches, 2000);
  EXPECT_EQ(count(large, "Binary"), 0);
  EXPECT_EQ(count(large, "Unary"), 1000);
  EXPECT_LE(b.calls, 11 * a.calls);
  EXPECT_LE(b.calls, 1000 * 3 * 60);
}

TEST(Driver, ASecondRunFindsNothing) {
  Graph g = chain(20);
  simplify(g);
  EXPECT_EQ(simplify(g).patches, 0);
}

TEST(Driver, OutputsKeepTheirNamesAndInputsStay) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3});
  const ValueId unused = source(g, "unused", {1});
  const ValueId same = ops::binary(g, "same", BinaryFn::Mul, x, ops::scalar_like(g, "one", 1, x));
  ops::unary(g, "dead", UnaryFn::Exp, x);
  g.set_outputs({same, same}, {"first", "second"});
  const SimplifyReport report = check_simplify(g);
  EXPECT_EQ(report.patches, 1);
  EXPECT_EQ(g.outputs(), (std::vector<ValueId>{x, x}));
  EXPECT_EQ(g.inputs(), (std::vector<ValueId>{x, unused}));
  EXPECT_EQ(count(g, "Unary"), 0);
}

TEST(Driver, EqualNodesBecomeOne) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3});
  const ValueId a = ops::unary(g, "a", UnaryFn::Exp, x), b = ops::unary(g, "b", UnaryFn::Exp, x);
  const ValueId c = ops::unary(g, "c", UnaryFn::Log, x);
  const ValueId s = ops::binary(g, "s", BinaryFn::Add, a, b);
  g.set_outputs({ops::binary(g, "t", BinaryFn::Add, s, c)}, {"out"});
  EXPECT_EQ(fired(check_simplify(g), "common_subexpressions"), 1);
  EXPECT_EQ(count(g, "Unary"), 2);
}

TEST(Driver, EveryRuleNamesKnownKindsAndOnce) {
  std::vector<std::string_view> names;
  for (const passes::Rule& rule : passes::rules()) {
    EXPECT_FALSE(rule.kinds.empty()) << rule.name;
    EXPECT_EQ(std::count(names.begin(), names.end(), rule.name), 0) << rule.name;
    names.push_back(rule.name);
  }
  EXPECT_GT(names.size(), 20u);
}

}  // namespace
}  // namespace treadle::passes_test
