#include "formats/tf/load.hpp"

#include "base/error.hpp"
#include "formats/tf/scope.hpp"

namespace treadle::tf {

Graph load(const std::string& path, const LoadOptions& options) {
  return load(MappedFile::open(path), path, options);
}

Graph load(std::shared_ptr<const MappedFile> file, const std::string& name,
           const LoadOptions& options) {
  return in_context([&] { return name; },
                    [&] {
                      const std::string_view bytes = file->bytes();
                      return Import(std::move(file), bytes, options).run();
                    });
}

std::vector<Problem> check_model(const std::string& path, const LoadOptions& options) {
  try {
    const auto file = MappedFile::open(path);
    return Import(file, file->bytes(), options).problems();
  } catch (const Error& e) {
    return {{e.kind(), path + ": " + e.what()}};
  }
}

}  // namespace treadle::tf
