#include "tensor/tensor.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/narrow.hpp"
#include "base/pages.hpp"
#include "tensor/limit.hpp"

namespace treadle {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 46;
thread_local std::int64_t limit_bytes = kMaxBytes;
thread_local std::shared_ptr<TensorBudget> current_budget;

// Frees what allocate() gave, and gives its bytes back to the budget that they were taken from.
struct Release {
  std::size_t bytes;
  std::shared_ptr<TensorBudget> budget;
  void operator()(void* p) const noexcept {
    if (p != nullptr && bytes >= kMapFrom)
      unmap_pages(p, bytes);
    else
      std::free(p);
    if (budget) budget->give(static_cast<std::int64_t>(bytes));
  }
};

std::shared_ptr<void> allocate(std::size_t bytes) {
  if (current_budget) current_budget->take(static_cast<std::int64_t>(bytes));
  const Release release{bytes, current_budget};
  void* p = nullptr;
  if (bytes >= kMapFrom) {
    p = map_pages(bytes);
  } else {
    const std::size_t count = std::max<std::size_t>(bytes, 1);
    p = std::aligned_alloc(kAlignment, (count + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (p == nullptr) {
    release(nullptr);
    fail(ErrorKind::Memory, "cannot allocate {} bytes", bytes);
  }
  return {p, release};
}

std::shared_ptr<void> allocate_strings(std::size_t count) {
  auto* strings = new std::vector<std::string>(count);
  return {strings->data(), [strings](void*) { delete strings; }};
}

// Of the elements; throws Memory error beyond `limit`.
std::size_t checked_bytes(DType dtype, const Shape& shape, std::int64_t limit) {
  const std::size_t unit = dtype == DType::String ? sizeof(std::string) : size_of(dtype);
  const std::int64_t bytes = checked_mul(shape.elements(), static_cast<std::int64_t>(unit));
  // The text is made only when it is needed: sessions come here in each run.
  if (bytes > limit) {
    fail(ErrorKind::Memory, "a tensor {}{} needs {} bytes, the limit is {}", name_of(dtype),
         shape.str(), bytes, limit);
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

TensorLimit::TensorLimit(std::int64_t bytes, std::shared_ptr<TensorBudget> budget)
    : before_(limit_bytes), outermost_(current_budget == nullptr) {
  if (outermost_)
    current_budget = budget ? std::move(budget) : std::make_shared<TensorBudget>(bytes);
  limit_bytes = std::min(limit_bytes, bytes);
}

TensorLimit::~TensorLimit() {
  limit_bytes = before_;
  if (outermost_) current_budget = nullptr;
}

std::int64_t TensorLimit::used() const {
  return current_budget->used();
}

std::int64_t TensorLimit::current() {
  return limit_bytes;
}

TensorReservation::TensorReservation(std::int64_t bytes) : bytes_(bytes), budget_(current_budget) {
  check(bytes <= limit_bytes, ErrorKind::Memory, "{} bytes are needed, the limit is {}", bytes,
        limit_bytes);
  if (budget_) budget_->take(bytes);
}

TensorReservation::~TensorReservation() {
  if (budget_) budget_->give(bytes_);
}

Tensor::Tensor(DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  const std::size_t bytes = checked_bytes(dtype, shape, limit_bytes);
  auto buffer = dtype == DType::String
                    ? allocate_strings(static_cast<std::size_t>(shape.elements()))
                    : allocate(bytes);
  data_ = buffer.get();
  owner_ = std::move(buffer);
  // An empty vector has no storage, yet the tensor is there.
  if (!owner_) owner_ = allocate(1);
}

Tensor::Tensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(shape), data_(const_cast<void*>(data)), owner_(std::move(owner)) {
  checked_bytes(dtype, shape, kMaxBytes);
}

Tensor Tensor::zeros(DType dtype, const Shape& shape) {
  Tensor t(dtype, shape);
  if (dtype != DType::String && t.bytes() != 0) std::memset(t.data_, 0, t.bytes());
  return t;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor t(dtype_, shape_);
  if (dtype_ == DType::String) {
    auto from = span<std::string>();
    std::copy(from.begin(), from.end(), t.mutable_span<std::string>().begin());
  } else if (bytes() != 0) {
    std::memcpy(t.data_, data_, bytes());
  }
  return t;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  check(shape.elements() == elements(), ErrorKind::Shape,
        "cannot reshape {} ({} elements) to {} ({} elements)", shape_.str(), elements(),
        shape.str(), shape.elements());
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

std::vector<std::int64_t> Tensor::to_i64() const {
  check(is_integer(dtype_) || is_narrow_integer(dtype_) || dtype_ == DType::Bool, ErrorKind::Type,
        "expected integers, got a tensor of {}", name_of(dtype_));
  std::vector<std::int64_t> out;
  const DType stored = is_narrow(dtype_) ? byte_of_narrow_integer(dtype_) : dtype_;
  dispatch(stored, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const std::int64_t n = elements();
      const T* values = static_cast<const T*>(data_);
      for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<std::int64_t>(values[i]));
    }
  });
  return out;
}

std::vector<double> Tensor::to_f64() const {
  std::vector<double> out;
  if (is_narrow_integer(dtype_)) {
    for (const std::int64_t v : to_i64()) out.push_back(static_cast<double>(v));
    return out;
  }
  if (is_narrow_float(dtype_)) {
    const auto& values = narrow_values(dtype_);
    const auto* codes = static_cast<const std::uint8_t*>(data_);
    const std::int64_t n = elements();
    for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>(values[codes[i]]));
    return out;
  }
  dispatch(dtype_, [&](auto zero) {
    using T = decltype(zero);
    for (T v : span<T>()) {
      if constexpr (std::is_arithmetic_v<T>) {
        out.push_back(static_cast<double>(v));
      } else {
        out.push_back(static_cast<double>(static_cast<float>(v)));
      }
    }
  });
  return out;
}

std::vector<float> Tensor::to_f32() const {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(elements()));
  if (dtype_ == DType::F16) {
    for (const Half v : span<Half>()) out.push_back(static_cast<float>(v));
  } else if (dtype_ == DType::BF16) {
    for (const BFloat16 v : span<BFloat16>()) out.push_back(static_cast<float>(v));
  } else {
    const auto values = span<float>();
    out.assign(values.begin(), values.end());
  }
  return out;
}

bool Tensor::identical(const Tensor& o) const {
  if (dtype_ != o.dtype_ || !(shape_ == o.shape_)) return false;
  if (dtype_ == DType::String) {
    auto a = span<std::string>(), b = o.span<std::string>();
    return std::equal(a.begin(), a.end(), b.begin());
  }
  return bytes() == 0 || std::memcmp(data_, o.data_, bytes()) == 0;
}

void Tensor::require(DType dtype) const {
  check(dtype == dtype_, ErrorKind::Type, "expected a tensor of {}, got {}", name_of(dtype),
        name_of(dtype_));
}

}  // namespace treadle
