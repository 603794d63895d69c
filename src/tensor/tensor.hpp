// Tensors: a dtype, a shape, and row-major elements in a shared, 64-byte aligned buffer.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/half.hpp"
#include "base/shape.hpp"

namespace treadle {

class Tensor;

// The DType of a C++ element type.
template <typename T>
struct DTypeOf;
#define TREADLE_DTYPE_OF(type, dtype)            \
  template <>                                    \
  struct DTypeOf<type> {                         \
    static constexpr DType value = DType::dtype; \
  };
TREADLE_DTYPE_OF(bool, Bool)
TREADLE_DTYPE_OF(std::int8_t, I8)
TREADLE_DTYPE_OF(std::int16_t, I16)
TREADLE_DTYPE_OF(std::int32_t, I32)
TREADLE_DTYPE_OF(std::int64_t, I64)
TREADLE_DTYPE_OF(std::uint8_t, U8)
TREADLE_DTYPE_OF(std::uint16_t, U16)
TREADLE_DTYPE_OF(std::uint32_t, U32)
TREADLE_DTYPE_OF(std::uint64_t, U64)
TREADLE_DTYPE_OF(Half, F16)
TREADLE_DTYPE_OF(BFloat16, BF16)
TREADLE_DTYPE_OF(float, F32)
TREADLE_DTYPE_OF(double, F64)
TREADLE_DTYPE_OF(std::string, String)
#undef TREADLE_DTYPE_OF

// What kernels see: raw elements, row-major and contiguous. Does not own.
struct TensorView {
  DType dtype = DType::F32;
  Shape shape;
  void* data = nullptr;

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
  // Elements as T; the caller has checked the dtype.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <typename T>
  std::span<T> span() const {
    return {static_cast<T*>(data), static_cast<std::size_t>(elements())};
  }
};

// An owned (or shared) tensor. Copying shares the elements; use clone() for a deep copy.
class Tensor {
 public:
  Tensor() = default;
  // Elements are uninitialised (strings are empty). Throws Memory error when the size overflows.
  Tensor(DType dtype, const Shape& shape);
  // Elements that live in `owner` (a mapped file, say) and start at `data`; not copied.
  Tensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> owner);

  template <typename T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return from(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <typename T>
  static Tensor from(const Shape& shape, std::span<const T> values);
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, {value});
  }
  static Tensor zeros(DType dtype, const Shape& shape);

  bool defined() const { return owner_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype_); }
  const void* data() const { return data_; }
  // Only for tensors that this process filled itself, never for mapped weights.
  void* mutable_data() { return data_; }

  // Elements as T; throws Type error when the dtype is another.
  template <typename T>
  std::span<const T> span() const {
    require(DTypeOf<T>::value);
    return {static_cast<const T*>(data_), static_cast<std::size_t>(elements())};
  }
  template <typename T>
  std::span<T> mutable_span() {
    require(DTypeOf<T>::value);
    return {static_cast<T*>(data_), static_cast<std::size_t>(elements())};
  }

  // A view for kernels; they write only to outputs.
  TensorView view() const { return {dtype_, shape_, data_}; }
  Tensor clone() const;
  // The same elements under another shape of as many elements; throws Shape error otherwise.
  Tensor reshaped(const Shape& shape) const;
  // Integers and bools as i64, these and floats as f64; throws Type error for what does not convert
  // exactly in kind (a float is no integer).
  std::vector<std::int64_t> to_i64() const;
  std::vector<double> to_f64() const;
  // F32, F16 and BF16, exactly; Type error for other dtypes.
  std::vector<float> to_f32() const;
  // True when dtype, shape and every byte (string) are equal.
  bool identical(const Tensor& other) const;

 private:
  void require(DType dtype) const;
  DType dtype_ = DType::F32;
  Shape shape_;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

template <typename T>
Tensor Tensor::from(const Shape& shape, std::span<const T> values) {
  Tensor t(DTypeOf<T>::value, shape);
  check(t.elements() == static_cast<std::int64_t>(values.size()), ErrorKind::Shape,
        "tensor of shape {} holds {} elements, got {}", shape.str(), t.elements(), values.size());
  auto out = t.mutable_span<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return t;
}

// Calls f with a value-initialised object of the element type of `dtype` (complex and narrow types
// excluded: Type error). For the reference implementations: dispatch(dtype, [&]<typename T>(T) { …
// });
template <typename F>
auto dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Bool:
      return f(bool{});
    case DType::I8:
      return f(std::int8_t{});
    case DType::I16:
      return f(std::int16_t{});
    case DType::I32:
      return f(std::int32_t{});
    case DType::I64:
      return f(std::int64_t{});
    case DType::U8:
      return f(std::uint8_t{});
    case DType::U16:
      return f(std::uint16_t{});
    case DType::U32:
      return f(std::uint32_t{});
    case DType::U64:
      return f(std::uint64_t{});
    case DType::F16:
      return f(Half{});
    case DType::BF16:
      return f(BFloat16{});
    case DType::F32:
      return f(float{});
    case DType::F64:
      return f(double{});
    default:
      break;
  }
  fail(ErrorKind::Type, "dtype {} is not supported here", name_of(dtype));
}

}  // namespace treadle
