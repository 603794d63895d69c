// Facts that describe several values at once: the branches of an If, the iterations of a Loop, the
// elements of a sequence.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace treadle::ops {

// Stands for "any rank" as the shape of a sequence's or optional's element; no tensor on an edge of
// a graph has it.
SymShape unknown_shape();
// The shape of the element of a sequence that has none so far.
SymShape no_shape();
bool has_unknown_rank(const Fact& fact);  // unknown_shape() or no_shape()

using SymbolNames = std::set<std::string, std::less<>>;

// Adds the symbols in a fact's shape (that of its element, …).
void collect_symbols(const Fact& fact, SymbolNames& out);
// The same type without known elements.
Fact type_only(const Fact& fact);
// The type of a value that is an `a` or a `b`: sizes that differ become fresh symbols of `graph`,
// as do those with a symbol that is not in `visible` (when given). Elements of sequences may differ
// in rank. Throws Type error naming `what` when kind or dtype differ, Unsupported when ranks do.
Fact unify(const Fact& a, const Fact& b, Graph& graph, const SymbolNames* visible,
           std::string_view what);
// The type outside: sizes with a symbol that is not in `visible` become fresh symbols.
Fact outward(const Fact& fact, Graph& graph, const SymbolNames& visible, std::string_view what);
// A new value of the same type whose sizes are independent of all others: each size that is no
// number becomes a fresh symbol.
Fact independent(const Fact& fact, Graph& graph, std::string_view what);

}  // namespace treadle::ops
