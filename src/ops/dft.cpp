#include "ops/dft.hpp"

#include <algorithm>
#include <complex>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"
#include "ops/fft.hpp"

namespace treadle::ops {
namespace {

using Complex = std::complex<double>;

// The one integer that input i holds.
std::int64_t one_int(EvalContext& ctx, std::size_t i) {
  const auto values = read_ints(ctx.in(i));
  check(values.size() == 1, ErrorKind::Shape, "input {} has {} elements, expected 1", i,
        values.size());
  return values[0];
}

bool given(const EvalContext& ctx, std::size_t i) {
  return i < ctx.inputs() && ctx.input(i) != nullptr;
}

void need_signal(const Fact& x, std::string_view role) {
  check(is_float(x.dtype), ErrorKind::Type, "input 0 '{}' has dtype {}, expected a float", role,
        name_of(x.dtype));
  check(
      x.rank() >= 2 && (!x.shape.back().is_const() || x.shape.back().is(1) || x.shape.back().is(2)),
      ErrorKind::Shape, "input 0 '{}' has shape {}, expected [..., 1] or [..., 2]", role,
      str(x.shape));
}

void need_one(InputFacts in, std::size_t i) {
  if (const Fact* f = maybe(in, i)) need_integer(*f, i);
}

template <typename T>
Complex load(const T* x, std::int64_t at, std::int64_t parts) {
  const T* p = x + at * parts;
  return {static_cast<double>(widen(p[0])), parts == 2 ? static_cast<double>(widen(p[1])) : 0.0};
}

template <typename T>
void store(T* y, std::int64_t at, const Complex& v) {
  y[2 * at] = convert<T>(v.real());
  y[2 * at + 1] = convert<T>(v.imag());
}

}  // namespace

void Dft::visit(ParamVisitor& v) const {
  v.param("inverse", inverse);
  v.param("onesided", onesided);
  v.param("shape", shape);
}

std::vector<Fact> Dft::infer(InputFacts in) const {
  need_inputs(in, 3);
  const Fact& x = need(in, 0);
  need_signal(x, "x");
  need_one(in, 1);
  need_integer(need(in, 2), 2);
  check(shape.size() == x.shape.size(), ErrorKind::Shape, "the output has shape {} for {}",
        str(shape), str(x.shape));
  return {Fact::tensor(x.dtype, shape)};
}

void Dft::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const int rank = x.shape.rank();
  const std::int64_t axis = wrap_index(one_int(ctx, 2), rank, 0);
  check(axis < rank - 1, ErrorKind::Shape, "axis {} of shape {} holds the parts of a number", axis,
        x.shape.str());
  const AxisView v = axis_view(x.shape, axis);
  const std::int64_t parts = x.shape.back(), inner = v.inner / parts;
  const bool to_real = inverse && onesided;
  check(!onesided || (inverse ? parts == 2 : parts == 1), ErrorKind::Shape,
        "a onesided {}transform of shape {}, expected {} numbers", inverse ? "inverse " : "",
        x.shape.str(), inverse ? "complex" : "real");
  const std::int64_t length = given(ctx, 1) ? one_int(ctx, 1) : to_real ? 2 * (v.size - 1) : v.size;
  check(length >= 1, ErrorKind::Shape, "a transform of length {}", length);

  Shape out = x.shape;
  out[static_cast<std::size_t>(axis)] = onesided && !inverse ? length / 2 + 1 : length;
  out[static_cast<std::size_t>(rank - 1)] = to_real ? 1 : 2;
  const std::int64_t kept = out[static_cast<std::size_t>(axis)];
  // Of a half spectrum, what is read; the other half is its conjugate.
  const std::int64_t used = std::min(v.size, to_real ? length / 2 + 1 : length);
  allocate_output(ctx, 0, x.dtype, out, [&](TensorView& y) {
    if (y.elements() == 0) return;
    const FourierPlan plan(static_cast<std::size_t>(length));
    std::vector<Complex> line(static_cast<std::size_t>(length));
    const double scale = inverse ? 1.0 / static_cast<double>(length) : 1.0;
    dispatch(x.dtype, [&]<typename T>(T) {
      if constexpr (is_real_v<T>) {
        for (std::int64_t o = 0; o < v.outer; ++o) {
          for (std::int64_t i = 0; i < inner; ++i) {
            std::fill(line.begin(), line.end(), Complex{});
            for (std::int64_t k = 0; k < used; ++k) {
              line[static_cast<std::size_t>(k)] =
                  load(x.as<T>(), (o * v.size + k) * inner + i, parts);
            }
            for (std::int64_t k = 1; to_real && k < (length + 1) / 2; ++k) {
              line[static_cast<std::size_t>(length - k)] =
                  std::conj(line[static_cast<std::size_t>(k)]);
            }
            // Sums of a number and its conjugate are real at 0 and, for an even length, the middle.
            if (to_real) line[0] = line[0].real();
            if (to_real && length % 2 == 0) {
              auto& middle = line[static_cast<std::size_t>(length / 2)];
              middle = middle.real();
            }
            plan.transform(line.data(), inverse);
            for (std::int64_t k = 0; k < kept; ++k) {
              const Complex z = line[static_cast<std::size_t>(k)] * scale;
              const std::int64_t at = (o * kept + k) * inner + i;
              if (to_real) {
                y.as<T>()[at] = convert<T>(z.real());
              } else {
                store(y.as<T>(), at, z);
              }
            }
          }
        }
      }
    });
  });
}

void Stft::visit(ParamVisitor& v) const {
  v.param("onesided", onesided);
  v.param("shape", shape);
}

std::vector<Fact> Stft::infer(InputFacts in) const {
  need_inputs(in, 4);
  const Fact& x = need(in, 0);
  need_signal(x, "signal");
  need_rank(x, 3, 0);
  need_integer(need(in, 1), 1);
  if (const Fact* window = maybe(in, 2)) {
    need_dtype(*window, x.dtype, 2);
    need_rank(*window, 1, 2);
  }
  need_one(in, 3);
  check(shape.size() == 4, ErrorKind::Shape, "the output has shape {}", str(shape));
  return {Fact::tensor(x.dtype, shape)};
}

void Stft::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView* window = given(ctx, 2) ? ctx.input(2) : nullptr;
  const std::int64_t n = x.shape[0], time = x.shape[1], parts = x.shape[2];
  const std::int64_t step = one_int(ctx, 1);
  const std::int64_t length = given(ctx, 3) ? one_int(ctx, 3) : window ? window->shape[0] : time;
  check(step >= 1, ErrorKind::Shape, "input 1 'frame_step' is {}, expected at least 1", step);
  check(length >= 1 && length <= time, ErrorKind::Shape, "frames of {} in a signal of {}", length,
        time);
  check(!window || window->shape[0] == length, ErrorKind::Shape,
        "input 2 'window' has shape {}, the frames have {}", window ? window->shape.str() : "",
        length);
  check(!onesided || parts == 1, ErrorKind::Shape, "a onesided transform of complex numbers");
  const std::int64_t frames = (time - length) / step + 1;
  const std::int64_t kept = onesided ? length / 2 + 1 : length;
  allocate_output(ctx, 0, x.dtype, Shape{n, frames, kept, 2}, [&](TensorView& y) {
    const FourierPlan plan(static_cast<std::size_t>(length));
    std::vector<Complex> line(static_cast<std::size_t>(length));
    dispatch(x.dtype, [&]<typename T>(T) {
      if constexpr (is_real_v<T>) {
        for (std::int64_t f = 0; f < n * frames; ++f) {
          const std::int64_t first = f / frames * time + f % frames * step;
          for (std::int64_t k = 0; k < length; ++k) {
            Complex z = load(x.as<T>(), first + k, parts);
            if (window) z *= static_cast<double>(widen(window->as<T>()[k]));
            line[static_cast<std::size_t>(k)] = z;
          }
          plan.transform(line.data(), false);
          for (std::int64_t k = 0; k < kept; ++k) {
            store(y.as<T>(), f * kept + k, line[static_cast<std::size_t>(k)]);
          }
        }
      }
    });
  });
}

void MelWeights::visit(ParamVisitor& v) const {
  v.param("dtype", dtype);
  v.param("shape", shape);
}

std::vector<Fact> MelWeights::infer(InputFacts in) const {
  need_inputs(in, 5);
  for (std::size_t i = 0; i < 3; ++i) need_integer(need(in, i), i);
  for (std::size_t i = 3; i < 5; ++i) {
    check(is_float(need(in, i).dtype), ErrorKind::Type, "input {} has dtype {}, expected a float",
          i, name_of(in[i]->dtype));
  }
  return {Fact::tensor(dtype, shape)};
}

void MelWeights::eval(EvalContext& ctx) const {
  const std::int64_t mels = one_int(ctx, 0), length = one_int(ctx, 1), rate = one_int(ctx, 2);
  const auto one_float = [&](std::size_t i) {
    const TensorView& x = ctx.in(i);
    check(x.elements() == 1, ErrorKind::Shape, "input {} has {} elements, expected 1", i,
          x.elements());
    double v = 0;
    dispatch(x.dtype, [&]<typename T>(T) { v = static_cast<double>(widen(x.as<T>()[0])); });
    return v;
  };
  const double low = one_float(3), high = one_float(4);
  check(mels >= 1 && length >= 1 && length < std::int64_t{1} << 40 && rate >= 1, ErrorKind::Shape,
        "{} mel bins of a transform of length {} at rate {}", mels, length, rate);
  const std::int64_t bins = length / 2 + 1;
  allocate_output(ctx, 0, dtype, Shape{bins, mels}, [&](TensorView& y) {
    // mel = 2595·log10(1 + hz/700); the triangles' corners are spaced by (high − low)/(mels + 2),
    // as in the definition of ONNX MelWeightMatrix.
    const auto to_mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
    const double first = to_mel(low);
    const double step = (to_mel(high) - first) / static_cast<double>(mels + 2);
    const auto corner = [&](std::int64_t i) {
      const double hz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
      const double bin =
          std::floor(static_cast<double>(length + 1) * hz / static_cast<double>(rate));
      check(bin >= 0 && bin < static_cast<double>(bins), ErrorKind::Shape,
            "a corner at {} Hz lies outside of the {} bins", hz, bins);
      return static_cast<std::int64_t>(bin);
    };
    std::vector<std::int64_t> corners;
    for (std::int64_t i = 0; i < mels + 2; ++i) corners.push_back(corner(i));
    fill_zero(dtype, y.data, y.elements());
    dispatch(dtype, [&]<typename T>(T) {
      const auto put = [&](std::int64_t bin, std::int64_t mel, double v) {
        y.as<T>()[bin * mels + mel] = convert<T>(v);
      };
      for (std::int64_t m = 0; m < mels; ++m) {
        const auto at = static_cast<std::size_t>(m);
        const std::int64_t a = corners[at], b = corners[at + 1], c = corners[at + 2];
        if (a == b) put(b, m, 1);
        for (std::int64_t j = a; a < b && j <= b; ++j) {
          put(j, m, static_cast<double>(j - a) / static_cast<double>(b - a));
        }
        for (std::int64_t j = b; j < c; ++j) {
          put(j, m, static_cast<double>(c - j) / static_cast<double>(c - b));
        }
      }
    });
  });
}

}  // namespace treadle::ops
