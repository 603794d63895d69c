// Scaled dot-product attention on a device, without the matrix of scores.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  DeviceAddress q = 0, k = 0, v = 0, mask = 0, y = 0;  // mask: 0 without one
};

class AttentionPlan {
 public:
  // For contiguous f32 and f16 tensors, of shapes that the operator takes. `variant`, one of
  // attention_variants() or "few/n" for n splits of the keys, overrides the choice. Throws
  // Unsupported error for other dtypes, for tensors that are too large and for variants that these
  // do not have.
  AttentionPlan(const AttentionDesc& desc, DType type, std::string_view variant = {});

  // Such as "tile_64", for heads of up to 64 columns of v, or "few/8".
  const std::string& name() const { return name_; }
  std::size_t workspace_bytes() const;
  // Operands aligned to 16 bytes are read fastest.
  PreparedLaunches prepare(const AttentionAddresses& at, DeviceAddress workspace,
                           const char* label) const;
  void run(Queue& queue, const AttentionAddresses& at, DeviceAddress workspace,
           const char* label) const;

 private:
  void use_tile(const AttentionDesc& d);
  void use_few(const AttentionDesc& d, std::string_view variant);
  tk::AttentionParams placed(const AttentionAddresses& at) const;

  DType type_;
  std::string name_;
  KernelId kernel_ = KernelId::kCount;
  Extent3 groups_, threads_;
  bool empty_ = false;
  tk::AttentionParams params_{};
};

// The variants that the attention has, without splits: by tiles, and for few queries.
std::vector<std::string> attention_variants(const AttentionDesc& desc);

}  // namespace treadle::gpu
