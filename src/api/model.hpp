// A loaded model: from a file, through import, simplify and lower, to a program.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/detect.hpp"
#include "graph/graph.hpp"
#include "plan/program.hpp"
#include "plan/session.hpp"

namespace treadle {

class MappedFile;

enum class Stage { Import, Simplified, Lowered, Bound };
// "import", "simplified", "lowered", "bound"; nullopt for other text.
std::optional<Stage> stage_from_name(std::string_view name);
std::string_view name_of(Stage stage);

struct ModelOptions {
  // Shapes of inputs, in place of what the file says.
  std::map<std::string, SymShape, std::less<>> shapes;
  // Values of symbols in the inputs' shapes ("batch").
  SymbolValues symbols;
  // Inner values that become inputs (the graph is cut there), and values that become outputs too.
  std::vector<std::string> cut_inputs, extra_outputs;
  LowerOptions lower;
  // The device to lower to, shared with other models; null: the one that lower.target names.
  std::shared_ptr<Device> device;
  Limits limits;
  // Called while loading with what is wrong in the file and keeps nothing from running; may be
  // empty.
  std::function<void(const std::string&)> warn;
};

// An input or output: its name and what is known of it.
struct Port {
  std::string name;
  Fact fact;
};

// A model that was read, in one of the graph stages. Constants point into the mapped file, which
// lives as long as any of them.
struct ImportedModel {
  Format format = Format::Onnx;
  Graph graph;
  std::shared_ptr<const MappedFile> file;
};

// Throw Io error when the file cannot be read and what the importer throws, with the path as
// context.
ImportedModel import_model(const std::string& path, const ModelOptions& options);
// External data cannot be reached from memory: Unsupported error. `bytes` are copied.
ImportedModel import_model(std::span<const std::byte> bytes, const ModelOptions& options);

// The portable simplification that every target shares.
void simplify_model(Graph& graph);
// Prepares the simplified graph for options.target and lowers it.
std::shared_ptr<const Program> lower_model(Graph& graph, const ModelOptions& options);

// Immutable; shared by any number of sessions in any threads.
//
// Some files can be typed only when the sizes of the inputs are numbers (an If on a size whose
// branches differ in rank, an input without a declared shape). Such a model needs_sizes(): it knows
// what the file declares, and for_inputs() gives the model that runs.
class Model : public std::enable_shared_from_this<Model> {
 public:
  static std::shared_ptr<const Model> load(const std::string& path,
                                           const ModelOptions& options = {});
  static std::shared_ptr<const Model> load(std::span<const std::byte> bytes,
                                           const ModelOptions& options = {});
  // Simplifies (unless options.lower.reference) and lowers.
  static std::shared_ptr<const Model> from(ImportedModel imported, const ModelOptions& options);
  ~Model();

  // Null while needs_sizes().
  const std::shared_ptr<const Program>& program() const { return program_; }
  bool needs_sizes() const { return unsized_ != nullptr; }
  // The model for inputs of these shapes, in the order of inputs(): this one, unless needs_sizes().
  // The last few are kept. Throws Shape and Type errors for inputs that do not fit, and what
  // loading throws.
  std::shared_ptr<const Model> for_inputs(std::span<const Value> inputs) const;
  const LowerOptions& options() const { return lower_; }
  Format format() const { return format_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const SymbolValues& symbols() const { return symbols_; }
  // Lets the system drop the mapped weights that kernels have packed; they come back when touched.
  // To be called when a session has bound its shapes.
  void release_weights() const;

 private:
  struct Unsized;
  Model();
  static std::shared_ptr<const Model> open(std::shared_ptr<const MappedFile> file,
                                           const std::string& name,
                                           std::optional<std::string> folder,
                                           const ModelOptions& options);
  static std::shared_ptr<const Model> unsized(std::shared_ptr<const MappedFile> file,
                                              const std::string& name,
                                              std::optional<std::string> folder,
                                              const ModelOptions& options);
  Format format_ = Format::Onnx;
  LowerOptions lower_;
  std::unique_ptr<Unsized> unsized_;
  std::shared_ptr<const Program> program_;
  std::vector<Port> inputs_, outputs_;
  SymbolValues symbols_;
  std::shared_ptr<const MappedFile> file_;
};

struct CheckProblem {
  ErrorKind kind = ErrorKind::Parse;
  std::string text;
};
// Everything that keeps the model from running, not only the first. Throws nothing but bad_alloc.
std::vector<CheckProblem> check_model(const std::string& path, const ModelOptions& options);

// Inputs and outputs of a graph.
std::vector<Port> graph_inputs(const Graph& graph);
std::vector<Port> graph_outputs(const Graph& graph);

}  // namespace treadle
