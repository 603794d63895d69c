#include "cli/compare_io.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "cli/inputs.hpp"
#include "cli/io_cases.hpp"

namespace treadle::cli {
namespace {

// A model with a session, and its outputs by name.
class Runner {
 public:
  Runner(const std::string& path, ModelOptions options, const IoData& data) {
    std::set<std::string> inputs, outputs;
    for (const IoCase& c : data.cases) {
      for (const auto& [name, tensor] : c.inputs)
        if (!name.empty()) inputs.insert(name);
      for (const auto& [name, tensor] : c.outputs)
        if (!name.empty()) outputs.insert(name);
    }
    options.cut_inputs.assign(inputs.begin(), inputs.end());
    // A decoder's caches are inputs that the data does not name.
    if (!data.decodes.empty()) options.cut_inputs.clear();
    KnownShapes known;
    if (!data.cases.empty())
      for (const auto& [name, tensor] : data.cases[0].inputs)
        if (!name.empty()) known.insert_or_assign(name, to_sym(tensor.shape()));
    ImportedModel imported = import_with_shapes(path, options, known);
    for (const Port& p : graph_outputs(imported.graph)) outputs.erase(p.name);
    if (!outputs.empty()) {
      options.extra_outputs.insert(options.extra_outputs.end(), outputs.begin(), outputs.end());
      imported = import_with_shapes(path, options, known);
    }
    model_ = Model::from(std::move(imported), options);
    session_.emplace(model_->program());
    session_->set_symbols(options.symbols);
  }

  const Model& model() const { return *model_; }

  // Inputs that are not named are zeros of their shape with every unknown size 1, `past` 0.
  void run(const TensorMap& inputs) {
    std::vector<Value> values;
    for (const Port& p : model_->inputs()) {
      auto at = inputs.find(p.name);
      if (at == inputs.end() && model_->inputs().size() == 1) at = inputs.find("");
      check(at != inputs.end() || p.name.starts_with("past"), ErrorKind::Parse,
            "the data gives no input '{}'", p.name);
      values.push_back(at != inputs.end() ? at->second : empty_cache(p.fact));
    }
    if (auto error = session_->run(values)) throw *error;
  }

  const Tensor& output(const std::string& name) const {
    const auto& ports = model_->outputs();
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == name || (name.empty() && ports.size() == 1))
        return session_->output(i).tensor();
    fail(ErrorKind::Parse, "the model has no output '{}'", name);
  }

 private:
  // A cache [batch, heads, past, size] before the first token.
  static Tensor empty_cache(const Fact& fact) {
    Shape shape;
    for (std::size_t i = 0; i < fact.shape.size(); ++i)
      shape.push_back(fact.shape[i].as_const().value_or(i == 0 ? 1 : 0));
    return Tensor::zeros(fact.dtype, shape);
  }

  std::shared_ptr<const Model> model_;
  std::optional<Session> session_;
};

Finding failed(const std::string& where, const std::string& value, const std::string& why) {
  Finding f{where, value, {}, true, true};
  f.difference.note = why;
  return f;
}

void run_case(Runner& runner, const IoCase& c, const Tolerance& tolerance, CompareReport& report) {
  runner.run(c.inputs);
  for (const auto& [name, want] : c.outputs)
    report.findings.push_back(
        {c.name, name, difference(runner.output(name), want, tolerance), false, true});
}

Tensor slice(const Tensor& t, std::int64_t index) {
  Shape shape = t.shape();
  shape.erase(0);
  Tensor out(t.dtype(), shape);
  if (out.bytes() > 0)
    std::memcpy(out.mutable_data(), static_cast<const char*>(t.data()) + index * out.bytes(),
                out.bytes());
  return out;
}

void run_stream(Runner& runner, const IoStream& s, const Tolerance& tolerance,
                CompareReport& report) {
  check(s.frames.rank() > 0 && s.expected.rank() > 0 && s.frames.dtype() != DType::String &&
            s.frames.shape()[0] == s.expected.shape()[0],
        ErrorKind::Shape, "stream: inputs {} and outputs {} do not fit", s.frames.shape().str(),
        s.expected.shape().str());
  TensorMap inputs = s.constants;
  for (const auto& state : s.states) inputs[state.input] = state.initial;
  // One difference over the whole trace, relative to its largest value.
  Tensor got = Tensor::zeros(s.expected.dtype(), s.expected.shape());
  const std::size_t bytes = slice(s.expected, 0).bytes();
  for (std::int64_t f = 0; f < s.frames.shape()[0]; ++f) {
    inputs[s.input] = slice(s.frames, f);
    runner.run(inputs);
    const Tensor& out = runner.output(s.output);
    check(out.dtype() == got.dtype() && out.bytes() == bytes, ErrorKind::Shape,
          "stream: frame {} gives {}, expected {}", f, out.shape().str(),
          slice(s.expected, f).shape().str());
    if (bytes > 0)
      std::memcpy(static_cast<char*>(got.mutable_data()) + f * bytes, out.data(), bytes);
    for (const auto& state : s.states) inputs[state.input] = runner.output(state.output).clone();
  }
  report.findings.push_back(
      {"stream", s.output, difference(got, s.expected, tolerance), false, true});
  for (const auto& state : s.states)
    if (state.last.defined())
      report.findings.push_back({"stream", state.output,
                                 difference(inputs[state.input], state.last, tolerance), false,
                                 true});
}

std::int64_t argmax_last(const Tensor& logits) {
  const auto v = logits.span<float>();
  check(logits.rank() >= 1 && !v.empty(), ErrorKind::Shape, "logits of shape {}",
        logits.shape().str());
  const auto row = v.last(static_cast<std::size_t>(logits.shape().back()));
  return std::max_element(row.begin(), row.end()) - row.begin();
}

// Feeds the known tokens one by one; each prediction must be the next token.
void run_decode(Runner& runner, const IoDecode& d, const Tolerance& tolerance,
                CompareReport& report) {
  const auto ids = d.ids.span<std::int64_t>();
  TensorMap inputs{{"input_ids", d.prefill_ids}};
  const auto feed = [&] {
    runner.run(inputs);
    for (const Port& p : runner.model().inputs())
      if (p.name.starts_with("past"))
        inputs[p.name] = runner.output("present" + p.name.substr(4)).clone();
  };
  feed();
  Finding tokens{"decode", "tokens", {}, false, true};
  tokens.difference.equal = true;
  std::size_t at = static_cast<std::size_t>(d.prefill_ids.elements());
  const auto expect = [&] {
    const std::int64_t got = argmax_last(runner.output("logits"));
    if (got == ids[at] || !tokens.difference.equal) return;
    tokens.difference.equal = false;
    tokens.difference.where = static_cast<std::int64_t>(at);
    tokens.difference.note = fmt::format("token {} is {} instead of {}", at, got, ids[at]);
  };
  for (; at < ids.size(); ++at) {
    expect();
    if (at + 1 == ids.size()) break;
    inputs["input_ids"] = Tensor::of<std::int64_t>({1, 1}, {ids[at]});
    feed();
  }
  report.findings.push_back(tokens);
  report.findings.push_back({"decode", "logits",
                             difference(runner.output("logits"), d.last_logits, tolerance), false,
                             true});
}

// Cases that name other inputs cut the graph elsewhere: the data, taken apart by what they name.
// Streams and decoders stay with the first cases.
std::vector<IoData> by_inputs(IoData data) {
  std::map<std::set<std::string>, std::size_t> known;
  std::vector<IoData> out(1);
  for (IoCase& c : data.cases) {
    std::set<std::string> names;
    for (const auto& [name, tensor] : c.inputs) names.insert(name);
    const auto it = known.emplace(std::move(names), known.size()).first;
    if (it->second == out.size()) out.emplace_back();
    out[it->second].cases.push_back(std::move(c));
  }
  out[0].streams = std::move(data.streams);
  out[0].decodes = std::move(data.decodes);
  return out;
}

void compare_data(const std::string& path, const IoData& data, const ModelOptions& options,
                  const Tolerance& tolerance, CompareReport& report) {
  Runner runner(path, options, data);
  const auto attempt = [&](const std::string& where, auto&& body) {
    try {
      body();
    } catch (const Error& e) {
      report.findings.push_back(failed(where, "", e.what()));
    }
  };
  for (const IoCase& c : data.cases)
    attempt(c.name, [&] { run_case(runner, c, tolerance, report); });
  for (const IoStream& s : data.streams)
    attempt("stream", [&] { run_stream(runner, s, tolerance, report); });
  for (const IoDecode& d : data.decodes)
    attempt("decode", [&] { run_decode(runner, d, tolerance, report); });
}

}  // namespace

CompareReport compare_io(const std::string& path, const std::string& folder,
                         const ModelOptions& options, const Tolerance& tolerance) {
  CompareReport report;
  report.model = path;
  for (const IoData& data : by_inputs(read_io(folder)))
    compare_data(path, data, options, tolerance, report);
  return report;
}

}  // namespace treadle::cli
