#include "tensor/utf8.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace treadle {

bool append_utf8(std::string& out, char32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    int more = 0;
    char32_t code = first;
    if (first >= 0xf0 && first < 0xf8) {
      more = 3;
      code = first & 0x07;
    } else if (first >= 0xe0 && first < 0xf0) {
      more = 2;
      code = first & 0x0f;
    } else if (first >= 0xc0 && first < 0xe0) {
      more = 1;
      code = first & 0x1f;
    } else if (first >= 0x80) {
      return std::nullopt;
    }
    for (int k = 0; k < more; ++k) {
      if (i >= text.size()) return std::nullopt;
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80) return std::nullopt;
      code = (code << 6) | (next & 0x3f);
    }
    constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return std::nullopt;
    out += code;
  }
  return out;
}

std::string printable(std::string_view text) {
  const auto codes = decode_utf8(text);
  std::string out;
  const auto add = [&](char32_t code) {
    if (code >= 0x20 && (code < 0x7f || code >= 0xa0) && codes) {
      append_utf8(out, code);
    } else if (code >= 0x20 && code < 0x7f) {
      out += static_cast<char>(code);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(code));
    }
  };
  if (codes) {
    for (const char32_t c : *codes) add(c);
  } else {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace treadle
