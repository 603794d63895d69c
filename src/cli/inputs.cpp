#include "cli/inputs.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "graph/evaluate.hpp"
#include "ops/cast.hpp"
#include "ops/unify.hpp"
#include "tensor/file.hpp"
#include "tensor/npy.hpp"
#include "tensor/npz.hpp"
#include "tensor/wav.hpp"

namespace treadle::cli {
namespace {

constexpr std::uint32_t kDefaultSeed = 42;

struct Spec {
  std::string name;  // empty: for the only input, or an .npz with all of them
  std::string source;
};

std::string lower_ending(const std::string& source) {
  std::string ending = std::filesystem::path(source).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

bool is_image(const std::string& ending) {
  constexpr std::array kEndings{".png", ".jpg", ".jpeg", ".bmp", ".pbm", ".pgm", ".ppm", ".pnm"};
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

Spec parse_spec(const std::string& text) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0) return {{}, text};
  check(at + 1 < text.size(), ErrorKind::Parse, "--input '{}' names no source", text);
  return {text.substr(0, at), text.substr(at + 1)};
}

std::optional<double> number(std::string_view text) {
  double v = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (code != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return v;
}

// Sizes with every symbol solved, as far as they are known; see make_inputs.
Shape open_shape(const Port& port, const SymbolValues& symbols) {
  SymbolValues known = symbols;
  if (!port.fact.shape.empty()) {
    std::vector<std::string> first;
    port.fact.shape[0].collect_symbols(first);
    if (first.size() == 1) known.emplace(first[0], 1);
  }
  return in_context(
      [&] { return fmt::format("input '{}' of shape {}", port.name, str(port.fact.shape)); },
      [&] { return eval(port.fact.shape, known); });
}

// What f32 or small integers hold, as a narrow type.
Tensor as_narrow(const Tensor& wide, DType dtype) {
  Tensor t(dtype, wide.shape());
  ops::convert_elements(wide.view(), t.view());
  return t;
}

Tensor filled(DType dtype, const Shape& shape, double v) {
  if (is_narrow(dtype)) return as_narrow(filled(DType::F32, shape, v), dtype);
  Tensor t = Tensor::zeros(dtype, shape);
  dispatch(dtype, [&]<typename T>(T) {
    for (T& x : t.mutable_span<T>()) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        x = T(static_cast<float>(v));
      else if constexpr (std::is_floating_point_v<T>)
        x = static_cast<T>(v);
      else
        x = static_cast<T>(static_cast<std::int64_t>(v));
    }
  });
  return t;
}

// Samples for an audio input: the last axis takes as many as it has room for, the rest is silence.
Tensor audio_tensor(const Port& port, const std::string& path) {
  if (port.fact.dtype == DType::String) {
    const auto bytes = read_file(path);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Tensor::scalar<std::string>(text);
  }
  check(port.fact.dtype == DType::F32, ErrorKind::Type, "input '{}' holds {}, audio needs f32",
        port.name, name_of(port.fact.dtype));
  const auto samples = to_mono(read_wav(path));
  check(port.fact.rank() >= 1, ErrorKind::Shape, "input '{}' is a scalar, audio needs an axis",
        port.name);
  Shape shape;
  for (int i = 0; i + 1 < port.fact.rank(); ++i) {
    const auto size = port.fact.shape[static_cast<std::size_t>(i)].as_const().value_or(1);
    check(size == 1, ErrorKind::Shape, "input '{}' of shape {} does not look like audio", port.name,
          str(port.fact.shape));
    shape.push_back(1);
  }
  const auto fixed = port.fact.shape.back().as_const();
  shape.push_back(fixed.value_or(static_cast<std::int64_t>(samples.size())));
  Tensor t = Tensor::zeros(DType::F32, shape);
  const auto to = t.mutable_span<float>();
  std::copy_n(samples.begin(), std::min(to.size(), samples.size()), to.begin());
  return t;
}

int parse_size(std::string_view text, const std::string& whole) {
  int v = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), v);
  check(code == std::errc{} && end == text.data() + text.size() && v > 0 && v <= 65536,
        ErrorKind::Parse, "--image-size '{}' must look like 640x480 (width x height)", whole);
  return v;
}

// Where the options are silent, layout and size follow from the input's shape.
Tensor image_tensor(const Port& port, const std::string& path, const InputArgs& args) {
  const SymShape& shape = port.fact.shape;
  check(shape.size() == 4, ErrorKind::Shape, "input '{}' of shape {} is no image (rank 4 needed)",
        port.name, str(shape));
  const auto is_channels = [&](std::size_t axis) { return shape[axis].is(3) || shape[axis].is(1); };
  ImageOptions o;
  o.bgr = args.image_order == "bgr";
  o.mean = args.image_mean;
  o.scale = args.image_scale;
  o.channels_last = args.image_layout == "nhwc" ||
                    (args.image_layout.empty() && !is_channels(1) && is_channels(3));
  const std::size_t channel_axis = o.channels_last ? 3 : 1, h = o.channels_last ? 1 : 2;
  if (!args.image_size.empty()) {
    const auto x = args.image_size.find('x');
    o.width = parse_size(std::string_view(args.image_size).substr(0, x), args.image_size);
    o.height = x == std::string::npos
                   ? o.width
                   : parse_size(std::string_view(args.image_size).substr(x + 1), args.image_size);
  } else if (shape[h].is_const() && shape[h + 1].is_const()) {
    const auto fits = [](std::int64_t v) { return v > 0 && v <= 65536; };
    check(fits(shape[h].value()) && fits(shape[h + 1].value()), ErrorKind::Shape,
          "input '{}' of shape {} is no image", port.name, str(shape));
    o.height = static_cast<int>(shape[h].value());
    o.width = static_cast<int>(shape[h + 1].value());
  }
  const auto channels = shape[channel_axis].as_const().value_or(3);
  check(channels == 1 || channels == 3, ErrorKind::Shape,
        "input '{}' of shape {}: axis {} should be 1 or 3 channels; see --image-layout", port.name,
        str(shape), channel_axis);
  return to_tensor(read_image(path), o, port.fact.dtype, static_cast<int>(channels));
}

Tensor from_npz(const Port& port, const std::string& path) {
  NamedTensors arrays = read_npz_file(path);
  for (auto& [name, tensor] : arrays)
    if (name == port.name) return tensor;
  check(arrays.size() == 1, ErrorKind::Parse, "{}: no array '{}'", path, port.name);
  return arrays[0].second;
}

bool needs_shape(const std::string& source) {
  return source.starts_with("random") || source == "zeros" || number(source).has_value();
}

Tensor make_shaped(const Port& port, const std::string& source, std::uint32_t index,
                   const SymbolValues& symbols) {
  const Shape shape = open_shape(port, symbols);
  if (source == "zeros") return Tensor::zeros(port.fact.dtype, shape);
  if (const auto v = number(source)) {
    check(std::abs(*v) < 9e15, ErrorKind::Parse, "--input {}={}: out of range", port.name, source);
    return filled(port.fact.dtype, shape, *v);
  }
  std::uint32_t seed = kDefaultSeed + index;
  if (source != "random") {
    const std::string_view text = std::string_view(source).substr(6);
    const double v = text.starts_with(':') ? number(text.substr(1)).value_or(-1) : -1;
    check(v >= 0 && v < 4294967296.0, ErrorKind::Parse,
          "--input {}={}: random takes a seed as in random:7", port.name, source);
    seed = static_cast<std::uint32_t>(v);
  }
  return random_tensor(port.fact.dtype, shape, seed);
}

Tensor make_loaded(const Port& port, const std::string& source, const InputArgs& args) {
  const std::string ending = lower_ending(source);
  if (ending == ".npy") return read_npy_file(source);
  if (ending == ".npz") return from_npz(port, source);
  if (ending == ".wav") return audio_tensor(port, source);
  if (is_image(ending)) return image_tensor(port, source, args);
  fail(ErrorKind::Parse,
       "--input {}={}: not a .npy, .npz, .png, .jpg, .bmp, .pnm or .wav file, a number, zeros or "
       "random[:seed]",
       port.name, source);
}

// The source of each port, empty where none is given.
std::vector<std::string> assign_sources(std::span<const Port> ports, const InputArgs& args) {
  std::vector<std::string> out(ports.size());
  for (const std::string& text : args.inputs) {
    const Spec spec = parse_spec(text);
    if (spec.name.empty()) {
      const bool all = lower_ending(spec.source) == ".npz" || spec.source.starts_with("random") ||
                       spec.source == "zeros";
      check(all || ports.size() == 1, ErrorKind::Parse,
            "--input {}: the model has {} inputs, write name={}", text, ports.size(), spec.source);
      for (std::string& s : out)
        if (s.empty()) s = spec.source;
      continue;
    }
    const auto at = std::find_if(ports.begin(), ports.end(),
                                 [&](const Port& p) { return p.name == spec.name; });
    if (at == ports.end()) {
      std::string known;
      for (const Port& p : ports) known += (known.empty() ? "'" : ", '") + p.name + "'";
      fail(ErrorKind::Parse, "--input {}: the model has no input or value of that name; inputs: {}",
           text, known);
    }
    out[static_cast<std::size_t>(at - ports.begin())] = spec.source;
  }
  return out;
}

}  // namespace

void add_input_args(CLI::App& app, InputArgs& args) {
  app.add_option(
      "--input", args.inputs,
      "NAME=SOURCE, or SOURCE alone for the only input. SOURCE: file.npy, file.npz "
      "(alone: arrays named like the inputs), picture.png, .jpg, .bmp or .pnm, sound.wav (16 bit), "
      "random[:seed], zeros, or a number. A NAME inside the model cuts it there");
  app.add_option("--image-size", args.image_size,
                 "Size that pictures are scaled to, WIDTHxHEIGHT (default: the input's, else the "
                 "picture's own)");
  app.add_option("--image-mean", args.image_mean,
                 "Subtracted from pixels 0..255, one number or three (R,G,B)")
      ->delimiter(',');
  app.add_option("--image-scale", args.image_scale,
                 "Factor after the mean, one number or three, e.g. 0.00392157")
      ->delimiter(',');
  app.add_option("--image-layout", args.image_layout,
                 "Axis order of pictures (default: from the "
                 "input's shape)")
      ->check(CLI::IsMember({"nchw", "nhwc"}));
  app.add_option("--image-order", args.image_order, "Channel order of pictures (default rgb)")
      ->check(CLI::IsMember({"rgb", "bgr"}));
}

std::vector<std::string> input_names(const InputArgs& args) {
  std::vector<std::string> out;
  for (const std::string& text : args.inputs)
    if (Spec spec = parse_spec(text); !spec.name.empty()) out.push_back(std::move(spec.name));
  return out;
}

KnownShapes array_shapes(const InputArgs& args) {
  KnownShapes out;
  for (const std::string& text : args.inputs) {
    const Spec spec = parse_spec(text);
    if (!spec.name.empty() && lower_ending(spec.source) == ".npy")
      out.insert_or_assign(spec.name, to_sym(read_npy_file(spec.source).shape()));
  }
  return out;
}

namespace {

template <typename Load>
auto with_shapes(const ModelOptions& options, const KnownShapes& known, Load&& load)
    -> decltype(load(options)) {
  try {
    return load(options);
  } catch (const Error& e) {
    const bool may_help = e.kind() == ErrorKind::Unsupported || e.kind() == ErrorKind::Shape;
    if (known.empty() || !may_help) throw;
  }
  ModelOptions with = options;
  with.shapes.insert(known.begin(), known.end());
  return load(with);
}

}  // namespace

std::shared_ptr<const Model> load_with_shapes(const std::string& path, const ModelOptions& options,
                                              const KnownShapes& known) {
  return with_shapes(options, known, [&](const ModelOptions& o) { return Model::load(path, o); });
}

ImportedModel import_with_shapes(const std::string& path, const ModelOptions& options,
                                 const KnownShapes& known) {
  return with_shapes(options, known, [&](const ModelOptions& o) { return import_model(path, o); });
}

std::vector<Value> make_inputs(std::span<const Port> ports, const InputArgs& args,
                               const SymbolValues& symbols, Missing missing) {
  std::vector<std::string> sources = assign_sources(ports, args);
  std::vector<Value> out(ports.size());
  SymbolValues known = symbols;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    check(ports[i].fact.kind == Fact::Kind::Tensor, ErrorKind::Unsupported,
          "input '{}' is no tensor: {}", ports[i].name, ports[i].fact.str());
    if (sources[i].empty()) {
      check(missing == Missing::Random, ErrorKind::Parse,
            "input '{}' ({}) is missing; give --input {}=file.npy or --input random", ports[i].name,
            ports[i].fact.str(), ports[i].name);
      sources[i] = "random";
    }
    if (needs_shape(sources[i])) continue;
    Tensor t = make_loaded(ports[i], sources[i], args);
    if (is_narrow(ports[i].fact.dtype) && t.dtype() == DType::U8)
      t = narrow_from_codes(t, ports[i].fact.dtype);
    if (!ops::has_unknown_rank(ports[i].fact))
      solve_symbols(ports[i].fact, t.dtype(), t.shape(), "input '" + ports[i].name + "'", known);
    out[i] = std::move(t);
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!needs_shape(sources[i])) continue;
    check(!ops::has_unknown_rank(ports[i].fact), ErrorKind::Shape,
          "input '{}' has no shape in the file; give --shape {}=… or a file", ports[i].name,
          ports[i].name);
    Tensor t = make_shaped(ports[i], sources[i], static_cast<std::uint32_t>(i), known);
    solve_symbols(ports[i].fact, t.dtype(), t.shape(), "input '" + ports[i].name + "'", known);
    out[i] = std::move(t);
  }
  return out;
}

double Mulberry32::next() {
  state_ += 0x6D2B79F5u;
  std::uint32_t t = (state_ ^ (state_ >> 15)) * (1u | state_);
  t = (t + (t ^ (t >> 7)) * (61u | t)) ^ t;
  return (t ^ (t >> 14)) / 4294967296.0;
}

Tensor random_tensor(DType dtype, const Shape& shape, std::uint32_t seed) {
  Tensor t = Tensor::zeros(dtype, shape);
  if (dtype == DType::String) return t;
  if (is_narrow(dtype)) {
    const DType wide = is_narrow_float(dtype) ? DType::F32 : DType::U8;
    return as_narrow(random_tensor(wide, shape, seed), dtype);
  }
  Mulberry32 random(seed);
  dispatch(dtype, [&]<typename T>(T) {
    for (T& x : t.mutable_span<T>()) {
      const double v = random.next();
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        x = T(static_cast<float>(v));
      else if constexpr (std::is_floating_point_v<T>)
        x = static_cast<T>(v);
      else
        x = static_cast<T>(v < 0.5 ? 0 : 1);
    }
  });
  return t;
}

}  // namespace treadle::cli
