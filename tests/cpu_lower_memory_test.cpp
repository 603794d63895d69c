// What a lowered program keeps of the model's weights.
#include <gtest/gtest.h>

#include "cpu/lower.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"

namespace treadle {
namespace {

constexpr std::int64_t kSmall = 256;  // bytes; biases and scalars

struct Kept {
  std::int64_t packed = 0, constants = 0;
};

Kept kept(const Program& p) {
  Kept k;
  for (const Step& s : p.steps) {
    if (s.kernel) k.packed += static_cast<std::int64_t>(s.kernel->packed_bytes());
  }
  for (const ProgramValue& v : p.values) {
    if (v.constant) k.constants += static_cast<std::int64_t>(v.constant->bytes());
  }
  return k;
}

OperatorPtr conv3x3() {
  ops::Conv conv;
  conv.layout = ops::Layout::ChannelsLast;
  conv.strides = conv.dilations = {1, 1};
  conv.padding.before = conv.padding.after = {1, 1};
  return make_op<ops::Conv>(conv);
}

// A chain of 3x3 convolutions of 64 channels over 56 x 56 pixels, which Winograd takes.
TEST(LowerMemory, WinogradConvolutionsKeepOneCopyOfTheirWeights) {
  constexpr int kLayers = 6;
  Graph g;
  ValueId x = g.add_source("x", Fact::tensor(DType::F32, {Dim(1), Dim(56), Dim(56), Dim(64)}));
  std::int64_t weights = 0;
  for (int i = 0; i < kLayers; ++i) {
    Tensor w = Tensor::zeros(DType::F32, Shape{64, 64, 3, 3});
    w.mutable_span<float>()[0] = static_cast<float>(i);
    weights += static_cast<std::int64_t>(w.bytes());
    x = g.add1("conv" + std::to_string(i), conv3x3(),
               {x, g.add_constant("w" + std::to_string(i), std::move(w))});
  }
  g.set_outputs({x}, {"y"});
  const Kept k = kept(*cpu::lower(std::move(g), {}));
  EXPECT_EQ(k.packed, weights);
  EXPECT_LE(k.constants, kSmall);
}

TEST(LowerMemory, WeightsGoWithTheLastReaderThatPacksThem) {
  Graph g;
  const auto w = std::make_shared<const Tensor>(Tensor::zeros(DType::F32, Shape{64, 64, 3, 3}));
  const std::weak_ptr<const Tensor> watch = w;
  ValueId x = g.add_source("x", Fact::tensor(DType::F32, {Dim(1), Dim(56), Dim(56), Dim(64)}));
  const ValueId c = g.add_constant("w", w);
  for (int i = 0; i < 2; ++i) x = g.add1("conv" + std::to_string(i), conv3x3(), {x, c});
  g.set_outputs({x}, {"y"});
  const auto program = cpu::lower(std::move(g), {});
  EXPECT_LE(kept(*program).constants, kSmall);
  EXPECT_EQ(watch.use_count(), 1);  // w, above
}

// A weight that another node reads as it is stays.
TEST(LowerMemory, WeightsThatAreReadElsewhereStay) {
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {Dim(3), Dim(128)}));
  const ValueId w = g.add_constant("w", Tensor::zeros(DType::F32, Shape{128, 32}));
  const ValueId y =
      g.add1("product", make_op<ops::Contract>(std::vector<std::string>{"mk", "kn"}, "mn"), {x, w});
  g.set_outputs({y, w}, {"y", "w"});
  EXPECT_EQ(kept(*cpu::lower(std::move(g), {})).constants, 128 * 32 * 4);
}

}  // namespace
}  // namespace treadle
