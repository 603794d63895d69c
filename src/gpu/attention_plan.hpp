// Scaled dot-product attention on a device, in one kernel without the matrix of scores.
#pragma once

#include <optional>
#include <string_view>

#include "gpu/kernels/params.hpp"
#include "gpu/prepared.hpp"
#include "ops/attention.hpp"
#include "tensor/tensor.hpp"

namespace treadle::gpu {

// Shapes as ops::Attention has them.
struct AttentionDesc {
  Shape q, k, v;
  std::optional<Shape> mask;
  double scale = 1, softcap = 0;
  std::int64_t left = -1, right = -1, offset = 0;
};
// Of the operator; `offset` is the value of its offset.
AttentionDesc attention_desc(const ops::Attention& op, std::int64_t offset, const Shape& q,
                             const Shape& k, const Shape& v, std::optional<Shape> mask);

struct AttentionAddresses {
  DeviceAddress q = 0, k = 0, v = 0, mask = 0, y = 0;  // without a mask 0
};

class AttentionPlan {
 public:
  // For contiguous f32 and f16 tensors, of shapes that the operator takes. Throws Unsupported error
  // for other dtypes and for tensors that are too large.
  AttentionPlan(const AttentionDesc& desc, DType type);

  // Such as "tile_64", for heads of up to 64 columns of v.
  std::string_view name() const { return name_; }
  // Operands aligned to 16 bytes are read fastest.
  PreparedLaunches prepare(const AttentionAddresses& at, const char* label) const;
  void run(Queue& queue, const AttentionAddresses& at, const char* label) const;

 private:
  void place(const AttentionAddresses& at, tk::AttentionParams& p) const;

  DType type_;
  std::string_view name_;  // static text
  KernelId kernel_ = KernelId::kCount;
  std::int64_t groups_ = 0;  // 0: nothing to compute
  tk::AttentionParams params_{};
};

}  // namespace treadle::gpu
