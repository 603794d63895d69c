// What flows on an edge at run time: a tensor, a sequence of values, or an optional value.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace treadle {

class Value {
 public:
  enum class Kind : std::uint8_t { Tensor, Sequence, Optional };

  Value() = default;
  Value(Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  static Value sequence(std::vector<Value> items);
  static Value optional(std::optional<Value> item);

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  // Throw Type error when the value is of another kind.
  const Tensor& tensor() const;
  const std::vector<Value>& items() const;
  // The held value of an optional, or null.
  const Value* held() const;

 private:
  Kind kind_ = Kind::Tensor;
  Tensor tensor_;
  std::shared_ptr<const std::vector<Value>> items_;
};

}  // namespace treadle
