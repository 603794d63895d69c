// Operators that copy elements to other places, on a device: each is a few strided copies.
#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "cpu/copy_desc.hpp"
#include "gpu/copy_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/axis.hpp"
#include "ops/move.hpp"

namespace treadle::gpu {
namespace {

constexpr int kMostAxes = 6;

CopyPlan plan_of(const cpu::CopyDesc& d, std::size_t element_bytes) {
  std::vector<std::int64_t> sizes;
  ops::Strided to{d.to, {}}, from{d.from, {}};
  for (const kernels::CopyAxis& axis : d.axes) {
    sizes.push_back(axis.size);
    to.strides.push_back(axis.out);
    from.strides.push_back(axis.in);
  }
  return CopyPlan(sizes, to, from, element_bytes);
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

std::unique_ptr<BoundKernel> one_copy(const BindContext& b, const cpu::CopyDesc& d) {
  std::vector<std::pair<std::size_t, CopyPlan>> copies;
  copies.emplace_back(0, plan_of(d, size_of(b.out[0]->dtype)));
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
    return one_copy(b, cpu::transpose_desc(perm, b.in[0]->shape, b.out[0]->shape));
  })};
}

DeviceTranslation translate_expand(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  return {device_kernel("expand", [](const BindContext& b) {
    return one_copy(b, cpu::expand_desc(b.in[0]->shape, b.out[0]->shape));
  })};
}

DeviceTranslation translate_tile(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  // An axis that repeats becomes two, which need not merge with others.
  if (2 * ctx.out().rank() > kMostAxes && !is_const(ctx.out().shape))
    return refuse("it has more than 3 axes of unknown size");
  return {device_kernel("tile", [](const BindContext& b) {
    return one_copy(b, cpu::tile_desc(b.in[0]->shape, b.out[0]->shape));
  })};
}

DeviceTranslation translate_slice(const TranslateContext& ctx) {
  if (auto why = why_no_copy(ctx.out()); !why.empty()) return refuse(std::move(why));
  const auto& op = *ctx.node.op->as<ops::Slice>();
  return {device_kernel("slice", [axis = static_cast<std::size_t>(op.axis), start = op.start,
                                  step = op.step](const BindContext& b) {
    return one_copy(
        b, cpu::slice_desc(axis, start.eval(b.symbols), step, b.in[0]->shape, b.out[0]->shape));
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
    std::vector<std::pair<std::size_t, CopyPlan>> copies;
    std::int64_t at = 0;
    for (std::size_t k = 0; k < b.in.size(); ++k) {
      if (written[k] >= 0) {
        at = checked_add(at, written[k]);
        continue;
      }
      const Shape& in = b.in[k]->shape;
      copies.emplace_back(k,
                          plan_of(cpu::concat_desc(axis, at, in, out), size_of(b.out[0]->dtype)));
      at = checked_add(at, in[axis]);
    }
    cpu::check_concat_end(axis, at, out);
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
        const Shape from = in.strides(), to = out.strides();
        std::int64_t from_at = 0, to_at = 0;
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
          if (head < 0) from_at += -head * from[i];
          if (head > 0) to_at += head * to[i];
          grows = grows || head > 0 || tail > 0;
        }
        cpu::CopyDesc block = cpu::block_desc(sizes, in, out);
        block.from = from_at;
        block.to = to_at;
        CopyPlan copy = plan_of(block, size_of(b.in[0]->dtype));
        return std::make_unique<BoundPad>(std::move(copy), grows, out.elements(), value);
      },
      {1})};
}

}  // namespace treadle::gpu
