// Every translator; translators.inc says which operator each serves, in order of preference.
#pragma once

#include "cpu/translate.hpp"

namespace treadle::cpu {

#define TREADLE_CPU(Operator, function) Translation function(const TranslateContext& ctx);
#include "cpu/translators.inc"
#undef TREADLE_CPU

// What translate_chain takes.
ChainLimits chain_limits();
// Of the context's chain, which is within chain_limits().
Translation translate_chain(const TranslateContext& ctx);

}  // namespace treadle::cpu
