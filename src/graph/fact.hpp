// What is known about a value before it is computed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/dim.hpp"
#include "tensor/tensor.hpp"

namespace treadle {

struct Fact {
  enum class Kind : std::uint8_t { Tensor, Sequence, Optional };

  Kind kind = Kind::Tensor;
  DType dtype = DType::F32;
  SymShape shape;
  // The elements, when they are known.
  std::shared_ptr<const Tensor> value;
  // Row-major integer elements that may hold symbols (shape arithmetic), when known; integer
  // tensors of at most kMaxSymbolicElements only. Not set where `value` is.
  std::shared_ptr<const std::vector<Dim>> dims;
  // Of what a sequence or an optional holds.
  std::shared_ptr<const Fact> element;

  static Fact tensor(DType dtype, SymShape shape) {
    Fact f;
    f.dtype = dtype;
    f.shape = std::move(shape);
    return f;
  }
  static Fact constant(Tensor value);
  static Fact sequence(Fact element);
  static Fact optional(Fact element);

  int rank() const { return static_cast<int>(shape.size()); }
  bool is_const() const { return value != nullptr; }
  // Integer elements as expressions, from `value` or `dims`; nullopt when unknown.
  std::optional<std::vector<Dim>> symbolic() const;
  // "f32[batch, 3, 224, 224]", "i64[2]={batch, 3}", "seq(f32[N])".
  std::string str() const;
  // Same kind, dtype, shape (values are not compared).
  bool same_type(const Fact& o) const;
};

inline constexpr std::int64_t kMaxSymbolicElements = 64;

}  // namespace treadle
