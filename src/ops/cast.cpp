#include "ops/cast.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>

#include "graph/symbolic.hpp"
#include "ops/checks.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

// "3", "2.5", "1e+20", "NaN", "INF", "-INF".
template <typename C>
std::string to_text(C v) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(v)) return "NaN";
    if (std::isinf(v)) return v > 0 ? "INF" : "-INF";
  }
  if constexpr (std::is_same_v<C, bool>) return v ? "1" : "0";
  return fmt::format("{}", v);
}

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = s.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  s = s.substr(first, s.find_last_not_of(kSpace) - first + 1);
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  return s;
}

template <typename N>
std::optional<N> parse(std::string_view s) {
  N v{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return v;
}

// Decimal and scientific notation, and inf, infinity, nan in any case.
template <typename T>
T from_text(const std::string& text, std::int64_t at) {
  const std::string_view s = trimmed(text);
  if constexpr (is_int_v<T>) {
    if (const auto v = parse<std::int64_t>(s)) return convert<T>(*v);
    if (const auto v = parse<std::uint64_t>(s)) return convert<T>(*v);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (const auto v = parse<float>(s)) return *v;
  }
  const auto v = parse<double>(s);
  check(v.has_value(), ErrorKind::Type, "element {}: expected a number, got '{}'", at, text);
  return convert<T>(*v);
}

// An element as f32; what f32 cannot hold keeps which way it rounds to fewer bits.
template <typename T>
float nearly(T v) {
  if constexpr (std::is_same_v<compute_t<T>, float>) {
    return widen(v);
  } else {
    return round_to_odd(static_cast<double>(v));
  }
}

// To a narrow type, from one that is none.
void to_narrow(const TensorView& from, const TensorView& to, const NarrowRounding& rounding) {
  std::uint8_t* out = to.as<std::uint8_t>();
  const std::int64_t n = from.elements();
  const DType type = to.dtype;
  dispatch(from.dtype, [&]<typename F>(F) {
    const F* in = from.as<F>();
    if (is_narrow_float(type)) {
      for (std::int64_t i = 0; i < n; ++i) out[i] = narrow_code(type, nearly(in[i]), rounding);
    } else if constexpr (is_real_v<F>) {
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] =
            wrap_narrow(type, static_cast<std::uint64_t>(saturate<std::int64_t>(widen(in[i]))));
      }
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = wrap_narrow(type, static_cast<std::uint64_t>(in[i]));
      }
    }
  });
}

// A narrow type's elements as those of a type that holds them exactly: bytes seen in place for
// integers, f32 for floats.
std::pair<TensorView, Tensor> from_narrow(const TensorView& x) {
  if (is_narrow_integer(x.dtype)) return {{byte_of_narrow_integer(x.dtype), x.shape, x.data}, {}};
  Tensor wide(DType::F32, x.shape);
  const auto& values = narrow_values(x.dtype);
  const auto* codes = x.as<std::uint8_t>();
  const auto out = wide.mutable_span<float>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[codes[i]];
  const TensorView view = wide.view();
  return {view, std::move(wide)};
}

}  // namespace

void convert_elements(const TensorView& from, const TensorView& to,
                      const NarrowRounding& rounding) {
  if (from.dtype == to.dtype) {
    std::copy_n(from.as<std::byte>(), from.bytes(), to.as<std::byte>());
    return;
  }
  if (is_narrow(from.dtype)) {
    const auto [view, owner] = from_narrow(from);
    return convert_elements(view, to, rounding);
  }
  if (is_narrow(to.dtype)) return to_narrow(from, to, rounding);
  dispatch(from.dtype, [&]<typename F>(F) {
    dispatch(to.dtype, [&]<typename T>(T) {
      const F* in = from.as<F>();
      T* out = to.as<T>();
      const std::int64_t n = from.elements();
      if constexpr (std::is_same_v<F, T>) {
        std::copy_n(in, n, out);
      } else {
        for (std::int64_t i = 0; i < n; ++i) out[i] = convert<T>(widen(in[i]));
      }
    });
  });
}

void Cast::visit(ParamVisitor& v) const {
  v.param("to", to);
  if (!is_narrow_float(to)) return;
  v.param("saturate", rounding.saturate);
  v.param("power", static_cast<std::int64_t>(rounding.power));
}

std::vector<Fact> Cast::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check((!is_complex(x.dtype) && !is_complex(to)) || x.dtype == to, ErrorKind::Type,
        "input 0 'x' has dtype {}, which cannot be cast to {}", name_of(x.dtype), name_of(to));
  Fact out = Fact::tensor(to, x.shape);
  const bool keeps = to == DType::I64 || to == DType::I32 || to == DType::U64 || to == x.dtype;
  if (keeps && x.dims && (is_integer(x.dtype) || x.dtype == DType::Bool)) out.dims = x.dims;
  return {std::move(out)};
}

void Cast::eval(EvalContext& ctx) const {
  TensorView x = ctx.in(0);
  Tensor wide;
  if (is_narrow(x.dtype) && to == DType::String) std::tie(x, wide) = from_narrow(x);
  const std::int64_t n = x.elements();
  if (to == DType::String) {
    Tensor out(DType::String, x.shape);
    auto text = out.mutable_span<std::string>();
    if (x.dtype == DType::String) {
      std::copy_n(x.as<std::string>(), n, text.begin());
    } else {
      dispatch(x.dtype, [&]<typename F>(F) {
        const F* in = x.as<F>();
        for (std::int64_t i = 0; i < n; ++i) text[i] = to_text(widen(in[i]));
      });
    }
    ctx.set_output(0, std::move(out));
    return;
  }
  const TensorView& y = ctx.output(0);
  if (is_complex(to)) {
    std::copy_n(x.as<std::byte>(), x.bytes(), y.as<std::byte>());
  } else if (x.dtype == DType::String) {
    const std::string* in = x.as<std::string>();
    const DType type = !is_narrow(to) ? to : is_narrow_float(to) ? DType::F64 : DType::I64;
    const Tensor numbers = is_narrow(to) ? Tensor(type, x.shape) : Tensor();
    const TensorView values = is_narrow(to) ? numbers.view() : y;
    dispatch(type, [&]<typename T>(T) {
      T* out = values.as<T>();
      for (std::int64_t i = 0; i < n; ++i) out[i] = from_text<T>(in[i], i);
    });
    if (is_narrow(to)) convert_elements(values, y, rounding);
  } else {
    convert_elements(x, y, rounding);
  }
}

std::optional<AxisChange> Cast::change_axes(InputFacts, std::span<const Fact>,
                                            const Perm& perm) const {
  return AxisChange{make_op<Cast>(*this), {perm}};
}

}  // namespace treadle::ops
