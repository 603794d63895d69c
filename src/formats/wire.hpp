// Reading protobuf messages field by field, with every wire type checked.
#pragma once

#include <protozero/pbf_reader.hpp>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace treadle::wire {

// One encoded message. Views that it returns point into the given bytes. Methods throw a Parse
// error or a protozero exception (see decode()) on bytes that are no valid message.
class Message {
 public:
  explicit Message(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

  bool next() { return reader_.next(); }
  std::uint32_t tag() const { return reader_.tag(); }
  void skip() { reader_.skip(); }

  std::string_view bytes();
  // int32, int64, uint64, enums and bools.
  std::int64_t integer();
  float f32();
  double f64();
  // Repeated fields, packed or not; each call appends the elements of the current field.
  void append(std::vector<std::int64_t>& out);
  void append(std::vector<float>& out);
  void append(std::vector<double>& out);

 private:
  void expect(protozero::pbf_wire_type type) const;
  bool packed() const { return reader_.wire_type() == protozero::pbf_wire_type::length_delimited; }

  protozero::pbf_reader reader_;
};

// Runs `body`, turning protozero's exceptions into Parse errors that name the message's type.
template <typename Body>
auto decode(const char* type, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const protozero::exception& e) {
    fail(ErrorKind::Parse, "broken {}: {}", type, e.what());
  }
}

}  // namespace treadle::wire
