// Random small graphs give the same answers before and after.
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/move.hpp"
#include "ops/pool.hpp"
#include "ops/softmax.hpp"
#include "passes_util.hpp"

namespace treadle::passes_test {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

// Builds a graph of rank-4 values over small sizes, and a few of other ranks.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t seed) : rng_(seed) {}

  Graph build() {
    const std::int64_t n = pick(1, 2), c = 2 * pick(1, 2), h = pick(2, 4), w = pick(2, 4);
    values_.push_back(source(g_, "x", {n, c, h, w}));
    values_.push_back(source(g_, "y", {n, c, h, w}));
    const std::int64_t steps = pick(4, 14);
    for (std::int64_t i = 0; i < steps; ++i) step();
    std::vector<ValueId> outputs = {values_.back()};
    if (pick(0, 2) == 0) outputs.push_back(any());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs.size(); ++i) names.push_back("out" + std::to_string(i));
    g_.set_outputs(outputs, names);
    return std::move(g_);
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(rng_);
  }
  std::string name() { return "n" + std::to_string(next_++); }
  // Recent values more often, so that chains grow.
  ValueId any() {
    const auto last = static_cast<std::int64_t>(values_.size()) - 1;
    const std::int64_t i = std::max(pick(0, last), pick(0, last));
    return values_[static_cast<std::size_t>(i)];
  }
  const SymShape& shape(ValueId v) { return g_.fact(v).shape; }
  std::int64_t size(ValueId v, std::size_t axis) { return shape(v)[axis].value(); }
  ValueId constant(const Shape& s) {
    return g_.add_constant(name(), random_f32(static_cast<std::uint32_t>(rng_()), s));
  }
  void push(ValueId v) { values_.push_back(v); }

  void step() {
    const ValueId x = any();
    const int rank = g_.fact(x).rank();
    if (elements(shape(x)).value() > 4096) return push(smaller(x));
    switch (pick(0, 13)) {
      case 0:
        return push(unary(x));
      case 1:
        return push(with_constant(x));
      case 2:
        return push(with_other(x));
      case 3:
        return push(ops::transpose(g_, name(), x, random_perm(rank)));
      case 4:
        return push(reshaped(x));
      case 5:
        return push(joined(x));
      case 6:
        return push(reduced(x));
      case 7:
      case 8:
        return push(rank == 4 ? conv(x) : unary(x));
      case 9:
        return push(rank == 4 ? pool(x) : with_constant(x));
      case 10:
        return push(smaller(x));
      case 11:
        return push(g_.add1(
            name(), make_op<ops::Softmax>(std::vector<std::int64_t>{pick(0, rank - 1)}, false),
            {x}));
      case 12:
        return push(matmul(x));
      default:
        return push(rank == 4 ? layout_round(x) : unary(x));
    }
  }

  Perm random_perm(int rank) {
    Perm p(static_cast<std::size_t>(rank));
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<int>(i);
    std::shuffle(p.begin(), p.end(), rng_);
    return p;
  }

  ValueId unary(ValueId x) {
    static constexpr UnaryFn kFns[] = {UnaryFn::Relu, UnaryFn::Sigmoid, UnaryFn::Tanh,
                                       UnaryFn::Abs,  UnaryFn::Neg,     UnaryFn::HardSwish};
    return ops::unary(g_, name(), kFns[pick(0, 5)], x);
  }

  // A constant of one element, of one axis, or of the whole shape.
  ValueId with_constant(ValueId x) {
    static constexpr BinaryFn kFns[] = {BinaryFn::Add, BinaryFn::Sub, BinaryFn::Mul, BinaryFn::Max};
    const int rank = g_.fact(x).rank();
    const std::int64_t kind = pick(0, 3);
    const std::int64_t axis = pick(0, rank - 1);
    Shape s;
    for (int i = 0; i < rank; ++i) {
      const bool wide = kind == 0 || (kind < 3 && i == axis);
      s.push_back(wide ? size(x, static_cast<std::size_t>(i)) : 1);
    }
    const BinaryFn fn = kFns[pick(0, 3)];
    const ValueId c = constant(s);
    return pick(0, 3) == 0 ? ops::binary(g_, name(), fn, c, x) : ops::binary(g_, name(), fn, x, c);
  }

  bool broadcasts(ValueId a, ValueId b) {
    if (shape(a).size() != shape(b).size()) return false;
    for (std::size_t i = 0; i < shape(a).size(); ++i) {
      if (!(shape(a)[i] == shape(b)[i]) && !shape(a)[i].is(1) && !shape(b)[i].is(1)) return false;
    }
    return true;
  }

  ValueId with_other(ValueId x) {
    static constexpr BinaryFn kFns[] = {BinaryFn::Add, BinaryFn::Mul, BinaryFn::Sub};
    for (int tries = 0; tries < 8; ++tries) {
      const ValueId y = any();
      if (broadcasts(x, y)) return ops::binary(g_, name(), kFns[pick(0, 2)], x, y);
    }
    return unary(x);
  }

  ValueId reshaped(ValueId x) {
    SymShape s = shape(x);
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(s.size()) - 1));
    switch (pick(0, 3)) {
      case 0:  // split by 2
        if (s.size() < 5 && size(x, axis) % 2 == 0) {
          s[axis] = size(x, axis) / 2;
          s.insert(s.begin() + static_cast<std::ptrdiff_t>(axis), Dim(2));
        }
        break;
      case 1:  // join two
        if (axis + 1 < s.size()) {
          s[axis] = s[axis] * s[axis + 1];
          s.erase(s.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
        }
        break;
      case 2:  // another axis of size 1
        if (s.size() < 5) return ops::unsqueeze(g_, name(), x, {static_cast<std::int64_t>(axis)});
        break;
      default:  // one fewer
        if (s[axis].is(1) && s.size() > 1) {
          return ops::squeeze(g_, name(), x, {static_cast<std::int64_t>(axis)});
        }
    }
    return ops::reshape(g_, name(), x, s);
  }

  ValueId joined(ValueId x) {
    const std::int64_t axis = pick(0, g_.fact(x).rank() - 1);
    std::vector<ValueId> parts = {x};
    for (int tries = 0; tries < 6; ++tries) {
      const ValueId y = any();
      if (g_.fact(y).rank() != g_.fact(x).rank()) continue;
      bool fits = true;
      for (std::size_t i = 0; i < shape(x).size(); ++i) {
        fits = fits && (static_cast<std::int64_t>(i) == axis || shape(x)[i] == shape(y)[i]);
      }
      if (fits) parts.push_back(y);
    }
    return g_.add1(name(), make_op<ops::Concat>(axis), parts);
  }

  ValueId reduced(ValueId x) {
    const int rank = g_.fact(x).rank();
    std::vector<std::int64_t> axes = {pick(0, rank - 1)};
    if (rank == 4 && pick(0, 1) == 0) axes = {2, 3};
    const ops::ReduceFn fn = pick(0, 1) == 0 ? ops::ReduceFn::Mean : ops::ReduceFn::Max;
    const bool keep = rank == 1 || static_cast<int>(axes.size()) == rank || pick(0, 2) != 0;
    return ops::reduce(g_, name(), fn, x, axes, keep);
  }

  ValueId conv(ValueId x) {
    auto op = std::make_shared<ops::Conv>();
    const std::int64_t c = size(x, 1);
    const std::int64_t k = pick(1, 3), pad = k / 2;
    op->group = c % 2 == 0 && pick(0, 2) == 0 ? 2 : 1;
    const std::int64_t out = 2 * pick(1, 2);
    op->strides = op->dilations = {1, 1};
    op->padding.before = {pad, pad};
    op->padding.after = {pad + k % 2 - 1 + (k == 2 ? 1 : 0), pad};
    if (k == 2) op->padding.after = {0, 0};
    if (op->padding.before[0] + size(x, 2) < k || op->padding.before[1] + size(x, 3) < k)
      return unary(x);
    std::vector<ValueId> inputs = {x, constant(Shape({out, c / op->group, k, k}))};
    if (pick(0, 1) == 0) inputs.push_back(constant(Shape({out})));
    const ValueId y = g_.add1(name(), op, inputs);
    return pick(0, 1) == 0 ? y : affine(y);
  }

  // What a batch normalisation is.
  ValueId affine(ValueId x) {
    const Shape s({1, size(x, 1), 1, 1});
    const ValueId scaled = ops::binary(g_, name(), BinaryFn::Mul, x, constant(s));
    return ops::binary(g_, name(), BinaryFn::Add, scaled, constant(s));
  }

  ValueId pool(ValueId x) {
    auto op = std::make_shared<ops::Pool>();
    op->kind = pick(0, 1) == 0 ? ops::PoolKind::Max : ops::PoolKind::Average;
    op->kernel = {std::min<std::int64_t>(2, size(x, 2)), std::min<std::int64_t>(2, size(x, 3))};
    op->strides = op->dilations = {1, 1};
    op->padding.before = op->padding.after = {0, 0};
    op->count_include_pad = pick(0, 1) == 0;
    if (pick(0, 1) == 0) {
      auto pad = std::make_shared<ops::Pad>();
      pad->before = {0, 0, 1, 0};
      pad->after = {0, 0, 0, 1};
      x = g_.add1(name(), pad, {x});
      op->kernel = {2, 2};
    }
    return g_.add1(name(), op, {x});
  }

  ValueId smaller(ValueId x) {
    const std::int64_t axis = pick(0, g_.fact(x).rank() - 1);
    const std::int64_t n = size(x, static_cast<std::size_t>(axis));
    const std::int64_t start = pick(0, n - 1);
    const std::int64_t length = pick(1, std::min<std::int64_t>(n - start, 4));
    return g_.add1(name(), make_op<ops::Slice>(axis, Dim(start), Dim(length)), {x});
  }

  ValueId matmul(ValueId x) {
    const int rank = g_.fact(x).rank();
    if (rank < 2) return unary(x);
    const std::int64_t k = size(x, static_cast<std::size_t>(rank) - 1);
    return ops::matmul(g_, name(), x, constant(Shape({k, pick(1, 4)})));
  }

  // Transpose, elementwise, transpose back: what converters leave behind.
  ValueId layout_round(ValueId x) {
    const ValueId y = with_constant(unary(ops::transpose(g_, name(), x, {0, 2, 3, 1})));
    return ops::transpose(g_, name(), y, {0, 3, 1, 2});
  }

  std::mt19937 rng_;
  Graph g_;
  std::vector<ValueId> values_;
  int next_ = 0;
};

class Fuzz : public testing::TestWithParam<bool> {};

TEST_P(Fuzz, RandomGraphsGiveTheSameAnswers) {
  SimplifyOptions options;
  options.channels_last = GetParam();
  int patches = 0;
  for (std::uint32_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Graph g = RandomGraph(seed).build();
    const auto nodes = static_cast<std::int64_t>(g.live_nodes());
    const SimplifyReport report = check_simplify(g, options, 1e-4, seed);
    EXPECT_LE(report.patches, 40 * nodes);
    patches += report.patches;
  }
  EXPECT_GT(patches, 1000);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Fuzz, testing::Bool());

}  // namespace
}  // namespace treadle::passes_test
