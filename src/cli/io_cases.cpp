#include "cli/io_cases.hpp"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/json.hpp"
#include "tensor/file.hpp"
#include "tensor/npy.hpp"

namespace treadle::cli {
namespace {

namespace fs = std::filesystem;

void check_plain(const std::string& file) {
  check(file.find('/') == std::string::npos && !file.starts_with("."), ErrorKind::Parse,
        "io.json: '{}' is no plain file name", file);
}

Tensor read_in(const std::string& folder, const std::string& file) {
  check_plain(file);
  return read_npy_file(folder + "/" + file);
}

TensorMap read_arrays(const std::string& folder, const Json& list) {
  TensorMap out;
  for (const Json& item : list) {
    if (!item.contains("file")) continue;  // described by its statistics only
    out.insert_or_assign(item.at("name").get<std::string>(),
                         read_in(folder, item.at("file").get<std::string>()));
  }
  return out;
}

// "zeros 2,1,128"
Tensor initial_state(const std::string& text) {
  check(text.starts_with("zeros "), ErrorKind::Unsupported, "io.json: initial state '{}'", text);
  Shape shape;
  const char* at = text.data() + 6;
  const char* end = text.data() + text.size();
  while (at < end) {
    std::int64_t size = -1;
    const auto [next, code] = std::from_chars(at, end, size);
    check(code == std::errc{} && size >= 0 && (next == end || *next == ','), ErrorKind::Parse,
          "io.json: initial state '{}'", text);
    shape.push_back(size);
    at = next == end ? end : next + 1;
  }
  return Tensor::zeros(DType::F32, shape);
}

IoStream read_stream(const std::string& folder, const Json& j, const std::vector<IoCase>& cases) {
  IoStream s;
  s.input = j.at("input").get<std::string>();
  s.output = j.at("output").get<std::string>();
  s.frames = read_in(folder, "stream_input.npy");
  s.expected = read_in(folder, "stream_output.npy");
  for (const auto& [name, state] : j.at("states").items()) {
    IoStream::State st{name,
                       state.at("from").get<std::string>(),
                       initial_state(state.at("initial").get<std::string>()),
                       {}};
    if (state.contains("final")) st.last = read_in(folder, state["final"].get<std::string>());
    s.states.push_back(std::move(st));
  }
  // Constant inputs have the value that the first set gives them.
  for (const Json& name : j.value("consts", Json::array())) {
    const auto text = name.get<std::string>();
    const bool known = !cases.empty() && cases[0].inputs.contains(text);
    check(known, ErrorKind::Parse, "io.json: no set gives the constant '{}'", text);
    s.constants.insert_or_assign(text, cases[0].inputs.find(text)->second);
  }
  return s;
}

// The same from the model's own input on: the bytes of the recording.
IoCase from_recording(const std::string& folder, const IoCase& c) {
  check_plain(c.name);
  const auto bytes = read_file(folder + "/" + c.name);
  IoCase out{"whole " + c.name, {}, c.outputs};
  out.inputs[""] = Tensor::scalar<std::string>(
      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return out;
}

IoData read_json(const std::string& folder, const Json& j) {
  IoData out;
  int number = 0;
  for (const Json& set : j.value("sets", Json::array())) {
    IoCase c;
    c.name = set.value("name", "set" + std::to_string(number++));
    if (set.at("input" + std::string(set.contains("inputs") ? "s" : "")).is_string()) {
      // Keyword spotting: one input and one output, named once for all sets.
      c.name = set.value("wav", c.name);
      c.inputs[j.at("input").get<std::string>()] =
          read_in(folder, set.at("input").get<std::string>());
      c.outputs[j.at("output").get<std::string>()] =
          read_in(folder, set.at("output").get<std::string>());
      // A copy of the folder may have been made without the recordings.
      if (set.contains("wav") && fs::exists(folder + "/" + c.name))
        out.cases.push_back(from_recording(folder, c));
    } else {
      c.inputs = read_arrays(folder, set.at("inputs"));
      c.outputs = read_arrays(folder, set.at("outputs"));
    }
    out.cases.push_back(std::move(c));
  }
  if (j.contains("stream")) out.streams.push_back(read_stream(folder, j["stream"], out.cases));
  if (j.contains("prefill")) {
    const Json& prefill = j["prefill"];
    IoCase c;
    c.name = "prefill";
    c.inputs["input_ids"] = read_in(folder, prefill.at("input").get<std::string>());
    c.outputs["logits"] = read_in(folder, prefill.at("logits").get<std::string>());
    if (j.contains("decode"))
      out.decodes.push_back({c.inputs["input_ids"], read_in(folder, "greedy_ids.npy"),
                             read_in(folder, "decode_last_logits.npy")});
    out.cases.push_back(std::move(c));
  }
  return out;
}

// The folders of networks with constant weights: one input for all of them, beside the folders.
IoData read_plain(const std::string& folder) {
  const fs::path parent = fs::absolute(folder).lexically_normal().parent_path();
  IoCase c;
  c.name = "set0";
  c.outputs[""] = read_npy_file(folder + "/output.npy");
  for (const fs::path& base : {fs::path(folder), parent, parent.parent_path()}) {
    if (!c.inputs.empty()) break;
    for (const auto& entry : fs::directory_iterator(base))
      if (const auto name = entry.path().filename().string();
          name.starts_with("input") && name.ends_with(".npy"))
        c.inputs[""] = read_npy_file(entry.path().string());
  }
  check(!c.inputs.empty(), ErrorKind::Io, "{}: no input*.npy in it or above it", folder);
  IoData out;
  out.cases.push_back(std::move(c));
  return out;
}

}  // namespace

IoData read_io(const std::string& folder) {
  const std::string path = folder + "/io.json";
  if (!fs::exists(path)) {
    check(fs::exists(folder + "/output.npy"), ErrorKind::Io, "{}: neither io.json nor output.npy",
          folder);
    return read_plain(folder);
  }
  const auto bytes = read_file(path, 64 << 20);
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    return read_json(folder, Json::parse(text, text + bytes.size()));
  } catch (const Json::exception& e) {
    fail(ErrorKind::Parse, "{}: {}", path, e.what());
  }
}

}  // namespace treadle::cli
