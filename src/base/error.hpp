// The one exception type of the library: what went wrong, and where.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle {

enum class ErrorKind { Parse, Unsupported, Shape, Type, Io, Device, Memory, Internal };

// "parse", "unsupported", …
const char* name_of(ErrorKind kind);

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  // Adds an outer context, such as the file or the node: prepended to the text with ": ".
  Error& in(std::string context);
  // The same for the node of that name.
  Error& in_node(std::string_view name, std::string context);
  // The same for what a node was made from: takes the place of the context that in_node() added
  // just before, when the name is the same, so that each name is said once.
  Error& in_origin(std::string_view name, std::string context);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  // Outermost first.
  const std::vector<std::string>& contexts() const { return contexts_; }
  // "model.onnx: node 'a' (Conv, #3): input 1 …".
  const char* what() const noexcept override;

 private:
  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> contexts_;
  std::optional<std::string> node_;  // what contexts_.front() names when in_node() added it
  mutable std::string text_;
};

// Throws Error(kind, formatted text).
template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

// Throws unless `ok`. For conditions that input can break, never as a debugging aid.
template <typename... Args>
void check(bool ok, ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

// Runs `body`; an Error that leaves it gets the context that `context()` returns.
template <typename Body, typename Context>
auto in_context(Context&& context, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (Error& e) {
    e.in(context());
    throw;
  }
}

}  // namespace treadle
