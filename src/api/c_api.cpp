// The C API over the C++ API.
#include <algorithm>
#include <cstring>

#include "api/public.hpp"
#include "treadle/treadle.h"

using treadle::v1::DataType;
using treadle::v1::LoadOptions;
using treadle::v1::PortInfo;
using treadle::v1::Status;
using treadle::v1::StatusCode;

struct treadle_model {
  treadle::v1::Model model;
};

struct treadle_session {
  treadle::v1::Session session;
  treadle::v1::Model model;
};

namespace {

thread_local std::string last_error;

treadle_status report(const Status& status) noexcept {
  try {
    last_error = status.message();
  } catch (...) {
    last_error.clear();
  }
  return static_cast<treadle_status>(status.code());
}

treadle_status invalid(const char* message) noexcept {
  try {
    return report(Status(StatusCode::InvalidArgument, message));
  } catch (...) {
    return TREADLE_MEMORY;
  }
}

template <typename Body>
treadle_status guard(Body&& body) noexcept {
  const Status s = treadle::guarded(body);
  return s.ok() ? TREADLE_OK : report(s);
}

void append_texts(std::vector<std::string>& to, const char* const* texts, std::size_t count) {
  treadle::check(count == 0 || texts != nullptr, treadle::ErrorKind::Parse,
                 "options: an array is null but its count is {}", count);
  for (std::size_t i = 0; i < count; ++i) {
    treadle::check(texts[i] != nullptr, treadle::ErrorKind::Parse, "options: text {} is null", i);
    to.emplace_back(texts[i]);
  }
}

// A caller built against an older header gives a smaller struct: the rest keeps its defaults.
LoadOptions to_load_options(const treadle_options* given) {
  LoadOptions out;
  if (given == nullptr) return out;
  treadle::check(given->size >= sizeof(std::size_t), treadle::ErrorKind::Parse,
                 "options: size is not set; call treadle_options_init first");
  treadle_options o;
  treadle_options_init(&o);
  std::memcpy(&o, given, std::min(given->size, sizeof o));
  out.threads = o.threads;
  out.exact = o.exact != 0;
  out.reference = o.reference != 0;
  if (o.target != nullptr) out.target = o.target;
  append_texts(out.shapes, o.shapes, o.shape_count);
  append_texts(out.symbols, o.symbols, o.symbol_count);
  append_texts(out.cut_inputs, o.cut_inputs, o.cut_input_count);
  append_texts(out.extra_outputs, o.extra_outputs, o.extra_output_count);
  out.max_tensor_bytes = o.max_tensor_bytes;
  out.max_nodes = o.max_nodes;
  out.max_iterations = o.max_iterations;
  out.max_seconds = o.max_seconds;
  out.flush_denormals = o.keep_denormals == 0;
  if (o.warn != nullptr) {
    out.warn = [warn = o.warn, data = o.warn_data](const std::string& m) { warn(m.c_str(), data); };
  }
  return out;
}

treadle_status describe(const std::vector<PortInfo>& ports, std::size_t index, treadle_port* out) {
  if (out == nullptr) return invalid("port is null");
  if (index >= ports.size()) return invalid("there is no input or output of that index");
  const PortInfo& p = ports[index];
  *out = {};
  out->name = p.name.c_str();
  out->dtype = static_cast<treadle_dtype>(p.type);
  out->rank = static_cast<std::int32_t>(std::min<std::size_t>(p.shape.size(), TREADLE_MAX_RANK));
  std::copy_n(p.shape.begin(), out->rank, out->shape);
  return TREADLE_OK;
}

}  // namespace

const char* treadle_version(void) {
  return treadle::v1::version().data();
}
const char* treadle_last_error(void) {
  return last_error.c_str();
}

const char* treadle_status_name(treadle_status status) {
  static constexpr const char* kNames[] = {
      "ok", "parse",  "unsupported", "shape",    "type",
      "io", "device", "memory",      "internal", "invalid argument"};
  const auto i = static_cast<std::size_t>(status);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

void treadle_options_init(treadle_options* options) {
  if (options == nullptr) return;
  const LoadOptions defaults;
  *options = {};
  options->size = sizeof *options;
  options->threads = defaults.threads;
  options->target = "cpu";
  options->max_tensor_bytes = defaults.max_tensor_bytes;
  options->max_nodes = defaults.max_nodes;
  options->max_iterations = defaults.max_iterations;
  options->max_seconds = defaults.max_seconds;
}

treadle_status treadle_model_load(const char* path, const treadle_options* options,
                                  treadle_model** model) {
  if (model == nullptr) return invalid("model is null");
  *model = nullptr;
  if (path == nullptr) return invalid("path is null");
  return guard([&] {
    *model =
        new treadle_model{treadle::v1::Model::load(std::string(path), to_load_options(options))};
  });
}

treadle_status treadle_model_load_memory(const void* bytes, size_t size,
                                         const treadle_options* options, treadle_model** model) {
  if (model == nullptr) return invalid("model is null");
  *model = nullptr;
  if (bytes == nullptr) return invalid("bytes is null");
  return guard([&] {
    *model = new treadle_model{treadle::v1::Model::load(
        std::span(static_cast<const std::byte*>(bytes), size), to_load_options(options))};
  });
}

void treadle_model_free(treadle_model* model) {
  delete model;
}

size_t treadle_model_input_count(const treadle_model* model) {
  return model ? model->model.inputs().size() : 0;
}

size_t treadle_model_output_count(const treadle_model* model) {
  return model ? model->model.outputs().size() : 0;
}

treadle_status treadle_model_input(const treadle_model* model, size_t index, treadle_port* port) {
  return model ? describe(model->model.inputs(), index, port) : invalid("model is null");
}

treadle_status treadle_model_output(const treadle_model* model, size_t index, treadle_port* port) {
  return model ? describe(model->model.outputs(), index, port) : invalid("model is null");
}

treadle_status treadle_session_create(const treadle_model* model, treadle_session** session) {
  if (session == nullptr) return invalid("session is null");
  *session = nullptr;
  if (model == nullptr) return invalid("model is null");
  return guard([&] {
    *session = new treadle_session{treadle::v1::Session(model->model), model->model};
  });
}

void treadle_session_free(treadle_session* session) {
  delete session;
}

treadle_status treadle_session_set_input(treadle_session* session, size_t index,
                                         const treadle_tensor* tensor) {
  if (session == nullptr || tensor == nullptr) return invalid("session or tensor is null");
  if (tensor->rank < 0 || tensor->rank > TREADLE_MAX_RANK) return invalid("rank is out of range");
  return guard([&] {
    const auto type = static_cast<DataType>(tensor->dtype);
    const std::vector<std::int64_t> shape(tensor->shape, tensor->shape + tensor->rank);
    const auto t = treadle::v1::Tensor::wrap(type, shape, tensor->data);
    const std::size_t need = t.elements() * treadle::v1::size_of(type);
    treadle::check(tensor->bytes == need, treadle::ErrorKind::Shape,
                   "input {}: dtype and shape need {} bytes, got {}", index, need, tensor->bytes);
    const Status s = session->session.set_input(index, t);
    if (!s.ok()) throw treadle::v1::Error(s);
  });
}

treadle_status treadle_session_set_input_named(treadle_session* session, const char* name,
                                               const treadle_tensor* tensor) {
  if (session == nullptr || name == nullptr) return invalid("session or name is null");
  const auto& ports = session->model.inputs();
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return treadle_session_set_input(session, i, tensor);
  return guard([&] {
    throw treadle::v1::Error(
        Status(StatusCode::InvalidArgument, "the model has no input '" + std::string(name) + "'"));
  });
}

treadle_status treadle_session_run(treadle_session* session) {
  if (session == nullptr) return invalid("session is null");
  const Status s = session->session.run();
  return s.ok() ? TREADLE_OK : report(s);
}

treadle_status treadle_session_output(const treadle_session* session, size_t index,
                                      treadle_tensor* tensor) {
  if (session == nullptr || tensor == nullptr) return invalid("session or tensor is null");
  const auto* t = treadle::v1::Access::tensor(session->session.output(index));
  if (t == nullptr) return invalid("there is no such output, or nothing was run yet");
  *tensor = {};
  tensor->dtype = static_cast<treadle_dtype>(t->dtype());
  tensor->rank = t->rank();
  std::copy(t->shape().begin(), t->shape().end(), tensor->shape);
  tensor->data = const_cast<void*>(t->data());
  tensor->bytes = t->dtype() == treadle::DType::String ? 0 : t->bytes();
  return TREADLE_OK;
}

treadle_status treadle_session_output_string(const treadle_session* session, size_t index,
                                             size_t element, const char** text, size_t* size) {
  if (session == nullptr || text == nullptr || size == nullptr)
    return invalid("an argument is null");
  const auto* t = treadle::v1::Access::tensor(session->session.output(index));
  if (t == nullptr || t->dtype() != treadle::DType::String)
    return invalid("there is no string output of that index");
  const auto strings = t->span<std::string>();
  if (element >= strings.size()) return invalid("there is no such element");
  *text = strings[element].data();
  *size = strings[element].size();
  return TREADLE_OK;
}
