#include "cli/difference.hpp"

#include <cmath>

#include "tensor/npy.hpp"

namespace treadle::cli {
namespace {

Difference no_match(std::string note) {
  Difference d;
  d.note = std::move(note);
  return d;
}

Difference exact(const Tensor& got, const Tensor& want) {
  Difference d;
  if (got.identical(want)) {
    d.equal = true;
    return d;
  }
  if (got.dtype() == DType::String) {
    d.note = "texts differ";
    return d;
  }
  if (is_complex(got.dtype())) {
    d.note = "complex elements differ";
    return d;
  }
  const auto a = got.to_i64(), b = want.to_i64();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double diff = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    d.largest = std::max(d.largest, std::abs(static_cast<double>(b[i])));
    if (diff <= d.max_abs && !(d.where < 0 && a[i] != b[i])) continue;
    d.max_abs = diff;
    d.where = static_cast<std::int64_t>(i);
  }
  d.max_rel = d.largest > 0 ? d.max_abs / d.largest : d.max_abs;
  return d;
}

}  // namespace

Difference difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  // A file holds the codes of narrow types.
  if (is_narrow(got.dtype()) && want.dtype() == DType::U8)
    return difference(got, narrow_from_codes(want, got.dtype()), tolerance);
  if (!(got.shape() == want.shape()))
    return no_match(fmt::format("shape {} instead of {}", got.shape().str(), want.shape().str()));
  const auto is_real = [](DType t) { return is_float(t) || is_narrow_float(t); };
  const bool floats = is_real(got.dtype()) && is_real(want.dtype());
  if (!floats && got.dtype() != want.dtype())
    return no_match(fmt::format("{} instead of {}", name_of(got.dtype()), name_of(want.dtype())));
  if (!floats) return exact(got, want);

  const auto a = got.to_f64(), b = want.to_f64();
  Difference d;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same_kind = std::isfinite(b[i]) ? std::isfinite(a[i])
                           : std::isnan(b[i])  ? std::isnan(a[i])
                                               : a[i] == b[i];
    if (!same_kind) {
      d.where = static_cast<std::int64_t>(i);
      d.note = fmt::format("element {} is {} instead of {}", i, a[i], b[i]);
      return d;
    }
    if (!std::isfinite(b[i])) continue;
    d.largest = std::max(d.largest, std::abs(b[i]));
    if (const double diff = std::abs(a[i] - b[i]); diff > d.max_abs) {
      d.max_abs = diff;
      d.where = static_cast<std::int64_t>(i);
    }
  }
  d.max_rel = d.largest > 0 ? d.max_abs / d.largest : d.max_abs;
  d.equal = d.max_abs <= tolerance.absolute + tolerance.relative * d.largest;
  return d;
}

std::string describe(const Difference& d) {
  if (!d.note.empty()) return d.note;
  return fmt::format("max difference {:.3g} (relative {:.3g})", d.max_abs, d.max_rel);
}

}  // namespace treadle::cli
