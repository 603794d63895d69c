// Matrix products.
#include <algorithm>

#include "formats/onnx/ops/math_helpers.hpp"
#include "formats/onnx/ops/nn_activate.hpp"
#include "ops/contract.hpp"
#include "ops/det.hpp"
#include "ops/inverse.hpp"

namespace treadle::onnx {
namespace {

ValueId contract(NodeContext& c, const std::string& left, const std::string& right,
                 const std::string& out, ValueId a, ValueId b) {
  return c.add1(make_op<ops::Contract>(std::vector<std::string>{left, right}, out), {a, b});
}

// x times a real factor; integers only by integers.
ValueId scaled(NodeContext& c, ValueId x, double factor, std::string_view attribute) {
  if (factor == 1) return x;
  check(is_float(dtype_of(c, x)) || factor == static_cast<double>(static_cast<int>(factor)),
        ErrorKind::Unsupported, "attribute '{}' is {}, expected an integer for dtype {}", attribute,
        factor, name_of(dtype_of(c, x)));
  return binary(c, BinaryFn::Mul, x, factor);
}

void expect_matrix(NodeContext& c, std::size_t i) {
  check(c.fact(i).rank() == 2, ErrorKind::Shape, "input {} has shape {}, expected a matrix", i,
        str(c.fact(i).shape));
}

// Letters of one matrix of FusedMatMul: batch letters, then row and column, with the row in front
// of the batch when that is transposed too.
std::string operand_letters(const std::string& batch, char row, char column, bool transposed,
                            bool batch_transposed) {
  if (transposed) std::swap(row, column);
  return batch_transposed ? row + batch + column : batch + row + column;
}

}  // namespace

std::vector<ValueId> import_matmul(NodeContext& c) {
  return {ops::matmul(c.graph(), c.fresh_name(), c.in(0), c.in(1))};
}

// alpha · A' · B' + beta · C.
std::vector<ValueId> import_gemm(NodeContext& c) {
  expect_matrix(c, 0);
  expect_matrix(c, 1);
  const bool ta = c.int_attr("transA", 0) != 0, tb = c.int_attr("transB", 0) != 0;
  const double alpha = c.float_attr("alpha", 1.0), beta = c.float_attr("beta", 1.0);
  ValueId y = contract(c, ta ? "km" : "mk", tb ? "nk" : "kn", "mn", c.in(0), c.in(1));
  y = scaled(c, y, alpha, "alpha");
  if (!c.has(2) || beta == 0) return {y};
  check(c.fact(2).rank() <= 2, ErrorKind::Shape,
        "input 2 'C' has shape {}, expected rank 2 at most", str(c.fact(2).shape));
  return {binary(c, BinaryFn::Add, y, scaled(c, c.in(2), beta, "beta"))};
}

// com.microsoft: activation(Gemm).
std::vector<ValueId> import_fused_gemm(NodeContext& c) {
  const ValueId y = import_gemm(c)[0];
  const std::string activation = c.string_attr("activation", "");
  if (activation.empty()) return {y};
  const auto given = [&](const char* attr) {
    return c.has_attr(attr) ? std::optional(c.float_attr(attr, std::nullopt)) : std::nullopt;
  };
  const auto beta = given("activation_beta"), gamma = given("activation_gamma");
  return {nn::activate(c, activation, y, {given("activation_alpha"), beta ? beta : gamma})};
}

std::vector<ValueId> import_fused_matmul(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  const int ra = rank_of(c, a), rb = rank_of(c, b);
  // A vector stays what it is.
  const auto flag = [&](const char* attr, int rank) {
    return c.int_attr(attr, 0) != 0 && rank != 1;
  };
  const bool ta = flag("transA", ra), tb = flag("transB", rb);
  const bool ba = flag("transBatchA", ra), bb = flag("transBatchB", rb);
  ValueId y;
  if (!ta && !tb && !ba && !bb) {
    y = ops::matmul(c.graph(), c.fresh_name(), a, b);
  } else {
    check(ra >= 1 && rb >= 1, ErrorKind::Shape, "inputs have rank {} and {}, expected 1 or more",
          ra, rb);
    constexpr std::string_view kBatch = "bcdefghijlopqrst";
    const auto na = static_cast<std::size_t>(std::max(ra - 2, 0));
    const auto nb = static_cast<std::size_t>(std::max(rb - 2, 0));
    const std::size_t n = std::max(na, nb);
    const std::string all(kBatch.substr(0, n));
    y = contract(c, ra == 1 ? "k" : operand_letters(all.substr(n - na), 'm', 'k', ta, ba),
                 rb == 1 ? "k" : operand_letters(all.substr(n - nb), 'k', 'n', tb, bb),
                 all + (ra == 1 ? "" : "m") + (rb == 1 ? "" : "n"), a, b);
  }
  return {scaled(c, y, c.float_attr("alpha", 1.0), "alpha")};
}

// com.microsoft: of each matrix.
std::vector<ValueId> import_inverse(NodeContext& c) {
  return {c.add1(make_op<ops::Inverse>(), {c.in(0)})};
}

std::vector<ValueId> import_det(NodeContext& c) {
  return {c.add1(make_op<ops::Det>(), {c.in(0)})};
}

}  // namespace treadle::onnx
