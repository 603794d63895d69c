#include "formats/tf/nodes.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.hpp"

namespace treadle::tf {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t v = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return v;
}

// Names of the outputs of operators that have several (TensorFlow's op definitions): what a
// function's "node:name:index" refers to. Each name is one output.
struct OutputNamesOf {
  std::string_view op, names;  // names with spaces between
};
constexpr OutputNamesOf kOutputNames[] = {
    {"Switch", "output_false output_true"},
    {"Merge", "output value_index"},
    {"TensorArrayV3", "handle flow"},
    {"TensorArrayConcatV3", "value lengths"},
    {"TensorListConcatV2", "tensor lengths"},
    {"TensorListPopBack", "output_handle tensor"},
    {"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV3",
     "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3"},
    {"TopK", "values indices"},
    {"TopKV2", "values indices"},
    {"Unique", "y idx"},
    {"UniqueV2", "y idx"},
    {"UniqueWithCounts", "y idx count"},
    {"UniqueWithCountsV2", "y idx count"},
    {"ListDiff", "out idx"},
    {"DecodeWav", "audio sample_rate"},
    {"NonMaxSuppressionV4", "selected_indices valid_outputs"},
    {"NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs"},
    {"CombinedNonMaxSuppression", "nmsed_boxes nmsed_scores nmsed_classes valid_detections"},
    {"LSTMBlockCell", "i cs f o ci co h"},
    {"BlockLSTM", "i cs f o ci co h"},
    {"BlockLSTMV2", "i cs f o ci co h"},
    {"GRUBlockCell", "r u c h"},
    {"MaxPoolWithArgmax", "output argmax"},
    {"Moments", "mean variance"},
};

}  // namespace

bool is_placeholder(const NodeDef& n) {
  return n.op == "Placeholder" || n.op == "PlaceholderV2";
}

bool is_action(const NodeDef& n) {
  return n.op == "NoOp" || n.op == "Assert" || n.op == "TensorArrayCloseV3" ||
         n.op == "ControlTrigger";
}

Nodes::Nodes(std::vector<NodeDef> nodes) : nodes_(std::move(nodes)) {
  index();
  for (std::uint32_t i = 0; i < size(); ++i) {
    for (std::string_view in : nodes_[i].inputs) {
      if (in.starts_with('^')) {
        if (const Edge e = resolve(in.substr(1)); e.node != Edge::kNone)
          controls_[i].push_back(e.node);
      } else {
        inputs_[i].push_back(resolve(in));
      }
    }
  }
  find_origins();
}

Nodes::Nodes(const FunctionDef& function, const OutputNames& outputs_of) {
  for (std::string_view name : function.arguments) nodes_.push_back({name, "_Arg", {}, {}});
  arguments_ = size();
  nodes_.insert(nodes_.end(), function.nodes.begin(), function.nodes.end());
  index();
  for (std::uint32_t i = 0; i < size(); ++i) {
    for (std::string_view in : nodes_[i].inputs) {
      if (in.starts_with('^')) {
        if (const auto it = index_.find(in.substr(1)); it != index_.end())
          controls_[i].push_back(it->second);
      } else {
        inputs_[i].push_back(resolve_in_function(in, outputs_of));
      }
    }
  }
  for (const auto& out : function.outputs) {
    results_.push_back(resolve_in_function(out.value, outputs_of));
    check(results_.back().node != Edge::kNone, ErrorKind::Parse,
          "output '{}' refers to '{}', which is not in the function", out.name, out.value);
  }
  find_origins();
}

void Nodes::index() {
  inputs_.resize(nodes_.size());
  controls_.resize(nodes_.size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    check(index_.emplace(nodes_[i].name, i).second, ErrorKind::Parse, "two nodes are named '{}'",
          nodes_[i].name);
  }
}

Edge Nodes::resolve(std::string_view reference) const {
  Edge e;
  std::string_view name = reference;
  if (const auto colon = reference.rfind(':'); colon != std::string_view::npos) {
    if (const auto slot = number(reference.substr(colon + 1))) {
      e.slot = *slot;
      name = reference.substr(0, colon);
    }
  }
  if (const auto it = index_.find(name); it != index_.end()) e.node = it->second;
  return e;
}

Edge Nodes::resolve_in_function(std::string_view reference, const OutputNames& outputs_of) const {
  const auto first = reference.find(':');
  if (first == std::string_view::npos) return resolve(reference);
  const auto second = reference.find(':', first + 1);
  const auto it = index_.find(reference.substr(0, first));
  const auto slot = second == std::string_view::npos ? std::optional<std::uint32_t>(0)
                                                     : number(reference.substr(second + 1));
  if (it == index_.end() || !slot) return {};
  const std::string_view output =
      reference.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
  const NodeDef& n = nodes_[it->second];
  const auto known = std::find_if(std::begin(kOutputNames), std::end(kOutputNames),
                                  [&](const OutputNamesOf& o) { return o.op == n.op; });
  if (known != std::end(kOutputNames)) {
    std::uint32_t at = 0;
    std::string_view rest = known->names;
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find(' '));
      if (name == output) return {it->second, at + *slot};
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      ++at;
    }
    return {};
  }
  const auto names = outputs_of(n.op);
  if (names.empty()) return {it->second, *slot};
  const auto at = std::find(names.begin(), names.end(), output);
  if (at == names.end()) return {};
  return {it->second, static_cast<std::uint32_t>(at - names.begin()) + *slot};
}

Edge Nodes::input(std::uint32_t i, std::size_t k) const {
  check(k < inputs_[i].size(), ErrorKind::Parse, "node '{}' ({}) has {} inputs, expected {}",
        nodes_[i].name, nodes_[i].op, inputs_[i].size(), k + 1);
  const Edge e = inputs_[i][k];
  if (e.node != Edge::kNone) return e;
  std::size_t at = 0;
  std::string_view text;
  for (std::string_view in : nodes_[i].inputs) {
    if (!in.starts_with('^') && at++ == k) text = in;
  }
  fail(ErrorKind::Parse, "node '{}' refers to the node '{}', which is not in the graph",
       nodes_[i].name, text);
}

Edge Nodes::find(std::string_view reference, const std::string& who) const {
  const Edge e = resolve(reference);
  check(e.node != Edge::kNone, ErrorKind::Parse,
        "{} refers to the node '{}', which is not in the graph", who, reference);
  return e;
}

Edge Nodes::origin(Edge e) const {
  return e.node != Edge::kNone && nodes_[e.node].op == "Identity" ? origins_[e.node] : e;
}

void Nodes::find_origins() {
  origins_.resize(nodes_.size());
  std::vector<bool> known(nodes_.size(), false);
  std::vector<std::uint32_t> chain;
  for (std::uint32_t i = 0; i < size(); ++i) {
    Edge at{i, 0};
    chain.clear();
    while (at.node != Edge::kNone && nodes_[at.node].op == "Identity" && !known[at.node] &&
           !inputs_[at.node].empty()) {
      known[at.node] = true;
      origins_[at.node] = at;  // where a cycle ends
      chain.push_back(at.node);
      at = inputs_[at.node][0];
    }
    if (at.node != Edge::kNone && nodes_[at.node].op == "Identity") at = origins_[at.node];
    for (std::uint32_t c : chain) origins_[c] = at;
  }
}

}  // namespace treadle::tf
