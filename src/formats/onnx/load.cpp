#include "formats/onnx/load.hpp"

#include <new>
#include <stdexcept>

#include "base/error.hpp"
#include "formats/onnx/import.hpp"

namespace treadle::onnx {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Running out of memory on a hostile or huge file is an error as any other.
template <typename Body>
auto guarded(const std::string& name, Body&& body) -> decltype(body()) {
  return in_context([&] { return name; },
                    [&] {
                      try {
                        return body();
                      } catch (const std::bad_alloc&) {
                        fail(ErrorKind::Memory, "out of memory");
                      } catch (const std::length_error&) {
                        fail(ErrorKind::Memory, "out of memory");
                      }
                    });
}

}  // namespace

Graph load(const std::string& path, const LoadOptions& options) {
  return guarded(path, [&] {
    return Import(MappedFile::open(path), options.folder.value_or(folder_of(path)), options, false)
        .run();
  });
}

Graph load(std::shared_ptr<const MappedFile> file, const std::string& name,
           const LoadOptions& options) {
  return guarded(name,
                 [&] { return Import(std::move(file), options.folder, options, false).run(); });
}

formats::Interface interface(std::shared_ptr<const MappedFile> file, const std::string& name,
                             const LoadOptions& options) {
  return guarded(
      name, [&] { return Import(std::move(file), options.folder, options, false).interface(); });
}

std::vector<Problem> check_model(const std::string& path, const LoadOptions& options) {
  std::vector<Problem> problems;
  try {
    guarded(path, [&] {
      Import import(MappedFile::open(path), options.folder.value_or(folder_of(path)), options,
                    true);
      try {
        import.run();
      } catch (Error&) {
        problems = import.problems();
        throw;
      }
      problems = import.problems();
    });
  } catch (Error& e) {
    problems.push_back({e.kind(), e.what()});
  }
  return problems;
}

}  // namespace treadle::onnx
