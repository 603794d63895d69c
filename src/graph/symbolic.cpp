#include "graph/symbolic.hpp"

#include "base/error.hpp"
#include "graph/evaluate.hpp"

namespace treadle {
namespace {

// Elements of a fact that an output of at most kMaxSymbolicElements integers can be made of.
bool small_integer_output(const Fact& out) {
  return out.kind == Fact::Kind::Tensor && is_integer(out.dtype) && is_const(out.shape) &&
         concrete(out.shape).elements() <= kMaxSymbolicElements;
}

}  // namespace

void fold_symbolic_moves(const Operator& op, InputFacts in, std::vector<Fact>& out) {
  if (out.empty() || out[0].value || !small_integer_output(out[0])) return;
  // Only when some data input is symbolic: plain constants are folded by the graph.
  bool any = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i]) continue;
    if (op.is_moved_input(i)) {
      if (!in[i]->dims && !in[i]->value) return;
      any = any || in[i]->dims;
    } else if (!in[i]->value) {
      return;
    }
  }
  if (!any) return;
  // Each symbolic element is replaced by its number in `table`, moved as an i64, and looked up
  // again.
  std::vector<Dim> table;
  std::vector<Value> values(in.size());
  std::vector<const Value*> pointers(in.size(), nullptr);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i]) continue;
    if (op.is_moved_input(i)) {
      const auto elements = in[i]->symbolic();
      if (!elements || !is_const(in[i]->shape)) return;
      Tensor t(DType::I64, concrete(in[i]->shape));
      auto ids = t.mutable_span<std::int64_t>();
      for (std::size_t k = 0; k < elements->size(); ++k) {
        ids[k] = static_cast<std::int64_t>(table.size());
        table.push_back((*elements)[k]);
      }
      values[i] = std::move(t);
    } else {
      values[i] = *in[i]->value;
    }
    pointers[i] = &values[i];
  }
  Tensor moved;
  try {
    moved = evaluate(op, pointers).front().tensor();
  } catch (const Error&) {
    return;
  }
  std::vector<Dim> dims;
  for (std::int64_t id : moved.span<std::int64_t>()) {
    if (id < 0 || id >= static_cast<std::int64_t>(table.size())) return;
    dims.push_back(table[static_cast<std::size_t>(id)]);
  }
  out[0].dims = std::make_shared<const std::vector<Dim>>(std::move(dims));
}

void fold_symbolic_elementwise(InputFacts in, Fact& out,
                               const std::function<Dim(std::span<const Dim>)>& f) {
  if (out.value || !small_integer_output(out)) return;
  std::vector<std::vector<Dim>> elements;
  std::vector<Shape> shapes;
  bool any = false;
  for (const Fact* fact : in) {
    if (!fact || !is_const(fact->shape)) return;
    auto e = fact->symbolic();
    if (!e) return;
    any = any || fact->dims;
    elements.push_back(std::move(*e));
    shapes.push_back(concrete(fact->shape));
  }
  if (!any) return;
  const Shape shape = concrete(out.shape);
  const Shape strides = shape.strides();
  std::vector<Dim> dims;
  std::vector<Dim> args(in.size());
  for (std::int64_t at = 0; at < shape.elements(); ++at) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::int64_t offset = 0;
      const Shape own = shapes[i].strides();
      const int shift = shape.rank() - shapes[i].rank();
      if (shift < 0) return;
      for (int a = 0; a < shapes[i].rank(); ++a) {
        const auto u = static_cast<std::size_t>(a);
        const auto o = static_cast<std::size_t>(a + shift);
        const std::int64_t index = (at / strides[o]) % shape[o];
        offset += shapes[i][u] == 1 ? 0 : index * own[u];
      }
      args[i] = elements[i][static_cast<std::size_t>(offset)];
    }
    try {
      dims.push_back(f(args));
    } catch (const Error&) {
      return;
    }
  }
  out.dims = std::make_shared<const std::vector<Dim>>(std::move(dims));
}

}  // namespace treadle
