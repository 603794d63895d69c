#include "formats/onnx/tensors.hpp"

#include <charconv>
#include <cstring>
#include <vector>

#include "base/narrow.hpp"
#include "formats/onnx/types.hpp"
#include "formats/onnx/wire.hpp"

namespace treadle::onnx {

struct TensorReader::Proto {
  std::string_view name;
  std::vector<std::int64_t> dims;
  std::int64_t elem_type = 0;
  bool has_raw = false;
  std::string_view raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> int32s, int64s, uint64s;
  std::vector<std::string_view> strings;
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;

  std::string where() const { return fmt::format("tensor '{}'", name); }
  // Elements of the typed fields, and how many of those fields are in use.
  std::size_t typed_fields() const {
    return static_cast<std::size_t>(!floats.empty()) + !doubles.empty() + !int32s.empty() +
           !int64s.empty() + !uint64s.empty() + !strings.empty();
  }
};

namespace {

std::pair<std::string_view, std::string_view> read_entry(std::string_view bytes) {
  std::pair<std::string_view, std::string_view> entry;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        entry.first = m.bytes();
        break;
      case 2:
        entry.second = m.bytes();
        break;
      default:
        m.skip();
    }
  }
  return entry;
}

bool is_packed(DType dtype) {
  return is_narrow(dtype) && bits_of_narrow(dtype) < 8;
}

// Bytes of `n` elements in the file, where packed types are a stream of bits, low bits first.
std::int64_t file_bytes(DType dtype, std::int64_t n) {
  if (!is_packed(dtype)) return checked_mul(n, static_cast<std::int64_t>(size_of(dtype)));
  const std::int64_t bits = checked_mul(n, bits_of_narrow(dtype));
  return bits / 8 + (bits % 8 != 0);
}

// One byte an element, integers sign-extended.
Tensor unpack(std::string_view bytes, DType dtype, const Shape& shape) {
  const auto bits = static_cast<std::size_t>(bits_of_narrow(dtype));
  const unsigned mask = (1u << bits) - 1;
  Tensor t(dtype, shape);
  auto* out = static_cast<std::uint8_t*>(t.mutable_data());
  const auto n = static_cast<std::size_t>(t.elements());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = i * bits / 8, shift = i * bits % 8;
    unsigned v = static_cast<unsigned char>(bytes[at]);
    if (shift + bits > 8)
      v |= static_cast<unsigned>(static_cast<unsigned char>(bytes[at + 1])) << 8;
    v = (v >> shift) & mask;
    out[i] = is_narrow_integer(dtype) ? wrap_narrow(dtype, v) : static_cast<std::uint8_t>(v);
  }
  return t;
}

template <typename T>
Tensor from_integers(const Shape& shape, const std::vector<std::int64_t>& values, DType dtype) {
  Tensor t(dtype, shape);
  auto* out = static_cast<T*>(t.mutable_data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<T>(values[i]);
    // uint32 values arrive as 64-bit ones; what int32_data holds is sign extended.
    const bool fits = static_cast<std::int64_t>(out[i]) == values[i];
    check(fits, ErrorKind::Parse, "element {} is {}, out of the range of {}", i, values[i],
          name_of(dtype));
  }
  return t;
}

Tensor from_int32(const Shape& shape, const std::vector<std::int64_t>& v, DType dtype) {
  switch (dtype) {
    case DType::I8:
      return from_integers<std::int8_t>(shape, v, dtype);
    case DType::I16:
      return from_integers<std::int16_t>(shape, v, dtype);
    case DType::I32:
      return from_integers<std::int32_t>(shape, v, dtype);
    case DType::U8:
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
    case DType::F8E8M0:
    case DType::F6E2M3:
    case DType::F6E3M2:
      return from_integers<std::uint8_t>(shape, v, dtype);
    case DType::U16:
    case DType::F16:
    case DType::BF16:
      return from_integers<std::uint16_t>(shape, v, dtype);
    case DType::Bool: {
      Tensor t(dtype, shape);
      auto out = t.mutable_span<bool>();
      for (std::size_t i = 0; i < v.size(); ++i) out[i] = v[i] != 0;
      return t;
    }
    default:
      break;
  }
  fail(ErrorKind::Parse, "{} elements are not stored in int32_data", name_of(dtype));
}

template <typename T>
Tensor from_elements(const Shape& shape, const std::vector<T>& values, DType dtype) {
  Tensor t(dtype, shape);
  if (!values.empty()) std::memcpy(t.mutable_data(), values.data(), values.size() * sizeof(T));
  return t;
}

std::size_t alignment_of(DType dtype) {
  switch (dtype) {
    case DType::C64:
      return 4;
    case DType::C128:
      return 8;
    default:
      return size_of(dtype);
  }
}

std::int64_t parse_size(std::string_view key, std::string_view text) {
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  check(error == std::errc() && end == text.data() + text.size() && v >= 0, ErrorKind::Parse,
        "external data: {} is '{}', expected a non-negative integer", key, text);
  return v;
}

void check_count(std::string_view field, std::size_t got, std::int64_t expected) {
  check(static_cast<std::int64_t>(got) == expected, ErrorKind::Parse,
        "{} has {} elements, expected {}", field, got, expected);
}

Shape checked_shape(const std::vector<std::int64_t>& dims) {
  check(dims.size() <= static_cast<std::size_t>(kMaxRank), ErrorKind::Unsupported,
        "rank is {}, the limit is {}", dims.size(), kMaxRank);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    check(dims[i] >= 0, ErrorKind::Parse, "dims[{}] is {}, expected a non-negative size", i,
          dims[i]);
  }
  return Shape(std::span<const std::int64_t>(dims));
}

}  // namespace

TensorReader::Proto TensorReader::parse(std::string_view encoded) {
  return decode("TensorProto", [&] {
    Proto p;
    Message m(encoded);
    while (m.next()) {
      switch (m.tag()) {
        case 1:
          m.append(p.dims);
          break;
        case 2:
          p.elem_type = m.integer();
          break;
        case 3:
          fail(ErrorKind::Unsupported, "tensors in segments are not supported");
        case 4:
          m.append(p.floats);
          break;
        case 5:
          m.append(p.int32s);
          break;
        case 6:
          p.strings.push_back(m.bytes());
          break;
        case 7:
          m.append(p.int64s);
          break;
        case 8:
          p.name = m.bytes();
          break;
        case 9:
          p.raw = m.bytes();
          p.has_raw = true;
          break;
        case 10:
          m.append(p.doubles);
          break;
        case 11:
          m.append(p.uint64s);
          break;
        case 13:
          p.external_data.push_back(read_entry(m.bytes()));
          break;
        case 14:
          p.external = m.integer() == 1;
          break;
        default:
          m.skip();
      }
    }
    return p;
  });
}

std::shared_ptr<const Tensor> TensorReader::from_bytes(
    const Proto& p, DType dtype, const Shape& shape, std::string_view bytes,
    const std::shared_ptr<const MappedFile>& owner) const {
  const std::int64_t expected = file_bytes(dtype, shape.elements());
  check(static_cast<std::int64_t>(bytes.size()) == expected, ErrorKind::Parse,
        "shape {} of {} needs {} bytes, got {}", shape.str(), onnx_type_name(p.elem_type), expected,
        bytes.size());
  if (is_packed(dtype)) return std::make_shared<const Tensor>(unpack(bytes, dtype, shape));
  bool copy = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment_of(dtype) != 0;
  if (dtype == DType::Bool) {
    // A bool object of another value than 0 and 1 must not exist.
    for (const char c : bytes) copy = copy || (c != 0 && c != 1);
  }
  if (!copy) return std::make_shared<const Tensor>(dtype, shape, bytes.data(), owner);
  Tensor t(dtype, shape);
  if (dtype == DType::Bool) {
    auto* out = static_cast<bool*>(t.mutable_data());
    for (std::size_t i = 0; i < bytes.size(); ++i) out[i] = bytes[i] != 0;
  } else if (!bytes.empty()) {
    std::memcpy(t.mutable_data(), bytes.data(), bytes.size());
  }
  return std::make_shared<const Tensor>(std::move(t));
}

std::shared_ptr<const Tensor> TensorReader::external(const Proto& p, DType dtype,
                                                     const Shape& shape) {
  check(folder_.has_value(), ErrorKind::Unsupported,
        "external data needs a model that is loaded from a file");
  std::string_view location;
  std::optional<std::int64_t> offset, length;
  for (const auto& [key, text] : p.external_data) {
    if (key == "location") {
      location = text;
    } else if (key == "offset") {
      offset = parse_size(key, text);
    } else if (key == "length") {
      length = parse_size(key, text);
    } else {
      check(key == "checksum", ErrorKind::Parse, "external data has the unknown key '{}'", key);
    }
  }
  check(!location.empty(), ErrorKind::Parse, "external data has no location");
  auto& file = external_files_[std::string(location)];
  if (!file) file = MappedFile::open_below(*folder_, location);
  const auto size = static_cast<std::int64_t>(file->size());
  const std::int64_t begin = offset.value_or(0);
  check(begin <= size, ErrorKind::Parse, "external data begins at byte {}, but '{}' has {} bytes",
        begin, location, size);
  const std::int64_t count = length.value_or(size - begin);
  check(count <= size - begin, ErrorKind::Parse,
        "external data needs bytes {} to {}, but '{}' has {} bytes", begin, begin + count, location,
        size);
  return from_bytes(
      p, dtype, shape,
      file->bytes().substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)), file);
}

std::shared_ptr<const Tensor> TensorReader::make(const Proto& p) {
  const DType dtype = dtype_of_onnx(p.elem_type);
  const Shape shape = checked_shape(p.dims);
  const std::int64_t n = shape.elements();
  check(checked_mul(n, static_cast<std::int64_t>(size_of(dtype))) <= limits_.max_tensor_bytes,
        ErrorKind::Memory, "shape {} of {} is above the limit of {} bytes", shape.str(),
        name_of(dtype), limits_.max_tensor_bytes);
  const std::size_t typed = p.typed_fields();
  check(typed + (p.has_raw && !(p.raw.empty() && typed != 0)) + p.external <= 1, ErrorKind::Parse,
        "elements are stored in more than one of raw_data, external data and typed fields");
  check(dtype != DType::String || (!p.has_raw && !p.external), ErrorKind::Parse,
        "strings must be stored in string_data");
  if (p.external) return external(p, dtype, shape);
  if (p.has_raw && typed == 0) return from_bytes(p, dtype, shape, p.raw, file_);
  Tensor t;
  if (dtype == DType::String) {
    check_count("string_data", p.strings.size(), n);
    t = Tensor(dtype, shape);
    auto out = t.mutable_span<std::string>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::string(p.strings[i]);
  } else if (dtype == DType::F32 || dtype == DType::C64) {
    check_count("float_data", p.floats.size(), dtype == DType::C64 ? checked_mul(n, 2) : n);
    t = from_elements(shape, p.floats, dtype);
  } else if (dtype == DType::F64 || dtype == DType::C128) {
    check_count("double_data", p.doubles.size(), dtype == DType::C128 ? checked_mul(n, 2) : n);
    t = from_elements(shape, p.doubles, dtype);
  } else if (dtype == DType::I64) {
    check_count("int64_data", p.int64s.size(), n);
    t = from_elements(shape, p.int64s, dtype);
  } else if (dtype == DType::U64) {
    check_count("uint64_data", p.uint64s.size(), n);
    t = from_elements(shape, p.uint64s, dtype);
  } else if (dtype == DType::U32) {
    check_count("uint64_data", p.uint64s.size(), n);
    t = from_integers<std::uint32_t>(shape, p.uint64s, dtype);
  } else if (is_packed(dtype) && bits_of_narrow(dtype) != 6) {
    // Packed here too, a byte an entry; only the 6-bit types have an entry an element.
    check_count("int32_data", p.int32s.size(), file_bytes(dtype, n));
    std::string bytes;
    for (const std::int64_t v : p.int32s) bytes.push_back(static_cast<char>(v & 0xff));
    t = unpack(bytes, dtype, shape);
  } else {
    check_count("int32_data", p.int32s.size(), n);
    t = from_int32(shape, p.int32s, dtype);
  }
  return std::make_shared<const Tensor>(std::move(t));
}

FileTensor TensorReader::read(std::string_view encoded) {
  if (const auto it = decoded_.find(encoded.data()); it != decoded_.end()) return it->second;
  const Proto p = parse(encoded);
  FileTensor result{p.name, in_context([&] { return p.where(); }, [&] { return make(p); })};
  decoded_.emplace(encoded.data(), result);
  return result;
}

FileTensor TensorReader::read_sparse(std::string_view encoded) {
  std::string_view values_bytes, indices_bytes;
  std::vector<std::int64_t> dims;
  decode("SparseTensorProto", [&] {
    Message m(encoded);
    while (m.next()) {
      switch (m.tag()) {
        case 1:
          values_bytes = m.bytes();
          break;
        case 2:
          indices_bytes = m.bytes();
          break;
        case 3:
          m.append(dims);
          break;
        default:
          m.skip();
      }
    }
  });
  FileTensor values = read(values_bytes);
  const FileTensor indices = read(indices_bytes);
  const auto where = [&] { return fmt::format("sparse tensor '{}'", values.name); };
  values.tensor = in_context(where, [&] {
    const Shape shape = checked_shape(dims);
    const Tensor& v = *values.tensor;
    const Tensor& at = *indices.tensor;
    check(v.dtype() != DType::String, ErrorKind::Unsupported, "sparse strings are not supported");
    check(at.dtype() == DType::I64, ErrorKind::Parse, "indices have dtype {}, expected i64",
          name_of(at.dtype()));
    const std::int64_t n = v.elements();
    const bool linear = at.rank() == 1;
    check(at.elements() == (linear ? n : checked_mul(n, shape.rank())), ErrorKind::Parse,
          "indices have shape {}, expected [{}] or [{}, {}]", at.shape().str(), n, n, shape.rank());
    check(checked_mul(shape.elements(), static_cast<std::int64_t>(size_of(v.dtype()))) <=
              limits_.max_tensor_bytes,
          ErrorKind::Memory, "shape {} is above the limit of {} bytes", shape.str(),
          limits_.max_tensor_bytes);
    Tensor dense = Tensor::zeros(v.dtype(), shape);
    const Shape strides = shape.strides();
    const auto index = at.span<std::int64_t>();
    const std::size_t size = size_of(v.dtype());
    const std::int64_t total = shape.elements();
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t to = 0;
      if (linear) {
        to = index[static_cast<std::size_t>(i)];
      } else {
        for (std::size_t d = 0; d < shape.size(); ++d) {
          const std::int64_t x = index[static_cast<std::size_t>(i) * shape.size() + d];
          check(x >= 0 && x < shape[d], ErrorKind::Parse, "index {} of entry {} is outside [0, {})",
                x, i, shape[d]);
          to += x * strides[d];
        }
      }
      check(to >= 0 && to < total, ErrorKind::Parse, "index {} is outside [0, {})", to, total);
      std::memcpy(static_cast<char*>(dense.mutable_data()) + static_cast<std::size_t>(to) * size,
                  static_cast<const char*>(v.data()) + static_cast<std::size_t>(i) * size, size);
    }
    return std::make_shared<const Tensor>(std::move(dense));
  });
  return values;
}

}  // namespace treadle::onnx
