#include "ops/linear_attention.hpp"

#include <algorithm>
#include <cmath>

#include "ops/checks.hpp"
#include "ops/elements.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {
namespace {

// The size of a head; throws Shape error when the heads do not go into it.
Dim head_size(const Fact& f, std::int64_t heads, std::size_t i) {
  const Dim& all = f.shape.back();
  check(!all.is_const() || all.value() % heads == 0, ErrorKind::Shape,
        "input {} has shape {}, which {} heads do not divide", i, str(f.shape), heads);
  return floor_div(all, heads);
}

std::vector<float> as_floats(const TensorView& x) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(x.elements()));
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) {
      for (const T v : x.span<const T>()) out.push_back(static_cast<float>(v));
    }
  });
  return out;
}

void store(const TensorView& to, const std::vector<float>& from) {
  dispatch(to.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) {
      std::transform(from.begin(), from.end(), to.as<T>(), [](float v) { return convert<T>(v); });
    }
  });
}

// S [dk, dv] after one position; see the header.
void update(float* s, std::span<const float> k, std::span<const float> v, const float* decay,
            std::size_t decay_step, const float* beta, std::vector<float>& delta) {
  const std::size_t dv = v.size();
  if (decay) {
    for (std::size_t i = 0; i < k.size(); ++i) {
      const float f = std::exp(decay[i * decay_step]);
      for (std::size_t j = 0; j < dv; ++j) s[i * dv + j] *= f;
    }
  }
  delta.assign(v.begin(), v.end());
  if (beta) {
    for (std::size_t i = 0; i < k.size(); ++i) {
      for (std::size_t j = 0; j < dv; ++j) delta[j] -= s[i * dv + j] * k[i];
    }
    for (float& d : delta) d *= *beta;
  }
  for (std::size_t i = 0; i < k.size(); ++i) {
    for (std::size_t j = 0; j < dv; ++j) s[i * dv + j] += k[i] * delta[j];
  }
}

}  // namespace

void LinearAttention::visit(ParamVisitor& v) const {
  v.param("q_heads", q_heads);
  v.param("kv_heads", kv_heads);
  v.param("scale", scale);
}

std::vector<Fact> LinearAttention::infer(InputFacts in) const {
  need_inputs(in, 6);
  check(q_heads >= 1 && kv_heads >= 1 && q_heads % kv_heads == 0, ErrorKind::Shape,
        "{} query heads, expected a multiple of the {} key heads", q_heads, kv_heads);
  const Fact &q = need(in, 0), &k = need(in, 1), &v = need(in, 2);
  check(is_float(q.dtype) && q.dtype != DType::F64, ErrorKind::Type, "input 0 has dtype {}",
        name_of(q.dtype));
  for (const std::size_t i : {0, 1, 2, 4, 5}) {
    const Fact* f = maybe(in, i);
    if (!f) continue;
    need_dtype(*f, q.dtype, i);
    need_rank(*f, 3, i);
    agree(f->shape[0], q.shape[0], "batches");
    agree(f->shape[1], q.shape[1], "positions");
  }
  const Dim dk = agree(head_size(q, q_heads, 0), head_size(k, kv_heads, 1), "sizes of heads");
  const Dim dv = head_size(v, kv_heads, 2);
  const SymShape state{q.shape[0], kv_heads, dk, dv};
  DType state_type = q.dtype;
  if (const Fact* past = maybe(in, 3)) {
    state_type = past->dtype;
    check(is_float(state_type) && state_type != DType::F64, ErrorKind::Type,
          "input 3 'past_state' has dtype {}", name_of(state_type));
    need_rank(*past, 4, 3);
    for (std::size_t d = 0; d < 4; ++d) agree(past->shape[d], state[d], "sizes of the state");
  }
  if (const Fact* decay = maybe(in, 4)) {
    const Dim& size = decay->shape[2];
    if (!size.is(kv_heads)) agree(size, dk * kv_heads, "sizes of decay and key");
  }
  if (const Fact* beta = maybe(in, 5)) {
    if (!beta->shape[2].is(1)) agree(beta->shape[2], kv_heads, "sizes of beta and heads");
  }
  return {Fact::tensor(q.dtype, {q.shape[0], q.shape[1], dv * q_heads}),
          Fact::tensor(state_type, state)};
}

void LinearAttention::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const auto size = [](std::int64_t v) { return static_cast<std::size_t>(v); };
  const Shape& shape = ctx.in(0).shape;
  const std::size_t batches = size(shape[0]), steps = size(shape[1]);
  const std::size_t heads = size(q_heads), groups = size(kv_heads), share = heads / groups;
  const std::size_t dk = size(shape[2]) / heads, dv = size(ctx.in(2).shape[2]) / groups;
  const std::vector<float> q = as_floats(ctx.in(0)), k = as_floats(ctx.in(1)),
                           v = as_floats(ctx.in(2));
  const auto optional = [&](std::size_t i) {
    return ctx.input(i) ? as_floats(*ctx.input(i)) : std::vector<float>{};
  };
  std::vector<float> state = optional(3);
  const std::vector<float> decay = optional(4), beta = optional(5);
  const std::size_t decays = ctx.input(4) ? size(ctx.input(4)->shape[2]) : 0;
  const std::size_t betas = ctx.input(5) ? size(ctx.input(5)->shape[2]) : 0;
  // Of one element a key dimension; with dk = 1 both forms are the same.
  const bool by_element = decays != groups;
  if (!ctx.input(3)) state.assign(batches * groups * dk * dv, 0.0f);
  std::vector<float> y(batches * steps * heads * dv, 0.0f), delta;
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t row = b * steps + t;
      for (std::size_t g = 0; g < groups; ++g) {
        float* s = state.data() + (b * groups + g) * dk * dv;
        const float* d =
            decays == 0 ? nullptr : decay.data() + row * decays + (by_element ? g * dk : g);
        const float* rate = betas == 0 ? nullptr : beta.data() + row * betas + (betas == 1 ? 0 : g);
        update(s, std::span(k).subspan((row * groups + g) * dk, dk),
               std::span(v).subspan((row * groups + g) * dv, dv), d, by_element ? 1 : 0, rate,
               delta);
        for (std::size_t h = g * share; h < (g + 1) * share; ++h) {
          float* out = y.data() + (row * heads + h) * dv;
          for (std::size_t i = 0; i < dk; ++i) {
            const float f = q[(row * heads + h) * dk + i] * static_cast<float>(scale);
            for (std::size_t j = 0; j < dv; ++j) out[j] += f * s[i * dv + j];
          }
        }
      }
    }
  }
  store(ctx.output(0), y);
  if (ctx.outputs() > 1) store(ctx.output(1), state);
}

Cost LinearAttention::cost(InputFacts in, std::span<const Fact> out) const {
  // A product with the state for each query head, and two for each key head.
  return {elements(in[0]->shape) * floor_div(out[0].shape[2], q_heads) * 6};
}

}  // namespace treadle::ops
