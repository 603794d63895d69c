#include "api/model.hpp"

#include <algorithm>

#include "base/mapped_file.hpp"
#include "cpu/lower.hpp"
#include "formats/onnx/load.hpp"
#include "formats/tf/load.hpp"
#include "gpu/lower.hpp"
#include "passes/simplify.hpp"

namespace treadle {
namespace {

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
  return import_file(MappedFile::open(path), path, folder_of(path), options);
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
    SimplifyOptions channels_last;
    channels_last.channels_last = true;
    simplify(graph, channels_last);
  }
  LowerOptions lower = options.lower;
  lower.max_tensor_bytes = std::min(lower.max_tensor_bytes, options.limits.max_tensor_bytes);
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

std::shared_ptr<const Model> Model::load(const std::string& path, const ModelOptions& options) {
  return from(import_model(path, options), options);
}

std::shared_ptr<const Model> Model::load(std::span<const std::byte> bytes,
                                         const ModelOptions& options) {
  return from(import_model(bytes, options), options);
}

std::shared_ptr<const Model> Model::from(ImportedModel imported, const ModelOptions& options) {
  std::shared_ptr<Model> model(new Model);
  model->format_ = imported.format;
  model->file_ = imported.file;
  model->inputs_ = graph_inputs(imported.graph);
  model->outputs_ = graph_outputs(imported.graph);
  model->symbols_ = options.symbols;
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
    const auto file = MappedFile::open(path);
    const Format format =
        in_context([&] { return path; }, [&] { return detect_format(bytes_of(*file)); });
    const auto load = format_options(options);
    for (auto& p :
         format == Format::Onnx ? onnx::check_model(path, load) : tf::check_model(path, load))
      out.push_back({p.kind, std::move(p.text)});
    if (out.empty()) Model::load(path, options);
  } catch (const Error& e) {
    out.push_back({e.kind(), e.what()});
  }
  return out;
}

}  // namespace treadle
