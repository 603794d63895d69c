#include "plan/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "plan/memory_plan.hpp"

namespace treadle {
namespace {

// "'a' [1, 831], 'b' [1, 830]", as far as the sizes are known.
std::string inputs_text(const Program& p, const Step& s, const SymbolValues& symbols) {
  std::string text;
  for (int v : s.in) {
    if (v < 0) continue;
    const ProgramValue& value = p.values[static_cast<std::size_t>(v)];
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", value.name,
                        shape_text(value.fact.shape, symbols));
  }
  return text;
}

std::string describe_step(const Program& p, int value, const SymbolValues& symbols) {
  for (const Step& s : p.steps) {
    for (int v : s.out) {
      if (v == value) return s.label + " of " + inputs_text(p, s, symbols);
    }
  }
  return "value '" + p.values[static_cast<std::size_t>(value)].name + "'";
}

}  // namespace

std::string shape_text(const SymShape& shape, const SymbolValues& symbols) {
  try {
    return eval(shape, symbols).str();
  } catch (const Error&) {
    return str(shape);
  }
}

void plan_segment(const Program& p, const Segment& segment, const SymbolValues& symbols,
                  BoundSegment& bound) {
  auto shape_of = [&](int v) {
    return in_context(
        [&] { return describe_step(p, v, symbols); },
        [&] { return eval(p.values[static_cast<std::size_t>(v)].fact.shape, symbols); });
  };
  // By memory: the host's, the device's.
  std::vector<Lifetime> lifetimes[2];
  std::unordered_map<int, std::size_t> index;  // place → lifetime
  for (int v : segment.arena) {
    const ProgramValue& value = p.values[static_cast<std::size_t>(v)];
    const Shape shape = shape_of(v);
    const auto bytes =
        checked_mul(shape.elements(), static_cast<std::int64_t>(size_of(value.fact.dtype)));
    bound.shapes.push_back({v, shape});
    const int place = p.place[static_cast<std::size_t>(v)];
    auto& list = lifetimes[value.on_device ? 1 : 0];
    const auto [it, added] = index.try_emplace(place, list.size());
    if (added) {
      // Values that later segments read stay to the end of this one and beyond.
      const int last = p.last_step[static_cast<std::size_t>(place)];
      list.push_back({bytes, p.first_step[static_cast<std::size_t>(place)], last, 0});
    }
    list[it->second].bytes = std::max(list[it->second].bytes, bytes);
  }
  for (const auto& [place, i] : index) {
    if (p.values[static_cast<std::size_t>(place)].on_device)
      bound.device_places.push_back({place, lifetimes[1][i].bytes});
  }
  const ArenaLayout layout = plan_memory(lifetimes[0]);
  bound.arena_bytes = layout.bytes;
  bound.lower_bound = layout.lower_bound;
  bound.device_arena_bytes = plan_memory(lifetimes[1]).bytes;
  for (int v : segment.arena) {
    const auto& list = lifetimes[p.values[static_cast<std::size_t>(v)].on_device ? 1 : 0];
    bound.offsets.push_back({v, list[index.at(p.place[static_cast<std::size_t>(v)])].offset});
  }
  for (int v : segment.aliases) {
    const Shape shape = shape_of(v);
    const ProgramValue& value = p.values[static_cast<std::size_t>(v)];
    const Shape base = shape_of(value.alias_of);
    check(shape.elements() == base.elements(), ErrorKind::Shape,
          "{}: input of shape {} has {} elements, target {} = {} has {}", value.view_op, base.str(),
          base.elements(), str(value.fact.shape), shape.str(), shape.elements());
    bound.shapes.push_back({v, shape});
  }
}

}  // namespace treadle
