#include "ops/contract.hpp"

#include <algorithm>
#include <map>

#include "ops/checks.hpp"
#include "ops/elements.hpp"
#include "ops/loop.hpp"

namespace treadle::ops {
namespace {

void check_unique(const std::string& letters, std::string_view where) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    check(letters.find(letters[i]) == i, ErrorKind::Shape, "{} '{}' has the letter '{}' twice",
          where, letters, letters[i]);
  }
}

// Letters that are summed, in order of appearance.
std::string summed_letters(const Contract& op) {
  std::string summed;
  for (const auto& in : op.inputs) {
    for (const char c : in) {
      if (op.output.find(c) == std::string::npos && summed.find(c) == std::string::npos)
        summed += c;
    }
  }
  return summed;
}

std::map<char, Dim> letter_sizes(const Contract& op, InputFacts in) {
  std::map<char, Dim> sizes;
  for (std::size_t k = 0; k < in.size(); ++k) {
    for (std::size_t axis = 0; axis < op.inputs[k].size(); ++axis) {
      const Dim& d = in[k]->shape[axis];
      auto [at, fresh] = sizes.emplace(op.inputs[k][axis], d);
      if (fresh) continue;
      const auto x = at->second.as_const(), y = d.as_const();
      check(
          !x || !y || *x == *y || *x == 1 || *y == 1, ErrorKind::Shape,
          "input {} has shape {} as '{}': axis {} has {}, expected {} as '{}' of the other inputs",
          k, str(in[k]->shape), op.inputs[k], axis, d.str(), at->second.str(), at->first);
      at->second = broadcast(at->second, d);
    }
  }
  return sizes;
}

std::int64_t concrete_size(const Contract& op, const std::vector<const TensorView*>& in,
                           char letter) {
  std::int64_t size = 1;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const auto axis = op.inputs[k].find(letter);
    if (axis == std::string::npos) continue;
    const std::int64_t d = in[k]->shape[axis];
    check(size == 1 || d == 1 || d == size, ErrorKind::Shape,
          "input {} has shape {} as '{}': axis {} has {}, expected {}", k, in[k]->shape.str(),
          op.inputs[k], axis, d, size);
    if (d != 1) size = d;
  }
  return size;
}

// The loop over all letters; operand 0 is the output, 1 + k input k. The innermost letter is the
// last of the output when every input has it contiguous or not at all, else a summed one.
StridedLoop letter_loop(const Contract& op, const std::vector<const TensorView*>& in) {
  const std::string summed = summed_letters(op);
  std::string order = op.output + summed;
  if (!op.output.empty()) {
    const char last = op.output.back();
    const bool rows = std::ranges::all_of(op.inputs, [&](const std::string& s) {
      return s.find(last) == std::string::npos || s.back() == last;
    });
    if (rows) order = op.output.substr(0, op.output.size() - 1) + summed + last;
  }
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides(1 + in.size());
  for (const char c : order) dims.push_back(concrete_size(op, in, c));
  const auto size_of_letter = [&](char c) { return dims[order.find(c)]; };
  for (const char c : order) {
    const auto at = op.output.find(c);
    std::int64_t stride = at == std::string::npos ? 0 : 1;
    if (stride) {
      for (std::size_t i = at + 1; i < op.output.size(); ++i)
        stride *= size_of_letter(op.output[i]);
    }
    strides[0].push_back(stride);
    for (std::size_t k = 0; k < in.size(); ++k) {
      const auto axis = op.inputs[k].find(c);
      const bool moves = axis != std::string::npos && in[k]->shape[axis] != 1;
      strides[1 + k].push_back(moves ? in[k]->shape.strides()[axis] : 0);
    }
  }
  return strided_loop(dims, std::move(strides));
}

template <typename A>
A multiply(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return wrap_mul(a, b);
  else
    return a * b;
}

template <typename A>
A add(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return wrap_add(a, b);
  else
    return a + b;
}

// acc[i·sc] += Π_k in_k[i·s_k] over one row.
template <typename A, typename T>
void row(const StridedLoop& loop, const std::vector<const T*>& in, const std::int64_t* at, A* acc) {
  const std::int64_t n = loop.row(), sc = loop.row_stride(0);
  const auto get = [](T v) { return static_cast<A>(widen(v)); };
  if (in.size() == 2) {
    const T* a = in[0] + at[1];
    const T* b = in[1] + at[2];
    const std::int64_t sa = loop.row_stride(1), sb = loop.row_stride(2);
    if (sc == 0) {
      A sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum = add(sum, multiply(get(a[i * sa]), get(b[i * sb])));
      *acc = add(*acc, sum);
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        acc[i * sc] = add(acc[i * sc], multiply(get(a[i * sa]), get(b[i * sb])));
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    A product = 1;
    for (std::size_t k = 0; k < in.size(); ++k) {
      product = multiply(product, get(in[k][at[1 + k] + i * loop.row_stride(1 + k)]));
    }
    acc[i * sc] = add(acc[i * sc], product);
  }
}

template <typename T>
void contract(const StridedLoop& loop, const std::vector<const TensorView*>& inputs,
              const TensorView& out) {
  using A =
      std::conditional_t<is_real_v<T>, double,
                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  std::vector<const T*> in;
  for (const TensorView* v : inputs) in.push_back(v->as<T>());
  std::vector<A> acc(static_cast<std::size_t>(out.elements()), A(0));
  for_each_row(loop, [&](const std::int64_t* at) { row(loop, in, at, acc.data() + at[0]); });
  T* y = out.as<T>();
  for (std::size_t i = 0; i < acc.size(); ++i) y[i] = convert<T>(acc[i]);
}

}  // namespace

void Contract::visit(ParamVisitor& v) const {
  v.param("inputs", inputs);
  v.param("output", output);
}

std::vector<Fact> Contract::infer(InputFacts in) const {
  check(!inputs.empty(), ErrorKind::Shape, "expected at least one input");
  need_inputs(in, inputs.size());
  for (std::size_t k = 0; k < in.size(); ++k) {
    const Fact& x = need(in, k);
    check(x.dtype == in[0]->dtype, ErrorKind::Type, "input {} has dtype {}, expected {} as input 0",
          k, name_of(x.dtype), name_of(in[0]->dtype));
    check(x.shape.size() == inputs[k].size(), ErrorKind::Shape,
          "input {} has shape {}, expected rank {} for '{}'", k, str(x.shape), inputs[k].size(),
          inputs[k]);
    check_unique(inputs[k], "input");
  }
  const DType t = in[0]->dtype;
  check(is_float(t) || is_integer(t), ErrorKind::Type, "input 0 has dtype {}, expected a number",
        name_of(t));
  check_unique(output, "output");
  const auto sizes = letter_sizes(*this, in);
  SymShape shape;
  for (const char c : output) {
    const auto at = sizes.find(c);
    check(at != sizes.end(), ErrorKind::Shape,
          "output '{}' has the letter '{}', which no input has", output, c);
    shape.push_back(at->second);
  }
  return {Fact::tensor(t, std::move(shape))};
}

void Contract::eval(EvalContext& ctx) const {
  std::vector<const TensorView*> in;
  for (std::size_t k = 0; k < inputs.size(); ++k) in.push_back(&ctx.in(k));
  const TensorView& out = ctx.output(0);
  const StridedLoop loop = letter_loop(*this, in);
  dispatch(out.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, bool>) contract<T>(loop, in, out);
  });
}

Cost Contract::cost(InputFacts in, std::span<const Fact>) const {
  Dim flops = static_cast<std::int64_t>(std::max<std::size_t>(inputs.size(), 2));
  for (const auto& [letter, size] : letter_sizes(*this, in)) flops = flops * size;
  return {flops};
}

std::optional<AxisChange> Contract::change_axes(InputFacts, std::span<const Fact>,
                                                const Perm& perm) const {
  std::string permuted;
  for (const int p : perm) permuted += output[static_cast<std::size_t>(p)];
  return AxisChange{make_op<Contract>(inputs, permuted),
                    std::vector<std::optional<Perm>>(inputs.size())};
}

}  // namespace treadle::ops
