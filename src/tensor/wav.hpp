// 16-bit PCM WAV files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace treadle {

struct Wav {
  int channels = 0;
  int rate = 0;
  std::vector<std::int16_t> samples;  // interleaved
};

// RIFF/WAVE with format 1 (or extensible with PCM), 16 bits. Other encodings are Unsupported
// errors, malformed chunks Parse errors; a data chunk that runs over the end is Parse too.
Wav parse_wav(std::span<const std::byte> bytes);
Wav read_wav(const std::string& path);

// The mean of the channels, each sample / 32768.
std::vector<float> to_mono(const Wav& wav);

}  // namespace treadle
