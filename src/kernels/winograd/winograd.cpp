#include "kernels/conv/packed_weights.hpp"

namespace treadle::kernels {

void pack_winograd(PackedConvWeights&, const ConvDesc&, const float*, const WeightStrides&) {}
const char* refuse_winograd(const ConvDesc&, const ConvOptions&, bool) { return "not built"; }
std::unique_ptr<Conv> make_winograd(const ConvDesc&, SharedConvWeights) { return nullptr; }

}  // namespace treadle::kernels
