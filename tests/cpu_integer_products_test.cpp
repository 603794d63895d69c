// Graphs of integer products as importers write them, lowered as a whole, against their evaluation.
#include <algorithm>
#include <map>

#include "cpu/lower.hpp"
#include "cpu_translate_util.hpp"
#include "ops/binary.hpp"
#include "ops/cast.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/quantize.hpp"
#include "ops/unary.hpp"
#include "passes/simplify.hpp"
#include "plan/session.hpp"

namespace treadle::cpu::test {
namespace {

Tensor random_i32(std::mt19937& random, const Shape& shape, std::int64_t low, std::int64_t high) {
  Tensor t(DType::I32, shape);
  for (std::int32_t& v : t.mutable_span<std::int32_t>())
    v = static_cast<std::int32_t>(pick(random, low, high));
  return t;
}

// A value of rank `rank` with one element.
Tensor scalar_i32(std::int32_t value, int rank) {
  Shape ones;
  for (int i = 0; i < rank; ++i) ones.push_back(1);
  return Tensor::scalar<std::int32_t>(value).reshaped(ones);
}

// Builds Cast, Sub, the product, Add, Cast, Mul, Relu, QuantizeLinear, or a part of them.
struct Builder {
  Graph g;
  std::mt19937& random;
  std::map<std::string, Tensor> inputs;

  explicit Builder(std::mt19937& r) : random(r) {}

  ValueId source(const std::string& name, const Tensor& t) {
    inputs.emplace(name, t);
    return g.add_source(name, Fact::tensor(t.dtype(), to_sym(t.shape())));
  }
  ValueId add(OperatorPtr op, std::vector<ValueId> in) {
    return g.add1("n" + std::to_string(g.node_count()), std::move(op), std::move(in));
  }
  ValueId constant(const Tensor& t) {
    return g.add_constant("c" + std::to_string(g.node_count()), t);
  }

  ValueId widened(ValueId x, bool runtime_zero) {
    const int rank = g.fact(x).rank();
    const ValueId wide = add(make_op<ops::Cast>(DType::I32), {x});
    if (pick(random, 0, 4) == 0) return wide;
    const DType type = g.fact(x).dtype;
    if (!runtime_zero) {
      const std::int64_t least = type == DType::I8 ? -128 : 0;
      return add(make_op<ops::Binary>(ops::BinaryFn::Sub),
                 {wide, constant(scalar_i32(
                            static_cast<std::int32_t>(pick(random, least, least + 255)), rank))});
    }
    const ValueId zero = source("zero", random_bytes(random, type, scalar_i32(0, rank).shape()));
    // Its widening is a step of its own.
    return add(make_op<ops::Binary>(ops::BinaryFn::Sub),
               {wide, add(make_op<ops::Cast>(DType::I32), {zero})});
  }

  // Ends after `stages` of the nodes behind the product.
  ValueId tail(ValueId sum, std::int64_t columns, int stages) {
    const int rank = g.fact(sum).rank();
    Shape over;
    for (int i = 0; i + 1 < rank; ++i) over.push_back(1);
    over.push_back(columns);
    if (stages-- <= 0) return sum;
    sum = add(make_op<ops::Binary>(ops::BinaryFn::Add),
              {sum, constant(random_i32(random, over, -90000, 90000))});
    if (stages-- <= 0) return sum;
    ValueId y = add(make_op<ops::Cast>(DType::F32), {sum});
    if (stages-- <= 0) return y;
    Shape one;
    for (int i = 0; i < rank; ++i) one.push_back(1);
    y = add(make_op<ops::Binary>(ops::BinaryFn::Mul),
            {y, constant(random_f32(random, pick(random, 0, 1) ? over : one, 1e-4f, 4e-3f))});
    if (stages-- <= 0) return y;
    if (pick(random, 0, 1)) y = add(make_op<ops::Unary>(ops::UnaryFn::Relu), {y});
    if (stages-- <= 0) return y;
    auto q = std::make_shared<ops::QuantizeLinear>();
    q->to = pick(random, 0, 1) ? DType::U8 : DType::I8;
    return add(std::move(q),
               {y, constant(Tensor::scalar(1.0f)), constant(random_bytes(random, q->to, {}))});
  }
};

// Runs the graph lowered and by evaluation; all results must be the same bytes, and the step that
// multiplies must be `kernel`.
void expect_same(Builder& b, ValueId output, std::string_view kernel) {
  b.g.set_outputs({output}, {"y"});
  LowerOptions plain, options;
  plain.reference = true;
  options.threads = static_cast<int>(pick(b.random, 1, 2));
  Session want(lower(b.g, plain));
  SimplifyOptions channels_last;
  channels_last.channels_last = true;
  simplify(b.g, channels_last);
  std::vector<Value> in;
  for (const ValueId v : b.g.inputs()) in.emplace_back(b.inputs.at(b.g.value_name(v)));
  const auto program = lower(std::move(b.g), options);
  std::size_t found = 0;
  for (const Step& s : program->steps) {
    if (s.kernel && s.kernel->name() == kernel) ++found;
    // Of a zero point that is an input, the widening stays.
    if (s.op_name != "Cast" || !b.inputs.contains("zero")) {
      EXPECT_TRUE(s.kernel) << s.op_name;
    }
  }
  EXPECT_EQ(found, 1u);
  const auto pool = make_thread_pool(options.threads);
  Session got(program, pool.get());
  for (int run = 0; run < 2; ++run) {
    const auto error = got.run(in);
    ASSERT_FALSE(error) << error->what();
  }
  ASSERT_FALSE(want.run(in));
  expect_close(got.output(0).tensor(), want.output(0).tensor(), 0, std::string(kernel));
}

constexpr std::int64_t kWeights[][2] = {{-127, 127}, {-128, 127}, {-140, 115}, {0, 255}};

TEST(IntegerProducts, Conv) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Builder b(random);
    ops::Conv op;
    op.layout = round % 2 ? ops::Layout::ChannelsLast : ops::Layout::ChannelsFirst;
    op.group = pick(random, 1, 2);
    std::int64_t cin = pick(random, 1, 12);
    const std::int64_t columns = op.group * pick(random, 1, 40);
    if (round % 4 == 3) {
      op.group = columns;
      cin = 1;
    }
    Shape x{pick(random, 1, 2)}, w{columns, cin};
    if (op.layout == ops::Layout::ChannelsFirst) x.push_back(cin * op.group);
    for (std::int64_t i = pick(random, 1, 3); i > 0; --i) {
      op.strides.push_back(pick(random, 1, 2));
      op.dilations.push_back(pick(random, 1, 2));
      op.padding.before.push_back(pick(random, 0, 2));
      op.padding.after.push_back(pick(random, 0, 2));
      w.push_back(pick(random, 1, 3));
      x.push_back((w.back() - 1) * op.dilations.back() + pick(random, 1, 6));
    }
    if (op.layout == ops::Layout::ChannelsLast) x.push_back(cin * op.group);
    const auto& range = kWeights[random() % std::size(kWeights)];
    const DType type = pick(random, 0, 1) ? DType::U8 : DType::I8;
    const ValueId wide = b.widened(b.source("x", random_bytes(random, type, x)), round % 5 == 0);
    std::vector<ValueId> in{wide, b.constant(random_i32(random, w, range[0], range[1]))};
    if (round % 3) in.push_back(b.constant(random_i32(random, {columns}, -99999, 99999)));
    const ValueId sum = b.add(std::make_shared<ops::Conv>(op), in);
    // The tail's parameters lie along the last axis: only there do they belong to channels.
    const int stages = op.layout == ops::Layout::ChannelsLast ? round / 2 % 7 : 0;
    expect_same(b, b.tail(sum, columns, stages), "conv_u8");
  }
}

TEST(IntegerProducts, Contract) {
  std::mt19937 random(2);
  const std::pair<std::vector<std::string>, std::string> forms[] = {
      {{"mk", "kn"}, "mn"}, {{"mk", "nk"}, "mn"},   {{"bmk", "kn"}, "bmn"},
      {{"kn", "mk"}, "mn"}, {{"bmk", "nk"}, "mbn"}, {{"abmk", "kn"}, "bamn"}};
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Builder b(random);
    const auto& [letters, output] = forms[static_cast<std::size_t>(round) % std::size(forms)];
    const std::size_t x = letters[0] == "kn" ? 1 : 0;
    std::map<char, std::int64_t> sizes;
    for (const char c : std::string("abm")) sizes[c] = pick(random, 1, 9);
    sizes['k'] = pick(random, 1, 70);
    sizes['n'] = pick(random, 1, 90);
    Shape shapes[2];
    for (std::size_t i = 0; i < 2; ++i) {
      for (const char c : letters[i]) shapes[i].push_back(sizes[c]);
    }
    const auto& range = kWeights[random() % std::size(kWeights)];
    const DType type = pick(random, 0, 1) ? DType::U8 : DType::I8;
    ValueId in[2];
    in[x] = b.widened(b.source("x", random_bytes(random, type, shapes[x])), round % 5 == 0);
    in[1 - x] = b.constant(random_i32(random, shapes[1 - x], range[0], range[1]));
    const ValueId sum = b.add(make_op<ops::Contract>(letters, output), {in[0], in[1]});
    expect_same(b, b.tail(sum, sizes['n'], round / 6 % 7), "contract_u8");
  }
}

// Whatever reads the widened values besides a product gets them.
TEST(IntegerProducts, WidenedValuesMayHaveOtherReaders) {
  std::mt19937 random(3);
  Builder b(random);
  const ValueId x = b.source("x", random_bytes(random, DType::U8, {5, 16}));
  const ValueId wide = b.add(make_op<ops::Cast>(DType::I32), {x});
  const ValueId centred =
      b.add(make_op<ops::Binary>(ops::BinaryFn::Sub), {wide, b.constant(scalar_i32(100, 2))});
  const ValueId w = b.constant(random_i32(random, {16, 16}, -128, 127));
  const ValueId sum =
      b.add(make_op<ops::Contract>(std::vector<std::string>{"mk", "kn"}, "mn"), {centred, w});
  const ValueId both = b.add(make_op<ops::Binary>(ops::BinaryFn::Add), {sum, centred});
  b.g.set_outputs({both, wide}, {"y", "wide"});
  LowerOptions plain;
  plain.reference = true;
  Session want(lower(b.g, plain)), got(lower(b.g, {}));
  const Value in[] = {Value(b.inputs.at("x"))};
  ASSERT_FALSE(want.run(in));
  ASSERT_FALSE(got.run(in));
  for (std::size_t i = 0; i < 2; ++i)
    expect_close(got.output(i).tensor(), want.output(i).tensor(), 0, "output");
}

// Weights beyond what bytes can make up go another way.
TEST(IntegerProducts, LargeWeightsStayExact) {
  std::mt19937 random(4);
  Builder b(random);
  const ValueId x = b.source("x", random_bytes(random, DType::I8, {5, 16}));
  const ValueId wide = b.add(make_op<ops::Cast>(DType::I32), {x});
  const ValueId w = b.constant(random_i32(random, {16, 16}, -70000, 70000));
  const ValueId sum =
      b.add(make_op<ops::Contract>(std::vector<std::string>{"mk", "kn"}, "mn"), {wide, w});
  b.g.set_outputs({sum}, {"y"});
  LowerOptions plain;
  plain.reference = true;
  Session want(lower(b.g, plain)), got(lower(b.g, {}));
  const Value in[] = {Value(b.inputs.at("x"))};
  ASSERT_FALSE(want.run(in));
  ASSERT_FALSE(got.run(in));
  expect_close(got.output(0).tensor(), want.output(0).tensor(), 0, "output");
}

}  // namespace
}  // namespace treadle::cpu::test
