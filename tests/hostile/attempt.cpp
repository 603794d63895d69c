#include "attempt.hpp"

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "api/model.hpp"

namespace treadle::hostile {
namespace {

constexpr std::int64_t kMaxTensorBytes = 128 << 20;
constexpr std::int64_t kMaxInputElements = 1 << 18;
constexpr std::int64_t kMaxFlops = 50'000'000;
constexpr double kMaxSeconds = 5;

Tensor random_tensor(DType dtype, const Shape& shape, std::mt19937& random) {
  Tensor t = Tensor::zeros(dtype, shape);
  if (dtype == DType::String || dtype == DType::C64 || dtype == DType::C128) return t;
  dispatch(dtype, [&]<typename T>(T) {
    for (T& v : t.mutable_span<T>()) {
      const auto draw = static_cast<float>(random() % 1000);
      if constexpr (std::is_same_v<T, bool>) {
        v = draw < 500;
      } else if constexpr (std::is_integral_v<T>) {
        v = static_cast<T>(static_cast<int>(draw) % 4);
      } else {
        v = T(draw / 500 - 1);
      }
    }
  });
  return t;
}

// One value an input, unknown sizes 1 to 3; nullopt when they are too large or no plain tensors.
std::optional<std::vector<Value>> random_inputs(const Model& model, std::mt19937& random,
                                                SymbolValues& symbols) {
  std::vector<Value> out;
  std::int64_t elements = 0;
  for (const Port& p : model.inputs()) {
    if (p.fact.kind != Fact::Kind::Tensor) return std::nullopt;
    std::vector<std::string> names;
    for (const Dim& d : p.fact.shape) d.collect_symbols(names);
    for (const auto& n : names) symbols.try_emplace(n, 1 + random() % 3);
    const Shape shape = eval(p.fact.shape, symbols);
    elements = checked_add(elements, shape.elements());
    if (elements > kMaxInputElements) return std::nullopt;
    out.emplace_back(random_tensor(p.fact.dtype, shape, random));
  }
  return out;
}

// Nullopt when it depends on sizes known only at run time.
std::optional<std::int64_t> flops(const Program& program, const SymbolValues& symbols) {
  std::int64_t sum = 0;
  for (const Step& s : program.steps) {
    std::vector<std::string> names;
    s.cost.flops.collect_symbols(names);
    for (const auto& n : names)
      if (!symbols.contains(n)) return std::nullopt;
    sum = checked_add(sum, s.cost.flops.eval(symbols));
  }
  return sum;
}

void note_error(const Error& e, Attempt& out) {
  out.message = e.what();
  if (e.kind() == ErrorKind::Internal) out.fault = "an internal error";
  const std::string& text = e.message();
  const bool says_where = !e.contexts().empty() || text.starts_with("node '") ||
                          text.starts_with("input '") || text.starts_with("output '");
  if (text.empty() || !says_where) out.fault = "an error without context";
}

}  // namespace

Attempt attempt(std::string_view bytes, unsigned seed) {
  Attempt out;
  ModelOptions options;
  options.limits.max_tensor_bytes = kMaxTensorBytes;
  options.limits.max_seconds = kMaxSeconds;
  std::mt19937 random(seed);
  try {
    auto model = Model::load(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
    out.loaded = true;
    SymbolValues symbols;
    std::optional<std::vector<Value>> inputs;
    try {
      inputs = random_inputs(*model, random, symbols);
      if (!inputs) return out;
      model = model->for_inputs(*inputs);
      if (flops(*model->program(), symbols).value_or(kMaxFlops) >= kMaxFlops) return out;
    } catch (const Error&) {
      return out;  // sizes that overflow: no inputs fit
    }
    Session session(model->program());
    if (const auto error = session.run(*inputs)) {
      note_error(*error, out);
      return out;
    }
    out.ran = true;
  } catch (const Error& e) {
    note_error(e, out);
  }
  return out;
}

}  // namespace treadle::hostile
