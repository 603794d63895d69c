#include "ops/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/numeric.hpp"

namespace treadle::ops {
namespace {

const char* name_of(RandomFn f) {
  switch (f) {
    case RandomFn::Normal:
      return "normal";
    case RandomFn::Uniform:
      return "uniform";
    case RandomFn::Bernoulli:
      return "bernoulli";
    case RandomFn::Multinomial:
      return "multinomial";
  }
  return "?";
}

// Box–Muller over two units.
double normal(std::uint64_t seed, std::uint64_t i) {
  const double u = 1 - random_unit(seed, 2 * i);
  const double v = random_unit(seed, 2 * i + 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// A class drawn from unnormalised log-probabilities.
double draw(const double* logits, std::int64_t classes, double unit) {
  const double top = *std::max_element(logits, logits + classes);
  double total = 0;
  for (std::int64_t c = 0; c < classes; ++c) total += std::exp(logits[c] - top);
  double left = unit * total;
  for (std::int64_t c = 0; c < classes; ++c) {
    left -= std::exp(logits[c] - top);
    if (left < 0) return static_cast<double>(c);
  }
  return static_cast<double>(classes - 1);
}

}  // namespace

double random_unit(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (counter + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

void Random::visit(ParamVisitor& v) const {
  v.param("fn", name_of(fn));
  v.param("dtype", dtype);
  v.param("shape", shape);
  v.param("seed", static_cast<std::int64_t>(seed));
  v.param("a", a);
  v.param("b", b);
}

std::vector<Fact> Random::infer(InputFacts in) const {
  check(dtype != DType::String && !is_complex(dtype), ErrorKind::Type, "no elements of {}",
        name_of(dtype));
  if (fn == RandomFn::Normal || fn == RandomFn::Uniform) {
    check(is_float(dtype), ErrorKind::Type, "{} gives floats, not {}", name_of(fn), name_of(dtype));
    return {Fact::tensor(dtype, shape)};
  }
  const Fact& x = need(in, 0);
  check(is_float(x.dtype), ErrorKind::Type, "input must hold floats, got {}", x.str());
  if (fn == RandomFn::Bernoulli) return {Fact::tensor(dtype, x.shape)};
  need_rank(x, 2, 0);
  check(shape.size() == 2, ErrorKind::Shape, "multinomial gives rank 2, not {}", str(shape));
  return {Fact::tensor(dtype, {x.shape[0], shape[1]})};
}

void Random::eval(EvalContext& ctx) const {
  const bool has_input = fn == RandomFn::Bernoulli || fn == RandomFn::Multinomial;
  Shape to;
  std::vector<double> x;
  if (!has_input) {
    to = shape_of(ctx, shape);
  } else {
    x = read_doubles(ctx.in(0));
    to = ctx.in(0).shape;
    if (fn == RandomFn::Multinomial) to = Shape{to[0], ctx.value_of(shape[1])};
  }
  std::vector<double> out(static_cast<std::size_t>(to.elements()));
  const std::int64_t classes = fn == RandomFn::Multinomial ? ctx.in(0).shape[1] : 1;
  check(classes > 0 || out.empty(), ErrorKind::Shape, "no classes to draw from");
  for (std::size_t i = 0; i < out.size(); ++i) {
    switch (fn) {
      case RandomFn::Normal:
        out[i] = a + b * normal(seed, i);
        break;
      case RandomFn::Uniform:
        out[i] = a + (b - a) * random_unit(seed, i);
        break;
      case RandomFn::Bernoulli:
        out[i] = random_unit(seed, i) < x[i] ? 1 : 0;
        break;
      case RandomFn::Multinomial: {
        const auto row = static_cast<std::int64_t>(i) / to[1];
        out[i] = draw(x.data() + row * classes, classes, random_unit(seed, i));
        break;
      }
    }
  }
  write_output(ctx, 0, dtype, to, [&](TensorView& y) { write_doubles(y, out); });
}

}  // namespace treadle::ops
