#include "plan/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace treadle {
namespace {

void collect(const SymShape& shape, std::set<std::string>& out) {
  std::vector<std::string> names;
  for (const Dim& d : shape) d.collect_symbols(names);
  out.insert(names.begin(), names.end());
}

void find_symbols(Program& p) {
  std::set<std::string> names;
  for (const ProgramValue& v : p.values) collect(v.fact.shape, names);
  p.symbols.assign(names.begin(), names.end());
}

// Sets of values that lie in one memory, each known by its root.
class Places {
 public:
  explicit Places(std::size_t n) : parent_(n) {
    for (std::size_t i = 0; i < n; ++i) parent_[i] = static_cast<int>(i);
  }
  int root(int v) {
    int r = v;
    while (parent_[static_cast<std::size_t>(r)] != r) r = parent_[static_cast<std::size_t>(r)];
    while (v != r) v = std::exchange(parent_[static_cast<std::size_t>(v)], r);
    return r;
  }
  void put(int v, int into) { parent_[static_cast<std::size_t>(v)] = into; }

 private:
  std::vector<int> parent_;
};

template <typename T>
auto& at(std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}

// Lifetimes of the places, in steps.
void find_lifetimes(Program& p, Places& places) {
  p.first_step.assign(p.values.size(), -1);
  p.last_step.assign(p.values.size(), -1);
  const int end = static_cast<int>(p.steps.size());
  for (int s = 0; s < end; ++s) {
    for (int v : at(p.steps, s).in) {
      if (v >= 0) at(p.last_step, places.root(v)) = s;
    }
    for (int v : at(p.steps, s).out) {
      if (v < 0) continue;
      int& first = at(p.first_step, places.root(v));
      if (first < 0) first = s;
      at(p.last_step, places.root(v)) = std::max(s, at(p.last_step, places.root(v)));
    }
  }
  for (int v : p.outputs) at(p.last_step, places.root(v)) = end;
}

// Lets a step write over the input that dies with it, where the kernel allows it.
void run_in_place(Program& p, Places& places, std::vector<int>& segment_of) {
  for (int s = 0; s < static_cast<int>(p.steps.size()); ++s) {
    const Step& step = at(p.steps, s);
    if (step.inplace < 0) continue;
    const int in = step.in[static_cast<std::size_t>(step.inplace)], out = step.out[0];
    const int from = places.root(in);
    if (at(p.values, out).storage != Storage::Arena || at(p.values, from).storage != Storage::Arena)
      continue;
    if (at(p.last_step, from) != s || at(segment_of, at(p.first_step, from)) != at(segment_of, s))
      continue;
    if (at(p.values, in).on_device != at(p.values, out).on_device) continue;
    const Fact &a = at(p.values, in).fact, &b = at(p.values, out).fact;
    if (a.dtype != b.dtype || !(a.shape == b.shape)) continue;
    // Another operand in the same memory may be read after it was written over.
    if (std::count_if(step.in.begin(), step.in.end(),
                      [&](int v) { return v >= 0 && places.root(v) == from; }) != 1) {
      continue;
    }
    at(p.last_step, from) = at(p.last_step, out);
    places.put(out, from);
  }
}

// Decides before which steps the queue must be empty, and keeps the host memory of queued copies
// alone until then: a copy to the device may still read it, a copy from there may already write it.
void find_syncs(Program& p, Places& places) {
  std::vector<int> reading;  // host places that queued copies read
  std::vector<bool> arriving(p.values.size(), false);
  bool pending = false;
  const auto settle = [&](int s) {
    for (int v : reading) at(p.last_step, v) = std::max(at(p.last_step, v), s);
    reading.clear();
    arriving.assign(p.values.size(), false);
    pending = false;
  };
  for (int s = 0; s < static_cast<int>(p.steps.size()); ++s) {
    Step& step = at(p.steps, s);
    if (step.label.empty()) step.label = fmt::format("node '{}' ({})", step.name, step.op_name);
    if (step.queued) {
      pending = true;
      for (int v : step.in) {
        if (v >= 0 && !at(p.values, v).on_device) reading.push_back(places.root(v));
      }
      for (int v : step.out) {
        if (v >= 0 && !at(p.values, v).on_device)
          arriving[static_cast<std::size_t>(places.root(v))] = true;
      }
      continue;
    }
    step.sync_before = std::any_of(step.in.begin(), step.in.end(), [&](int v) {
      return v >= 0 && arriving[static_cast<std::size_t>(places.root(v))];
    });
    if (step.sync_before) settle(s);
  }
  p.sync_at_end = pending;
  if (pending) settle(static_cast<int>(p.steps.size()));
}

void find_places(Program& p, std::vector<int>& segment_of) {
  Places places(p.values.size());
  for (int v = 0; v < static_cast<int>(p.values.size()); ++v) {
    if (at(p.values, v).storage == Storage::Alias) places.put(v, at(p.values, v).alias_of);
  }
  find_lifetimes(p, places);
  find_syncs(p, places);
  run_in_place(p, places, segment_of);
  p.place.resize(p.values.size());
  for (int v = 0; v < static_cast<int>(p.values.size()); ++v) at(p.place, v) = places.root(v);
}

}  // namespace

void finish(Program& p) {
  find_symbols(p);
  std::vector<int> segment_of(p.steps.size() + 1, 0);
  p.segments.assign(1, {});
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    segment_of[s] = static_cast<int>(p.segments.size()) - 1;
    p.segments.back().end = static_cast<int>(s) + 1;
    if (p.steps[s].dynamic) {
      p.segments.push_back({static_cast<int>(s) + 1, static_cast<int>(s) + 1, {}, {}, 0, 0});
    }
  }
  segment_of[p.steps.size()] = static_cast<int>(p.segments.size()) - 1;
  for (std::size_t c = 0; c < p.checks.size(); ++c) {
    Segment& segment = p.segments[static_cast<std::size_t>(
        segment_of[static_cast<std::size_t>(p.checks[c].step)])];
    if (segment.end_check == 0) segment.first_check = static_cast<int>(c);
    segment.end_check = static_cast<int>(c) + 1;
  }
  find_places(p, segment_of);
  // A value belongs to the segment that makes it; an alias to the first one in which its base is
  // known.
  std::vector<int> made_in(p.values.size(), 0);
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    for (int v : p.steps[s].out) {
      if (v >= 0) made_in[static_cast<std::size_t>(v)] = segment_of[s];
    }
  }
  for (std::size_t v = 0; v < p.values.size(); ++v) {
    const ProgramValue& value = p.values[v];
    if (value.storage == Storage::Arena) {
      p.segments[static_cast<std::size_t>(made_in[v])].arena.push_back(static_cast<int>(v));
    } else if (value.storage == Storage::Alias) {
      const int base = value.alias_of;
      const int made = made_in[static_cast<std::size_t>(base)];
      // A dynamic step ends its segment, so what it made is there for the next one.
      made_in[v] =
          p.values[static_cast<std::size_t>(base)].storage == Storage::Owned ? made + 1 : made;
      p.segments[static_cast<std::size_t>(made_in[v])].aliases.push_back(static_cast<int>(v));
    }
  }
}

std::string print(const Program& p) {
  std::string s;
  auto list = [&p](const std::vector<int>& ids) {
    std::string t;
    for (int v : ids) {
      if (!t.empty()) t += ", ";
      t += v < 0 ? "-" : fmt::format("%{} {}", v, p.values[static_cast<std::size_t>(v)].fact.str());
    }
    return t;
  };
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const Step& step = p.steps[i];
    s += fmt::format("{:>4} {:<16} {:<22} {}{} ({}) → {}{}\n", i, step.op_name,
                     step.kernel ? step.kernel->name() : std::string_view("reference"), step.name,
                     step.fused, list(step.in), list(step.out),
                     step.dynamic ? "  [segment ends]" : "");
  }
  return s;
}

}  // namespace treadle
