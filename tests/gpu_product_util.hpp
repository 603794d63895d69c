// What the tests of convolutions and matrix products on a device share.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "gpu/epilogue.hpp"
#include "gpu_util.hpp"

namespace treadle::test {

using gpu::EpilogueDesc;
using gpu::ResidualAt;

// What an epilogue adds and multiplies, with what it makes of one result.
struct EpilogueData {
  EpilogueDesc desc;
  Tensor bias, slope, residual;  // residual: rows of desc.residual_stride, or of the columns

  EpilogueData(const EpilogueDesc& d, DType type, std::int64_t rows, std::int64_t columns,
               std::uint32_t seed)
      : desc(d),
        bias(random_tensor(DType::F32, {columns}, seed + 1)),
        slope(random_tensor(DType::F32, {columns}, seed + 2)),
        residual(random_tensor(type, {rows, d.residual_stride ? d.residual_stride : columns},
                               seed + 3)) {}

  double finish(double v, std::int64_t row, std::int64_t column,
                const std::vector<double>& residuals) const {
    const double add =
        desc.residual == ResidualAt::None
            ? 0
            : residuals[static_cast<std::size_t>(row * residual.shape()[1] + column)];
    const auto i = static_cast<std::size_t>(column);
    if (desc.bias) v += static_cast<double>(bias.span<float>()[i]);
    if (desc.residual == ResidualAt::BeforeAct) v += add;
    v = static_cast<double>(kernels::apply_act(desc.act, static_cast<float>(v), desc.a, desc.b,
                                               slope.span<float>()[i]));
    return desc.residual == ResidualAt::AfterAct ? v + add : v;
  }
};

// Where a product runs: its operands on the device, the result inside rows of `y_stride` elements
// from column `first` on, everything beside it a mark.
class ProductRun {
 public:
  static constexpr float kMark = -77;

  ProductRun(DType type, std::int64_t rows, std::int64_t columns, std::int64_t y_stride,
             std::int64_t first, Device& device = gpu_device())
      : type_(type), rows_(rows), columns_(columns), first_(first), run_(device) {
    y_ = run_.put(random_tensor(type, {rows, y_stride ? y_stride : columns}, 1, kMark, kMark));
  }

  // `plan` is a ConvPlan or a GemmPlan.
  template <typename Plan>
  Tensor operator()(const Plan& plan, const Tensor& left, const Tensor& right,
                    const EpilogueData& e) {
    const DeviceTensor a = run_.put(left), b = run_.put(right), bias = run_.put(e.bias),
                       slope = run_.put(e.slope), residual = run_.put(e.residual);
    const auto bytes = static_cast<std::int64_t>(std::max<std::size_t>(plan.workspace_bytes(), 4));
    const DeviceTensor workspace = run_.make(DType::U8, {bytes});
    gpu::ProductAddresses at;
    at.left = a.address();
    at.right = b.address();
    if (e.desc.bias) at.bias = bias.address();
    if (e.desc.act == kernels::Act::PRelu) at.slope = slope.address();
    if (e.desc.residual != ResidualAt::None) at.residual = residual.address();
    at.y = y_.address() + static_cast<std::uint64_t>(first_) * size_of(type_);
    plan.run(run_.queue(), at, workspace.address(), "test");
    return slice(run_.get(y_));
  }

 private:
  Tensor slice(const Tensor& all) const {
    const std::int64_t stride = all.shape()[1];
    const std::vector<double> from = all.to_f64();
    Tensor y(DType::F64, {rows_, columns_});
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t i = 0; i < stride; ++i) {
        const double v = from[static_cast<std::size_t>(r * stride + i)];
        if (i >= first_ && i < first_ + columns_) {
          y.mutable_span<double>()[static_cast<std::size_t>(r * columns_ + i - first_)] = v;
        } else {
          EXPECT_EQ(v, static_cast<double>(kMark)) << "beside the result, row " << r << ", " << i;
        }
      }
    }
    return y;
  }

  DType type_;
  std::int64_t rows_, columns_, first_;
  GpuRun run_;
  DeviceTensor y_;
};

// Within the tolerance of the dtype, of the largest magnitude in `want` or of `largest`, for
// results that are smaller than what they are made of.
inline void expect_product(const Tensor& got, const Tensor& want, DType type,
                           const std::string& what, double largest = 0) {
  const double part = type == DType::F32 ? 1e-5 : type == DType::F16 ? 2e-3 : 1.6e-2;
  for (const double v : want.to_f64()) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  expect_close(got, want, part, part * largest, what);
}

template <typename Bytes>
Tensor bytes_tensor(DType type, const Bytes& bytes) {
  Tensor t(type, {static_cast<std::int64_t>(bytes.size() / size_of(type))});
  if (!bytes.empty()) std::memcpy(t.mutable_data(), bytes.data(), bytes.size());
  return t;
}

}  // namespace treadle::test
