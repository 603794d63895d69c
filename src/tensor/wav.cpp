#include "tensor/wav.hpp"

#include <cstring>

#include "base/error.hpp"
#include "tensor/file.hpp"

namespace treadle {
namespace {

template <typename T>
T get(std::span<const std::byte> b, std::size_t at) {
  check(at <= b.size() && sizeof(T) <= b.size() - at, ErrorKind::Parse, "wav: truncated header");
  T v;
  std::memcpy(&v, b.data() + at, sizeof(T));
  return v;
}

bool is(std::span<const std::byte> b, std::size_t at, const char* id) {
  return at <= b.size() && b.size() - at >= 4 && std::memcmp(b.data() + at, id, 4) == 0;
}

void read_format(std::span<const std::byte> chunk, Wav& wav) {
  constexpr std::uint16_t kPcm = 1, kExtensible = 0xfffe;
  auto format = get<std::uint16_t>(chunk, 0);
  if (format == kExtensible) format = get<std::uint16_t>(chunk, 24);
  const auto channels = get<std::uint16_t>(chunk, 2);
  const auto rate = get<std::uint32_t>(chunk, 4);
  const auto bits = get<std::uint16_t>(chunk, 14);
  check(format == kPcm && bits == 16, ErrorKind::Unsupported,
        "wav: only 16-bit PCM is supported, got format {} with {} bits", format, bits);
  check(channels >= 1 && channels <= 64, ErrorKind::Parse, "wav: {} channels", channels);
  check(rate >= 1 && rate <= 1'000'000, ErrorKind::Parse, "wav: sample rate {}", rate);
  wav.channels = channels;
  wav.rate = static_cast<int>(rate);
}

}  // namespace

Wav parse_wav(std::span<const std::byte> bytes) {
  check(is(bytes, 0, "RIFF") && is(bytes, 8, "WAVE"), ErrorKind::Parse,
        "wav: not a RIFF/WAVE file");
  Wav wav;
  std::size_t at = 12;
  while (at + 8 <= bytes.size()) {
    const std::size_t size = get<std::uint32_t>(bytes, at + 4);
    const auto rest = bytes.subspan(at + 8);
    check(size <= rest.size(), ErrorKind::Parse,
          "wav: a chunk of {} bytes runs over the end ({} left)", size, rest.size());
    if (is(bytes, at, "fmt ")) read_format(rest.first(size), wav);
    if (is(bytes, at, "data")) {
      check(wav.channels > 0, ErrorKind::Parse, "wav: data before its format");
      const std::size_t frame = 2 * static_cast<std::size_t>(wav.channels);
      check(size % frame == 0, ErrorKind::Parse, "wav: {} bytes are no whole frames", size);
      wav.samples.resize(size / 2);
      if (size > 0) std::memcpy(wav.samples.data(), rest.data(), size);
      return wav;
    }
    at += 8 + size + (size & 1);
  }
  fail(ErrorKind::Parse, "wav: no data chunk");
}

Wav read_wav(const std::string& path) {
  const auto bytes = read_file(path);
  return in_context([&] { return path; }, [&] { return parse_wav(bytes); });
}

std::vector<float> to_mono(const Wav& wav) {
  const auto channels = static_cast<std::size_t>(wav.channels);
  std::vector<float> out(wav.samples.size() / channels);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int32_t sum = 0;
    for (std::size_t c = 0; c < channels; ++c) sum += wav.samples[i * channels + c];
    out[i] = static_cast<float>(sum) / (32768.0f * static_cast<float>(channels));
  }
  return out;
}

}  // namespace treadle
