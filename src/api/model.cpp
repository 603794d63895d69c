#include "api/model.hpp"

#include <algorithm>
#include <filesystem>
#include <list>
#include <mutex>

#include "base/mapped_file.hpp"
#include "cpu/lower.hpp"
#include "formats/onnx/load.hpp"
#include "formats/tf/load.hpp"
#include "gpu/lower.hpp"
#include "graph/evaluate.hpp"
#include "ops/unify.hpp"
#include "passes/simplify.hpp"

namespace treadle {
namespace {

// Models for other sizes of one file that are kept.
constexpr std::size_t kModelsKept = 4;

constexpr std::string_view kStageNames[] = {"import", "simplified", "lowered", "bound"};

std::span<const std::byte> bytes_of(const MappedFile& file) {
  return std::as_bytes(std::span(file.bytes().data(), file.size()));
}

formats::LoadOptions format_options(const ModelOptions& options) {
  formats::LoadOptions out;
  out.limits = options.limits;
  out.input_shapes = options.shapes;
  out.symbols = options.symbols;
  out.inputs = options.cut_inputs;
  out.extra_outputs = options.extra_outputs;
  out.warn = options.warn;
  return out;
}

// `folder` is where external data may lie; none for a model in memory.
ImportedModel import_file(std::shared_ptr<const MappedFile> file, const std::string& name,
                          std::optional<std::string> folder, const ModelOptions& options) {
  ImportedModel out;
  out.format = in_context([&] { return name; }, [&] { return detect_format(bytes_of(*file)); });
  out.file = file;
  formats::LoadOptions load = format_options(options);
  load.folder = std::move(folder);
  out.graph = out.format == Format::Onnx ? onnx::load(std::move(file), name, load)
                                         : tf::load(std::move(file), name, load);
  return out;
}

// The file of a model; a folder stands for the SavedModel in it.
std::shared_ptr<const MappedFile> open_model(const std::string& path) {
  const bool folder = std::filesystem::is_directory(path);
  return MappedFile::open(folder ? path + "/saved_model.pb" : path);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash + 1);
}

}  // namespace

std::optional<Stage> stage_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kStageNames); ++i)
    if (kStageNames[i] == name) return static_cast<Stage>(i);
  return std::nullopt;
}

std::string_view name_of(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

ImportedModel import_model(const std::string& path, const ModelOptions& options) {
  return import_file(open_model(path), path, folder_of(path), options);
}

ImportedModel import_model(std::span<const std::byte> bytes, const ModelOptions& options) {
  std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return import_file(MappedFile::from_memory(std::move(copy)), "model in memory", std::nullopt,
                     options);
}

void simplify_model(Graph& graph) {
  simplify(graph);
}

std::shared_ptr<const Program> lower_model(Graph& graph, const ModelOptions& options) {
  std::shared_ptr<Device> device = options.device;
  if (!device && options.lower.target != "cpu")
    device = gpu::device_from_name(options.lower.target);
  if (!options.lower.reference) {
    SimplifyOptions target;
    target.channels_last = true;
    target.integer_products = !device;
    simplify(graph, target);
  }
  LowerOptions lower = options.lower;
  lower.max_tensor_bytes = std::min(lower.max_tensor_bytes, options.limits.max_tensor_bytes);
  lower.max_iterations = std::min(lower.max_iterations, options.limits.max_iterations);
  // 0: no bound.
  if (lower.max_seconds <= 0 ||
      (options.limits.max_seconds > 0 && options.limits.max_seconds < lower.max_seconds))
    lower.max_seconds = options.limits.max_seconds;
  if (device) return gpu::lower(std::move(graph), lower, std::move(device));
  return cpu::lower(std::move(graph), lower);
}

std::vector<Port> graph_inputs(const Graph& graph) {
  std::vector<Port> out;
  for (const ValueId v : graph.inputs()) out.push_back({graph.value_name(v), graph.fact(v)});
  return out;
}

std::vector<Port> graph_outputs(const Graph& graph) {
  std::vector<Port> out;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    out.push_back({graph.output_names()[i], graph.fact(graph.outputs()[i])});
  return out;
}

// What makes the models for the sizes at hand, and those made last.
struct Model::Unsized {
  std::shared_ptr<const MappedFile> file;
  std::string name;
  std::optional<std::string> folder;
  ModelOptions options;
  std::mutex mutex;
  std::list<std::pair<std::vector<Shape>, std::shared_ptr<const Model>>> made;  // last used first
};

Model::Model() = default;
Model::~Model() = default;

std::shared_ptr<const Model> Model::load(const std::string& path, const ModelOptions& options) {
  return open(open_model(path), path, folder_of(path), options);
}

std::shared_ptr<const Model> Model::load(std::span<const std::byte> bytes,
                                         const ModelOptions& options) {
  std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return open(MappedFile::from_memory(std::move(copy)), "model in memory", std::nullopt, options);
}

std::shared_ptr<const Model> Model::open(std::shared_ptr<const MappedFile> file,
                                         const std::string& name, std::optional<std::string> folder,
                                         const ModelOptions& options) {
  try {
    return from(import_file(file, name, folder, options), options);
  } catch (const formats::NeedsSizes&) {
    if (auto model = unsized(std::move(file), name, std::move(folder), options)) return model;
    throw;
  }
}

// Null when the options choose inputs or outputs that the file (ONNX) does not declare.
std::shared_ptr<const Model> Model::unsized(std::shared_ptr<const MappedFile> file,
                                            const std::string& name,
                                            std::optional<std::string> folder,
                                            const ModelOptions& options) {
  std::shared_ptr<Model> model(new Model);
  formats::LoadOptions load = format_options(options);
  load.folder = folder;
  model->format_ = detect_format(bytes_of(*file));
  const bool onnx = model->format_ == Format::Onnx;
  formats::Interface declared =
      onnx ? onnx::interface(file, name, load) : tf::interface(file, name, load);
  for (auto& d : declared.inputs) model->inputs_.push_back({std::move(d.name), std::move(d.fact)});
  for (auto& d : declared.outputs)
    model->outputs_.push_back({std::move(d.name), std::move(d.fact)});
  const auto is_input = [&](const std::string& wanted) {
    return std::ranges::any_of(model->inputs_, [&](const Port& p) { return p.name == wanted; });
  };
  // TensorFlow's interface has those that were chosen.
  if (onnx &&
      (!options.extra_outputs.empty() || !std::ranges::all_of(options.cut_inputs, is_input)))
    return nullptr;
  model->lower_ = options.lower;
  model->symbols_ = options.symbols;
  model->unsized_ = std::make_unique<Unsized>();
  Unsized& u = *model->unsized_;
  u.file = std::move(file);
  u.name = name;
  u.folder = std::move(folder);
  u.options = options;
  return model;
}

std::shared_ptr<const Model> Model::for_inputs(std::span<const Value> inputs) const {
  if (!needs_sizes()) return shared_from_this();
  check(inputs.size() == inputs_.size(), ErrorKind::Shape, "the model has {} inputs, got {}",
        inputs_.size(), inputs.size());
  std::vector<Shape> shapes(inputs.size());
  SymbolValues known = symbols_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs_[i].fact.kind != Fact::Kind::Tensor) continue;  // checked by the session
    const Tensor& t = inputs[i].tensor();
    shapes[i] = t.shape();
    if (!ops::has_unknown_rank(inputs_[i].fact))
      solve_symbols(inputs_[i].fact, t.dtype(), t.shape(), "input '" + inputs_[i].name + "'",
                    known);
  }
  Unsized& u = *unsized_;
  const std::lock_guard lock(u.mutex);
  auto it = u.made.begin();
  while (it != u.made.end() && it->first != shapes) ++it;
  if (it == u.made.end()) {
    ModelOptions options = u.options;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs_[i].fact.kind == Fact::Kind::Tensor)
        options.shapes.insert_or_assign(inputs_[i].name, to_sym(shapes[i]));
    auto model = from(import_file(u.file, u.name, u.folder, options), options);
    u.made.emplace_front(std::move(shapes), std::move(model));
    if (u.made.size() > kModelsKept) u.made.pop_back();
  } else {
    u.made.splice(u.made.begin(), u.made, it);
  }
  return u.made.front().second;
}

std::shared_ptr<const Model> Model::from(ImportedModel imported, const ModelOptions& options) {
  std::shared_ptr<Model> model(new Model);
  model->format_ = imported.format;
  model->file_ = imported.file;
  model->inputs_ = graph_inputs(imported.graph);
  model->outputs_ = graph_outputs(imported.graph);
  model->symbols_ = options.symbols;
  model->lower_ = options.lower;
  if (!options.lower.reference) simplify_model(imported.graph);
  model->program_ = lower_model(imported.graph, options);
  model->release_weights();
  return model;
}

void Model::release_weights() const {
  if (file_) file_->release_pages();
}

std::vector<CheckProblem> check_model(const std::string& path, const ModelOptions& options) {
  std::vector<CheckProblem> out;
  try {
    const auto file = open_model(path);
    const Format format =
        in_context([&] { return path; }, [&] { return detect_format(bytes_of(*file)); });
    const auto load = format_options(options);
    for (auto& p :
         format == Format::Onnx ? onnx::check_model(path, load) : tf::check_model(file, path, load))
      out.push_back({p.kind, std::move(p.text)});
    ModelOptions quiet = options;
    quiet.warn = nullptr;
    if (out.empty()) Model::load(path, quiet);
  } catch (const Error& e) {
    out.push_back({e.kind(), e.what()});
  }
  return out;
}

}  // namespace treadle
