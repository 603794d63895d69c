// The public Tensor.
#include <cstring>

#include "api/public.hpp"
#include "tensor/npy.hpp"

namespace treadle::v1 {
namespace {

static_assert(static_cast<int>(DataType::String) == static_cast<int>(DType::String));
static_assert(static_cast<int>(DataType::UInt2) == static_cast<int>(DType::U2));
static_assert(static_cast<int>(DataType::Float32) == static_cast<int>(DType::F32));

DType to_dtype(DataType type) {
  check(type <= DataType::UInt2, ErrorKind::Type, "unknown data type {}", static_cast<int>(type));
  return static_cast<DType>(type);
}

::treadle::Shape to_shape(const Tensor::Shape& shape) {
  return ::treadle::Shape(std::span<const std::int64_t>(shape));
}

}  // namespace

Tensor::Tensor() noexcept = default;

Tensor::Tensor(DataType type, const Shape& shape) {
  *this = rethrowing(
      [&] { return Access::wrap(::treadle::Tensor::zeros(to_dtype(type), to_shape(shape))); });
}

Tensor Tensor::copy(DataType type, const Shape& shape, const void* values, std::size_t count) {
  return rethrowing([&] {
    ::treadle::Tensor t(to_dtype(type), to_shape(shape));
    check(static_cast<std::size_t>(t.elements()) == count, ErrorKind::Shape,
          "a tensor of shape {} holds {} elements, got {}", t.shape().str(), t.elements(), count);
    if (type == DataType::String) {
      const auto* from = static_cast<const std::string*>(values);
      std::copy(from, from + count, t.mutable_span<std::string>().begin());
    } else if (count > 0) {
      std::memcpy(t.mutable_data(), values, t.bytes());
    }
    return Access::wrap(std::move(t));
  });
}

Tensor Tensor::wrap(DataType type, const Shape& shape, void* data) {
  return rethrowing([&] {
    check(type != DataType::String, ErrorKind::Type, "strings cannot be wrapped");
    const ::treadle::Shape s = to_shape(shape);
    check(data != nullptr || s.elements() == 0, ErrorKind::Type, "wrap: data is null");
    // The owner is a dummy: the elements are the caller's.
    static const auto nobody = std::make_shared<const int>(0);
    return Access::wrap(::treadle::Tensor(to_dtype(type), s, data, nobody));
  });
}

Tensor Tensor::read_npy(const std::string& path) {
  return rethrowing([&] { return Access::wrap(read_npy_file(path)); });
}

void Tensor::write_npy(const std::string& path) const {
  rethrowing([&] {
    check(impl_ != nullptr, ErrorKind::Type, "an undefined tensor cannot be written");
    write_npy_file(path, impl_->tensor);
  });
}

DataType Tensor::type() const noexcept {
  return impl_ ? static_cast<DataType>(impl_->tensor.dtype()) : DataType::Float32;
}

Tensor::Shape Tensor::shape() const {
  if (!impl_) return {};
  return {impl_->tensor.shape().begin(), impl_->tensor.shape().end()};
}

std::size_t Tensor::elements() const noexcept {
  return impl_ ? static_cast<std::size_t>(impl_->tensor.elements()) : 0;
}

const void* Tensor::data() const noexcept {
  return impl_ ? impl_->tensor.data() : nullptr;
}
void* Tensor::data() noexcept {
  return impl_ ? impl_->tensor.mutable_data() : nullptr;
}

Tensor Tensor::clone() const {
  return impl_ ? rethrowing([&] { return Access::wrap(impl_->tensor.clone()); }) : Tensor();
}

void Tensor::require(DataType type) const {
  rethrowing([&] {
    check(impl_ != nullptr, ErrorKind::Type, "the tensor is undefined");
    check(this->type() == type, ErrorKind::Type, "the tensor holds {}, not {}",
          to_string(this->type()), to_string(type));
  });
}

}  // namespace treadle::v1
