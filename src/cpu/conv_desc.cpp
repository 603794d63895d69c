#include "cpu/conv_desc.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace treadle::cpu {
namespace {

constexpr std::int64_t kTypicalSize = 320;
constexpr std::int64_t kLargestGuess = 1 << 12;

}  // namespace

std::int64_t guess(const Dim& d) {
  if (d.is_const()) return d.value();
  std::vector<std::string> names;
  d.collect_symbols(names);
  SymbolValues values;
  for (const auto& n : names) values[n] = kTypicalSize;
  try {
    return std::clamp<std::int64_t>(d.eval(values), 1, kLargestGuess);
  } catch (const Error&) {
    return kTypicalSize;
  }
}

}  // namespace treadle::cpu
