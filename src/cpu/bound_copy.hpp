// A strided copy of input 0 to output 0 as a kernel of the CPU.
#pragma once

#include <memory>
#include <utility>

#include "cpu/copy_desc.hpp"
#include "plan/kernel.hpp"

namespace treadle::cpu {

inline std::unique_ptr<BoundKernel> bound_copy(const BindContext& b, const CopyDesc& d) {
  kernels::BoundCopy copy(size_of(b.in[0]->dtype), d.axes, d.from, d.to);
  return bound([copy = std::move(copy)](RunContext& c) {
    copy.run(c.in[0]->data, c.out[0]->data, c.parallel);
  });
}

}  // namespace treadle::cpu
