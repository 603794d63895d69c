#include <map>

#include "cpu_translate_util.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"

namespace treadle::cpu::test {
namespace {

// Over the whole range: sums wrap.
Tensor random_i32(std::mt19937& random, const Shape& shape) {
  Tensor t(DType::I32, shape);
  for (std::int32_t& v : t.mutable_span<std::int32_t>()) v = static_cast<std::int32_t>(random());
  return t;
}

TEST(TranslateProductI32, ContractAgreesWithTheReference) {
  std::mt19937 random(1);
  const std::vector<std::pair<std::vector<std::string>, std::string>> forms{
      {{"bmk", "bkn"}, "bmn"}, {{"mk", "kn"}, "mn"},   {{"bmk", "kn"}, "bmn"},
      {{"mk", "nk"}, "mn"},    {{"kn", "mk"}, "mn"},   {{"k", "kn"}, "n"},
      {{"km", "kn"}, "mn"},    {{"bmk", "nk"}, "bmn"}, {{"mkl", "kln"}, "mn"}};
  for (int round = 0; round < 40; ++round) {
    const auto& [inputs, output] = forms[static_cast<std::size_t>(round) % forms.size()];
    std::vector<Shape> shapes(2);
    std::map<char, std::int64_t> sizes;
    for (std::size_t i = 0; i < 2; ++i) {
      for (const char letter : inputs[i]) {
        const auto [it, fresh] = sizes.try_emplace(letter, 0);
        if (fresh) it->second = pick(random, round % 7 == 6 ? 0 : 1, 19);
        shapes[i].push_back(it->second);
      }
    }
    expect_reference(make_op<ops::Contract>(inputs, output),
                     {random_i32(random, shapes[0]), random_i32(random, shapes[1])}, 0);
  }
}

TEST(TranslateProductI32, ConvAgreesWithTheReference) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    ops::Conv op;
    op.layout = ops::Layout::ChannelsLast;
    op.weight_layout = static_cast<ops::WeightLayout>(pick(random, 0, 2));
    op.group = pick(random, 1, 3);
    const std::int64_t cin = pick(random, 1, 5), cout = op.group * pick(random, 1, 5);
    Shape x{pick(random, 1, 2)}, kernel;
    for (std::int64_t i = pick(random, 1, 3); i > 0; --i) {
      op.strides.push_back(pick(random, 1, 3));
      op.dilations.push_back(pick(random, 1, 2));
      op.padding.before.push_back(pick(random, 0, 2));
      op.padding.after.push_back(pick(random, 0, 2));
      kernel.push_back(pick(random, 1, 3));
      x.push_back((kernel.back() - 1) * op.dilations.back() + pick(random, 1, 5));
    }
    x.push_back(cin * op.group);
    Shape w;
    if (op.weight_layout == ops::WeightLayout::HWIO) {
      w = kernel;
      w.push_back(cin);
      w.push_back(cout);
    } else {
      w.push_back(cout);
      if (op.weight_layout == ops::WeightLayout::OIHW) w.push_back(cin);
      for (const std::int64_t k : kernel) w.push_back(k);
      if (op.weight_layout == ops::WeightLayout::OHWI) w.push_back(cin);
    }
    std::vector<Tensor> inputs{random_i32(random, x), random_i32(random, w)};
    if (round % 2) inputs.push_back(random_i32(random, {cout}));
    expect_reference(std::make_shared<ops::Conv>(op), inputs, 0, {false, round % 3 == 0});
  }
}

}  // namespace
}  // namespace treadle::cpu::test
