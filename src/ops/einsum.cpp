#include "ops/einsum.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/contract.hpp"
#include "ops/move.hpp"

namespace treadle::ops {
namespace {

constexpr std::string_view kEllipsis = "...";

// Nodes that are added, all named alike.
struct Target {
  Graph& graph;
  const std::string& name;
};

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> output;
};

Equation split(const std::string& text) {
  std::string s;
  std::ranges::copy_if(text, std::back_inserter(s), [](char ch) { return ch != ' '; });
  Equation e;
  if (const auto arrow = s.find("->"); arrow != std::string::npos) {
    e.output = s.substr(arrow + 2);
    s.resize(arrow);
  }
  std::size_t from = 0;
  for (auto comma = s.find(','); comma != std::string::npos; comma = s.find(',', from)) {
    e.terms.push_back(s.substr(from, comma - from));
    from = comma + 1;
  }
  e.terms.push_back(s.substr(from));
  return e;
}

void check_term(const std::string& term) {
  const auto dots = term.find(kEllipsis);
  std::string letters = term;
  if (dots != std::string::npos) letters.erase(dots, kEllipsis.size());
  const bool ok = std::ranges::all_of(
      letters, [](char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); });
  check(ok, ErrorKind::Parse, "einsum term '{}': expected letters and at most one '...'", term);
}

// The term with its ellipsis spelled out by the last of `broadcast`'s digits, right-aligned.
std::string expand(const std::string& term, const std::string& broadcast, std::size_t count) {
  const auto dots = term.find(kEllipsis);
  if (dots == std::string::npos) return term;
  std::string out = term;
  return out.replace(dots, kEllipsis.size(), broadcast.substr(broadcast.size() - count));
}

// Axes that a term's ellipsis stands for.
std::size_t ellipsis_axes(const std::string& term, int rank, std::size_t input) {
  const auto axes = static_cast<std::size_t>(rank);
  if (term.find(kEllipsis) == std::string::npos) {
    check(term.size() == axes, ErrorKind::Shape, "input {} has rank {}, expected {} for '{}'",
          input, rank, term.size(), term);
    return 0;
  }
  const std::size_t letters = term.size() - kEllipsis.size();
  check(letters <= axes, ErrorKind::Shape, "input {} has rank {}, expected at least {} for '{}'",
        input, rank, letters, term);
  return axes - letters;
}

// Letters that occur once in all terms, in order, after the broadcast axes.
std::string implicit_output(const std::vector<std::string>& terms, const std::string& broadcast) {
  std::map<char, int> seen;
  for (const auto& t : terms) {
    for (const char ch : t) ++seen[ch];
  }
  std::string out = broadcast;
  for (const auto& [ch, count] : seen) {
    if (count == 1 && broadcast.find(ch) == std::string::npos) out += ch;
  }
  return out;
}

// The diagonal for a letter that stands twice in a term: both axes become one, at the end.
ValueId diagonal(Target c, ValueId x, std::string& term, std::size_t first, std::size_t second) {
  const SymShape shape = c.graph.fact(x).shape;
  const Dim n = shape[first];
  check(n.is_const() && n == shape[second], ErrorKind::Unsupported,
        "einsum letter '{}' stands for sizes {} and {} of one input: expected equal constants",
        term[first], n.str(), shape[second].str());
  Perm perm;
  SymShape merged;
  std::string rest;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == first || i == second) continue;
    perm.push_back(static_cast<int>(i));
    merged.push_back(shape[i]);
    rest += term[i];
  }
  const auto axis = static_cast<std::int64_t>(perm.size());
  perm.push_back(static_cast<int>(first));
  perm.push_back(static_cast<int>(second));
  merged.push_back(n * n);
  const ValueId moved = transpose(c.graph, c.name, x, perm);
  const ValueId flat = reshape(c.graph, c.name, moved, std::move(merged));
  term = rest + term[first];
  return c.graph.add1(c.name, make_op<Slice>(axis, Dim(0), n, n.value() + 1), {flat});
}

ValueId without_repeats(Target c, ValueId x, std::string& term) {
  for (std::size_t i = 0; i < term.size(); ++i) {
    const auto again = term.find(term[i], i + 1);
    if (again == std::string::npos) continue;
    x = diagonal(c, x, term, i, again);
    i = static_cast<std::size_t>(-1);
  }
  return x;
}

// One input: a sum and a transpose.
ValueId rearrange(Target c, ValueId x, std::string term, const std::string& output) {
  std::vector<std::int64_t> summed;
  std::string kept;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (output.find(term[i]) == std::string::npos) {
      summed.push_back(static_cast<std::int64_t>(i));
    } else {
      kept += term[i];
    }
  }
  if (!summed.empty()) x = reduce(c.graph, c.name, ReduceFn::Sum, x, std::move(summed), false);
  Perm perm;
  for (const char ch : output) {
    const auto at = kept.find(ch);
    check(at != std::string::npos, ErrorKind::Parse,
          "einsum output '{}' has a letter that no term has", output);
    perm.push_back(static_cast<int>(at));
  }
  check(perm.size() == kept.size(), ErrorKind::Parse, "einsum output '{}' repeats a letter",
        output);
  return transpose(c.graph, c.name, x, perm);
}

}  // namespace

ValueId einsum(Graph& g, const std::string& name, const std::string& text,
               std::vector<ValueId> inputs) {
  const Target c{g, name};
  Equation e = split(text);
  check(e.terms.size() == inputs.size(), ErrorKind::Parse,
        "einsum equation '{}' has {} terms, got {} inputs", text, e.terms.size(), inputs.size());
  std::vector<std::size_t> counts;
  for (std::size_t k = 0; k < e.terms.size(); ++k) {
    check_term(e.terms[k]);
    counts.push_back(ellipsis_axes(e.terms[k], g.fact(inputs[k]).rank(), k));
  }
  constexpr std::string_view kDigits = "0123456789:;<=>?";
  const std::string broadcast(kDigits.substr(0, std::ranges::max(counts)));
  for (std::size_t k = 0; k < e.terms.size(); ++k)
    e.terms[k] = expand(e.terms[k], broadcast, counts[k]);
  std::string output = implicit_output(e.terms, broadcast);
  if (e.output) {
    check_term(*e.output);
    output = expand(*e.output, broadcast, broadcast.size());
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    inputs[k] = without_repeats(c, inputs[k], e.terms[k]);
  }
  if (inputs.size() == 1) return rearrange(c, inputs[0], e.terms[0], output);
  return g.add1(name, make_op<Contract>(std::move(e.terms), std::move(output)), std::move(inputs));
}

}  // namespace treadle::ops
