#include <array>

#include "graph/symbolic.hpp"
#include "ops/binary.hpp"
#include "ops/checks.hpp"
#include "ops/loop.hpp"

namespace treadle::ops {
namespace {

template <typename T>
void choose(const StridedLoop& loop, const TensorView& c, const TensorView& a, const TensorView& b,
            T* out) {
  const std::int64_t n = loop.row();
  const std::int64_t sc = loop.row_stride(1), sa = loop.row_stride(2), sb = loop.row_stride(3);
  for_each_row(loop, [&](const std::int64_t* at) {
    const bool* condition = c.as<bool>() + at[1];
    const T* x = a.as<T>() + at[2];
    const T* y = b.as<T>() + at[3];
    T* r = out + at[0];
    for (std::int64_t i = 0; i < n; ++i) r[i] = condition[i * sc] ? x[i * sa] : y[i * sb];
  });
}

struct Wide {
  std::uint64_t low, high;
};

}  // namespace

void Select::visit(ParamVisitor&) const {}

std::vector<Fact> Select::infer(InputFacts in) const {
  need_inputs(in, 3);
  const Fact& c = need(in, 0);
  const Fact& a = need(in, 1);
  const Fact& b = need(in, 2);
  check(c.dtype == DType::Bool, ErrorKind::Type, "input 0 'condition' has dtype {}, expected bool",
        name_of(c.dtype));
  check(a.dtype == b.dtype, ErrorKind::Type, "input 2 'b' has dtype {}, expected {} as input 1 'a'",
        name_of(b.dtype), name_of(a.dtype));
  Fact out = Fact::tensor(a.dtype, broadcast_shape(in));
  if (c.value && is_integer(a.dtype) && !(a.value && b.value)) {
    Fact as_int = Fact::tensor(DType::I64, c.shape);
    std::vector<Dim> elements;
    for (const std::int64_t v : c.value->to_i64()) elements.emplace_back(v);
    as_int.dims = std::make_shared<const std::vector<Dim>>(std::move(elements));
    const std::array<const Fact*, 3> facts = {&as_int, &a, &b};
    fold_symbolic_elementwise(facts, out,
                              [](std::span<const Dim> x) { return x[0].is(0) ? x[2] : x[1]; });
  }
  return {std::move(out)};
}

void Select::eval(EvalContext& ctx) const {
  const TensorView& c = ctx.in(0);
  const TensorView& a = ctx.in(1);
  const TensorView& b = ctx.in(2);
  const std::array<const Shape*, 3> shapes = {&c.shape, &a.shape, &b.shape};
  if (a.dtype == DType::String) {
    Shape shape = c.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      for (const Shape* s : shapes) {
        if (shape[i] == 1) shape[i] = (*s)[i];
      }
    }
    Tensor out(DType::String, shape);
    choose(broadcast_loop("select", shape, shapes), c, a, b,
           out.mutable_span<std::string>().data());
    ctx.set_output(0, std::move(out));
    return;
  }
  const TensorView& out = ctx.output(0);
  const StridedLoop loop = broadcast_loop("select", out.shape, shapes);
  switch (size_of(a.dtype)) {
    case 1:
      choose(loop, c, a, b, out.as<std::uint8_t>());
      break;
    case 2:
      choose(loop, c, a, b, out.as<std::uint16_t>());
      break;
    case 4:
      choose(loop, c, a, b, out.as<std::uint32_t>());
      break;
    case 8:
      choose(loop, c, a, b, out.as<std::uint64_t>());
      break;
    default:
      choose(loop, c, a, b, out.as<Wide>());
      break;
  }
}

std::optional<AxisChange> Select::change_axes(InputFacts, std::span<const Fact>,
                                              const Perm& perm) const {
  return AxisChange{make_op<Select>(), {perm, perm, perm}};
}

}  // namespace treadle::ops
