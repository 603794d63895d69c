#include <limits>

#include "cpu_translate_util.hpp"
#include "ops/quantize.hpp"

namespace treadle::cpu::test {
namespace {

TEST(TranslateQuantize, AgreesWithTheReference) {
  std::mt19937 random(1);
  Tensor x = random_f32(random, {3, 5, 7, 11}, -200, 200);
  x.mutable_span<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  x.mutable_span<float>()[6] = -std::numeric_limits<float>::infinity();
  x.mutable_span<float>()[7] = 1e30f;
  x.mutable_span<float>()[8] = 1.25f;
  for (const DType to : {DType::U8, DType::I8}) {
    ops::QuantizeLinear quantize;
    ops::DequantizeLinear dequantize;
    quantize.to = to;
    const Tensor one = Tensor::scalar(0.5f);
    const Tensor zero = random_bytes(random, to, {});
    expect_reference(std::make_shared<ops::QuantizeLinear>(quantize), {x, one}, 0);
    expect_reference(std::make_shared<ops::QuantizeLinear>(quantize), {x, one, zero}, 0);
    const Tensor bytes = random_bytes(random, to, {3, 5, 7, 11});
    expect_reference(std::make_shared<ops::DequantizeLinear>(dequantize), {bytes, one}, 0);
    expect_reference(std::make_shared<ops::DequantizeLinear>(dequantize), {bytes, one, zero}, 0);
    for (const std::int64_t axis : {0, 1, 3}) {
      quantize.axis = dequantize.axis = axis;
      const Shape shape{x.shape()[static_cast<std::size_t>(axis)]};
      const Tensor scale = random_f32(random, shape, 0.1f, 2),
                   zeros = random_bytes(random, to, shape);
      expect_reference(std::make_shared<ops::QuantizeLinear>(quantize), {x, scale, zeros}, 0);
      expect_reference(std::make_shared<ops::DequantizeLinear>(dequantize), {bytes, scale, zeros},
                       0);
    }
  }
}

}  // namespace
}  // namespace treadle::cpu::test
