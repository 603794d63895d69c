// Operators that copy elements to other places, on a device: each is a few strided copies.
#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "gpu/copy_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/axis.hpp"
#include "ops/move.hpp"

namespace treadle::gpu {
namespace {

constexpr int kMostAxes = 6;

std::vector<std::int64_t> list(const Shape& s) {
  return {s.begin(), s.end()};
}

ops::Strided dense(const Shape& shape, std::int64_t offset = 0) {
  return {offset, list(shape.strides())};
}

// Copies inputs, each known by its number, to the output.
class BoundCopies final : public BoundKernel {
 public:
  explicit BoundCopies(std::vector<std::pair<std::size_t, CopyPlan>> copies)
      : copies_(std::move(copies)) {}
  void run(RunContext& ctx) override {
    for (const auto& [input, copy] : copies_)
      copy.run(queue(ctx), address(*ctx.in[input]), address(*ctx.out[0]), ctx.label);
  }

 private:
  std::vector<std::pair<std::size_t, CopyPlan>> copies_;
};

std::unique_ptr<BoundKernel> one_copy(const BindContext& b, const std::vector<std::int64_t>& sizes,
                                      const ops::Strided& to, const ops::Strided& from) {
  std::vector<std::pair<std::size_t, CopyPlan>> copies;
  copies.emplace_back(0, CopyPlan(sizes, to, from, size_of(b.out[0]->dtype)));
  return std::make_unique<BoundCopies>(std::move(copies));
}

std::string why_no_copy(const Fact& f) {
  if (f.dtype == DType::String) return "it moves strings";
  if (f.rank() > kMostAxes) return "it has more than 6 axes";
  return {};
}

// Fills the output with the value, then copies the input's block into it.
class BoundPad final : public BoundKernel {
 public:
  BoundPad(CopyPlan copy, bool grows, std::int64_t count, std::vector<std::byte> value)
      : copy_(std::move(copy)), grows_(grows), count_(count), value_(std::move(value)) {}
  void run(RunContext& ctx) override {
    const DeviceAddress to = address(*ctx.out[0]);
    if (grows_)
      gpu::run(queue(ctx), prepare_fill(to, count_, value_.data(), value_.size(), ctx.label));
    copy_.run(queue(ctx), address(*ctx.in[0]), to, ctx.label);
  }

 private:
  CopyPlan copy_;
  bool grows_;
  std::int64_t count_;
  std::vector<std::byte> value_;
};

}  // namespace

DeviceTranslation translate_transpose(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  const auto& op = *ctx.node.op->as<ops::Transpose>();
  return {device_kernel("transpose", [perm = op.perm](const BindContext& b) {
    const Shape in = b.in[0]->shape.strides();
    ops::Strided from;
    for (const auto axis : perm) from.strides.push_back(in[static_cast<std::size_t>(axis)]);
    return one_copy(b, list(b.out[0]->shape), dense(b.out[0]->shape), from);
  })};
}

DeviceTranslation translate_expand(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  return {device_kernel("expand", [](const BindContext& b) {
    const Shape &from = b.in[0]->shape, &to = b.out[0]->shape;
    check(from.rank() == to.rank(), ErrorKind::Shape, "{} does not expand to {}", from.str(),
          to.str());
    ops::Strided source = dense(from);
    for (std::size_t i = 0; i < to.size(); ++i) {
      check(from[i] == to[i] || from[i] == 1, ErrorKind::Shape,
            "axis {} of {} does not expand to {}", i, from.str(), to.str());
      if (from[i] == 1) source.strides[i] = 0;
    }
    return one_copy(b, list(to), dense(to), source);
  })};
}

DeviceTranslation translate_tile(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  // An axis that repeats becomes two, which need not merge with others.
  if (2 * ctx.out().rank() > kMostAxes && !is_const(ctx.out().shape))
    return refuse("it has more than 3 axes of unknown size");
  return {device_kernel("tile", [](const BindContext& b) {
    const Shape &in = b.in[0]->shape, &out = b.out[0]->shape;
    check(in.rank() == out.rank(), ErrorKind::Shape, "{} does not tile to {}", in.str(), out.str());
    const Shape from = in.strides(), to = out.strides();
    std::vector<std::int64_t> sizes;
    ops::Strided source, target;
    for (std::size_t i = 0; i < in.size(); ++i) {
      check(in[i] == 0 ? out[i] == 0 : out[i] % in[i] == 0, ErrorKind::Shape,
            "axis {} of {} does not tile to {}", i, in.str(), out.str());
      sizes.insert(sizes.end(), {in[i] == 0 ? 1 : out[i] / in[i], in[i]});
      source.strides.insert(source.strides.end(), {0, from[i]});
      target.strides.insert(target.strides.end(), {to[i] * in[i], to[i]});
    }
    return one_copy(b, sizes, target, source);
  })};
}

DeviceTranslation translate_slice(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  const auto& op = *ctx.node.op->as<ops::Slice>();
  return {device_kernel("slice", [axis = static_cast<std::size_t>(op.axis), start = op.start,
                                  step = op.step](const BindContext& b) {
    const Shape &in = b.in[0]->shape, &out = b.out[0]->shape;
    const std::int64_t first = start.eval(b.symbols), count = out[axis], size = in[axis];
    bool fits = count == 0 || (first >= 0 && first < size);
    if (fits && count > 1) {
      const std::int64_t room = step > 0 ? size - 1 - first : first;
      fits = step != 0 && count - 1 <= room / (step > 0 ? step : -std::max(step, -size - 1));
    }
    check(fits, ErrorKind::Shape, "{} elements from {} by {} leave axis {} of input {}", count,
          first, step, axis, in.str());
    ops::Strided from = dense(in);
    from.offset = count == 0 ? 0 : first * from.strides[axis];
    from.strides[axis] = count > 1 ? from.strides[axis] * step : 0;
    return one_copy(b, list(out), dense(out), from);
  })};
}

DeviceTranslation translate_concat(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  const auto axis = static_cast<std::size_t>(ctx.node.op->as<ops::Concat>()->axis);
  // Sizes along the axis of inputs that are there already.
  std::vector<std::int64_t> written(ctx.node.inputs.size(), -1);
  for (std::size_t i = 0; ctx.written && i < written.size(); ++i)
    if ((*ctx.written)[i]) written[i] = ctx.in(i).shape[axis].value();
  return {device_kernel("concat", [axis, written](const BindContext& b) {
    const Shape& out = b.out[0]->shape;
    const std::int64_t stride = out.strides()[axis];
    std::vector<std::pair<std::size_t, CopyPlan>> copies;
    std::int64_t at = 0;
    for (std::size_t k = 0; k < b.in.size(); ++k) {
      if (written[k] >= 0) {
        at = checked_add(at, written[k]);
        continue;
      }
      const Shape& in = b.in[k]->shape;
      bool fits = in.rank() == out.rank();
      for (std::size_t i = 0; fits && i < out.size(); ++i) fits = i == axis || in[i] == out[i];
      check(fits, ErrorKind::Shape, "cannot join {} into {}", in.str(), out.str());
      copies.emplace_back(
          k, CopyPlan(list(in), dense(out, at * stride), dense(in), size_of(b.out[0]->dtype)));
      at = checked_add(at, in[axis]);
    }
    check(at == out[axis], ErrorKind::Shape,
          "inputs have {} elements along axis {}, output {} has {}", at, axis, out.str(),
          out[axis]);
    return std::make_unique<BoundCopies>(std::move(copies));
  })};
}

DeviceTranslation translate_pad(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  const auto& op = *ctx.node.op->as<ops::Pad>();
  if (op.mode != ops::PadMode::Constant) return refuse("it does not pad with a constant");
  const Tensor* given = ctx.constant(1);
  if (ctx.has(1) && !given) return refuse("the value that it pads with is not constant");
  std::vector<std::byte> value(size_of(ctx.out().dtype));
  if (given) std::memcpy(value.data(), given->data(), value.size());
  return {device_kernel(
      "pad_constant",
      [before = op.before, after = op.after, value](const BindContext& b) {
        const Shape &in = b.in[0]->shape, &out = b.out[0]->shape;
        ops::Strided from = dense(in), to = dense(out);
        Shape sizes = in;
        bool grows = false;
        for (std::size_t i = 0; i < in.size(); ++i) {
          const std::int64_t head = before[i].eval(b.symbols), tail = after[i].eval(b.symbols);
          check(checked_add(checked_add(in[i], head), tail) == out[i], ErrorKind::Shape,
                "axis {} of {} padded by {} and {} is not {}", i, in.str(), head, tail, out.str());
          sizes[i] = checked_add(checked_add(in[i], std::min<std::int64_t>(0, head)),
                                 std::min<std::int64_t>(0, tail));
          check(sizes[i] >= 0, ErrorKind::Shape, "axis {} of {} has less than {} and {} to crop", i,
                in.str(), -std::min<std::int64_t>(0, head), -std::min<std::int64_t>(0, tail));
          if (head < 0) from.offset += -head * from.strides[i];
          if (head > 0) to.offset += head * to.strides[i];
          grows = grows || head > 0 || tail > 0;
        }
        CopyPlan copy(list(sizes), to, from, size_of(b.in[0]->dtype));
        return std::make_unique<BoundPad>(std::move(copy), grows, out.elements(), value);
      },
      {1})};
}

}  // namespace treadle::gpu
