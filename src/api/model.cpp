#include "api/model.hpp"

#include "base/mapped_file.hpp"
#include "cpu/lower.hpp"
#include "formats/onnx/load.hpp"
#if __has_include("formats/tf/load.hpp")
#include "formats/tf/load.hpp"
#define TREADLE_HAS_TF 1
#endif
#include "passes/simplify.hpp"

namespace treadle {
namespace {

constexpr std::string_view kStageNames[] = {"import", "simplified", "lowered", "bound"};

std::span<const std::byte> bytes_of(const MappedFile& file) {
  return std::as_bytes(std::span(file.bytes().data(), file.size()));
}

template <typename LoadOptions>
LoadOptions format_options(const ModelOptions& options) {
  LoadOptions out;
  out.limits = options.limits;
  out.input_shapes = options.shapes;
  out.symbols = options.symbols;
  out.inputs = options.cut_inputs;
  out.extra_outputs = options.extra_outputs;
  return out;
}

template <typename LoadOptions>
LoadOptions format_options(const ModelOptions& options, const std::string& path) {
  LoadOptions out = format_options<LoadOptions>(options);
  const auto slash = path.find_last_of('/');
  if constexpr (requires { out.folder; })
    out.folder = slash == std::string::npos ? std::string(".") : path.substr(0, slash + 1);
  return out;
}

ImportedModel import_file(std::shared_ptr<const MappedFile> file, const std::string& name,
                          const std::string* path, const ModelOptions& options) {
  ImportedModel out;
  out.format = in_context([&] { return name; }, [&] { return detect_format(bytes_of(*file)); });
  out.file = file;
  if (out.format == Format::Onnx) {
    out.graph = onnx::load(std::move(file), name,
                           path ? format_options<onnx::LoadOptions>(options, *path)
                                : format_options<onnx::LoadOptions>(options));
    return out;
  }
#ifdef TREADLE_HAS_TF
  out.graph = tf::load(std::move(file), name, format_options<tf::LoadOptions>(options));
  return out;
#else
  fail(ErrorKind::Unsupported, "{}: this build reads no TensorFlow models", name);
#endif
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
  return import_file(MappedFile::open(path), path, &path, options);
}

ImportedModel import_model(std::span<const std::byte> bytes, const ModelOptions& options) {
  std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return import_file(MappedFile::from_memory(std::move(copy)), "model in memory", nullptr, options);
}

void simplify_model(Graph& graph) {
  simplify(graph);
}

std::shared_ptr<const Program> lower_model(Graph& graph, const ModelOptions& options) {
  check(options.lower.target == "cpu", ErrorKind::Unsupported,
        "target '{}' is unknown; this build has: cpu", options.lower.target);
  if (!options.lower.reference) {
    SimplifyOptions for_cpu;
    for_cpu.channels_last = true;
    simplify(graph, for_cpu);
  }
  return cpu::lower(graph, options.lower);
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
    if (format == Format::Onnx) {
      for (auto& p : onnx::check_model(path, format_options<onnx::LoadOptions>(options)))
        out.push_back({p.kind, std::move(p.text)});
    }
#ifdef TREADLE_HAS_TF
    if constexpr (requires { tf::check_model(path, tf::LoadOptions{}); }) {
      if (format == Format::TensorFlow)
        for (auto& p : tf::check_model(path, format_options<tf::LoadOptions>(options)))
          out.push_back({p.kind, std::move(p.text)});
    }
#endif
    if (out.empty()) Model::load(path, options);
  } catch (const Error& e) {
    out.push_back({e.kind(), e.what()});
  }
  return out;
}

}  // namespace treadle
