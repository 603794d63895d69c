#include <algorithm>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/move.hpp"

namespace treadle::ops {
namespace {

constexpr std::int64_t kFill = -1;

// Throws Shape error when `before` and `after` do not fit an axis of `size`.
void check_pads(PadMode mode, std::int64_t axis, std::int64_t size, std::int64_t before,
                std::int64_t after) {
  std::int64_t left = checked_add(size, std::min<std::int64_t>(before, 0));
  left = checked_add(left, std::min<std::int64_t>(after, 0));
  check(left >= 0, ErrorKind::Shape, "axis {} of size {} cannot be cropped by {} and {}", axis,
        size, before, after);
  const std::int64_t most = std::max(before, after);
  if (most <= 0 || mode == PadMode::Constant) return;
  const bool bounded = mode == PadMode::Reflect || mode == PadMode::Symmetric;
  const std::int64_t limit = mode == PadMode::Reflect ? left - 1 : left;
  check(left > 0 && (!bounded || most <= limit), ErrorKind::Shape,
        "axis {}: mode {} cannot pad by {} and {}, dim {} leaves {} elements", axis, name_of(mode),
        before, after, size, left);
}

// Where each output position of one axis comes from, or kFill.
std::vector<std::int64_t> sources(PadMode mode, std::int64_t size, std::int64_t before,
                                  std::int64_t after) {
  const std::int64_t crop = std::max<std::int64_t>(-before, 0);
  const std::int64_t kept = size - crop - std::max<std::int64_t>(-after, 0);
  const std::int64_t lead = std::max<std::int64_t>(before, 0);
  const std::int64_t total = checked_add(checked_add(kept, lead), std::max<std::int64_t>(after, 0));
  std::vector<std::int64_t> out(static_cast<std::size_t>(total));
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t p = i - lead;
    if (p < 0 || p >= kept) {
      switch (mode) {
        case PadMode::Constant:
          p = kFill - crop;
          break;
        case PadMode::Edge:
          p = p < 0 ? 0 : kept - 1;
          break;
        case PadMode::Reflect:
          p = p < 0 ? -p : 2 * (kept - 1) - p;
          break;
        case PadMode::Symmetric:
          p = p < 0 ? -p - 1 : 2 * kept - 1 - p;
          break;
        case PadMode::Wrap:
          p = ((p % kept) + kept) % kept;
          break;
      }
    }
    out[static_cast<std::size_t>(i)] = p + crop;
  }
  return out;
}

}  // namespace

const char* name_of(PadMode m) {
  switch (m) {
    case PadMode::Constant:
      return "constant";
    case PadMode::Reflect:
      return "reflect";
    case PadMode::Edge:
      return "edge";
    case PadMode::Wrap:
      return "wrap";
    case PadMode::Symmetric:
      return "symmetric";
  }
  return "?";
}

void Pad::visit(ParamVisitor& v) const {
  v.param("mode", name_of(mode));
  v.param("before", before);
  v.param("after", after);
}

std::vector<Fact> Pad::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  check(before.size() == x.shape.size() && after.size() == x.shape.size(), ErrorKind::Shape,
        "{} and {} pads for input {} of rank {}", before.size(), after.size(), x.str(), x.rank());
  if (const Fact* value = maybe(in, 1)) {
    need_dtype(*value, x.dtype, 1);
    const Dim n = elements(value->shape);
    check(!n.is_const() || n.is(1), ErrorKind::Shape, "input 1 must be one value, got {}",
          value->str());
  }
  SymShape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (x.shape[i].is_const() && before[i].is_const() && after[i].is_const()) {
      check_pads(mode, static_cast<std::int64_t>(i), x.shape[i].value(), before[i].value(),
                 after[i].value());
    }
    shape.push_back(x.shape[i] + before[i] + after[i]);
  }
  return {Fact::tensor(x.dtype, std::move(shape))};
}

void Pad::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView* value = ctx.inputs() > 1 ? ctx.input(1) : nullptr;
  if (value != nullptr) {
    check(value->elements() == 1, ErrorKind::Shape, "the value must be one element, got {}",
          value->shape.str());
  }
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  std::vector<std::vector<std::int64_t>> from;
  Shape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const std::int64_t b = ctx.value_of(before[i]);
    const std::int64_t a = ctx.value_of(after[i]);
    check_pads(mode, static_cast<std::int64_t>(i), x.shape[i], b, a);
    from.push_back(sources(mode, x.shape[i], b, a));
    shape.push_back(static_cast<std::int64_t>(from.back().size()));
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    std::int64_t to = 0;
    for_each_index(shape, [&](const std::vector<std::int64_t>& at) {
      std::int64_t source = 0;
      for (std::size_t d = 0; d < at.size() && source != kFill; ++d) {
        const std::int64_t p = from[d][static_cast<std::size_t>(at[d])];
        source = p == kFill ? kFill : source + p * strides[d];
      }
      if (source != kFill) {
        copy_run(x.dtype, y.data, to, x.data, source, 1);
      } else if (value != nullptr) {
        copy_run(x.dtype, y.data, to, value->data, 0, 1);
      } else {
        const auto size = static_cast<std::int64_t>(size_of(x.dtype));
        fill_zero(x.dtype, static_cast<char*>(y.data) + to * size, 1);
      }
      ++to;
    });
  });
}

std::optional<AxisChange> Pad::change_axes(InputFacts in, std::span<const Fact>,
                                           const Perm& perm) const {
  auto op = std::make_shared<Pad>();
  op->mode = mode;
  for (const int p : perm) {
    op->before.push_back(before[static_cast<std::size_t>(p)]);
    op->after.push_back(after[static_cast<std::size_t>(p)]);
  }
  std::vector<std::optional<Perm>> inputs(in.size());
  inputs[0] = perm;
  return AxisChange{std::move(op), std::move(inputs)};
}

}  // namespace treadle::ops
