// What the C++ and the C API share: the public classes beside the internal ones.
#pragma once

#include "api/model.hpp"

#define TREADLE_BUILDING_API 1
#include "treadle/treadle.hpp"

namespace treadle {

v1::StatusCode to_public(ErrorKind kind);
v1::Status to_status(const Error& error);

// Runs body() and turns what it throws into a Status.
v1::Status current_exception_status() noexcept;
template <typename Body>
v1::Status guarded(Body&& body) noexcept {
  try {
    body();
    return {};
  } catch (...) {
    return current_exception_status();
  }
}
// Runs body() and turns what it throws into a v1::Error.
template <typename Body>
auto rethrowing(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    throw v1::Error(current_exception_status());
  }
}

ModelOptions to_model_options(const v1::LoadOptions& options);

namespace v1 {

struct Tensor::Impl {
  ::treadle::Tensor tensor;
};

// Reaches into the public classes.
struct Access {
  static const ::treadle::Tensor* tensor(const Tensor& t);
  static Tensor wrap(::treadle::Tensor t);
  // Shows `t` through `to`, without allocation when nobody else holds `to`'s elements.
  static void assign(Tensor& to, const ::treadle::Tensor& t);
  static const std::shared_ptr<const ::treadle::Model>& model(const Model& m);
};

}  // namespace v1
}  // namespace treadle
