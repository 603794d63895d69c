#include <algorithm>
#include <vector>

#include "cpu/bound_copy.hpp"
#include "cpu/split.hpp"
#include "cpu/translators.hpp"
#include "kernels/copy/copy.hpp"
#include "ops/move.hpp"

namespace treadle::cpu {

using kernels::BoundCopy;

Translation translate_concat(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Concat>();
  if (ctx.out().dtype == DType::String) return {};
  return {kernel("concat", [axis = static_cast<std::size_t>(op->axis)](const BindContext& b) {
    const Shape& out = b.out[0]->shape;
    std::vector<BoundCopy> copies;
    std::int64_t at = 0;
    for (const TensorView* in : b.in) {
      const CopyDesc d = concat_desc(axis, at, in->shape, out);
      copies.emplace_back(size_of(in->dtype), d.axes, d.from, d.to);
      at = checked_add(at, in->shape[axis]);
    }
    check_concat_end(axis, at, out);
    return bound([copies = std::move(copies)](RunContext& c) {
      for (std::size_t i = 0; i < copies.size(); ++i) {
        copies[i].run(c.in[i]->data, c.out[0]->data, c.parallel);
      }
    });
  })};
}

Translation translate_slice(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Slice>();
  if (ctx.in(0).dtype == DType::String) return {};
  return {kernel("slice", [axis = static_cast<std::size_t>(op->axis), start = op->start,
                           step = op->step](const BindContext& b) {
    return bound_copy(
        b, slice_desc(axis, start.eval(b.symbols), step, b.in[0]->shape, b.out[0]->shape));
  })};
}

Translation translate_pad(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Pad>();
  if (ctx.in(0).dtype == DType::String || op->mode != ops::PadMode::Constant) return {};
  return {kernel("pad_constant", [before = op->before, after = op->after](const BindContext& b) {
    const Shape &in = b.in[0]->shape, &out = b.out[0]->shape;
    const Shape from = in.strides(), to = out.strides();
    Shape sizes = in;
    std::int64_t from_at = 0, to_at = 0;
    bool grows = false;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::int64_t head = before[i].eval(b.symbols), tail = after[i].eval(b.symbols);
      check(checked_add(checked_add(in[i], head), tail) == out[i], ErrorKind::Shape,
            "axis {} of {} padded by {} and {} is not {}", i, in.str(), head, tail, out.str());
      sizes[i] = std::max<std::int64_t>(
          0, in[i] + std::min<std::int64_t>(0, head) + std::min<std::int64_t>(0, tail));
      if (head < 0) from_at += -head * from[i];
      if (head > 0) to_at += head * to[i];
      grows = grows || head > 0 || tail > 0;
    }
    // A block without elements is not read, wherever its offset points.
    BoundCopy copy(size_of(b.in[0]->dtype), block_desc(sizes, in, out).axes, from_at, to_at);
    const std::int64_t count = out.elements();
    return bound([copy = std::move(copy), grows, count](RunContext& c) {
      constexpr unsigned char kZero[16] = {};
      const bool given = c.in.size() > 1 && c.in[1];
      if (grows) {
        kernels::fill(c.out[0]->data, count, given ? c.in[1]->data : kZero,
                      size_of(c.out[0]->dtype), c.parallel);
      }
      copy.run(c.in[0]->data, c.out[0]->data, c.parallel);
    });
  })};
}

Translation translate_gather(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Gather>();
  const DType index = ctx.in(1).dtype;
  if (ctx.in(0).dtype == DType::String || (index != DType::I32 && index != DType::I64)) return {};
  return {kernel("gather", [axis = op->axis, index](const BindContext& b) {
    const kernels::Split s = split_around(b.in[0]->shape, axis, axis);
    const kernels::GatherArgs args{
        s.outer, s.length, b.in[1]->shape.elements(),
        checked_mul(s.inner, static_cast<std::int64_t>(size_of(b.in[0]->dtype)))};
    return bound([args, index](RunContext& c) {
      if (index == DType::I32) {
        kernels::gather(args, c.in[0]->data, c.in[1]->as<const std::int32_t>(), c.out[0]->data,
                        c.parallel);
      } else {
        kernels::gather(args, c.in[0]->data, c.in[1]->as<const std::int64_t>(), c.out[0]->data,
                        c.parallel);
      }
    });
  })};
}

Translation translate_tile(const TranslateContext& ctx) {
  if (ctx.in(0).dtype == DType::String) return {};
  return {kernel("tile", [](const BindContext& b) {
    return bound_copy(b, tile_desc(b.in[0]->shape, b.out[0]->shape));
  })};
}

}  // namespace treadle::cpu
