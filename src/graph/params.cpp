#include "graph/params.hpp"

#include <fmt/format.h>

#include "graph/graph.hpp"

namespace treadle {
namespace {

template <typename T, typename F>
std::string list(const std::vector<T>& v, F&& item) {
  std::string s = "[";
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + item(v[i]);
  return s + "]";
}

}  // namespace

void ParamPrinter::add(std::string_view name, std::string value) {
  if (!text_.empty()) text_ += ' ';
  text_.append(name) += '=';
  text_ += value;
}

void ParamPrinter::param(std::string_view n, std::int64_t v) {
  add(n, std::to_string(v));
}
void ParamPrinter::param(std::string_view n, double v) {
  add(n, fmt::format("{}", v));
}
void ParamPrinter::param(std::string_view n, bool v) {
  add(n, v ? "true" : "false");
}
void ParamPrinter::param(std::string_view n, std::string_view v) {
  add(n, std::string(v));
}
void ParamPrinter::param(std::string_view n, DType v) {
  add(n, std::string(name_of(v)));
}
void ParamPrinter::param(std::string_view n, const Dim& v) {
  add(n, v.str());
}
void ParamPrinter::param(std::string_view n, const std::vector<std::int64_t>& v) {
  add(n, list(v, [](std::int64_t i) { return std::to_string(i); }));
}
void ParamPrinter::param(std::string_view n, const std::vector<double>& v) {
  add(n, list(v, [](double d) { return fmt::format("{}", d); }));
}
void ParamPrinter::param(std::string_view n, const std::vector<std::string>& v) {
  add(n, list(v, [](const std::string& s) { return s; }));
}
void ParamPrinter::param(std::string_view n, const SymShape& v) {
  add(n, str(v));
}
void ParamPrinter::param(std::string_view n, const Tensor& v) {
  add(n, std::string(name_of(v.dtype())) + v.shape().str());
}
void ParamPrinter::param(std::string_view n, const Graph& v) {
  add(n, fmt::format("graph({} nodes)", v.live_nodes()));
}

void ParamEncoder::text(std::string_view s) {
  const std::size_t n = s.size();
  raw(&n, sizeof n);
  raw(s.data(), n);
}

void ParamEncoder::param(std::string_view, std::int64_t v) {
  raw(&v, sizeof v);
}
void ParamEncoder::param(std::string_view, double v) {
  raw(&v, sizeof v);
}
void ParamEncoder::param(std::string_view, bool v) {
  bytes_ += v ? '1' : '0';
}
void ParamEncoder::param(std::string_view, std::string_view v) {
  text(v);
}
void ParamEncoder::param(std::string_view, DType v) {
  bytes_ += static_cast<char>(v);
}
void ParamEncoder::param(std::string_view, const Dim& v) {
  text(v.str());
}
void ParamEncoder::param(std::string_view, const std::vector<std::int64_t>& v) {
  text({reinterpret_cast<const char*>(v.data()), v.size() * sizeof(std::int64_t)});
}
void ParamEncoder::param(std::string_view, const std::vector<double>& v) {
  text({reinterpret_cast<const char*>(v.data()), v.size() * sizeof(double)});
}
void ParamEncoder::param(std::string_view, const std::vector<std::string>& v) {
  for (const auto& s : v) text(s);
  text({});
}
void ParamEncoder::param(std::string_view, const SymShape& v) {
  text(str(v));
}
void ParamEncoder::param(std::string_view, const Tensor& v) {
  bytes_ += static_cast<char>(v.dtype());
  text(v.shape().str());
  if (v.dtype() != DType::String && v.bytes() <= 256) {
    text({static_cast<const char*>(v.data()), v.bytes()});
  } else {
    const void* p = v.data();
    raw(&p, sizeof p);
  }
}
void ParamEncoder::param(std::string_view, const Graph& v) {
  const Graph* p = &v;
  raw(&p, sizeof p);
}

}  // namespace treadle
