// The translators' interface: from a node to a kernel of the device.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "cpu/lower.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu {

using cpu::DeviceTranslation;

// What a translator may ask: the node (as for the CPU) and the device.
struct TranslateContext : cpu::TranslateContext {
  Device& device;
  DeviceQueue& uploads;  // for constants, while lowering
};

// Of the products that have kernels.
inline constexpr std::array kConvDTypes{DType::F32, DType::F16, DType::BF16};
inline constexpr std::array kContractDTypes{DType::F32, DType::F16};
inline bool takes(std::span<const DType> dtypes, DType dtype) {
  return std::ranges::find(dtypes, dtype) != dtypes.end();
}

// Decides from dtype and rank; sizes may be symbols, the kernel's bind sees numbers. A node that it
// does not take: no kernel, and why_not says what is missing in words.
using Translator = DeviceTranslation (*)(const TranslateContext& ctx);

inline DeviceTranslation refuse(std::string why) {
  return {nullptr, -1, std::move(why)};
}

// The address that a view of a value on the device holds.
inline DeviceAddress address(const TensorView& v) {
  return device_address(v.data);
}
inline DeviceAddress workspace(const RunContext& ctx) {
  return device_address(ctx.workspace);
}
inline Queue& queue(const RunContext& ctx) {
  return static_cast<Queue&>(*ctx.queue);
}

// A kernel that holds what it needs of the constants among inputs `consumed`. `f` is
// std::unique_ptr<BoundKernel>(const BindContext&), which must keep the operator alive itself.
KernelPtr device_kernel(std::string_view name,
                        std::function<std::unique_ptr<BoundKernel>(const BindContext&)> bind,
                        std::vector<std::size_t> consumed = {}, std::size_t packed_bytes = 0);

}  // namespace treadle::gpu
