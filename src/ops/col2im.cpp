#include "ops/col2im.hpp"

#include "graph/evaluate.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

std::int64_t product(const std::vector<std::int64_t>& v) {
  std::int64_t p = 1;
  for (const std::int64_t d : v) p = checked_mul(p, d);
  return p;
}

// Windows along each axis; checks all parameters.
std::vector<std::int64_t> windows(const Col2Im& op) {
  const std::size_t n = op.image.size();
  check(n > 0 && op.block.size() == n && op.dilations.size() == n && op.strides.size() == n &&
            op.before.size() == n && op.after.size() == n,
        ErrorKind::Shape, "parameters for different numbers of axes");
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    check(op.image[i] >= 0 && op.block[i] > 0 && op.dilations[i] > 0 && op.strides[i] > 0 &&
              op.before[i] >= 0 && op.after[i] >= 0,
          ErrorKind::Shape, "axis {}: image {}, block {}, dilation {}, stride {}, pads {} {}", i,
          op.image[i], op.block[i], op.dilations[i], op.strides[i], op.before[i], op.after[i]);
    const std::int64_t padded = checked_add(op.image[i], checked_add(op.before[i], op.after[i]));
    const std::int64_t reach = checked_add(checked_mul(op.dilations[i], op.block[i] - 1), 1);
    check(padded >= reach, ErrorKind::Shape, "axis {}: block reaches {}, padded image {}", i, reach,
          padded);
    out.push_back((padded - reach) / op.strides[i] + 1);
  }
  return out;
}

template <typename T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return wrap_add(a, b);
  } else {
    return convert<T>(widen(a) + widen(b));
  }
}

// One image from its columns [Π block, Π windows].
template <typename T>
void add_columns(const Col2Im& op, const Shape& block, const Shape& grid, const T* columns,
                 T* image, const std::vector<std::int64_t>& strides) {
  for_each_index(block, [&](const std::vector<std::int64_t>& k) {
    for_each_index(grid, [&](const std::vector<std::int64_t>& w) {
      std::int64_t to = 0;
      bool inside = true;
      for (std::size_t d = 0; d < w.size(); ++d) {
        const std::int64_t at = w[d] * op.strides[d] - op.before[d] + k[d] * op.dilations[d];
        inside = inside && at >= 0 && at < op.image[d];
        to += at * strides[d];
      }
      if (inside) image[to] = plus(image[to], *columns);
      ++columns;
    });
  });
}

}  // namespace

void Col2Im::visit(ParamVisitor& v) const {
  v.param("image", image);
  v.param("block", block);
  v.param("dilations", dilations);
  v.param("strides", strides);
  v.param("before", before);
  v.param("after", after);
}

std::vector<Fact> Col2Im::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  need_rank(x, 3, 0);
  check(x.dtype != DType::String && !is_complex(x.dtype), ErrorKind::Type, "does not apply to {}",
        x.str());
  const std::int64_t columns = product(windows(*this));
  check(!x.shape[2].is_const() || x.shape[2].is(columns), ErrorKind::Shape,
        "input {} must hold {} columns", x.str(), columns);
  const std::int64_t size = product(block);
  const auto channels = exact_div(x.shape[1], size);
  check(channels || !x.shape[1].is_const(), ErrorKind::Shape,
        "axis 1 of input {} is no multiple of the block's {} elements", x.str(), size);
  SymShape shape{x.shape[0], channels ? *channels : floor_div(x.shape[1], size)};
  shape.insert(shape.end(), image.begin(), image.end());
  return {Fact::tensor(x.dtype, std::move(shape))};
}

void Col2Im::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const Shape block_shape{std::span<const std::int64_t>(block)};
  const Shape grid{std::span<const std::int64_t>(windows(*this))};
  const std::int64_t size = block_shape.elements();
  check(x.shape[1] % size == 0 && x.shape[2] == grid.elements(), ErrorKind::Shape,
        "input {} does not hold {} columns of {} elements", x.shape.str(), grid.elements(), size);
  Shape shape{x.shape[0], x.shape[1] / size};
  for (const std::int64_t d : image) shape.push_back(d);
  const auto steps = row_major(image);
  const std::int64_t plane = product(image);
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    fill_zero(x.dtype, y.data, y.elements());
    dispatch(x.dtype, [&]<typename T>(T) {
      for (std::int64_t c = 0; c < shape[0] * shape[1]; ++c) {
        add_columns(*this, block_shape, grid, x.as<T>() + c * size * grid.elements(),
                    y.as<T>() + c * plane, steps);
      }
    });
  });
}

void DynamicCol2Im::visit(ParamVisitor& v) const {
  proto.visit(v);
  v.param("sizes", sizes);
}

std::vector<Fact> DynamicCol2Im::infer(InputFacts in) const {
  need_inputs(in, 3);
  const Fact& x = need(in, 0);
  need_rank(x, 3, 0);
  for (std::size_t i = 1; i < 3; ++i) {
    need_integer(need(in, i), i);
    need_rank(need(in, i), 1, i);
  }
  return {Fact::tensor(x.dtype, sizes)};
}

void DynamicCol2Im::eval(EvalContext& ctx) const {
  Col2Im op = proto;
  op.image = read_ints(ctx.in(1));
  op.block = read_ints(ctx.in(2));
  const Value* inputs[] = {&ctx.input_value(0)};
  ctx.set_output(0, evaluate(op, inputs).front());
}

}  // namespace treadle::ops
