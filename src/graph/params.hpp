// Two uses of the parameter visitor: text for people, bytes for equality and hashing.
#pragma once

#include <string>

#include "graph/operator.hpp"

namespace treadle {

class ParamPrinter final : public ParamVisitor {
 public:
  const std::string& text() const { return text_; }
  void param(std::string_view name, std::int64_t v) override;
  void param(std::string_view name, double v) override;
  void param(std::string_view name, bool v) override;
  void param(std::string_view name, std::string_view v) override;
  void param(std::string_view name, DType v) override;
  void param(std::string_view name, const Dim& v) override;
  void param(std::string_view name, const std::vector<std::int64_t>& v) override;
  void param(std::string_view name, const std::vector<double>& v) override;
  void param(std::string_view name, const std::vector<std::string>& v) override;
  void param(std::string_view name, const SymShape& v) override;
  void param(std::string_view name, const Tensor& v) override;
  void param(std::string_view name, const Graph& v) override;

 private:
  void add(std::string_view name, std::string value);
  std::string text_;
};

// Equal bytes mean equal parameters. Tensors up to 256 bytes count by content, larger ones and graphs
// by identity.
class ParamEncoder final : public ParamVisitor {
 public:
  const std::string& bytes() const { return bytes_; }
  void param(std::string_view name, std::int64_t v) override;
  void param(std::string_view name, double v) override;
  void param(std::string_view name, bool v) override;
  void param(std::string_view name, std::string_view v) override;
  void param(std::string_view name, DType v) override;
  void param(std::string_view name, const Dim& v) override;
  void param(std::string_view name, const std::vector<std::int64_t>& v) override;
  void param(std::string_view name, const std::vector<double>& v) override;
  void param(std::string_view name, const std::vector<std::string>& v) override;
  void param(std::string_view name, const SymShape& v) override;
  void param(std::string_view name, const Tensor& v) override;
  void param(std::string_view name, const Graph& v) override;

 private:
  void raw(const void* p, std::size_t n) { bytes_.append(static_cast<const char*>(p), n); }
  void text(std::string_view s);
  std::string bytes_;
};

}  // namespace treadle
