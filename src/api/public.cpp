#include "api/public.hpp"

#include <new>

#include "api/option_text.hpp"

namespace treadle {

v1::StatusCode to_public(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Parse:
      return v1::StatusCode::Parse;
    case ErrorKind::Unsupported:
      return v1::StatusCode::Unsupported;
    case ErrorKind::Shape:
      return v1::StatusCode::Shape;
    case ErrorKind::Type:
      return v1::StatusCode::Type;
    case ErrorKind::Io:
      return v1::StatusCode::Io;
    case ErrorKind::Device:
      return v1::StatusCode::Device;
    case ErrorKind::Memory:
      return v1::StatusCode::Memory;
    case ErrorKind::Internal:
      return v1::StatusCode::Internal;
  }
  return v1::StatusCode::Internal;
}

v1::Status to_status(const Error& error) {
  return {to_public(error.kind()), error.what()};
}

v1::Status current_exception_status() noexcept {
  try {
    try {
      throw;
    } catch (const Error& e) {
      return to_status(e);
    } catch (const v1::Error& e) {
      return {e.code(), e.what()};
    } catch (const std::bad_alloc&) {
      return {v1::StatusCode::Memory, "out of memory"};
    } catch (const std::exception& e) {
      return {v1::StatusCode::Internal, e.what()};
    } catch (...) {
      return {v1::StatusCode::Internal, "unknown error"};
    }
  } catch (...) {
    return {v1::StatusCode::Memory, {}};  // no memory even for the message
  }
}

ModelOptions to_model_options(const v1::LoadOptions& options) {
  ModelOptions out;
  check(options.threads >= 1 && options.threads <= 1024, ErrorKind::Parse,
        "threads must be 1 to 1024, got {}", options.threads);
  out.lower.threads = options.threads;
  out.lower.target = options.target;
  out.lower.exact = options.exact;
  out.lower.reference = options.reference;
  for (const auto& s : options.shapes) add_shape(s, out);
  for (const auto& s : options.symbols) add_symbol(s, out);
  out.cut_inputs = options.cut_inputs;
  out.extra_outputs = options.extra_outputs;
  out.limits.max_tensor_bytes = options.max_tensor_bytes;
  out.limits.max_nodes = options.max_nodes;
  check(options.max_iterations >= 0 && options.max_seconds >= 0, ErrorKind::Parse,
        "max_iterations and max_seconds must not be negative, got {} and {}",
        options.max_iterations, options.max_seconds);
  out.limits.max_iterations = options.max_iterations;
  out.limits.max_seconds = options.max_seconds;
  out.lower.flush_denormals = options.flush_denormals;
  out.warn = options.warn;
  return out;
}

namespace v1 {

const ::treadle::Tensor* Access::tensor(const Tensor& t) {
  return t.impl_ ? &t.impl_->tensor : nullptr;
}

Tensor Access::wrap(::treadle::Tensor t) {
  Tensor out;
  out.impl_ = std::make_shared<Tensor::Impl>(Tensor::Impl{std::move(t)});
  return out;
}

void Access::assign(Tensor& to, const ::treadle::Tensor& t) {
  if (to.impl_ == nullptr || to.impl_.use_count() > 1) {
    to = wrap(t);
  } else {
    to.impl_->tensor = t;
  }
}

std::string_view version() noexcept {
  return TREADLE_VERSION;
}

std::string_view to_string(DataType type) noexcept {
  return type <= DataType::UInt2 ? ::treadle::name_of(static_cast<DType>(type))
                                 : std::string_view("unknown");
}

std::size_t size_of(DataType type) noexcept {
  const bool bytes = type <= DataType::UInt2 && type != DataType::String;
  return bytes ? ::treadle::size_of(static_cast<DType>(type)) : 0;
}

}  // namespace v1
}  // namespace treadle
