// Every import function of table.inc.
#pragma once

#include "formats/tf/importer.hpp"

namespace treadle::tf {

template <ops::UnaryFn Fn>
std::vector<ValueId> import_unary(NodeContext& c) {
  return {c.add1(
      make_op<ops::Unary>(Fn, Fn == ops::UnaryFn::IsInf ? 1 : 0, Fn == ops::UnaryFn::IsInf ? 1 : 0),
      {c.in(0)})};
}

template <ops::BinaryFn Fn>
std::vector<ValueId> import_binary(NodeContext& c) {
  return {ops::binary(c.graph(), c.fresh_name(), Fn, c.in(0), c.in(1))};
}

// Reduction over the axes that input 1 names.
std::vector<ValueId> reduce_over(NodeContext& c, ops::ReduceFn fn);

template <ops::ReduceFn Fn>
std::vector<ValueId> import_reduce(NodeContext& c) {
  return reduce_over(c, Fn);
}

// Those of a table line each.
#define TREADLE_TF(Op, function) std::vector<ValueId> function(NodeContext& c);
#define TREADLE_TF_MADE(Op, ...)
#include "formats/tf/table.inc"
#undef TREADLE_TF
#undef TREADLE_TF_MADE

}  // namespace treadle::tf
