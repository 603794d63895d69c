// Every translator; translators.inc says which operator each serves, in order of preference.
#pragma once

#include "cpu/translate.hpp"

namespace treadle::cpu {

#define TREADLE_CPU(Operator, function) Translation function(const TranslateContext& ctx);
#include "cpu/translators.inc"
#undef TREADLE_CPU

}  // namespace treadle::cpu
