#include "ops/non_zero.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {

void NonZero::visit(ParamVisitor& v) const {
  v.param("count", count);
}

std::vector<Fact> NonZero::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  check(!is_complex(x.dtype), ErrorKind::Type, "does not apply to {}", x.str());
  return {Fact::tensor(DType::I64, {Dim(x.rank()), count})};
}

void NonZero::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  std::vector<std::int64_t> hits;
  if (x.dtype == DType::String) {
    const auto from = x.span<std::string>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!from[i].empty()) hits.push_back(static_cast<std::int64_t>(i));
    }
  } else {
    dispatch(x.dtype, [&]<typename T>(T) {
      const auto from = x.span<T>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (widen(from[i]) != compute_t<T>{0}) hits.push_back(static_cast<std::int64_t>(i));
      }
    });
  }
  const auto n = static_cast<std::int64_t>(hits.size());
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  allocate_output(ctx, 0, DType::I64, Shape{x.shape.rank(), n}, [&](TensorView& y) {
    auto* to = y.as<std::int64_t>();
    for (std::size_t d = 0; d < x.shape.size(); ++d) {
      for (const std::int64_t h : hits) *to++ = (h / strides[d]) % x.shape[d];
    }
  });
}

}  // namespace treadle::ops
