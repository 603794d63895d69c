#include "formats/onnx/ops/nn_activate.hpp"

#include <algorithm>
#include <iterator>

#include "ops/build.hpp"

namespace treadle::onnx {

namespace {

using ops::UnaryFn;

struct Activation {
  std::string_view name;
  UnaryFn fn;
  double a, b;  // defaults of the parameters
};

constexpr double kLargest = 3.4028234663852886e38;

constexpr Activation kActivations[] = {
    {"Relu", UnaryFn::Relu, 0, 0},
    {"Sigmoid", UnaryFn::Sigmoid, 0, 0},
    {"Tanh", UnaryFn::Tanh, 0, 0},
    {"Softplus", UnaryFn::Softplus, 0, 0},
    {"Softsign", UnaryFn::Softsign, 0, 0},
    {"LeakyRelu", UnaryFn::LeakyRelu, 0.01, 0},
    {"Elu", UnaryFn::Elu, 1, 0},
    {"ThresholdedRelu", UnaryFn::ThresholdedRelu, 1, 0},
    {"HardSigmoid", UnaryFn::HardSigmoid, 0.2, 0.5},
    {"Selu", UnaryFn::Selu, 1.67326319217681884765625, 1.05070102214813232421875},
    {"Clip", UnaryFn::Clip, -kLargest, kLargest},
};

}  // namespace

ValueId nn::activate(NodeContext& ctx, const std::string& activation, ValueId x,
                     const std::vector<std::optional<double>>& params) {
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const Activation& a) { return a.name == activation; });
  check(found != std::end(kActivations), ErrorKind::Unsupported, "activation '{}'", activation);
  const auto param = [&](std::size_t i, double fallback) {
    return i < params.size() ? params[i].value_or(fallback) : fallback;
  };
  return ops::unary(ctx.graph(), ctx.fresh_name(), found->fn, x, param(0, found->a),
                    param(1, found->b));
}

}  // namespace treadle::onnx
