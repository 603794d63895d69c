#include "cpu_translate_util.hpp"
#include "ops/resize.hpp"

namespace treadle::cpu::test {
namespace {

using ops::Coordinates;
using ops::NearestRound;
using ops::Resize;
using ops::ResizeMode;

struct Case {
  Shape in, out;
};

TEST(TranslateResize, AgreesWithTheReference) {
  std::mt19937 random(1);
  const Case list[] = {{{1, 3, 5, 7}, {1, 3, 10, 14}},   {{2, 5, 7, 3}, {2, 10, 5, 3}},
                       {{1, 4, 4, 300}, {1, 9, 8, 300}}, {{1, 2, 6, 6}, {1, 2, 6, 13}},
                       {{2, 3, 9}, {2, 3, 4}},           {{1, 1, 1, 5}, {1, 4, 6, 5}}};
  for (const Case& c : list) {
    for (const ResizeMode mode : {ResizeMode::Nearest, ResizeMode::Linear}) {
      for (const Coordinates how :
           {Coordinates::HalfPixel, Coordinates::PytorchHalfPixel, Coordinates::AlignCorners,
            Coordinates::Asymmetric, Coordinates::HalfPixelSymmetric}) {
        for (const NearestRound round : {NearestRound::RoundPreferFloor, NearestRound::Floor,
                                         NearestRound::Ceil, NearestRound::RoundPreferCeil}) {
          Resize op;
          op.mode = mode;
          op.coordinates = how;
          op.nearest = round;
          op.sizes = to_sym(c.out);
          expect_reference(std::make_shared<Resize>(op), {random_f32(random, c.in)}, 1e-6);
        }
      }
    }
  }
}

TEST(TranslateResize, LeavesTheRestToTheReference) {
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {2, 4, 4, 4}));
  Resize op;
  op.sizes = {2, 8, 8, 8};
  op.mode = ResizeMode::Linear;
  const ValueId three_axes = g.add1("a", std::make_shared<Resize>(op), {x});
  op.sizes = {2, 4, 8, 8};
  op.mode = ResizeMode::Cubic;
  const ValueId cubic = g.add1("b", std::make_shared<Resize>(op), {x});
  const LowerOptions options;
  EXPECT_FALSE(translate({g, g.node(three_axes.node), options}).kernel);
  EXPECT_FALSE(translate({g, g.node(cubic.node), options}).kernel);
}

}  // namespace
}  // namespace treadle::cpu::test
