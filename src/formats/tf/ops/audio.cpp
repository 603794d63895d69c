// Recordings and their features.
#include "ops/audio.hpp"

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"

namespace treadle::tf {

std::vector<ValueId> import_decode_wav(NodeContext& c) {
  const auto size = [&](const char* key) {
    const std::int64_t n = c.int_attr(key, -1);
    check(n == -1 || (n > 0 && n <= (std::int64_t{1} << 32)), ErrorKind::Parse,
          "attribute '{}' is {}", key, n);
    return n == -1 ? c.graph().fresh_symbol(c.name() + "." + (key + 8)) : Dim(n);
  };
  SymShape shape{size("desired_samples"), size("desired_channels")};
  return c.graph().add(c.fresh_name(), make_op<ops::DecodeWav>(std::move(shape)), {c.in(0)});
}

std::vector<ValueId> import_audio_spectrogram(NodeContext& c) {
  return {
      c.add1(make_op<ops::AudioSpectrogram>(c.int_attr("window_size", 0), c.int_attr("stride", 0),
                                            c.bool_attr("magnitude_squared", false)),
             {c.in(0)})};
}

std::vector<ValueId> import_mfcc(NodeContext& c) {
  ops::Mfcc op;
  op.high = c.float_attr("upper_frequency_limit", 4000);
  op.low = c.float_attr("lower_frequency_limit", 20);
  op.bands = c.int_attr("filterbank_channel_count", 40);
  op.coefficients = c.int_attr("dct_coefficient_count", 13);
  return {c.add1(make_op<ops::Mfcc>(op), {c.in(0), c.in(1)})};
}

}  // namespace treadle::tf
