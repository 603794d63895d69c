#include "api/detect.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace treadle {
namespace {

enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::optional<std::uint64_t> varint(std::span<const std::byte>& b) {
  std::uint64_t v = 0;
  for (int shift = 0; shift < 64 && !b.empty(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(b[0]);
    b = b.subspan(1);
    v |= (byte & 0x7f) << shift;
    if (byte < 0x80) return v;
  }
  return std::nullopt;
}

struct Field {
  std::uint64_t number = 0;
  int wire = 0;
  std::span<const std::byte> bytes;  // of a length-delimited field, cut at the end of the file
};

// The next field, or nullopt when what follows is none. A field that runs over the end is cut.
std::optional<Field> next(std::span<const std::byte>& b) {
  const auto tag = varint(b);
  if (!tag || *tag < 8) return std::nullopt;
  Field f{*tag >> 3, static_cast<int>(*tag & 7), {}};
  std::uint64_t size = 0;
  if (f.wire == kVarint) {
    if (!varint(b)) return std::nullopt;
  } else if (f.wire == kBytes) {
    const auto length = varint(b);
    if (!length) return std::nullopt;
    size = *length;
  } else if (f.wire == kFixed64 || f.wire == kFixed32) {
    size = f.wire == kFixed64 ? 8 : 4;
  } else {
    return std::nullopt;
  }
  const std::size_t cut = size < b.size() ? static_cast<std::size_t>(size) : b.size();
  f.bytes = b.first(cut);
  b = b.subspan(cut);
  return f;
}

bool begins_node_def(std::span<const std::byte> b) {
  const auto first = next(b);
  return first && first->wire == kBytes && first->number >= 1 && first->number <= 5;
}

// The second field of a SavedModel is a message that begins with a message (fields 1 and 2), that
// of an ONNX model the name of its producer.
bool begins_meta_graph(std::span<const std::byte> b) {
  const auto second = next(b);
  return second && second->number == 2 && second->wire == kBytes && !second->bytes.empty() &&
         (second->bytes[0] == std::byte{0x0a} || second->bytes[0] == std::byte{0x12});
}

std::optional<Format> detect(std::span<const std::byte> bytes) {
  constexpr int kFieldsToTry = 64;
  for (int i = 0; i < kFieldsToTry && !bytes.empty(); ++i) {
    const auto f = next(bytes);
    if (!f) return std::nullopt;
    if (f->number == 1 && f->wire == kVarint)
      return begins_meta_graph(bytes) ? Format::TensorFlow : Format::Onnx;
    if (f->number == 1 && f->wire == kBytes && begins_node_def(f->bytes)) return Format::TensorFlow;
    if ((f->number == 7 || f->number == 8) && f->wire == kBytes) return Format::Onnx;
    const bool shared = f->number >= 2 && f->number <= 6;
    if (!shared || (f->wire != kBytes && f->wire != kVarint)) return std::nullopt;
  }
  return std::nullopt;
}

// What else the file seems to be, for the message.
std::string_view looks_like(std::span<const std::byte> b) {
  const std::string_view text(reinterpret_cast<const char*>(b.data()), b.size());
  if (text.empty()) return "it is empty";
  if (text.starts_with("\x93NUMPY")) return "it is a NumPy array";
  if (text.starts_with("PK\x03\x04")) return "it is a zip archive (a PyTorch or Keras file?)";
  if (text.starts_with("\x89HDF")) return "it is an HDF5 file (Keras?)";
  if (text.starts_with("\xfd"
                       "7zXZ"))
    return "it is compressed: run xz -dk on it first";
  if (text.starts_with("\x1f\x8b")) return "it is compressed: run gunzip on it first";
  if (text.size() >= 8 && text.substr(4, 4) == "TFL3") return "it is a TensorFlow Lite file";
  if (text.starts_with("version https://git-lfs"))
    return "it is a Git LFS pointer: run git lfs pull";
  return "its content fits neither";
}

}  // namespace

std::string_view name_of(Format format) {
  return format == Format::Onnx ? "ONNX" : "TensorFlow GraphDef";
}

Format detect_format(std::span<const std::byte> bytes) {
  const auto format = detect(bytes);
  check(format.has_value(), ErrorKind::Parse, "neither an ONNX model nor a TensorFlow GraphDef: {}",
        looks_like(bytes));
  return *format;
}

}  // namespace treadle
