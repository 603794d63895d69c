#include "formats/wire.hpp"

#include <cstring>

namespace treadle::wire {

void Message::expect(protozero::pbf_wire_type type) const {
  check(reader_.wire_type() == type, ErrorKind::Parse,
        "protobuf field {} has wire type {}, expected {}", reader_.tag(),
        static_cast<int>(reader_.wire_type()), static_cast<int>(type));
}

std::string_view Message::bytes() {
  expect(protozero::pbf_wire_type::length_delimited);
  const auto view = reader_.get_view();
  return {view.data(), view.size()};
}

std::int64_t Message::integer() {
  expect(protozero::pbf_wire_type::varint);
  return reader_.get_int64();
}

float Message::f32() {
  expect(protozero::pbf_wire_type::fixed32);
  return reader_.get_float();
}

double Message::f64() {
  expect(protozero::pbf_wire_type::fixed64);
  return reader_.get_double();
}

void Message::append(std::vector<std::int64_t>& out) {
  if (!packed()) {
    out.push_back(integer());
    return;
  }
  const std::string_view block = bytes();
  const char* at = block.data();
  const char* end = at + block.size();
  while (at != end) {
    out.push_back(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
  }
}

namespace {

template <typename T>
void append_fixed(std::string_view block, std::vector<T>& out) {
  check(block.size() % sizeof(T) == 0, ErrorKind::Parse,
        "packed field of {} bytes is no multiple of {}", block.size(), sizeof(T));
  const std::size_t n = block.size() / sizeof(T);
  if (n == 0) return;
  const std::size_t old = out.size();
  out.resize(old + n);
  std::memcpy(out.data() + old, block.data(), block.size());
}

}  // namespace

void Message::append(std::vector<float>& out) {
  if (packed()) {
    append_fixed(bytes(), out);
  } else {
    out.push_back(f32());
  }
}

void Message::append(std::vector<double>& out) {
  if (packed()) {
    append_fixed(bytes(), out);
  } else {
    out.push_back(f64());
  }
}

}  // namespace treadle::wire
