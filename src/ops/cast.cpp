#include "ops/cast.hpp"

#include <algorithm>
#include <charconv>
#include <string>

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

}  // namespace

void convert_elements(const TensorView& from, const TensorView& to) {
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
  const TensorView& x = ctx.in(0);
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
    dispatch(to, [&]<typename T>(T) {
      T* out = y.as<T>();
      for (std::int64_t i = 0; i < n; ++i) out[i] = from_text<T>(in[i], i);
    });
  } else {
    convert_elements(x, y);
  }
}

std::optional<AxisChange> Cast::change_axes(InputFacts, std::span<const Fact>,
                                            const Perm& perm) const {
  return AxisChange{make_op<Cast>(*this), {perm}};
}

}  // namespace treadle::ops
