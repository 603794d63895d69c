// Compiles Metal source text for this machine with the host's clang.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "group.hpp"
#include "translate.hpp"

namespace softmetal {

struct CompileOptions {
  bool fast_math = true;
  std::uint32_t version = 240;  // __METAL_VERSION__
};

struct Function {
  Kernel kernel;
  Entry entry = nullptr;
  std::uint64_t threadgroup_bytes() const;  // of its variables
};

// What newLibraryWithSource makes of a text. Everything is checked; with many kernels, each is
// compiled when it is first asked for. With SOFTMETAL_CACHE in the environment, what has been
// compiled is kept in that folder under the hash of the text.
class Library {
 public:
  // Null with clang's log in `error`. The same text and options give the same library.
  static std::shared_ptr<Library> compile(const std::string& source, const CompileOptions& options,
                                          std::string& error);
  const std::string& key() const { return key_; }  // of the text and the options
  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  // Null with the reason in `error`.
  std::shared_ptr<Function> function(const std::string& name, std::string& error);

 private:
  bool load(const std::string& only, std::string& error);

  CompileOptions options_;
  std::string key_;
  std::string preprocessed_;
  std::vector<std::string> names_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Function>> functions_;
};

}  // namespace softmetal
