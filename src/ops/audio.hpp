// From the bytes of a recording to the features that keyword spotters read, as TensorFlow's
// operators of the same names define them.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// The samples of a WAV file. Input: its bytes (16-bit PCM), a string scalar. Outputs: f32 [samples,
// channels], each sample / 32768, and the sample rate, an i32 scalar. A size of `shape` that is a
// number is asked for: samples are cut, or padded with zeros; channels are cut, or the last one is
// repeated. One that is a symbol is the file's, and introduced by this operator.
class DecodeWav final : public Operator {
 public:
  explicit DecodeWav(SymShape sizes) : shape(std::move(sizes)) {}
  SymShape shape;
  TREADLE_OPERATOR(DecodeWav);
};

// Magnitudes of the Fourier transform of windows of the samples. Input f32 [samples, channels];
// output f32 [channels, windows, bins]. A window is `window` samples, `stride` apart, times the
// periodic Hann window, padded with zeros to the next power of two; only whole windows count.
class AudioSpectrogram final : public Operator {
 public:
  AudioSpectrogram(std::int64_t size, std::int64_t step, bool square)
      : window(size), stride(step), squared(square) {}
  std::int64_t window, stride;
  bool squared;
  std::int64_t bins() const;
  TREADLE_OPERATOR(AudioSpectrogram);
};

// Mel-frequency cepstral coefficients. Inputs: squared magnitudes f32 [channels, windows, bins],
// the sample rate (i32 scalar). Output f32 [channels, windows, coefficients]: the discrete cosine
// transform of the logarithms of `bands` triangular bands on the mel scale from `low` to `high` Hz.
class Mfcc final : public Operator {
 public:
  double high = 4000, low = 20;
  std::int64_t bands = 40, coefficients = 13;
  TREADLE_OPERATOR(Mfcc);
};

}  // namespace treadle::ops
