// NodeContext over an import in progress. Internal to formats/onnx.
#pragma once

#include <string>
#include <vector>

#include "formats/onnx/import.hpp"

namespace treadle::onnx {

class ImportContext final : public NodeContext {
 public:
  // `proto` must outlive the context; its attributes are resolved already.
  ImportContext(Import& import, Scope& scope, const NodeProto& proto, std::int64_t opset);

  Graph& graph() override { return scope_.frame->graph; }
  const NodeProto& proto() const override { return proto_; }
  std::int64_t opset() const override { return opset_; }
  const std::string& name() const override { return name_; }
  std::size_t inputs() const override { return inputs_.size(); }
  std::size_t outputs() const override { return outputs_; }
  bool has(std::size_t i) const override { return i < inputs_.size() && inputs_[i].present(); }
  bool wants_output(std::size_t i) const override;
  ValueId in(std::size_t i) const override;
  const Attribute* attribute(std::string_view attr) const override;
  std::int64_t int_attr(std::string_view attr, std::optional<std::int64_t> fallback) const override;
  double float_attr(std::string_view attr, std::optional<double> fallback) const override;
  std::string string_attr(std::string_view attr,
                          std::optional<std::string> fallback) const override;
  std::optional<std::vector<std::int64_t>> ints_attr(std::string_view attr) const override;
  std::optional<std::vector<double>> floats_attr(std::string_view attr) const override;
  std::optional<std::vector<std::string>> strings_attr(std::string_view attr) const override;
  std::optional<Tensor> tensor_attr(std::string_view attr) const override;
  std::optional<Fact> type_attr(std::string_view attr) override;
  Tensor required_constant(std::size_t i) override;
  std::string fresh_name() override;
  Body body(std::string_view attr, std::span<const Fact> formal) override;
  std::optional<Body> try_body(std::string_view attr, std::span<const Fact> formal,
                               std::optional<Error>& why) override;
  std::vector<ValueId> inline_body(std::string_view attr, std::span<const ValueId> inputs) override;
  std::pair<std::size_t, std::size_t> body_arity(std::string_view attr) override;
  std::vector<Fact> body_output_facts(std::string_view attr) override;

 private:
  // The attribute, of that type; null when it is missing.
  const Attribute* typed(std::string_view attr, int type) const;
  std::string_view graph_attr(std::string_view attr) const;

  Import& import_;
  Scope& scope_;
  const NodeProto& proto_;
  std::int64_t opset_;
  std::string name_;
  std::vector<ValueId> inputs_;
  std::size_t outputs_ = 0;
  int names_ = 0;
};

}  // namespace treadle::onnx
