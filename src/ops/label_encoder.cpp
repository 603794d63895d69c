#include "ops/label_encoder.hpp"

#include <algorithm>
#include <unordered_map>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {

// Where each key stands. Numbers are held by value: integers as i64, floats as f64.
struct LabelEncoder::Places {
  std::unordered_map<std::string, std::int64_t> strings;
  std::unordered_map<std::int64_t, std::int64_t> ints;
  std::unordered_map<double, std::int64_t> floats;
  std::int64_t nan = -1;

  template <typename Map, typename Key>
  static std::int64_t find(const Map& map, const Key& key) {
    const auto it = map.find(key);
    return it == map.end() ? -1 : it->second;
  }
  std::int64_t place_of(const std::string& s) const { return find(strings, s); }
  template <typename T>
  std::int64_t place_of(T v) const {
    if constexpr (is_real_v<T>) {
      const auto d = static_cast<double>(widen(v));
      return std::isnan(d) ? nan : find(floats, d);
    } else {
      return find(ints, static_cast<std::int64_t>(v));
    }
  }
};

LabelEncoder::LabelEncoder(Tensor k, Tensor v, Tensor f)
    : keys(std::move(k)), values(std::move(v)), fallback(std::move(f)) {
  check(keys.rank() == 1 && values.shape() == keys.shape(), ErrorKind::Parse,
        "keys have shape {}, values {}, expected vectors of one length", keys.shape().str(),
        values.shape().str());
  check(fallback.dtype() == values.dtype() && fallback.elements() <= 1, ErrorKind::Parse,
        "the default is {}{}, expected one {}", name_of(fallback.dtype()), fallback.shape().str(),
        name_of(values.dtype()));
  auto places = std::make_shared<Places>();
  std::int64_t i = 0;
  if (keys.dtype() == DType::String) {
    for (const std::string& s : keys.span<std::string>()) places->strings[s] = i++;
  } else if (is_float(keys.dtype())) {
    for (const double d : keys.to_f64()) {
      (std::isnan(d) ? places->nan : places->floats[d]) = i;
      ++i;
    }
  } else {
    for (const std::int64_t n : keys.to_i64()) places->ints[n] = i++;
  }
  places_ = std::move(places);
}

void LabelEncoder::visit(ParamVisitor& v) const {
  v.param("keys", keys);
  v.param("values", values);
  v.param("fallback", fallback);
}

std::vector<Fact> LabelEncoder::infer(InputFacts in) const {
  need_inputs(in, 1);
  need_dtype(need(in, 0), keys.dtype(), 0);
  return {Fact::tensor(values.dtype(), in[0]->shape)};
}

void LabelEncoder::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  write_output(ctx, 0, values.dtype(), x.shape, [&](TensorView& y) {
    const auto put = [&](const auto* from) {
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const std::int64_t at = places_->place_of(from[i]);
        check(at >= 0 || fallback.elements() == 1, ErrorKind::Shape,
              "element {} is none of the keys", i);
        const Tensor& source = at < 0 ? fallback : values;
        copy_run(values.dtype(), y.data, i, source.data(), std::max<std::int64_t>(at, 0), 1);
      }
    };
    if (x.dtype == DType::String) {
      put(x.as<std::string>());
    } else {
      dispatch(x.dtype, [&]<typename T>(T) { put(x.as<T>()); });
    }
  });
}

}  // namespace treadle::ops
