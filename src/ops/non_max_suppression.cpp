#include "ops/non_max_suppression.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {
namespace {

struct Box {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};

Box box_of(const float* p, bool center) {
  if (center) {
    return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  }
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

float overlap(const Box& a, const Box& b) {
  const float h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(h > 0 && w > 0)) return 0;
  const float both = h * w;
  const float all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

struct Rules {
  std::int64_t most = 0;
  float iou = 0;
  float score = -std::numeric_limits<float>::infinity();
};

std::vector<std::int64_t> kept(const std::vector<Box>& boxes, const float* scores,
                               const Rules& rules) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (scores[i] > rules.score) order.push_back(static_cast<std::int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  std::vector<std::int64_t> out;
  for (const std::int64_t i : order) {
    if (static_cast<std::int64_t>(out.size()) >= rules.most) break;
    const bool clear = std::all_of(out.begin(), out.end(), [&](std::int64_t k) {
      return overlap(boxes[static_cast<std::size_t>(i)], boxes[static_cast<std::size_t>(k)]) <=
             rules.iou;
    });
    if (clear) out.push_back(i);
  }
  return out;
}

struct Scored {
  float score = 0;
  std::int64_t box = 0;
  std::size_t seen = 0;  // kept boxes that its score accounts for
};

// The chosen boxes with their scores.
std::vector<Scored> kept_softly(const std::vector<Box>& boxes, const float* scores,
                                const Rules& rules, float sigma) {
  const auto worse = [](const Scored& a, const Scored& b) {
    return a.score < b.score || (a.score == b.score && a.box > b.box);
  };
  std::priority_queue<Scored, std::vector<Scored>, decltype(worse)> queue(worse);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (scores[i] > rules.score) queue.push({scores[i], static_cast<std::int64_t>(i), 0});
  const bool soft = sigma > 0;
  const float scale = soft ? -0.5f / sigma : 0;
  std::vector<Scored> out;
  while (static_cast<std::int64_t>(out.size()) < rules.most && !queue.empty()) {
    Scored next = queue.top();
    queue.pop();
    const float before = next.score;
    bool dropped = false;
    for (std::size_t k = out.size(); k-- > next.seen && !dropped && next.score > rules.score;) {
      const float iou = overlap(boxes[static_cast<std::size_t>(next.box)],
                                boxes[static_cast<std::size_t>(out[k].box)]);
      next.score *= std::exp(scale * iou * iou);
      dropped = !soft && iou > rules.iou;
    }
    next.seen = out.size();
    if (dropped) continue;
    if (next.score == before)
      out.push_back(next);
    else if (next.score > rules.score)
      queue.push(next);
  }
  return out;
}

float one_float(EvalContext& ctx, std::size_t i, float fallback) {
  if (i >= ctx.inputs() || ctx.input(i) == nullptr) return fallback;
  check(ctx.in(i).elements() == 1, ErrorKind::Shape, "input {} must be one element", i);
  return *ctx.in(i).as<float>();
}

}  // namespace

void NonMaxSuppression::visit(ParamVisitor& v) const {
  v.param("center", center);
  v.param("count", count);
}

std::vector<Fact> NonMaxSuppression::infer(InputFacts in) const {
  const Fact& boxes = need(in, 0);
  const Fact& scores = need(in, 1);
  need_dtype(boxes, DType::F32, 0);
  need_dtype(scores, DType::F32, 1);
  need_rank(boxes, 3, 0);
  need_rank(scores, 3, 1);
  agree(boxes.shape[0], scores.shape[0], "batch sizes of boxes and scores");
  agree(boxes.shape[1], scores.shape[2], "numbers of boxes and scores");
  check(!boxes.shape[2].is_const() || boxes.shape[2].is(4), ErrorKind::Shape,
        "boxes must be [batch, count, 4], got {}", boxes.str());
  if (const Fact* most = maybe(in, 2)) need_integer(*most, 2);
  for (std::size_t i = 3; i < 5; ++i) {
    if (const Fact* f = maybe(in, i)) need_dtype(*f, DType::F32, i);
  }
  return {Fact::tensor(DType::I64, {count, 3})};
}

void NonMaxSuppression::eval(EvalContext& ctx) const {
  const TensorView& boxes = ctx.in(0);
  const TensorView& scores = ctx.in(1);
  const std::int64_t n = boxes.shape[1];
  check(boxes.shape[2] == 4 && scores.shape[2] == n && scores.shape[0] == boxes.shape[0],
        ErrorKind::Shape, "boxes {} do not fit scores {}", boxes.shape.str(), scores.shape.str());
  Rules rules;
  if (ctx.inputs() > 2 && ctx.input(2) != nullptr) {
    const auto most = read_ints(ctx.in(2));
    check(most.size() == 1, ErrorKind::Shape, "input 2 must be one element");
    rules.most = most[0];
  }
  rules.iou = one_float(ctx, 3, rules.iou);
  rules.score = one_float(ctx, 4, rules.score);
  std::vector<std::int64_t> out;
  for (std::int64_t b = 0; b < boxes.shape[0]; ++b) {
    std::vector<Box> all;
    for (std::int64_t i = 0; i < n; ++i) {
      all.push_back(box_of(boxes.as<float>() + (b * n + i) * 4, center));
    }
    for (std::int64_t c = 0; c < scores.shape[1]; ++c) {
      const float* row = scores.as<float>() + (b * scores.shape[1] + c) * n;
      for (const std::int64_t i : kept(all, row, rules)) out.insert(out.end(), {b, c, i});
    }
  }
  const Shape shape{static_cast<std::int64_t>(out.size() / 3), 3};
  ctx.set_output(0, Tensor::from<std::int64_t>(shape, out));
}

void SoftNonMaxSuppression::visit(ParamVisitor& v) const {
  v.param("count", count);
}

std::vector<Fact> SoftNonMaxSuppression::infer(InputFacts in) const {
  need_inputs(in, 6);
  const Fact &boxes = need(in, 0), &scores = need(in, 1);
  need_rank(boxes, 2, 0);
  need_rank(scores, 1, 1);
  agree(boxes.shape[0], scores.shape[0], "numbers of boxes and scores");
  check(!boxes.shape[1].is_const() || boxes.shape[1].is(4), ErrorKind::Shape,
        "boxes must be [count, 4], got {}", boxes.str());
  need_integer(need(in, 2), 2);
  for (std::size_t i = 0; i < 6; ++i)
    if (i != 2) need_dtype(need(in, i), DType::F32, i);
  return {Fact::tensor(DType::I64, {count}), Fact::tensor(DType::F32, {count})};
}

void SoftNonMaxSuppression::eval(EvalContext& ctx) const {
  const TensorView &boxes = ctx.in(0), &scores = ctx.in(1);
  const std::int64_t n = boxes.shape[0];
  check(boxes.shape[1] == 4 && scores.shape[0] == n, ErrorKind::Shape,
        "boxes {} do not fit scores {}", boxes.shape.str(), scores.shape.str());
  const auto most = read_ints(ctx.in(2));
  check(most.size() == 1, ErrorKind::Shape, "input 2 must be one element");
  const Rules rules{most[0], one_float(ctx, 3, 0), one_float(ctx, 4, 0)};
  std::vector<Box> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(box_of(boxes.as<float>() + i * 4, false));
  const auto chosen = kept_softly(all, scores.as<float>(), rules, one_float(ctx, 5, 0));
  Tensor at(DType::I64, {static_cast<std::int64_t>(chosen.size())});
  Tensor with(DType::F32, {static_cast<std::int64_t>(chosen.size())});
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    at.mutable_span<std::int64_t>()[i] = chosen[i].box;
    with.mutable_span<float>()[i] = chosen[i].score;
  }
  ctx.set_output(0, std::move(at));
  ctx.set_output(1, std::move(with));
}

}  // namespace treadle::ops
