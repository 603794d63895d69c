#include "plan/shape_check.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "plan/binding.hpp"

namespace treadle {
namespace {

// Sizes that no operator can relate by accident: distinct primes.
constexpr std::int64_t kTrials[2][4] = {{211, 307, 401, 503}, {1009, 907, 809, 701}};

std::vector<std::string> symbols_of(const SymShape& shape) {
  std::vector<std::string> names;
  for (const Dim& d : shape) d.collect_symbols(names);
  return names;
}

void collect(const Fact& f, std::vector<std::string>& names) {
  for (const Dim& d : f.shape) d.collect_symbols(names);
  if (!f.dims) return;
  for (const Dim& d : *f.dims) d.collect_symbols(names);
}

Fact concrete(const Fact& f, const SymbolValues& symbols) {
  Fact c = f;
  c.shape = to_sym(eval(f.shape, symbols));
  if (f.dims) {
    std::vector<Dim> dims;
    for (const Dim& d : *f.dims) dims.emplace_back(d.eval(symbols));
    c.dims = std::make_shared<const std::vector<Dim>>(std::move(dims));
  }
  return c;
}

bool known(const SymShape& shape, const SymbolValues& symbols) {
  return std::ranges::all_of(symbols_of(shape),
                             [&](const std::string& name) { return symbols.contains(name); });
}

void infer_again(const ShapeCheck& check_of, const SymbolValues& symbols) {
  std::vector<Fact> facts(check_of.in.size());
  std::vector<const Fact*> in(check_of.in.size(), nullptr);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!check_of.in[i]) continue;
    facts[i] = concrete(*check_of.in[i], symbols);
    in[i] = &facts[i];
  }
  const std::vector<Fact> out = check_of.op->infer(in);
  for (std::size_t i = 0; i < std::min(out.size(), check_of.out.size()); ++i) {
    const SymShape& planned = check_of.out[i].shape;
    if (out[i].kind != Fact::Kind::Tensor || !known(out[i].shape, symbols) ||
        !known(planned, symbols))
      continue;
    const Shape got = eval(out[i].shape, symbols), expected = eval(planned, symbols);
    check(got == expected, ErrorKind::Shape, "output {} has shape {}, expected {} = {}", i,
          got.str(), str(planned), expected.str());
  }
}

}  // namespace

std::optional<ShapeCheck> shape_check(const Graph& graph, const Node& n, std::string label) {
  // Their bodies are programs with checks of their own.
  if (!n.op->subgraphs().empty()) return std::nullopt;
  ShapeCheck result;
  std::vector<std::string> names;
  for (const ValueId v : n.inputs) {
    result.names.push_back(v.present() ? graph.value_name(v) : "");
    if (!v.present()) {
      result.in.emplace_back();
      continue;
    }
    const Fact& f = graph.fact(v);
    if (f.kind != Fact::Kind::Tensor) return std::nullopt;
    collect(f, names);
    result.in.emplace_back(f);
    // Weights do not say how large anything is; they may be packed and released.
    if (is_float(f.dtype)) result.in.back()->value = nullptr;
  }
  if (names.empty()) return std::nullopt;
  result.op = n.op;
  for (const Output& o : n.outputs) result.out.push_back(o.fact);
  try {
    for (const auto& trial : kTrials) {
      SymbolValues symbols;
      for (const std::string& name : names) {
        const std::size_t k = symbols.size();
        symbols.try_emplace(name, trial[k % 4] + 4 * static_cast<std::int64_t>(k));
      }
      infer_again(result, symbols);
    }
    return std::nullopt;
  } catch (const Error&) {
    result.label = std::move(label);
    return result;
  }
}

void verify(const ShapeCheck& check_of, const SymbolValues& symbols) {
  // "node 'sum' (Binary add) of 'a' [1, 831], 'b' [1, 830]".
  const auto label = [&] {
    std::string text = check_of.label;
    for (std::size_t i = 0; i < check_of.in.size(); ++i) {
      if (!check_of.in[i]) continue;
      text += fmt::format("{}'{}' {}", i == 0 ? " of " : ", ", check_of.names[i],
                          shape_text(check_of.in[i]->shape, symbols));
    }
    return text;
  };
  in_context(label, [&] { infer_again(check_of, symbols); });
}

}  // namespace treadle
