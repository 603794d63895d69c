#include "formats/tf/flow.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace treadle::tf {
namespace {

bool is_control_flow(std::string_view op) {
  static const std::set<std::string_view> kOps{"Enter", "Exit",   "NextIteration", "LoopCond",
                                               "Merge", "Switch", "RefEnter"};
  return kOps.contains(op);
}

std::string frame_name(const NodeDef& n) {
  const auto it = n.attrs.find("frame_name");
  return it == n.attrs.end() ? std::string() : std::string(it->second.s);
}

}  // namespace

Flow::Flow(const Nodes& nodes, const std::vector<bool>& stop, int max_nesting) : nodes_(nodes) {
  bool any = false;
  for (std::uint32_t i = 0; i < nodes.size() && !any; ++i) any = is_control_flow(nodes[i].op);
  if (!any) return;
  const std::uint32_t n = nodes.size();
  frame_.resize(n);
  guard_.resize(n);
  stage_.resize(n);
  // In an order in which inputs come first; what NextIteration gives comes an iteration later.
  std::vector<std::uint32_t> waits(n, 0);
  std::vector<std::vector<std::uint32_t>> readers(n);
  const auto wait = [&](std::uint32_t from, std::uint32_t to) {
    if (from == Edge::kNone || nodes[from].op == "NextIteration") return;
    ++waits[to];
    readers[from].push_back(to);
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    if (stop[i]) continue;
    for (const Edge& e : nodes.inputs(i)) wait(e.node, i);
    for (std::uint32_t c : nodes.controls(i)) wait(c, i);
  }
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = n; i-- > 0;)
    if (waits[i] == 0) ready.push_back(i);
  std::vector<bool> placed(n, false);
  while (!ready.empty()) {
    const std::uint32_t i = ready.back();
    ready.pop_back();
    placed[i] = true;
    if (!stop[i] && !inherits_problem(i)) place(nodes, i, max_nesting);
    for (std::uint32_t r : readers[i])
      if (--waits[r] == 0) ready.push_back(r);
  }
  for (std::uint32_t i = 0; i < n; ++i)
    if (!placed[i]) problem_[i] = "is part of a cycle, or needs one, that is no loop";
}

void Flow::check_node(std::uint32_t i) const {
  if (const auto it = needs_broken_.find(i); it != needs_broken_.end()) i = it->second;
  if (const auto it = problem_.find(i); it != problem_.end())
    fail(ErrorKind::Parse, "node '{}' ({}) {}", nodes_[i].name, nodes_[i].op, it->second);
}

// Whether an input's place is not clear; then neither is this one's.
bool Flow::inherits_problem(std::uint32_t i) {
  for (const Edge& e : nodes_.inputs(i)) {
    const auto before = needs_broken_.find(e.node);
    if (before == needs_broken_.end() && !problem_.contains(e.node)) continue;
    const std::uint32_t broken = before == needs_broken_.end() ? e.node : before->second;
    return needs_broken_.emplace(i, broken).second;
  }
  return false;
}

// Frame and guard from those of the inputs.
void Flow::place(const Nodes& nodes, std::uint32_t i, int max_nesting) {
  const NodeDef& node = nodes[i];
  bool first = true;
  const auto meet = [&](std::uint32_t from, std::uint32_t guard) {
    // A constant without control inputs may be read in any loop.
    const bool anywhere =
        nodes[from].op == "Const" && nodes.controls(from).empty() && frame_[from] == 0;
    if (around(guard_[i], guard))
      guard_[i] = guard;
    else if (!around(guard, guard_[i]))
      problem_[i] = "has inputs from different branches of a condition";
    if (anywhere) return;
    if (!first && frame_[i] != frame_[from])
      problem_[i] = fmt::format("has inputs from the loops '{}' and '{}'", frames_[frame_[i]].name,
                                frames_[frame_[from]].name);
    frame_[i] = frame_[from];
    first = false;
  };
  if (node.op == "Merge") return place_merge(i);
  for (const Edge& e : nodes.inputs(i)) {
    if (e.node == Edge::kNone) continue;
    if (nodes[e.node].op == "NextIteration") {
      problem_[i] = "reads a NextIteration, which only a Merge can";
      return;
    }
    meet(e.node, guard(e));
    stage_[i] = std::max(stage_[i], stage_[e.node]);
  }
  for (std::uint32_t c : nodes.controls(i)) {
    if (nodes[c].op != "NextIteration") meet(c, guard({c, 0}));
  }
  if (node.op == "Enter" || node.op == "RefEnter") {
    place_enter(i, max_nesting);
  } else if (node.op == "Exit") {
    if (frame_[i] == 0) {
      problem_[i] = "leaves a loop, but is in none";
      return;
    }
    frames_[frame_[i]].exits.push_back(i);
    frame_[i] = frames_[frame_[i]].parent;
  } else if (node.op == "LoopCond") {
    frames_[frame_[i]].conditions.push_back(i);
  } else if (node.op == "Switch" && !is_loop_switch(i)) {
    if (nodes.inputs(i).size() != 2 || nodes.inputs(i)[1].node == Edge::kNone) {
      problem_[i] = "has no predicate";
      return;
    }
    const Edge predicate = nodes.origin(nodes.inputs(i)[1]);
    for (std::uint32_t taken : {0u, 1u}) branch(guard_[i], predicate, taken, max_nesting);
  }
}

void Flow::place_enter(std::uint32_t i, int max_nesting) {
  const std::string name = frame_name(nodes_[i]);
  if (name.empty()) {
    problem_[i] = "has no attribute 'frame_name'";
    return;
  }
  const auto [it, fresh] = frame_names_.emplace(std::pair(frame_[i], name), frames_.size());
  if (fresh) {
    LoopFrame f;
    f.name = name;
    f.parent = frame_[i];
    f.depth = frames_[f.parent].depth + 1;
    check(f.depth <= max_nesting, ErrorKind::Memory, "loops are nested deeper than {}",
          max_nesting);
    frames_.push_back(std::move(f));
  }
  frame_[i] = it->second;
  frames_[it->second].enters.push_back(i);
}

void Flow::place_merge(std::uint32_t i) {
  const auto& in = nodes_.inputs(i);
  if (in.size() != 2 || in[0].node == Edge::kNone || in[1].node == Edge::kNone) {
    problem_[i] = fmt::format("has {} inputs, expected 2", in.size());
    return;
  }
  const auto turns = [&](const Edge& e) { return nodes_[e.node].op == "NextIteration"; };
  if (turns(in[0]) || turns(in[1])) {
    const Edge from = turns(in[0]) ? in[1] : in[0];
    if (turns(from) || nodes_[from.node].op != "Enter") {
      problem_[i] = "has a NextIteration and no Enter as inputs";
      return;
    }
    frame_[i] = frame_[from.node];
    guard_[i] = guard(from);
    frames_[frame_[i]].merges.push_back(i);
    return;
  }
  const std::uint32_t a = guard(in[0]), b = guard(in[1]);
  const Guard &ga = guards_[a], &gb = guards_[b];
  if (a == 0 || b == 0 || ga.parent != gb.parent || !(ga.predicate == gb.predicate) ||
      ga.branch == gb.branch || frame_[in[0].node] != frame_[in[1].node]) {
    problem_[i] = "does not join the two branches of one condition";
    return;
  }
  frame_[i] = frame_[in[0].node];
  guard_[i] = ga.parent;
  stage_[i] = std::max(stage_[in[0].node], stage_[in[1].node]) + 1;
  // Merges that depend on each other have different stages.
  const Group group{frame_[i], guard_[i], ga.predicate.node, ga.predicate.slot, stage_[i]};
  groups_[group].push_back(i);
  group_of_.emplace(i, group);
}

std::uint32_t Flow::branch(std::uint32_t parent, Edge predicate, std::uint32_t taken,
                           int max_nesting) {
  const auto [it, fresh] =
      branches_.emplace(std::tuple(parent, predicate.node, predicate.slot, taken), guards_.size());
  if (fresh) {
    const int depth = guards_[parent].depth + 1;
    check(depth <= max_nesting, ErrorKind::Memory, "conditions are nested deeper than {}",
          max_nesting);
    guards_.push_back({parent, depth, predicate, taken});
  }
  return it->second;
}

std::uint32_t Flow::guard(Edge e) const {
  if (guard_.empty()) return 0;
  const std::uint32_t base = guard_[e.node];
  if (nodes_[e.node].op != "Switch" || is_loop_switch(e.node)) return base;
  const auto& in = nodes_.inputs(e.node);
  if (in.size() != 2 || in[1].node == Edge::kNone) return base;
  const Edge predicate = nodes_.origin(in[1]);
  const auto it = branches_.find(std::tuple(base, predicate.node, predicate.slot, e.slot));
  return it == branches_.end() ? base : it->second;
}

bool Flow::around(std::uint32_t a, std::uint32_t b) const {
  while (guards_[b].depth > guards_[a].depth) b = guards_[b].parent;
  return a == b;
}

bool Flow::is_loop_switch(std::uint32_t i) const {
  if (nodes_[i].op != "Switch" || nodes_.inputs(i).size() != 2) return false;
  const Edge predicate = nodes_.origin(nodes_.inputs(i)[1]);
  return predicate.node != Edge::kNone && nodes_[predicate.node].op == "LoopCond";
}

bool Flow::is_loop_merge(std::uint32_t i) const {
  return nodes_[i].op == "Merge" &&
         std::any_of(nodes_.inputs(i).begin(), nodes_.inputs(i).end(), [&](const Edge& e) {
           return e.node != Edge::kNone && nodes_[e.node].op == "NextIteration";
         });
}

const std::vector<std::uint32_t>& Flow::joined_with(std::uint32_t merge) const {
  return groups_.at(group_of_.at(merge));
}

std::uint32_t Flow::branch_guard(std::uint32_t merge, std::size_t k) const {
  return guard(nodes_.inputs(merge)[k]);
}

}  // namespace treadle::tf
