#include "base/error.hpp"

namespace treadle {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Parse: return "parse";
    case ErrorKind::Unsupported: return "unsupported";
    case ErrorKind::Shape: return "shape";
    case ErrorKind::Type: return "type";
    case ErrorKind::Io: return "io";
    case ErrorKind::Device: return "device";
    case ErrorKind::Memory: return "memory";
    case ErrorKind::Internal: return "internal";
  }
  return "unknown";
}

Error& Error::in(std::string context) {
  contexts_.insert(contexts_.begin(), std::move(context));
  node_.reset();
  text_.clear();
  return *this;
}

Error& Error::in_node(std::string_view name, std::string context) {
  in(std::move(context));
  node_ = name;
  return *this;
}

Error& Error::in_origin(std::string_view name, std::string context) {
  if (node_ == name) contexts_.erase(contexts_.begin());
  return in(std::move(context));
}

const char* Error::what() const noexcept {
  try {
    if (text_.empty()) {
      for (const auto& c : contexts_) text_ += c + ": ";
      text_ += message_;
    }
    return text_.c_str();
  } catch (...) {
    return message_.c_str();
  }
}

}  // namespace treadle
