#include "ops/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "ops/elements.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

void Attention::visit(ParamVisitor& v) const {
  v.param("scale", scale);
  v.param("softcap", softcap);
  v.param("left", left);
  v.param("right", right);
  v.param("offset", offset);
}

namespace {

const char* const kInputs[] = {"q", "k", "v", "mask"};

void check_axis(InputFacts in, std::size_t i, std::size_t axis, const Dim& expected,
                const char* what, bool or_one = false) {
  const Dim& got = in[i]->shape[axis];
  const bool fits =
      !got.is_const() || !expected.is_const() || got == expected || (or_one && got.is(1));
  check(fits, ErrorKind::Shape, "input {} '{}' has shape {}, expected {} {} at axis {}", i,
        kInputs[i], str(in[i]->shape), expected.str(), what, axis);
}

void check_inputs(InputFacts in) {
  check(in.size() >= 3 && in.size() <= 4 && in[0] && in[1] && in[2], ErrorKind::Shape,
        "Attention takes q, k, v and an optional mask, got {} inputs", in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] == nullptr) continue;
    check(in[i]->rank() == 4, ErrorKind::Shape,
          "input {} '{}' has shape {}, expected rank 4 (batch, heads, sequence, head size)", i,
          kInputs[i], str(in[i]->shape));
    check(is_float(in[i]->dtype) && in[i]->dtype == in[0]->dtype, ErrorKind::Type,
          "input {} '{}' has dtype {}, expected one floating-point dtype for all", i, kInputs[i],
          name_of(in[i]->dtype));
  }
}

}  // namespace

std::vector<Fact> Attention::infer(InputFacts in) const {
  check_inputs(in);
  check(std::isfinite(scale), ErrorKind::Shape, "scale is {}, expected a finite number", scale);
  check(softcap >= 0, ErrorKind::Shape, "softcap is {}, expected no negative number", softcap);
  check(left >= -1 && right >= -1, ErrorKind::Shape,
        "window bounds are {} and {}, expected at least -1", left, right);
  const SymShape &q = in[0]->shape, &k = in[1]->shape, &v = in[2]->shape;
  check_axis(in, 1, 0, q[0], "batches");
  check_axis(in, 2, 0, q[0], "batches");
  check_axis(in, 1, 3, q[3], "elements a head");
  check_axis(in, 2, 1, k[1], "heads");
  check_axis(in, 2, 2, k[2], "keys");
  if (q[1].is_const() && k[1].is_const()) {
    check(k[1].value() > 0 && q[1].value() % k[1].value() == 0, ErrorKind::Shape,
          "{} query heads are not a multiple of {} key heads", q[1].str(), k[1].str());
  }
  if (in.size() > 3 && in[3] != nullptr) {
    const SymShape scores{q[0], q[1], q[2], k[2]};
    for (std::size_t i = 0; i < 4; ++i) check_axis(in, 3, i, scores[i], "or 1", true);
  }
  return {Fact::tensor(in[0]->dtype, {q[0], q[1], q[2], v[3]})};
}

namespace {

// The mask read as if it had the shape of the scores.
template <typename T>
class Mask {
 public:
  Mask(const TensorView* view) {  // NOLINT(google-explicit-constructor)
    if (view == nullptr) return;
    data_ = view->as<const T>();
    const Shape strides = view->shape.strides();
    for (std::size_t i = 0; i < 4; ++i) strides_[i] = view->shape[i] == 1 ? 0 : strides[i];
  }
  double at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (data_ == nullptr) return 0;
    const std::int64_t at = b * strides_[0] + h * strides_[1] + i * strides_[2] + j * strides_[3];
    return static_cast<double>(to_accumulator(data_[at]));
  }

 private:
  const T* data_ = nullptr;
  std::array<std::int64_t, 4> strides_{};
};

// exp(s − max) / Σ over scores[first, last); zeros when `masked`.
void softmax(std::vector<double>& scores, std::int64_t first, std::int64_t last, bool masked) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t j = first; j < last; ++j) {
    const double s = scores[static_cast<std::size_t>(j)];
    top = std::isnan(s) || s > top ? s : top;
  }
  for (std::int64_t j = first; j < last; ++j) {
    double& s = scores[static_cast<std::size_t>(j)];
    s = masked ? 0 : std::exp(s - top);
    sum += s;
  }
  for (std::int64_t j = first; j < last && !masked; ++j) {
    scores[static_cast<std::size_t>(j)] /= sum;
  }
}

template <typename T>
void run(const Attention& op, std::int64_t offset, EvalContext& ctx) {
  const TensorView &q = ctx.in(0), &k = ctx.in(1), &v = ctx.in(2), &y = ctx.output(0);
  const std::int64_t heads = q.shape[1], queries = q.shape[2], depth = q.shape[3];
  const std::int64_t kv_heads = k.shape[1], keys = k.shape[2], out_depth = v.shape[3];
  const Mask<T> mask(ctx.inputs() > 3 ? ctx.input(3) : nullptr);
  std::vector<double> scores(static_cast<std::size_t>(keys));
  for (std::int64_t row = 0; row < q.shape[0] * heads * queries; ++row) {
    const std::int64_t b = row / queries / heads, h = row / queries % heads, i = row % queries;
    const std::int64_t kv = b * kv_heads + h / (heads / kv_heads);
    const T* qs = q.as<const T>() + row * depth;
    const T* ks = k.as<const T>() + kv * keys * depth;
    const T* vs = v.as<const T>() + kv * keys * out_depth;
    const std::int64_t center = i + offset;
    const std::int64_t first =
        op.left < 0 ? 0 : std::clamp<std::int64_t>(center - op.left, 0, keys);
    const std::int64_t last =
        op.right < 0 ? keys
                     : std::clamp<std::int64_t>(checked_add(center, op.right), -1, keys - 1) + 1;
    bool masked = true;
    for (std::int64_t j = first; j < last; ++j) {
      double s = 0;
      for (std::int64_t d = 0; d < depth; ++d) {
        s += static_cast<double>(to_accumulator(qs[d])) *
             static_cast<double>(to_accumulator(ks[j * depth + d]));
      }
      s *= op.scale;
      if (op.softcap > 0) s = op.softcap * std::tanh(s / op.softcap);
      const double bias = mask.at(b, h, i, j);
      masked = masked && bias == -std::numeric_limits<double>::infinity();
      scores[static_cast<std::size_t>(j)] = s + bias;
    }
    softmax(scores, first, last, masked);
    for (std::int64_t d = 0; d < out_depth; ++d) {
      double sum = 0;
      for (std::int64_t j = first; j < last && !masked; ++j) {
        sum += scores[static_cast<std::size_t>(j)] *
               static_cast<double>(to_accumulator(vs[j * out_depth + d]));
      }
      y.as<T>()[row * out_depth + d] = from_accumulator<T>(static_cast<Accumulator<T>>(sum));
    }
  }
}

}  // namespace

void Attention::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  if (ctx.output(0).elements() == 0) return;
  const std::int64_t first_query = ctx.value_of(offset);
  dispatch(ctx.in(0).dtype, [&]<typename T>(T) {
    if constexpr (!std::is_integral_v<T>) run<T>(*this, first_query, ctx);
  });
}

Cost Attention::cost(InputFacts in, std::span<const Fact> out) const {
  const SymShape &q = in[0]->shape, &k = in[1]->shape;
  return {(elements(q) + elements(out[0].shape)) * k[2] * 2};
}

}  // namespace treadle::ops
