// What the tests of the GPU layer share: one device, tensors on it, comparison.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/queue.hpp"
#include "graph/evaluate.hpp"
#include "tensor/tensor.hpp"

namespace treadle::test {

// TREADLE_DEVICE: sim (default; TREADLE_SIM_SEED its seed), cuda or metal.
inline const std::shared_ptr<Device>& shared_gpu_device() {
  static const std::shared_ptr<Device> device = []() -> std::shared_ptr<Device> {
    const char* kind = std::getenv("TREADLE_DEVICE");
    if (kind != nullptr && std::string_view(kind) == "cuda") return gpu::make_cuda_device();
    if (kind != nullptr && std::string_view(kind) == "metal") return gpu::make_metal_device();
    const char* seed = std::getenv("TREADLE_SIM_SEED");
    gpu::SimOptions options;
    if (seed != nullptr) options.seed = static_cast<std::uint32_t>(std::stoul(seed));
    return gpu::make_sim_device(options);
  }();
  return device;
}
inline Device& gpu_device() {
  return *shared_gpu_device();
}
inline bool on_sim() {
  return gpu_device().kind() == "sim";
}

// A tensor on the device.
struct DeviceTensor {
  DType dtype = DType::F32;
  Shape shape;
  DeviceBufferPtr buffer;
  DeviceAddress address() const { return buffer->address(); }
};

// One queue; uploads are kept alive until the next sync.
class GpuRun {
 public:
  explicit GpuRun(Device& device = gpu_device()) : device_(device), queue_(device.make_queue()) {}

  DeviceTensor put(const Tensor& t) {
    DeviceTensor d = make(t.dtype(), t.shape());
    queue_->upload(d.address(), t.data(), t.bytes());
    kept_.push_back(t);
    return d;
  }
  DeviceTensor make(DType dtype, const Shape& shape) {
    const auto bytes = static_cast<std::size_t>(shape.elements()) * size_of(dtype);
    DeviceTensor d{dtype, shape, device_.allocate(bytes, "a test")};
    buffers_.push_back(d.buffer);
    return d;
  }
  void launch(const gpu::Launch& l) { queue().launch(l); }
  Tensor get(const DeviceTensor& d) {
    Tensor t(d.dtype, d.shape);
    queue_->download(t.mutable_data(), d.address(), t.bytes());
    queue_->sync();
    return t;
  }
  gpu::Queue& queue() { return dynamic_cast<gpu::Queue&>(*queue_); }

 private:
  Device& device_;
  std::unique_ptr<DeviceQueue> queue_;
  std::vector<Tensor> kept_;
  std::vector<DeviceBufferPtr> buffers_;
};

// Uniform between `low` and `high`, from a seed. Any numeric dtype or Bool.
inline Tensor random_tensor(DType dtype, const Shape& shape, std::uint32_t seed, double low = -2,
                            double high = 2) {
  Tensor t(dtype, shape);
  std::mt19937 random(seed);
  dispatch(dtype, [&]<typename T>(T) {
    for (T& v : t.mutable_span<T>()) {
      const double u = low + (high - low) * (static_cast<double>(random()) / 4294967296.0);
      if constexpr (std::is_same_v<T, bool>) {
        v = u > (low + high) / 2;
      } else if constexpr (std::is_integral_v<T>) {
        v = static_cast<T>(static_cast<std::int64_t>(std::floor(u)));  // may wrap
      } else {
        v = T(static_cast<float>(u));
      }
    }
  });
  return t;
}

// Each element within relative·|want| + absolute; NaN and infinities must be equal in kind.
inline void expect_close(const Tensor& got, const Tensor& want, double relative, double absolute,
                         const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape().str(), want.shape().str()) << what;
  const std::vector<double> a = got.to_f64(), b = want.to_f64();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    const bool near =
        std::isfinite(b[i]) && std::abs(a[i] - b[i]) <= relative * std::abs(b[i]) + absolute;
    ASSERT_TRUE(same || near) << what << ": element " << i << " is " << a[i] << ", expected "
                              << b[i];
  }
}

// The tolerances of the GPU layer: of f32, f16, bf16; exact for others.
inline void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  const double relative = want.dtype() == DType::F32    ? 1e-5
                          : want.dtype() == DType::F16  ? 2e-3
                          : want.dtype() == DType::BF16 ? 1.6e-2
                                                        : 0;
  expect_close(got, want, relative, relative, what);
}

}  // namespace treadle::test
