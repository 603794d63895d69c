#include "ops/audio.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "base/error.hpp"
#include "ops/checks.hpp"
#include "tensor/wav.hpp"

namespace treadle::ops {
namespace {

constexpr std::int64_t kMaxWindow = std::int64_t{1} << 24;

// In place, of a power of two of values: bits of the index reversed, then butterflies.
void fourier(std::vector<std::complex<double>>& x) {
  const std::size_t n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (std::size_t half = 1; half < n; half *= 2) {
    const double angle = -std::numbers::pi / static_cast<double>(half);
    for (std::size_t k = 0; k < half; ++k) {
      const auto turn = std::polar(1.0, angle * static_cast<double>(k));
      for (std::size_t i = k; i < n; i += 2 * half) {
        const auto odd = x[i + half] * turn;
        x[i + half] = x[i] - odd;
        x[i] += odd;
      }
    }
  }
}

double mel(double hertz) {
  return 1127.0 * std::log1p(hertz / 700.0);
}

// The triangular bands of TensorFlow's MfccMelFilterbank: what a bin gives to the band that falls
// at it and, the rest, to the next one, which rises.
struct Bands {
  std::int64_t first = 0, last = -1;  // bins that count
  std::vector<std::int64_t> falling;  // band that falls at the bin, −1 before the first centre
  std::vector<double> weight;
};

Bands make_bands(const Mfcc& op, std::int64_t bins, double rate) {
  const double low = mel(op.low);
  const double spacing = (mel(op.high) - low) / static_cast<double>(op.bands + 1);
  const auto centre = [&](std::int64_t i) { return low + spacing * static_cast<double>(i + 1); };
  const double hertz = 0.5 * rate / static_cast<double>(bins - 1);
  Bands b;
  // The bin of frequency 0 never counts.
  b.first = static_cast<std::int64_t>(1.5 + op.low / hertz);
  b.last = static_cast<std::int64_t>(op.high / hertz);
  check(b.last < bins, ErrorKind::Shape,
        "the upper frequency limit {} is above half of the sample rate {}", op.high, rate);
  b.falling.resize(static_cast<std::size_t>(bins));
  b.weight.resize(static_cast<std::size_t>(bins));
  std::int64_t band = 0;
  for (std::int64_t i = b.first; i <= b.last; ++i) {
    const double at = mel(static_cast<double>(i) * hertz);
    while (band < op.bands && centre(band) < at) ++band;
    const std::int64_t falling = band - 1;
    const double from = falling >= 0 ? centre(falling) : low;
    const double to = centre(falling + 1);
    b.falling[static_cast<std::size_t>(i)] = falling;
    b.weight[static_cast<std::size_t>(i)] = (to - at) / (to - from);
  }
  return b;
}

}  // namespace

void DecodeWav::visit(ParamVisitor& v) const {
  v.param("shape", shape);
}

std::vector<Fact> DecodeWav::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& bytes = need(in, 0);
  need_dtype(bytes, DType::String, 0);
  need_rank(bytes, 0, 0);
  check(shape.size() == 2, ErrorKind::Internal, "shape {} is not [samples, channels]", str(shape));
  return {Fact::tensor(DType::F32, shape), Fact::tensor(DType::I32, {})};
}

void DecodeWav::eval(EvalContext& ctx) const {
  const std::string& bytes = ctx.input_value(0).tensor().span<std::string>()[0];
  const Wav wav = parse_wav(std::as_bytes(std::span(bytes.data(), bytes.size())));
  const std::int64_t channels = wav.channels;
  const auto samples = static_cast<std::int64_t>(wav.samples.size()) / channels;
  const std::int64_t rows = shape[0].as_const().value_or(samples);
  const std::int64_t columns = shape[1].as_const().value_or(channels);
  Tensor out = Tensor::zeros(DType::F32, {rows, columns});
  float* to = out.mutable_span<float>().data();
  for (std::int64_t i = 0; i < std::min(rows, samples); ++i) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t from = i * channels + std::min(c, channels - 1);
      to[i * columns + c] =
          static_cast<float>(wav.samples[static_cast<std::size_t>(from)]) / 32768.0f;
    }
  }
  ctx.set_output(0, std::move(out));
  ctx.set_output(1, Tensor::scalar<std::int32_t>(wav.rate));
}

void AudioSpectrogram::visit(ParamVisitor& v) const {
  v.param("window", window);
  v.param("stride", stride);
  v.param("squared", squared);
}

std::int64_t AudioSpectrogram::bins() const {
  return 1 + static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(window))) / 2;
}

std::vector<Fact> AudioSpectrogram::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  need_dtype(x, DType::F32, 0);
  need_rank(x, 2, 0);
  check(window >= 2 && window <= kMaxWindow && stride >= 1, ErrorKind::Shape,
        "the window is {} samples and the stride {}, expected 2 to {} and 1 or more", window,
        stride, kMaxWindow);
  const Dim windows = floor_div(x.shape[0] - Dim(window), Dim(stride)) + Dim(1);
  return {Fact::tensor(DType::F32, {x.shape[1], max(windows, Dim(0)), Dim(bins())})};
}

void AudioSpectrogram::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  const auto size = static_cast<std::size_t>(window);
  std::vector<double> hann(size);
  for (std::size_t i = 0; i < size; ++i)
    hann[i] = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * static_cast<double>(i) /
                                   static_cast<double>(size));
  std::vector<std::complex<double>> values(std::bit_ceil(size));
  const std::int64_t channels = x.shape[1];
  float* out = y.as<float>();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t w = 0; w < y.shape[1]; ++w) {
      std::fill(values.begin(), values.end(), 0.0);
      for (std::size_t i = 0; i < size; ++i) {
        const std::int64_t at = w * stride + static_cast<std::int64_t>(i);
        values[i] = hann[i] * static_cast<double>(x.as<float>()[at * channels + c]);
      }
      fourier(values);
      for (std::int64_t b = 0; b < bins(); ++b) {
        const double power = std::norm(values[static_cast<std::size_t>(b)]);
        *out++ = static_cast<float>(squared ? power : std::sqrt(power));
      }
    }
  }
}

void Mfcc::visit(ParamVisitor& v) const {
  v.param("high", high);
  v.param("low", low);
  v.param("bands", bands);
  v.param("coefficients", coefficients);
}

std::vector<Fact> Mfcc::infer(InputFacts in) const {
  need_inputs(in, 2);
  const Fact& x = need(in, 0);
  const Fact& rate = need(in, 1);
  need_dtype(x, DType::F32, 0);
  need_rank(x, 3, 0);
  need_dtype(rate, DType::I32, 1);
  check(low >= 0 && high > low, ErrorKind::Shape, "the frequency limits are {} and {}", low, high);
  check(bands >= 1 && bands <= 65536 && coefficients >= 1 && coefficients <= bands,
        ErrorKind::Shape, "{} coefficients of {} bands, expected 1 to the number of bands",
        coefficients, bands);
  check(!x.shape[2].is_const() || x.shape[2].value() >= 2, ErrorKind::Shape,
        "input 0 has {} bins, expected 2 or more", x.shape[2].str());
  return {Fact::tensor(DType::F32, {x.shape[0], x.shape[1], Dim(coefficients)})};
}

void Mfcc::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const auto rate = read_ints(ctx.in(1));
  check(rate.size() == 1 && rate[0] > 0, ErrorKind::Shape, "input 1 is no sample rate");
  const std::int64_t bins = x.shape[2], rows = x.shape[0] * x.shape[1];
  check(bins >= 2, ErrorKind::Shape, "input 0 has {} bins, expected 2 or more", bins);
  const Bands b = make_bands(*this, bins, static_cast<double>(rate[0]));
  const auto n = static_cast<std::size_t>(bands);
  std::vector<double> energy(n);
  const float* in = x.as<float>();
  float* out = ctx.output(0).as<float>();
  for (std::int64_t r = 0; r < rows; ++r, in += bins) {
    std::fill(energy.begin(), energy.end(), 0.0);
    for (std::int64_t i = b.first; i <= b.last; ++i) {
      const double magnitude = std::sqrt(static_cast<double>(in[i]));
      const double part = magnitude * b.weight[static_cast<std::size_t>(i)];
      const std::int64_t falling = b.falling[static_cast<std::size_t>(i)];
      if (falling >= 0) energy[static_cast<std::size_t>(falling)] += part;
      if (falling + 1 < bands) energy[static_cast<std::size_t>(falling + 1)] += magnitude - part;
    }
    for (double& e : energy) e = std::log(std::max(e, 1e-12));
    for (std::int64_t k = 0; k < coefficients; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j)
        sum += energy[j] * std::cos(static_cast<double>(k) * std::numbers::pi *
                                    (static_cast<double>(j) + 0.5) / static_cast<double>(n));
      *out++ = static_cast<float>(std::sqrt(2.0 / static_cast<double>(n)) * sum);
    }
  }
}

}  // namespace treadle::ops
