#include "formats/tf/load.hpp"

#include "base/error.hpp"
#include "formats/tf/saved_model.hpp"
#include "formats/tf/scope.hpp"

namespace treadle::tf {
namespace {

// Calls `use` with the import of a GraphDef, or of the graph that a SavedModel serves.
template <typename Use>
auto with_import(const std::shared_ptr<const MappedFile>& file, const LoadOptions& options,
                 Use&& use) {
  if (!is_saved_model(file->bytes())) {
    Import import(file, file->bytes(), options);
    return use(import);
  }
  Served served = served_graph(file->bytes());
  LoadOptions serving = options;
  if (serving.outputs.empty()) serving.outputs = std::move(served.outputs);
  Import import(file, served.graph, serving);
  return use(import);
}

}  // namespace

Graph load(const std::string& path, const LoadOptions& options) {
  return load(MappedFile::open(path), path, options);
}

Graph load(std::shared_ptr<const MappedFile> file, const std::string& name,
           const LoadOptions& options) {
  return in_context([&] { return name; },
                    [&] { return with_import(file, options, [](Import& i) { return i.run(); }); });
}

formats::Interface interface(std::shared_ptr<const MappedFile> file, const std::string& name,
                             const LoadOptions& options) {
  return in_context(
      [&] { return name; },
      [&] { return with_import(file, options, [](Import& i) { return i.interface(); }); });
}

std::vector<Problem> check_model(std::shared_ptr<const MappedFile> file, const std::string& name,
                                 const LoadOptions& options) {
  try {
    return with_import(file, options, [](Import& i) { return i.problems(); });
  } catch (const Error& e) {
    return {{e.kind(), name + ": " + e.what()}};
  }
}

}  // namespace treadle::tf
