#include "gpu/softmax_plan.hpp"

namespace treadle::gpu {
namespace {

// [vector of 1, of 16 bytes]
struct Kernels {
  KernelId warp256[2], warp1024[2], group[2], columns;
};
constexpr Kernels kF32{{KernelId::softmax_warp256_f32, KernelId::softmax_warp256_f32x4},
                       {KernelId::softmax_warp1024_f32, KernelId::softmax_warp1024_f32x4},
                       {KernelId::softmax_group_f32, KernelId::softmax_group_f32x4},
                       KernelId::softmax_columns_f32};
constexpr Kernels kF16{{KernelId::softmax_warp256_f16, KernelId::softmax_warp256_f16x8},
                       {KernelId::softmax_warp1024_f16, KernelId::softmax_warp1024_f16x8},
                       {KernelId::softmax_group_f16, KernelId::softmax_group_f16x8},
                       KernelId::softmax_columns_f16};

}  // namespace

SoftmaxPlan::SoftmaxPlan(const kernels::Split& s, DType dtype, bool log)
    : kernel_(KernelId::kCount), plain_(KernelId::kCount) {
  const Kernels& k = dtype == DType::F16 ? kF16 : kF32;
  check_split(s);
  empty_ = s.elements() == 0;
  if (empty_) return;
  if (!by_rows(s)) {
    kernel_ = plain_ = k.columns;
    launch_ = split_columns(s);
  } else {
    const std::int64_t full = full_vector(dtype);
    const bool vectors = s.length % full == 0, warp = s.length <= 1024;
    const KernelId* row = s.length <= 256 ? k.warp256 : warp ? k.warp1024 : k.group;
    kernel_ = row[vectors ? 1 : 0];
    plain_ = row[0];
    launch_ = split_rows(s, warp ? kGroupThreads : row_threads(s, vectors ? full : 1));
    if (warp) launch_.groups.x = groups_of(s.outer, tk::kGroup / 32);
  }
  params_.split = launch_.params;
  params_.log = log ? 1 : 0;
}

void SoftmaxPlan::run(Queue& queue, DeviceAddress x, DeviceAddress y, const char* label) const {
  if (empty_) return;
  queue.launch(make_launch(is_aligned(x, y) ? kernel_ : plain_, launch_.groups, launch_.threads,
                           {x, y}, params_, label));
}

}  // namespace treadle::gpu
