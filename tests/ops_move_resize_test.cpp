#include "ops/col2im.hpp"
#include "ops/grid_sample.hpp"
#include "ops/max_roi_pool.hpp"
#include "ops/max_unpool.hpp"
#include "ops/non_max_suppression.hpp"
#include "ops/random.hpp"
#include "ops/resize.hpp"
#include "ops/roi_align.hpp"
#include "ops_move_util.hpp"

namespace treadle::test {
namespace {

using ops::Coordinates;
using ops::NearestRound;
using ops::Resize;
using ops::ResizeMode;

void expect_near(const Tensor& got, const Floats& want) {
  const auto have = values(got);
  ASSERT_EQ(have.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-5) << "at " << i;
}

// Case H07.
TEST(Resize, NearestStaysInItsBatch) {
  Resize r;
  r.sizes = {2, 1, 1, 4};
  r.coordinates = Coordinates::TfHalfPixelForNn;
  r.nearest = NearestRound::Ceil;
  EXPECT_EQ(values(run(r, {floats({2, 1, 1, 2}, {1, 2, 3, 4})})), (Floats{2, 2, 2, 2, 4, 4, 4, 4}));
  Resize half;
  half.sizes = {1, 1, 3};
  EXPECT_EQ(values(run(half, {counting({1, 1, 6})})), (Floats{0, 2, 4}));
}

TEST(Resize, Linear) {
  Resize r;
  r.mode = ResizeMode::Linear;
  r.sizes = {4};
  // Centres −0.25, 0.25, 0.75, 1.25 of [0, 4], clamped at the edges.
  expect_near(run(r, {floats({2}, {0, 4})}), {0, 1, 3, 4});
  r.coordinates = Coordinates::AlignCorners;
  expect_near(run(r, {floats({2}, {0, 3})}), {0, 1, 2, 3});
}

TEST(Resize, AntialiasAveragesOnTheWayDown) {
  Resize r;
  r.mode = ResizeMode::Linear;
  r.antialias = true;
  r.sizes = {1};
  // Centre 1.5, triangle of half width 4: weights 5/8, 7/8, 7/8, 5/8 inside, clamped positions −2,
  // −1 (1/8, 3/8) and 4, 5 (3/8, 1/8) add to the edges: 9/8, 7/8, 7/8, 9/8.
  expect_near(run(r, {floats({4}, {8, 0, 0, 0})}), {8 * (9.0f / 8) / 4});
  r.exclude_outside = true;
  expect_near(run(r, {floats({4}, {8, 0, 0, 0})}), {8 * (5.0f / 8) / 3});
}

TEST(Resize, CropExtrapolates) {
  Resize r;
  r.coordinates = Coordinates::TfCropAndResize;
  r.sizes = {3};
  r.roi = {0, 2};
  r.extrapolation = 9;
  r.mode = ResizeMode::Linear;
  expect_near(run(r, {floats({3}, {1, 2, 3})}), {1, 3, 9});
  r.mode = ResizeMode::Nearest;
  expect_near(run(r, {floats({3}, {1, 2, 3})}), {1, 3, 9});
}

TEST(Resize, EmptyInputIsAnError) {
  Resize r;
  r.sizes = {2};
  error_of([&] { run(r, {Tensor(DType::F32, {0})}); });
}

TEST(GridSample, LinearNearestAndPadding) {
  ops::GridSample op;
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  op.align_corners = true;
  const Tensor grid = floats({1, 1, 3, 2}, {0, 0, 1, -1, 3, 0});
  expect_near(run(op, {x, grid}), {2.5f, 2, 0});
  op.padding = ops::SamplePadding::Border;
  expect_near(run(op, {x, grid}), {2.5f, 2, 3});
  // x = 2 reflects about the last centre 1 to 0.
  op.padding = ops::SamplePadding::Reflection;
  expect_near(run(op, {x, grid}), {2.5f, 2, 2});
  op.mode = ops::SampleMode::Nearest;
  expect_near(run(op, {x, floats({1, 1, 1, 2}, {0.9f, 0.9f})}), {4});
}

// Expected: onnx.reference 1.23. Only a point more than half an element outside is moved to the
// border; -0.9 (at -0.3) and 0.85, 0.95 (at 3.2, 3.4) weigh the repeated border elements.
TEST(GridSample, CubicNearTheBorder) {
  ops::GridSample op;
  op.mode = ops::SampleMode::Cubic;
  const Tensor x = floats({1, 1, 1, 4}, {1, 2, 4, 8});
  const Tensor grid = floats({1, 1, 5, 2}, {-1.2f, 0, -0.9f, 0, 0.85f, 0, 0.95f, 0, 1.3f, 0});
  op.padding = ops::SamplePadding::Border;
  expect_near(run(op, {x, grid}), {1, 0.8897504f, 8.384003f, 8.431999f, 8});
  op.padding = ops::SamplePadding::Reflection;
  expect_near(run(op, {x, grid}), {0.9325002f, 0.8425004f, 8.480001f, 8.719999f, 7.6855016f});
}

TEST(RoiAlign, WholeImage) {
  ops::RoiAlign op;
  op.half_pixel = false;
  op.ratio = 1;
  // One sample in the middle of the box from 0 to 2: position 1, 1.
  const std::vector<Tensor> in{counting({1, 1, 3, 3}), floats({1, 4}, {0, 0, 2, 2}),
                               ints({1}, {0})};
  expect_near(run(op, in), {4});
  error_of([&] { run(op, {in[0], in[1], ints({1}, {1})}); });
  error_of([&] { run(op, {in[0], floats({1, 4}, {0, 0, NAN, 2}), in[2]}); });
}

// 4x5 elements 0 to 19; a box of 3 rows and 4 columns in 2x2 cells that share a row; one box that
// is a cell, beyond the image.
TEST(MaxRoiPool, CellsShareRows) {
  ops::MaxRoiPool op;
  op.out_h = op.out_w = 2;
  op.scale = 0.5;
  const Tensor x = counting({1, 1, 4, 5});
  const Tensor boxes = floats({2, 5}, {0, 2, 2, 8, 6, 0, 20, 20, 20, 20});
  expect_near(run(op, {x, boxes}), {12, 14, 17, 19, 0, 0, 0, 0});
  error_of([&] { run(op, {x, floats({1, 5}, {1, 0, 0, 2, 2})}); });
  error_of([&] { run(op, {x, floats({1, 5}, {0, NAN, 0, 2, 2})}); });
  // Finite corners, but no finite size.
  op.scale = 1;
  error_of([&] { run(op, {x, floats({1, 5}, {0, -3e38f, 0, 3e38f, 2})}); });
}

TEST(NonMaxSuppression, DropsOverlap) {
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 5, 1, 6});
  const Tensor scores = floats({1, 1, 3}, {0.7f, 0.9f, 0.5f});
  const ops::NonMaxSuppression op(false, Dim::symbol("n"));
  const Tensor all = run(op, {boxes, scores, ints({1}, {3}), floats({1}, {0.5f})});
  EXPECT_EQ(all.to_i64(), (Ints{0, 0, 1, 0, 0, 2}));
  const Tensor high =
      run(op, {boxes, scores, ints({1}, {3}), floats({1}, {0.5f}), floats({1}, {0.6f})});
  EXPECT_EQ(high.to_i64(), (Ints{0, 0, 1}));
  EXPECT_EQ(dims(run(op, {boxes, scores})), (Ints{0, 3}));
}

TEST(Col2Im, SumsOverlappingWindows) {
  ops::Col2Im op;
  op.image = {3};
  op.block = {2};
  op.dilations = op.strides = {1};
  op.before = op.after = {0};
  // Windows at 0 and 1: image = [a, b + c, d] of columns [[a, c], [b, d]].
  const Tensor y = run(op, {floats({1, 2, 2}, {1, 2, 10, 20})});
  EXPECT_EQ(dims(y), (Ints{1, 1, 3}));
  EXPECT_EQ(values(y), (Floats{1, 12, 20}));
}

TEST(MaxUnpool, PlacesByIndex) {
  const Tensor y = run(ops::MaxUnpool({1, 1, 5}, {1, 1, 4}),
                       {floats({1, 1, 2}, {7, 8}), ints({1, 1, 2}, {1, 3})});
  EXPECT_EQ(values(y), (Floats{0, 7, 0, 8, 0}));
  error_of([] {
    run(ops::MaxUnpool({1, 1, 4}, {1, 1, 4}), {floats({1, 1, 1}, {7}), ints({1, 1, 1}, {4})});
  });
}

TEST(Random, MomentsAndRepeatability) {
  const ops::Random normal(ops::RandomFn::Normal, DType::F32, {10000}, 7, 3, 2);
  const Tensor x = run(normal, {});
  double sum = 0;
  double squares = 0;
  for (const float v : values(x)) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  const double mean = sum / 10000;
  EXPECT_NEAR(mean, 3, 0.1);
  EXPECT_NEAR(squares / 10000 - mean * mean, 4, 0.3);
  EXPECT_TRUE(run(normal, {}).identical(x));
  const ops::Random other(ops::RandomFn::Normal, DType::F32, {10000}, 8, 3, 2);
  EXPECT_FALSE(run(other, {}).identical(x));
  const ops::Random uniform(ops::RandomFn::Uniform, DType::F32, {1000}, 1, -1, 1);
  for (const float v : values(run(uniform, {}))) {
    EXPECT_GE(v, -1);
    EXPECT_LE(v, 1);
  }
  const ops::Random draw(ops::RandomFn::Multinomial, DType::I32, {1, 50}, 1);
  for (const std::int64_t v : run(draw, {floats({1, 3}, {-1000, 0, -1000})}).to_i64()) {
    EXPECT_EQ(v, 1);
  }
}

}  // namespace
}  // namespace treadle::test
