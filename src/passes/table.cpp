// The table of rules.
#include "passes/rule.hpp"

namespace treadle::passes {

std::span<const Rule> rules() {
  static constexpr Rule kRules[] = {
#define TREADLE_PASS(function, kinds) {#function, kinds, function, Phase::Always},
#define TREADLE_INTEGER_PASS(function, kinds) {#function, kinds, function, Phase::Integers},
#define TREADLE_LAYOUT_PASS(function, kinds) {#function, kinds, function, Phase::ChannelsLast},
#define TREADLE_LAST_PASS(function, kinds) {#function, kinds, function, Phase::Last},
#include "passes/table.inc"
#undef TREADLE_LAST_PASS
#undef TREADLE_LAYOUT_PASS
#undef TREADLE_INTEGER_PASS
#undef TREADLE_PASS
  };
  return kRules;
}

}  // namespace treadle::passes
