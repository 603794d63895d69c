// TensorFlow 1 control flow: which loop, and which branches of conditions, a node runs in.
//
// A loop is a frame: values enter it through Enter, turn in it through Merge and NextIteration, and
// leave it through Exit; Switch nodes over its LoopCond take them on or out. A condition is Switch
// nodes over one predicate and Merge nodes that join their branches again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "formats/tf/nodes.hpp"

namespace treadle::tf {

struct LoopFrame {
  std::string name;
  std::uint32_t parent = 0;
  int depth = 0;
  std::vector<std::uint32_t> enters, merges, exits, conditions;  // nodes
};

// A branch of a condition inside other branches; guard 0 stands for none.
struct Guard {
  std::uint32_t parent = 0;
  int depth = 0;
  Edge predicate;            // its origin
  std::uint32_t branch = 0;  // 1: taken when the predicate holds
};

class Flow {
 public:
  // `stop[i]`: node i becomes an input of the graph. Throws Unsupported error when frames or guards
  // nest deeper than `max_nesting`.
  Flow(const Nodes& nodes, const std::vector<bool>& stop, int max_nesting);

  // Throws Parse or Unsupported error when it is not clear where the node runs.
  void check_node(std::uint32_t i) const;
  std::uint32_t frame(std::uint32_t i) const { return frame_.empty() ? 0 : frame_[i]; }
  std::uint32_t guard(Edge e) const;
  const LoopFrame& loop(std::uint32_t frame) const { return frames_[frame]; }
  const Guard& guard_of(std::uint32_t guard) const { return guards_[guard]; }
  // Whether a runs wherever b does: a is b or one of the guards around it.
  bool around(std::uint32_t a, std::uint32_t b) const;
  bool is_loop_switch(std::uint32_t i) const;
  bool is_loop_merge(std::uint32_t i) const;
  // The Merge nodes of the same condition that do not depend on each other, this one among them.
  const std::vector<std::uint32_t>& joined_with(std::uint32_t merge) const;
  // The guard of the branch from which input k of a Merge comes.
  std::uint32_t branch_guard(std::uint32_t merge, std::size_t k) const;

 private:
  using Group = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                           std::uint32_t>;  // frame, guard, predicate, stage

  bool inherits_problem(std::uint32_t i);
  void place(const Nodes& nodes, std::uint32_t i, int max_nesting);
  void place_enter(std::uint32_t i, int max_nesting);
  void place_merge(std::uint32_t i);
  std::uint32_t branch(std::uint32_t parent, Edge predicate, std::uint32_t taken, int max_nesting);

  const Nodes& nodes_;
  std::vector<std::uint32_t> frame_, guard_, stage_;
  std::map<std::uint32_t, std::string> problem_;         // by node
  std::map<std::uint32_t, std::uint32_t> needs_broken_;  // node → one with a problem before it
  std::vector<LoopFrame> frames_{1};
  std::vector<Guard> guards_{1};
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> frame_names_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t>
      branches_;
  std::map<Group, std::vector<std::uint32_t>> groups_;
  std::map<std::uint32_t, Group> group_of_;
};

}  // namespace treadle::tf
