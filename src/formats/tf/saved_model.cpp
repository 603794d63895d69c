#include "formats/tf/saved_model.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "formats/wire.hpp"

namespace treadle::tf {
namespace {

using wire::Message;

// A tensor that a SavedModel's signature names: its name there and "node:slot".
struct SignatureTensor {
  std::string_view name, tensor;
};
struct Signature {
  std::string_view name;
  std::vector<SignatureTensor> outputs;
};
// One graph of a SavedModel, with its tags ("serve", "train").
struct MetaGraph {
  std::vector<std::string_view> tags;
  std::string_view graph;  // the encoded GraphDef
  std::vector<Signature> signatures;
};

// Fields 1 and 2 of a map entry.
std::pair<std::string_view, std::string_view> read_entry(std::string_view bytes) {
  std::pair<std::string_view, std::string_view> out;
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1)
      out.first = m.bytes();
    else if (m.tag() == 2)
      out.second = m.bytes();
    else
      m.skip();
  }
  return out;
}

// Of a TensorInfo: the value's name, when it is a dense tensor.
std::string_view read_name(std::string_view bytes) {
  std::string_view name;
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1)
      name = m.bytes();
    else
      m.skip();
  }
  return name;
}

SignatureTensor read_signature_tensor(std::string_view bytes) {
  const auto [name, info] = read_entry(bytes);
  return {name, read_name(info)};
}

Signature read_signature_def(std::string_view entry) {
  const auto [name, bytes] = read_entry(entry);
  Signature out{name, {}};
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 2)
      out.outputs.push_back(read_signature_tensor(m.bytes()));
    else
      m.skip();
  }
  return out;
}

MetaGraph read_meta_graph(std::string_view bytes) {
  MetaGraph out;
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1) {
      Message info(m.bytes());
      while (info.next()) {
        if (info.tag() == 4)
          out.tags.push_back(info.bytes());
        else
          info.skip();
      }
    } else if (m.tag() == 2) {
      out.graph = m.bytes();
    } else if (m.tag() == 5) {
      out.signatures.push_back(read_signature_def(m.bytes()));
    } else {
      m.skip();
    }
  }
  return out;
}

std::vector<MetaGraph> parse_saved_model(std::string_view bytes) {
  return wire::decode("SavedModel", [&] {
    std::vector<MetaGraph> out;
    Message m(bytes);
    while (m.next()) {
      if (m.tag() == 2)
        out.push_back(read_meta_graph(m.bytes()));
      else
        m.skip();
    }
    return out;
  });
}

const MetaGraph& serving_graph(const std::vector<MetaGraph>& graphs) {
  const auto serves = [](const MetaGraph& g) {
    return std::find(g.tags.begin(), g.tags.end(), "serve") != g.tags.end();
  };
  const auto it = std::find_if(graphs.begin(), graphs.end(), serves);
  if (it != graphs.end()) return *it;
  check(graphs.size() == 1, ErrorKind::Unsupported,
        "the SavedModel has {} graphs, none of which has the tag 'serve'", graphs.size());
  return graphs[0];
}

const Signature& serving_signature(const std::vector<Signature>& signatures) {
  std::vector<const Signature*> candidates;
  std::string names;
  for (const Signature& s : signatures) {
    if (s.name == "serving_default") return s;
    if (s.outputs.empty() || s.name.starts_with("__saved_model")) continue;
    candidates.push_back(&s);
    names += (names.empty() ? "'" : ", '") + std::string(s.name) + "'";
  }
  check(candidates.size() == 1, ErrorKind::Unsupported,
        "the SavedModel has no signature 'serving_default', and {} others: {}", candidates.size(),
        names.empty() ? "none" : names);
  return *candidates[0];
}

}  // namespace

// A SavedModel begins with the number of its format, a GraphDef never with a number.
bool is_saved_model(std::string_view bytes) {
  return bytes.starts_with('\x08');
}

Served served_graph(std::string_view bytes) {
  const auto graphs = parse_saved_model(bytes);
  const MetaGraph& meta = serving_graph(graphs);
  auto outputs = serving_signature(meta.signatures).outputs;
  std::sort(outputs.begin(), outputs.end(),
            [](const SignatureTensor& a, const SignatureTensor& b) { return a.name < b.name; });
  Served out{meta.graph, {}};
  for (const SignatureTensor& t : outputs) {
    check(!t.tensor.empty(), ErrorKind::Unsupported,
          "output '{}' of the signature is no dense tensor", t.name);
    // The first output of a node goes by the node's name.
    out.outputs.emplace_back(t.tensor.ends_with(":0") ? t.tensor.substr(0, t.tensor.size() - 2)
                                                      : t.tensor);
  }
  return out;
}

}  // namespace treadle::tf
