// Every translator; translators.inc says which operator each serves, in order of preference.
#pragma once

#include "gpu/translate.hpp"

namespace treadle::gpu {

#define TREADLE_GPU(Operator, function) DeviceTranslation function(const TranslateContext& ctx);
#include "gpu/translators.inc"
#undef TREADLE_GPU

// What translate_chain takes.
cpu::ChainLimits chain_limits();
// Of the context's chain.
DeviceTranslation translate_chain(const TranslateContext& ctx);

}  // namespace treadle::gpu
