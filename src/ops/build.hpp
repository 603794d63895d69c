// Small graph-building helpers that every importer uses.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "ops/binary.hpp"
#include "ops/reduce.hpp"
#include "ops/unary.hpp"

namespace treadle::ops {

// Adds leading axes of size 1 until all have the rank of the largest (numpy broadcasting).
std::vector<ValueId> equal_ranks(Graph& g, const std::string& name, std::vector<ValueId> values);
// a ∘ b with numpy broadcasting; each returns the one output. `name` names the node (and derived
// names its helpers).
ValueId binary(Graph& g, const std::string& name, BinaryFn fn, ValueId a, ValueId b);
ValueId unary(Graph& g, const std::string& name, UnaryFn fn, ValueId x, double a = 0, double b = 0);
ValueId select(Graph& g, const std::string& name, ValueId condition, ValueId a, ValueId b);
ValueId cast(Graph& g, const std::string& name, ValueId x, DType to);  // x itself when it has it
ValueId transpose(Graph& g, const std::string& name, ValueId x, const Perm& perm);
ValueId reshape(Graph& g, const std::string& name, ValueId x, SymShape shape);
ValueId unsqueeze(Graph& g, const std::string& name, ValueId x, std::vector<std::int64_t> axes);
ValueId squeeze(Graph& g, const std::string& name, ValueId x, std::vector<std::int64_t> axes);
ValueId reduce(Graph& g, const std::string& name, ReduceFn fn, ValueId x,
               std::vector<std::int64_t> axes, bool keep_dims);
// numpy matmul with batch broadcasting and 1-D operands.
ValueId matmul(Graph& g, const std::string& name, ValueId a, ValueId b);
// A scalar constant of x's dtype, shaped [1, 1, …] of x's rank.
ValueId scalar_like(Graph& g, const std::string& name, double value, ValueId x);

// Non-negative and within [0, rank); throws Shape error naming the axis and the rank.
std::int64_t normal_axis(std::int64_t axis, int rank);
// Each normalised, sorted; throws Shape error on a repeated one.
std::vector<std::int64_t> normal_axes(std::vector<std::int64_t> axes, int rank);

}  // namespace treadle::ops
