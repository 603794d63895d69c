#include "cpu/contract_plan.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace treadle::cpu {
namespace {

bool has(const std::string& s, char c) {
  return s.find(c) != std::string::npos;
}

std::ptrdiff_t stride_of(const std::string& letters, const Shape& shape, char letter) {
  const auto at = letters.find(letter);
  if (at == std::string::npos || shape[at] == 1) return 0;
  return shape.strides()[at];
}

std::int64_t size_of_letter(const std::string& letters, const Shape& shape, char letter) {
  const auto at = letters.find(letter);
  return at == std::string::npos ? 1 : shape[at];
}

// Merges neighbours (outer, inner) into one dimension where all strides allow it.
void merge(std::vector<LoopDim>& dims) {
  for (std::size_t i = 0; i + 1 < dims.size();) {
    const LoopDim& outer = dims[i];
    const LoopDim& inner = dims[i + 1];
    if (outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
        outer.c == inner.c * inner.size) {
      dims[i + 1].size *= outer.size;
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// Takes the largest dimension out of `dims` (the innermost of equals); 1 when there is none.
LoopDim take_largest(std::vector<LoopDim>& dims) {
  if (dims.empty()) return {};
  auto best = dims.begin();
  for (auto it = dims.begin(); it != dims.end(); ++it) {
    if (it->size >= best->size) best = it;
  }
  const LoopDim d = *best;
  dims.erase(best);
  return d;
}

}  // namespace

bool is_gemm(const ops::Contract& op) {
  if (op.inputs.size() != 2 || op.output.empty()) return false;
  const std::string &a = op.inputs[0], &b = op.inputs[1];
  if (has(a, op.output.back()) == has(b, op.output.back())) return false;
  std::string summed;
  for (char c : a) {
    if (!has(op.output, c)) summed += c;
  }
  for (char c : b) {
    if (!has(op.output, c) && !has(summed, c)) return false;
  }
  return a.find(summed) != std::string::npos && b.find(summed) != std::string::npos;
}

ContractPlan plan_contract(const ops::Contract& op, const Shape& a, const Shape& b,
                           const Shape& c) {
  ContractPlan plan;
  // The operand that holds the output's last letter is B, so that C's columns are contiguous.
  plan.swapped = has(op.inputs[0], op.output.back());
  const std::string& la = op.inputs[plan.swapped ? 1 : 0];
  const std::string& lb = op.inputs[plan.swapped ? 0 : 1];
  const Shape& sa = plan.swapped ? b : a;
  const Shape& sb = plan.swapped ? a : b;
  std::vector<LoopDim> rows, columns, summed;
  for (char letter : op.output) {
    LoopDim d{size_of_letter(op.output, c, letter), stride_of(la, sa, letter),
              stride_of(lb, sb, letter), stride_of(op.output, c, letter)};
    if (letter == op.output.back()) {
      d.c = 1;
      columns.push_back(d);
    } else if (d.size == 1) {
      continue;
    } else if (d.b == 0) {
      rows.push_back(d);
    } else if (d.a == 0) {
      columns.push_back(d);
    } else {
      plan.loops.push_back(d);
    }
  }
  for (char letter : la) {
    if (has(op.output, letter)) continue;
    const std::int64_t size =
        std::max(size_of_letter(la, sa, letter), size_of_letter(lb, sb, letter));
    const bool empty = size_of_letter(la, sa, letter) == 0 || size_of_letter(lb, sb, letter) == 0;
    const LoopDim d{empty ? 0 : size, stride_of(la, sa, letter), stride_of(lb, sb, letter), 0};
    if (d.size != 1) summed.push_back(d);
  }
  merge(rows);
  merge(summed);
  merge(columns);
  // The innermost column dimension is contiguous in C; the others are loops.
  plan.n = columns.back();
  columns.pop_back();
  plan.loops.insert(plan.loops.end(), columns.begin(), columns.end());
  plan.m = take_largest(rows);
  plan.loops.insert(plan.loops.end(), rows.begin(), rows.end());
  check(summed.size() <= 1, ErrorKind::Unsupported, "a summed axis broadcasts in {},{}→{}",
        op.inputs[0], op.inputs[1], op.output);
  if (!summed.empty()) plan.k = summed[0];
  return plan;
}

}  // namespace treadle::cpu
