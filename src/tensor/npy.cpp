#include "tensor/npy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/narrow.hpp"
#include "tensor/file.hpp"
#include "tensor/utf8.hpp"

namespace treadle {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are read in place");

constexpr std::string_view kMagic = "\x93NUMPY";
// Strings of width 0 take no bytes, so that their number is bounded here.
constexpr std::int64_t kMaxEmptyStrings = 1 << 20;

struct Header {
  std::string descr;
  bool fortran = false;
  Shape shape;
};

// The header is a Python dict literal with exactly three keys.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    Header h;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        check(peek() == '\'' || peek() == '"', ErrorKind::Unsupported,
              "npy: records (structured dtypes) are not supported");
        h.descr = quoted();
        descr = true;
      } else if (key == "fortran_order") {
        h.fortran = boolean();
        order = true;
      } else if (key == "shape") {
        h.shape = tuple();
        shape = true;
      } else {
        fail(ErrorKind::Parse, "npy: unknown header key '{}'", key);
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    check(text_.empty(), ErrorKind::Parse, "npy: text after the header's dict");
    check(descr && order && shape, ErrorKind::Parse,
          "npy: header must have descr, fortran_order and shape");
    return h;
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t'))
      text_.remove_prefix(1);
  }
  char peek() {
    skip_space();
    return text_.empty() ? '\0' : text_[0];
  }
  bool accept(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    check(accept(c), ErrorKind::Parse, "npy: malformed header, expected '{}'", c);
  }
  std::string quoted() {
    const char quote = peek();
    check(quote == '\'' || quote == '"', ErrorKind::Parse, "npy: malformed header, expected text");
    const auto end = text_.find(quote, 1);
    check(end != std::string_view::npos, ErrorKind::Parse, "npy: unterminated text in the header");
    std::string s(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return s;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(std::strlen(word));
      return value;
    }
    fail(ErrorKind::Parse, "npy: fortran_order must be True or False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t size = -1;
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      check(code == std::errc{} && size >= 0, ErrorKind::Parse, "npy: malformed size in the shape");
      check(shape.rank() < kMaxRank, ErrorKind::Parse, "npy: rank is above {}", kMaxRank);
      shape.push_back(size);
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
};

struct ElementType {
  DType dtype = DType::F32;
  bool swap = false;
  char kind = 'f';
  std::int64_t file_bytes = 0;  // of one element in the file
};

ElementType parse_descr(const std::string& descr) {
  check(descr.size() >= 2, ErrorKind::Parse, "npy: malformed dtype '{}'", descr);
  ElementType e;
  std::size_t at = 0;
  if (std::string_view("<>|=").find(descr[0]) != std::string_view::npos) at = 1;
  e.swap = descr[0] == '>';
  e.kind = descr[at++];
  std::int64_t width = 0;
  const char* last = descr.data() + descr.size();
  const auto [end, code] = std::from_chars(descr.data() + at, last, width);
  check(e.kind != 'O', ErrorKind::Unsupported, "npy: pickled objects are not supported");
  check(code == std::errc{} && end == last && width >= 0 && width < (1 << 24), ErrorKind::Parse,
        "npy: malformed dtype '{}'", descr);
  if (e.kind == 'U' || e.kind == 'S') {
    e.dtype = DType::String;
    e.file_bytes = e.kind == 'U' ? 4 * width : width;
    return e;
  }
  static constexpr struct {
    char kind;
    std::int64_t width;
    DType dtype;
  } kTypes[] = {
      {'b', 1, DType::Bool}, {'i', 1, DType::I8},    {'i', 2, DType::I16},  {'i', 4, DType::I32},
      {'i', 8, DType::I64},  {'u', 1, DType::U8},    {'u', 2, DType::U16},  {'u', 4, DType::U32},
      {'u', 8, DType::U64},  {'f', 2, DType::F16},   {'f', 4, DType::F32},  {'f', 8, DType::F64},
      {'c', 8, DType::C64},  {'c', 16, DType::C128}, {'V', 2, DType::BF16}, {'V', 1, DType::U8}};
  for (const auto& t : kTypes) {
    if (t.kind != e.kind || t.width != width) continue;
    e.dtype = t.dtype;
    e.file_bytes = width;
    return e;
  }
  fail(ErrorKind::Unsupported, "npy: dtype '{}' is not supported", descr);
}

std::string decode_string(const std::byte* p, const ElementType& e) {
  std::string s;
  if (e.kind == 'S') {
    s.assign(reinterpret_cast<const char*>(p), static_cast<std::size_t>(e.file_bytes));
    while (!s.empty() && s.back() == '\0') s.pop_back();
    return s;
  }
  std::int64_t count = e.file_bytes / 4;
  const auto code_at = [&](std::int64_t i) {
    std::uint32_t c = 0;
    std::memcpy(&c, p + 4 * i, 4);
    return e.swap ? __builtin_bswap32(c) : c;
  };
  while (count > 0 && code_at(count - 1) == 0) --count;
  for (std::int64_t i = 0; i < count; ++i)
    check(append_utf8(s, code_at(i)), ErrorKind::Parse, "npy: text has an invalid code point");
  return s;
}

void copy_element(std::byte* to, const std::byte* from, const ElementType& e) {
  const auto n = static_cast<std::size_t>(e.file_bytes);
  if (e.dtype == DType::Bool) {
    *to = *from == std::byte{0} ? std::byte{0} : std::byte{1};
  } else if (!e.swap) {
    std::memcpy(to, from, n);
  } else {
    // A complex number swaps each of its halves.
    const std::size_t part = is_complex(e.dtype) ? n / 2 : n;
    for (std::size_t i = 0; i < n; i += part) std::reverse_copy(from + i, from + i + part, to + i);
  }
}

// Calls f(index in C order, index in the file) for each element.
template <typename F>
void for_each_element(const Shape& shape, bool fortran, F&& f) {
  const std::int64_t count = shape.elements();
  if (!fortran || shape.rank() < 2) {
    for (std::int64_t i = 0; i < count; ++i) f(i, i);
    return;
  }
  Shape stride = shape, index = shape;
  std::int64_t s = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride[d] = s;
    s *= shape[d];
    index[d] = 0;
  }
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    f(i, at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < shape[d]) break;
      at -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

Tensor read_elements(const Header& h, const ElementType& e, std::span<const std::byte> data) {
  const std::int64_t count = h.shape.elements();
  const std::int64_t bytes = checked_mul(count, e.file_bytes);
  check(bytes == static_cast<std::int64_t>(data.size()), ErrorKind::Parse,
        "npy: {} of {} needs {} bytes of data, got {}", h.descr, h.shape.str(), bytes, data.size());
  check(e.file_bytes > 0 || count <= kMaxEmptyStrings, ErrorKind::Parse,
        "npy: {} empty strings are too many", count);
  Tensor out(e.dtype, h.shape);
  if (e.dtype == DType::String) {
    const auto to = out.mutable_span<std::string>();
    for_each_element(h.shape, h.fortran, [&](std::int64_t i, std::int64_t j) {
      to[static_cast<std::size_t>(i)] = decode_string(data.data() + j * e.file_bytes, e);
    });
    return out;
  }
  auto* to = static_cast<std::byte*>(out.mutable_data());
  if (!h.fortran && !e.swap && e.dtype != DType::Bool) {
    if (!data.empty()) std::memcpy(to, data.data(), data.size());
    return out;
  }
  for_each_element(h.shape, h.fortran, [&](std::int64_t i, std::int64_t j) {
    copy_element(to + i * e.file_bytes, data.data() + j * e.file_bytes, e);
  });
  return out;
}

std::string descr_of(DType t) {
  if (is_narrow(t)) return "|V1";
  switch (t) {
    case DType::Bool:
      return "|b1";
    case DType::I8:
      return "|i1";
    case DType::U8:
      return "|u1";
    case DType::I16:
      return "<i2";
    case DType::I32:
      return "<i4";
    case DType::I64:
      return "<i8";
    case DType::U16:
      return "<u2";
    case DType::U32:
      return "<u4";
    case DType::U64:
      return "<u8";
    case DType::F16:
      return "<f2";
    case DType::BF16:
      return "<V2";
    case DType::F32:
      return "<f4";
    case DType::F64:
      return "<f8";
    case DType::C64:
      return "<c8";
    case DType::C128:
      return "<c16";
    default:
      break;
  }
  fail(ErrorKind::Type, "npy: dtype {} cannot be written", name_of(t));
}

void append(std::vector<std::byte>& out, const void* p, std::size_t n) {
  const auto* b = static_cast<const std::byte*>(p);
  out.insert(out.end(), b, b + n);
}

void append_header(std::vector<std::byte>& out, const std::string& descr, const Shape& shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  text += shape.rank() == 1 ? ",), }" : "), }";
  constexpr std::size_t kFixed = 10;
  text.append(63 - (kFixed + text.size()) % 64, ' ');
  text += '\n';
  const auto length = static_cast<std::uint16_t>(text.size());
  append(out, kMagic.data(), kMagic.size());
  append(out, "\x01\x00", 2);
  append(out, &length, 2);
  append(out, text.data(), text.size());
}

}  // namespace

Tensor read_npy(std::span<const std::byte> bytes) {
  check(bytes.size() >= 10 && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0,
        ErrorKind::Parse, "npy: not a .npy file (no magic)");
  const int version = static_cast<int>(bytes[6]);
  check(version >= 1 && version <= 3, ErrorKind::Unsupported, "npy: version {} is unknown",
        version);
  const std::size_t fixed = version == 1 ? 10 : 12;
  check(bytes.size() >= fixed, ErrorKind::Parse, "npy: truncated header");
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, fixed - 8);
  check(length <= bytes.size() - fixed, ErrorKind::Parse,
        "npy: header of {} bytes runs over the end", length);
  const auto* text = reinterpret_cast<const char*>(bytes.data() + fixed);
  const Header h = HeaderParser({text, length}).parse();
  return read_elements(h, parse_descr(h.descr), bytes.subspan(fixed + length));
}

Tensor read_npy_file(const std::string& path) {
  const auto bytes = read_file(path);
  return in_context([&] { return path; }, [&] { return read_npy(bytes); });
}

Tensor narrow_from_codes(const Tensor& codes, DType type) {
  check(is_narrow(type), ErrorKind::Type, "{} is no narrow type", name_of(type));
  Tensor out(type, codes.shape());
  auto* to = static_cast<std::uint8_t*>(out.mutable_data());
  const unsigned mask = (1u << bits_of_narrow(type)) - 1;
  for (const std::uint8_t c : codes.span<std::uint8_t>()) {
    *to++ = is_narrow_integer(type) ? wrap_narrow(type, c) : static_cast<std::uint8_t>(c & mask);
  }
  return out;
}

std::vector<std::byte> write_npy(const Tensor& tensor) {
  std::vector<std::byte> out;
  if (tensor.dtype() != DType::String) {
    append_header(out, descr_of(tensor.dtype()), tensor.shape());
    append(out, tensor.data(), tensor.bytes());
    return out;
  }
  std::vector<std::u32string> texts;
  std::size_t width = 1;
  for (const std::string& s : tensor.span<std::string>()) {
    auto decoded = decode_utf8(s);
    check(decoded.has_value(), ErrorKind::Type, "npy: a string element is not UTF-8");
    width = std::max(width, decoded->size());
    texts.push_back(std::move(*decoded));
  }
  append_header(out, "<U" + std::to_string(width), tensor.shape());
  for (std::u32string& t : texts) {
    t.resize(width, U'\0');
    append(out, t.data(), 4 * width);
  }
  return out;
}

void write_npy_file(const std::string& path, const Tensor& tensor) {
  write_file(path, write_npy(tensor));
}

}  // namespace treadle
