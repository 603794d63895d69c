#include "onnx_backend/compare_values.hpp"

#include <algorithm>
#include <cmath>

namespace treadle::backend {
namespace {

std::vector<double> parts(const Tensor& t) {
  const auto n = static_cast<std::size_t>(t.elements());
  std::vector<double> out;
  if (t.dtype() == DType::C64) {
    const auto* p = static_cast<const float*>(t.data());
    out.assign(p, p + 2 * n);
  } else if (t.dtype() == DType::C128) {
    const auto* p = static_cast<const double*>(t.data());
    out.assign(p, p + 2 * n);
  } else {
    out = t.to_f64();
  }
  return out;
}

bool close(double got, double expected, const Tolerance& tol) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tol.atol + tol.rtol * std::abs(expected);
}

// 16-bit steps may be rounded the other way: two units in the last place.
Tolerance for_dtype(Tolerance tol, DType dtype) {
  if (dtype == DType::F16) tol.rtol = std::max(tol.rtol, 1.0 / 512);
  if (dtype == DType::BF16) tol.rtol = std::max(tol.rtol, 1.0 / 64);
  return tol;
}

std::string tensor_difference(const Tensor& got, const Tensor& expected, const Tolerance& tol) {
  if (!got.defined()) return "no value";
  if (got.dtype() != expected.dtype()) {
    return fmt::format("dtype {}, expected {}", name_of(got.dtype()), name_of(expected.dtype()));
  }
  if (!(got.shape() == expected.shape())) {
    return fmt::format("shape {}, expected {}", got.shape().str(), expected.shape().str());
  }
  const DType t = got.dtype();
  if (!is_float(t) && !is_narrow_float(t) && !is_complex(t)) {
    if (got.identical(expected)) return "";
    if (got.dtype() == DType::String) return "strings differ";
    const auto a = got.to_i64();
    const auto b = expected.to_i64();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) return fmt::format("element {} is {}, expected {}", i, a[i], b[i]);
    }
    return "elements differ";
  }
  const auto a = parts(got);
  const auto b = parts(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!close(a[i], b[i], for_dtype(tol, expected.dtype()))) {
      return fmt::format("element {} is {}, expected {}", i, a[i], b[i]);
    }
  }
  return "";
}

}  // namespace

std::string difference(const Value& got, const Value& expected, const Tolerance& tol) {
  if (got.kind() != expected.kind()) return "another kind of value";
  if (got.is_tensor()) return tensor_difference(got.tensor(), expected.tensor(), tol);
  if (got.kind() == Value::Kind::Optional) {
    if ((got.held() == nullptr) != (expected.held() == nullptr))
      return "only one optional is empty";
    return got.held() ? difference(*got.held(), *expected.held(), tol) : "";
  }
  const auto& a = got.items();
  const auto& b = expected.items();
  if (a.size() != b.size()) return fmt::format("{} items, expected {}", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string d = difference(a[i], b[i], tol);
    if (!d.empty()) return fmt::format("item {}: {}", i, d);
  }
  return "";
}

}  // namespace treadle::backend
