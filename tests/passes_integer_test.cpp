// Quantised graphs become graphs of integer products. Where scales are powers of two, f32 is exact
// too, and check_simplify() asks for the same bytes.
#include <limits>

#include "ops/cast.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/move.hpp"
#include "ops/pool.hpp"
#include "ops/quantize.hpp"
#include "passes_util.hpp"

namespace treadle::passes_test {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

SimplifyOptions integers() {
  SimplifyOptions o;
  o.integer_products = true;
  return o;
}

struct Quantised {
  Graph g;
  std::mt19937 random{1};
  int made = 0;

  std::string name() { return "n" + std::to_string(made++); }
  ValueId constant(const Tensor& t) { return g.add_constant(name(), t); }
  ValueId scalar(float v) { return constant(Tensor::scalar(v)); }
  ValueId zero(DType type, int v) {
    return constant(type == DType::U8 ? Tensor::scalar(static_cast<std::uint8_t>(v))
                                      : Tensor::scalar(static_cast<std::int8_t>(v)));
  }
  ValueId q(ValueId x, DType to, float scale, int z) {
    auto op = std::make_shared<ops::QuantizeLinear>();
    op->to = to;
    return g.add1(name(), op, {x, scalar(scale), zero(to, z)});
  }
  ValueId dq(ValueId x, float scale, int z) {
    return g.add1(name(), std::make_shared<ops::DequantizeLinear>(),
                  {x, scalar(scale), zero(g.fact(x).dtype, z)});
  }
  ValueId pair(ValueId x, DType type, float scale, int z) {
    return dq(q(x, type, scale, z), scale, z);
  }
  template <typename T>
  Tensor whole(const Shape& shape, int low, int high) {
    Tensor t(DTypeOf<T>::value, shape);
    for (T& v : t.mutable_span<T>())
      v = static_cast<T>(std::uniform_int_distribution<int>(low, high)(random));
    return t;
  }
  // Dequantised weights with one scale an index of `axis`.
  ValueId weights(const Shape& shape, std::int64_t axis, std::vector<float> scales) {
    auto op = std::make_shared<ops::DequantizeLinear>();
    op->axis = axis;
    const Shape size{static_cast<std::int64_t>(scales.size())};
    return g.add1(
        name(), op,
        {constant(whole<std::int8_t>(shape, -128, 127)),
         constant(Tensor::from<float>(size, scales)), constant(Tensor::zeros(DType::I8, size))});
  }
  ValueId bias(std::int64_t n, float scale) {
    return g.add1(name(), std::make_shared<ops::DequantizeLinear>(),
                  {constant(whole<std::int32_t>({n}, -3000, 3000)), scalar(scale)});
  }
  ValueId conv(ValueId x, ValueId w, ValueId b) {
    ops::Conv op;
    op.strides = op.dilations = {1, 1};
    op.padding.before = op.padding.after = {1, 1};
    return g.add1(name(), std::make_shared<ops::Conv>(op), {x, w, b});
  }
};

int products(const Graph& g, DType type) {
  int n = 0;
  for (const NodeId id : g.order()) {
    const Node& node = g.node(id);
    n += (node.op->as<ops::Conv>() || node.op->as<ops::Contract>()) &&
         node.outputs[0].fact.dtype == type;
  }
  return n;
}

TEST(IntegerProduct, ConvBetweenPairs) {
  for (const DType type : {DType::U8, DType::I8}) {
    Quantised b;
    const ValueId x = source(b.g, "x", {1, 5, 6, 7});
    const ValueId in = b.pair(x, type, 1.0f / 64, 9);
    const ValueId w = b.weights({8, 5, 3, 3}, 0, std::vector<float>(8, 1.0f / 128));
    ValueId y = b.conv(in, w, b.bias(8, 1.0f / 8192));
    y = ops::unary(b.g, "relu", UnaryFn::Relu, y);
    b.g.set_outputs({b.q(y, type, 1.0f / 16, type == DType::I8 ? -100 : 3)}, {"out"});
    const auto report = check_simplify(b.g, integers(), 0);
    EXPECT_EQ(fired(report, "integer_product"), 1);
    EXPECT_EQ(fired(report, "scale_into_quantize"), 1);
    EXPECT_EQ(products(b.g, DType::I32), 1);
    EXPECT_EQ(count(b.g, "DequantizeLinear"), 0);
  }
}

TEST(IntegerProduct, OnlyWhereAskedFor) {
  Quantised b;
  const ValueId in = b.pair(source(b.g, "x", {1, 5, 6, 7}), DType::U8, 1.0f / 64, 9);
  const ValueId w = b.weights({8, 5, 3, 3}, 0, std::vector<float>(8, 1.0f / 128));
  b.g.set_outputs({b.conv(in, w, ValueId{})}, {"out"});
  SimplifyOptions plain;
  plain.channels_last = true;
  check_simplify(b.g, plain, 0);
  EXPECT_EQ(products(b.g, DType::F32), 1);
}

TEST(IntegerProduct, BiasOfAnotherScaleStaysInFloat) {
  Quantised b;
  const ValueId in = b.pair(source(b.g, "x", {1, 5, 6, 7}), DType::U8, 1.0f / 64, 9);
  const ValueId w = b.weights({8, 5, 3, 3}, 0, std::vector<float>(8, 1.0f / 128));
  b.g.set_outputs({b.conv(in, w, b.bias(8, 1.0f / 4096))}, {"out"});
  check_simplify(b.g, integers(), 0);
  EXPECT_EQ(products(b.g, DType::F32), 1);
}

// Nearly all of 32 bits is for the bias where the weights are next to nothing.
TEST(IntegerProduct, BiasThatLeavesRoomForTheSums) {
  for (const int w : {0, 1, 2}) {
    Quantised b;
    const ValueId in = b.pair(source(b.g, "x", {1, 1, 6, 7}), DType::U8, 1.0f / 64, 9);
    const ValueId weights =
        b.g.add1("w", std::make_shared<ops::DequantizeLinear>(),
                 {b.constant(b.whole<std::int8_t>({4, 1, 3, 3}, w, w)), b.scalar(1.0f / 128)});
    // The sums of 9 weights 1 are at most 2295.
    const std::int32_t most = std::numeric_limits<std::int32_t>::max() - 9 * 255;
    const ValueId bias =
        b.g.add1("b", std::make_shared<ops::DequantizeLinear>(),
                 {b.constant(b.whole<std::int32_t>({4}, most, most)), b.scalar(1.0f / 8192)});
    b.g.set_outputs({b.conv(in, weights, bias)}, {"out"});
    simplify(b.g, integers());
    EXPECT_EQ(products(b.g, DType::I32), w <= 1) << w;
    EXPECT_EQ(products(b.g, DType::F32), w > 1) << w;
  }
}

TEST(IntegerProduct, BiasBehindAMatrixProduct) {
  Quantised b;
  const ValueId in = b.pair(source(b.g, "x", {3, 20}), DType::I8, 1.0f / 64, 9);
  const ValueId w = b.weights({7, 20}, 0, {1, 0.5f, 0.25f, 1, 1, 2, 1});
  const ValueId y = b.g.add1(
      "product", make_op<ops::Contract>(std::vector<std::string>{"mk", "nk"}, "mn"), {in, w});
  // Not of one scale with the product of each column.
  const ValueId other = ops::binary(b.g, "other", BinaryFn::Add, y, b.bias(7, 1.0f / 64));
  const ValueId v = b.weights({7, 20}, 0, std::vector<float>(7, 0.5f));
  const ValueId z = b.g.add1(
      "second", make_op<ops::Contract>(std::vector<std::string>{"mk", "nk"}, "mn"), {in, v});
  const ValueId sum = ops::binary(b.g, "sum", BinaryFn::Add, z, b.bias(7, 1.0f / 128));
  b.g.set_outputs({b.q(sum, DType::U8, 0.5f, 100), other}, {"out", "other"});
  const auto report = check_simplify(b.g, integers(), 0);
  EXPECT_EQ(fired(report, "integer_product"), 2);
  EXPECT_EQ(fired(report, "integer_bias_of_product"), 1) << print(b.g);
  EXPECT_EQ(products(b.g, DType::I32), 2);
}

// With any scales: round(f32(sum) · (x_scale · w_scale / y_scale)), rounded after each of the
// three.
TEST(IntegerProduct, ScalesOnceAsOnnxRuntimeDoes) {
  Quantised b;
  const float x_scale = 0.0171f, y_scale = 0.613f;
  const std::vector<float> w_scale{0.011f, 0.0213f, 0.0077f};
  const ValueId x = source(b.g, "x", {50, 20});
  const ValueId in = b.q(x, DType::U8, x_scale, 121);
  const ValueId w = b.weights({20, 3}, 1, w_scale);
  const ValueId y =
      b.g.add1("product", make_op<ops::Contract>(std::vector<std::string>{"mk", "kn"}, "mn"),
               {b.dq(in, x_scale, 121), w});
  b.g.set_outputs({b.q(y, DType::I8, y_scale, 5), in}, {"out", "bytes"});
  const auto weights = b.g.node(b.g.node(w.node).inputs[0].node).outputs[0].fact.value;
  simplify(b.g, integers());
  ASSERT_EQ(products(b.g, DType::I32), 1);
  const Value input(random_f32(5, Shape{50, 20}));
  const auto got = evaluate(b.g, {{input}});
  const Tensor bytes = got[1].tensor(), out = got[0].tensor();
  for (std::size_t r = 0; r < 50; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 20; ++k)
        sum += (bytes.span<std::uint8_t>()[r * 20 + k] - 121) *
               weights->span<std::int8_t>()[k * 3 + c];
      const float scale = x_scale * w_scale[c];
      const float factor = scale / y_scale;
      const float scaled = static_cast<float>(sum) * factor;
      const double want =
          std::clamp(std::nearbyint(static_cast<double>(scaled)) + 5, -128.0, 127.0);
      EXPECT_EQ(out.span<std::int8_t>()[r * 3 + c], static_cast<int>(want)) << r << " " << c;
    }
  }
}

TEST(QuantisedMove, PoolsTransposesAndParts) {
  Quantised b;
  const ValueId x = source(b.g, "x", {1, 4, 8, 8});
  const ValueId in = b.pair(x, DType::U8, 1.0f / 32, 100);
  ops::Pool pool;
  pool.kernel = {3, 3};
  pool.strides = pool.dilations = {1, 1};
  pool.padding.before = pool.padding.after = {1, 1};
  ValueId y = b.g.add1("pool", std::make_shared<ops::Pool>(pool), {in});
  y = b.pair(y, DType::U8, 1.0f / 32, 100);
  y = b.pair(ops::transpose(b.g, "t", y, {0, 1, 3, 2}), DType::U8, 1.0f / 32, 100);
  const ValueId other = b.pair(x, DType::U8, 1.0f / 16, 90);
  const ValueId all = b.g.add1("all", make_op<ops::Concat>(1), {y, other});
  b.g.set_outputs({b.q(all, DType::U8, 1.0f / 32, 100)}, {"out"});
  const auto report = check_simplify(b.g, integers(), 0);
  EXPECT_GE(fired(report, "quantised_move"), 3);
  // What has another scale is quantised anew.
  EXPECT_EQ(count(b.g, "DequantizeLinear"), 1);
  for (const NodeId id : b.g.order()) {
    if (b.g.node(id).op->as<ops::Pool>() || b.g.node(id).op->as<ops::Concat>()) {
      EXPECT_EQ(b.g.node(id).outputs[0].fact.dtype, DType::U8);
    }
  }
}

}  // namespace
}  // namespace treadle::passes_test
