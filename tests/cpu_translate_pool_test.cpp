#include <limits>

#include "cpu_translate_util.hpp"
#include "ops/pool.hpp"

namespace treadle::cpu::test {
namespace {

using ops::AutoPad;
using ops::Layout;
using ops::Pool;
using ops::PoolKind;

// The shape of [N, C, spatial…] in the layout.
Shape arranged(const Shape& s, Layout layout) {
  if (layout == Layout::ChannelsFirst) return s;
  Shape r{s[0]};
  for (std::size_t i = 2; i < s.size(); ++i) r.push_back(s[i]);
  r.push_back(s[1]);
  return r;
}

Pool random_pool(std::mt19937& random, int spatial) {
  Pool p;
  for (int i = 0; i < spatial; ++i) {
    p.kernel.push_back(pick(random, 1, 4));
    p.strides.push_back(pick(random, 1, 3));
    p.dilations.push_back(pick(random, 1, 2));
    p.padding.before.push_back(pick(random, 0, 2));
    p.padding.after.push_back(pick(random, 0, 2));
  }
  p.padding.mode = static_cast<AutoPad>(pick(random, 0, 3));
  p.ceil_mode = p.padding.mode == AutoPad::Explicit && pick(random, 0, 1) == 1;
  p.count_include_pad = pick(random, 0, 1) == 1;
  return p;
}

TEST(TranslatePool, RandomWindows) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const int spatial = 1 + round % 3;
    Pool p = random_pool(random, spatial);
    Shape shape{pick(random, 1, 2), pick(random, 1, 37)};
    for (int i = 0; i < spatial; ++i) shape.push_back(pick(random, 8, spatial == 3 ? 9 : 40));
    for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
      p.layout = layout;
      const Tensor x = random_f32(random, arranged(shape, layout));
      for (const PoolKind kind : {PoolKind::Max, PoolKind::Average, PoolKind::Lp}) {
        p.kind = kind;
        p.p = 1 + round % 2;
        expect_reference(make_op<Pool>(p), {x}, 2e-6);
      }
    }
  }
}

TEST(TranslatePool, MaxOfBytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    Pool p = random_pool(random, 1 + round % 3);
    p.layout = Layout::ChannelsLast;
    Shape shape{pick(random, 1, 2)};
    for (std::size_t i = 0; i < p.kernel.size(); ++i) shape.push_back(pick(random, 8, 20));
    shape.push_back(pick(random, 1, 70));
    for (const DType t : {DType::U8, DType::I8})
      expect_reference(make_op<Pool>(p), {random_bytes(random, t, shape)}, 0);
  }
}

TEST(TranslatePool, GlobalAndNan) {
  std::mt19937 random(2);
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
    Pool p;
    p.layout = layout;
    p.kernel = {13, 17};
    p.strides = p.dilations = {1, 1};
    p.padding.before = p.padding.after = {0, 0};
    Tensor x = random_f32(random, arranged({2, 65, 13, 17}, layout));
    for (const PoolKind kind : {PoolKind::Max, PoolKind::Average}) {
      p.kind = kind;
      expect_reference(make_op<Pool>(p), {x}, 1e-6);
    }
    x.mutable_span<float>()[777] = std::numeric_limits<float>::quiet_NaN();
    p.kernel = {3, 3};
    p.kind = PoolKind::Max;
    expect_reference(make_op<Pool>(p), {x}, 1e-6);
  }
}

}  // namespace
}  // namespace treadle::cpu::test
