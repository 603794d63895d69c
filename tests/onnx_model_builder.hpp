// Encodes small ONNX models for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace treadle::testing {

using protozero::pbf_writer;

struct TensorText {
  std::string name;
  std::vector<std::int64_t> dims;
  int type = 1;
  std::string raw;
};

template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string tensor(const TensorText& t) {
  std::string out;
  pbf_writer w(out);
  for (const std::int64_t d : t.dims) w.add_int64(1, d);
  w.add_int32(2, t.type);
  w.add_string(8, t.name);
  w.add_bytes(9, t.raw);
  return out;
}

inline std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline std::string i64s(const std::string& name, const std::vector<std::int64_t>& values) {
  return tensor({name, {static_cast<std::int64_t>(values.size())}, 7, raw_bytes(values)});
}

// A float value of which no shape is declared.
inline std::string untyped(const std::string& name) {
  std::string tensor_type, type, out;
  pbf_writer(tensor_type).add_int32(1, 1);
  pbf_writer(type).add_message(1, tensor_type);
  pbf_writer w(out);
  w.add_string(1, name);
  w.add_message(2, type);
  return out;
}

// A float tensor in raw_data.
inline std::string floats(const std::string& name, std::vector<std::int64_t> dims,
                          const std::vector<float>& values) {
  return tensor({name, std::move(dims), 1, raw_bytes(values)});
}

inline std::string external(const std::string& name, std::int64_t n,
                            const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  pbf_writer w(out);
  w.add_int64(1, n);
  w.add_int32(2, 1);
  w.add_string(8, name);
  for (const auto& [key, value] : entries) {
    std::string entry;
    pbf_writer e(entry);
    e.add_string(1, key);
    e.add_string(2, value);
    w.add_message(13, entry);
  }
  w.add_enum(14, 1);
  return out;
}

inline std::string attribute(const std::string& name, int type,
                             const std::function<void(pbf_writer&)>& fill) {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, name);
  fill(w);
  w.add_enum(20, type);
  return out;
}

inline std::string int_attribute(const std::string& name, std::int64_t v) {
  return attribute(name, 2, [&](pbf_writer& w) { w.add_int64(3, v); });
}
inline std::string ints_attribute(const std::string& name, const std::vector<std::int64_t>& v) {
  return attribute(name, 7, [&](pbf_writer& w) {
    for (const std::int64_t i : v) w.add_int64(8, i);
  });
}
inline std::string tensor_attribute(const std::string& name, const std::string& t) {
  return attribute(name, 4, [&](pbf_writer& w) { w.add_message(5, t); });
}
inline std::string graph_attribute(const std::string& name, const std::string& g) {
  return attribute(name, 5, [&](pbf_writer& w) { w.add_message(6, g); });
}
inline std::string reference_attribute(const std::string& name, int type, const std::string& to) {
  return attribute(name, type, [&](pbf_writer& w) { w.add_string(21, to); });
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::vector<std::string>& attributes = {},
                        const std::string& domain = "", const std::string& name = "") {
  std::string out;
  pbf_writer w(out);
  for (const auto& i : inputs) w.add_string(1, i);
  for (const auto& o : outputs) w.add_string(2, o);
  w.add_string(3, name);
  w.add_string(4, op);
  for (const auto& a : attributes) w.add_message(5, a);
  w.add_string(7, domain);
  return out;
}

// Dims: a number, or a label.
inline std::string value(const std::string& name, int type, const std::vector<std::string>& dims) {
  std::string shape;
  pbf_writer s(shape);
  for (const auto& d : dims) {
    std::string dim;
    pbf_writer w(dim);
    const bool number = !d.empty() && (d[0] == '-' || (d[0] >= '0' && d[0] <= '9'));
    if (number) {
      w.add_int64(1, std::stoll(d));
    } else {
      w.add_string(2, d);
    }
    s.add_message(1, dim);
  }
  std::string tensor_type, whole, out;
  pbf_writer t(tensor_type);
  t.add_int32(1, type);
  t.add_message(2, shape);
  pbf_writer(whole).add_message(1, tensor_type);
  pbf_writer w(out);
  w.add_string(1, name);
  w.add_message(2, whole);
  return out;
}

struct GraphText {
  std::vector<std::string> nodes = {}, inputs = {}, outputs = {}, initializers = {},
                           value_infos = {};
};

inline std::string graph(const GraphText& g) {
  std::string out;
  pbf_writer w(out);
  for (const auto& n : g.nodes) w.add_message(1, n);
  w.add_string(2, "g");
  for (const auto& t : g.initializers) w.add_message(5, t);
  for (const auto& v : g.inputs) w.add_message(11, v);
  for (const auto& v : g.outputs) w.add_message(12, v);
  for (const auto& v : g.value_infos) w.add_message(13, v);
  return out;
}

inline std::string opset(const std::string& domain, std::int64_t version) {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, domain);
  w.add_int64(2, version);
  return out;
}

inline std::string model(const GraphText& g,
                         const std::vector<std::string>& opsets = {opset("", 17)},
                         const std::vector<std::string>& functions = {}) {
  std::string out;
  pbf_writer w(out);
  w.add_int64(1, 8);
  for (const auto& o : opsets) w.add_message(8, o);
  w.add_message(7, graph(g));
  for (const auto& f : functions) w.add_message(25, f);
  return out;
}

struct FunctionText {
  std::string domain, name;
  std::vector<std::string> inputs, outputs, attributes, defaults, nodes;
};

inline std::string function(const FunctionText& f) {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, f.name);
  for (const auto& s : f.inputs) w.add_string(4, s);
  for (const auto& s : f.outputs) w.add_string(5, s);
  for (const auto& s : f.attributes) w.add_string(6, s);
  for (const auto& n : f.nodes) w.add_message(7, n);
  w.add_message(9, opset("", 17));
  w.add_string(10, f.domain);
  for (const auto& a : f.defaults) w.add_message(11, a);
  return out;
}

}  // namespace treadle::testing
