#include "graph/value.hpp"

namespace treadle {
namespace {

const char* name_of(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::Tensor:
      return "tensor";
    case Value::Kind::Sequence:
      return "sequence";
    case Value::Kind::Optional:
      return "optional";
  }
  return "value";
}

}  // namespace

Value Value::sequence(std::vector<Value> items) {
  Value v;
  v.kind_ = Kind::Sequence;
  v.items_ = std::make_shared<const std::vector<Value>>(std::move(items));
  return v;
}

Value Value::optional(std::optional<Value> item) {
  std::vector<Value> items;
  if (item) items.push_back(std::move(*item));
  Value v = sequence(std::move(items));
  v.kind_ = Kind::Optional;
  return v;
}

const Tensor& Value::tensor() const {
  check(kind_ == Kind::Tensor, ErrorKind::Type, "expected a tensor, got a value of kind {}",
        name_of(kind_));
  return tensor_;
}

const std::vector<Value>& Value::items() const {
  check(kind_ == Kind::Sequence, ErrorKind::Type, "expected a sequence, got a value of kind {}",
        name_of(kind_));
  return *items_;
}

const Value* Value::held() const {
  check(kind_ == Kind::Optional, ErrorKind::Type, "expected an optional, got a value of kind {}",
        name_of(kind_));
  return items_->empty() ? nullptr : &items_->front();
}

}  // namespace treadle
