// Every translator; translators.inc says which operator each serves, in order of preference.
#pragma once

#include "gpu/translate.hpp"

namespace treadle::gpu {

#define TREADLE_GPU(Operator, function) DeviceTranslation function(const TranslateContext& ctx);
#include "gpu/translators.inc"
#undef TREADLE_GPU

}  // namespace treadle::gpu
