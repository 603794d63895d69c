// The driver. It terminates because each rule lowers a measure that no other rule raises: see the
// first lines of each rule's file. Folding, merging and recognising rules leave fewer operators, or
// shorter chains of them; sinking rules move a transpose (or a reshape) towards the outputs, and no
// rule moves one back.
#include "passes/simplify.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/rule.hpp"

namespace treadle {
namespace {

using passes::Phase;
using passes::Rule;

// Patches that a node may cost on average before the driver gives up.
constexpr std::int64_t kPatchesPerNode = 64;

// Times that equal nodes are looked for in a phase; each is a pass over the graph.
constexpr int kMergeRounds = 16;

bool looks_at(const Rule& rule, std::string_view kind) {
  if (rule.kinds == "*") return true;
  std::string_view rest = rule.kinds;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == kind) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

class Driver {
 public:
  Driver(Graph& g, const SimplifyOptions& options, SimplifyReport& report)
      : g_(g),
        options_(options),
        report_(report),
        budget_(report.patches + 1024 +
                kPatchesPerNode * static_cast<std::int64_t>(g.live_nodes())) {}

  void run() {
    g_.prune();
    run_phase(Phase::Always);
    if (options_.integer_products) run_phase(Phase::Integers);
    if (options_.channels_last) {
      run_phase(Phase::ChannelsLast);
      run_phase(Phase::Last);
    }
    g_.prune();
  }

 private:
  bool stopped() const {
    return report_.exhausted ||
           (options_.stop_after_patch >= 0 && report_.patches >= options_.stop_after_patch);
  }

  void run_phase(Phase phase) {
    phase_ = phase;
    by_kind_.clear();
    const std::vector<NodeId> order = g_.order();
    enqueue(order);
    for (int round = 0; round < kMergeRounds && !stopped(); ++round) {
      const bool merged = merge_equal_nodes();
      if (round > 0 && !merged) break;
      drain();
    }
  }

  const std::vector<const Rule*>& rules_for(std::string_view kind) {
    const auto [it, fresh] = by_kind_.try_emplace(kind);
    if (fresh) {
      for (const Rule& rule : passes::rules()) {
        if (rule.phase == Phase::Integers && !options_.integer_products) continue;
        if (rule.phase <= phase_ && looks_at(rule, kind)) it->second.push_back(&rule);
      }
    }
    return it->second;
  }

  // Puts nodes at the front, the first of them foremost: what a patch touched is finished before
  // the walk goes on, so that a transpose sinks all the way down in one go.
  void enqueue(const std::vector<NodeId>& ids) {
    queued_.resize(g_.node_count(), false);
    for (auto it = ids.rbegin(); it != ids.rend(); ++it) {
      if (queued_[*it]) continue;
      queued_[*it] = true;
      queue_.push_front(*it);
    }
  }

  void drain() {
    while (!queue_.empty() && !stopped()) {
      const NodeId id = queue_.front();
      queue_.pop_front();
      queued_[id] = false;
      if (g_.node(id).alive) visit(id);
    }
  }

  void visit(NodeId id) {
    for (const Rule* rule : rules_for(g_.node(id).op->name())) {
      std::optional<Patch> patch = attempt(*rule, g_.node(id));
      if (!patch) continue;
      const std::string name = g_.node(id).name, place = describe(g_.node(id));
      try {
        commit(rule->name, g_.node(id), std::move(*patch), {id});
      } catch (Error& e) {
        e.in_origin(name, fmt::format("rule {} at {}", rule->name, place));
        throw;
      }
      return;
    }
  }

  std::optional<Patch> attempt(const Rule& rule, const Node& n) {
    ++report_.calls;
    try {
      return rule.apply(g_, n);
    } catch (const Error&) {
      ++report_.refused;
      return std::nullopt;
    }
  }

  void commit(std::string_view rule, const Node& n, Patch patch, std::vector<NodeId> touched) {
    const std::string name = n.name;
    apply(g_, std::move(patch), &touched);
    const int number = report_.patches++;
    ++report_.fired[std::string(rule)];
    report_.exhausted = report_.patches >= budget_;
    if (options_.trace) options_.trace(number, rule, name);
    enqueue(touched);
  }

  bool merge_equal_nodes() {
    bool any = false;
    passes::common_subexpressions(g_, [&](const Node& n, Patch patch) {
      commit("common_subexpressions", n, std::move(patch), {});
      any = true;
      return !stopped();
    });
    return any;
  }

  Graph& g_;
  const SimplifyOptions& options_;
  SimplifyReport& report_;
  std::int64_t budget_;
  Phase phase_ = Phase::Always;
  std::unordered_map<std::string_view, std::vector<const Rule*>> by_kind_;
  std::deque<NodeId> queue_;
  std::vector<bool> queued_;
};

void simplify_into(Graph& graph, const SimplifyOptions& options, SimplifyReport& report,
                   int depth) {
  check(depth <= graph.limits.max_nesting, ErrorKind::Unsupported,
        "subgraphs are nested more than {} deep, the limit", graph.limits.max_nesting);
  for (const NodeId id : graph.order()) {
    const std::vector<std::shared_ptr<const Graph>> bodies = graph.node(id).op->subgraphs();
    if (bodies.empty()) continue;
    std::vector<std::shared_ptr<const Graph>> simpler;
    const int before = report.patches;
    for (const auto& body : bodies) {
      auto copy = std::make_shared<Graph>(*body);
      simplify_into(*copy, options, report, depth + 1);
      simpler.push_back(std::move(copy));
    }
    if (report.patches == before) continue;
    graph.replace_op(id, graph.node(id).op->with_subgraphs(std::move(simpler)));
  }
  Driver(graph, options, report).run();
}

}  // namespace

SimplifyReport simplify(Graph& graph, const SimplifyOptions& options) {
  SimplifyReport report;
  simplify_into(graph, options, report, 0);
  return report;
}

}  // namespace treadle
