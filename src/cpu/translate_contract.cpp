// Contract in f32 as matrix products.
#include <map>
#include <mutex>

#include "base/pages.hpp"
#include "cpu/contract_plan.hpp"
#include "cpu/epilogue.hpp"
#include "cpu/translators.hpp"
#include "kernels/gemm/gemm.hpp"

namespace treadle::cpu {
namespace {

// A constant B, packed: one matrix a distinct offset that the loops visit.
struct PackedConstant {
  std::map<std::ptrdiff_t, std::size_t> at;  // offset in B → floats
  std::int64_t k = 0, n = 0;
  Tensor data;
};

std::shared_ptr<const PackedConstant> pack(const ContractPlan& p, const float* b) {
  auto packed = std::make_shared<PackedConstant>();
  packed->k = p.k.size;
  packed->n = p.n.size;
  const std::size_t each = kernels::packed_b_floats(p.k.size, p.n.size);
  for_each_step(p.loops, [&](std::ptrdiff_t, std::ptrdiff_t offset, std::ptrdiff_t) {
    packed->at.try_emplace(offset, packed->at.size() * each);
  });
  packed->data = Tensor(DType::F32, Shape{static_cast<std::int64_t>(packed->at.size() * each)});
  auto* out = static_cast<float*>(packed->data.mutable_data());
  expect_writes(out, packed->data.bytes());
  for (const auto& [offset, at] : packed->at) {
    kernels::pack_b(b + offset, p.k.b, p.n.b, p.k.size, p.n.size, out + at);
  }
  return packed;
}

class BoundContract final : public BoundKernel {
 public:
  BoundContract(ContractPlan plan, std::shared_ptr<const PackedConstant> packed,
                const OwnedEpilogue& epilogue, int threads)
      : plan_(std::move(plan)), packed_(std::move(packed)), epilogue_(epilogue) {
    // A vector over the last axis repeats when other axes were merged into the columns.
    repeat(epilogue_.bias);
    repeat(epilogue_.slope);
    if (packed_) find_matrices();
    workspace_ =
        packed_ ? kernels::gemm_workspace_bytes(packed_args(nullptr, 0, nullptr, nullptr), threads)
                : kernels::batched_gemm_workspace_bytes(
                      batch_args(nullptr, nullptr, nullptr, nullptr), threads);
  }
  std::size_t workspace_bytes() const override { return workspace_; }
  std::string_view variant() const override { return packed_ ? "gemm_packed" : "gemm_batched"; }

  void run(RunContext& ctx) override {
    const float* a = ctx.in[plan_.swapped ? 1 : 0]->as<float>();
    const float* b = ctx.in[plan_.swapped ? 0 : 1]->as<float>();
    float* c = ctx.out[0]->as<float>();
    const float* residual = epilogue_.residual ? ctx.in.back()->as<float>() : nullptr;
    const std::span loops(plan_.loops);
    if (packed_) {
      std::size_t step = 0;
      for_each_step(loops, [&](std::ptrdiff_t oa, std::ptrdiff_t, std::ptrdiff_t oc) {
        kernels::gemm(
            packed_args(a + oa, matrices_[step++], c + oc, residual ? residual + oc : nullptr),
            ctx.workspace, ctx.parallel);
      });
      return;
    }
    for_each_step(loops.first(loops.empty() ? 0 : loops.size() - 1),
                  [&](std::ptrdiff_t oa, std::ptrdiff_t ob, std::ptrdiff_t oc) {
                    kernels::batched_gemm(
                        batch_args(a + oa, b + ob, c + oc, residual ? residual + oc : nullptr),
                        ctx.workspace, ctx.parallel);
                  });
  }

 private:
  // The packed matrix of each step of the loops.
  void find_matrices() {
    check(packed_->k == plan_.k.size && packed_->n == plan_.n.size, ErrorKind::Internal,
          "a constant was packed as {} x {}, the sizes at hand ask for {} x {}", packed_->k,
          packed_->n, plan_.k.size, plan_.n.size);
    for_each_step(std::span<const LoopDim>(plan_.loops),
                  [&](std::ptrdiff_t, std::ptrdiff_t offset, std::ptrdiff_t) {
                    const auto it = packed_->at.find(offset);
                    check(it != packed_->at.end(), ErrorKind::Internal,
                          "no matrix was packed at offset {}", offset);
                    matrices_.push_back(it->second);
                  });
  }

  void repeat(std::vector<float>& v) const {
    const std::size_t own = v.size();
    while (own != 0 && v.size() < static_cast<std::size_t>(plan_.n.size))
      v.push_back(v[v.size() - own]);
  }

  kernels::GemmArgs packed_args(const float* a, std::size_t b, float* c,
                                const float* residual) const {
    kernels::GemmArgs g;
    g.m = plan_.m.size;
    g.n = plan_.n.size;
    g.k = plan_.k.size;
    g.a = a;
    g.lda = plan_.m.a;
    g.a_col_stride = plan_.k.size == 1 ? 1 : plan_.k.a;
    g.packed_b = static_cast<const float*>(packed_->data.data()) + b;
    g.c = c;
    g.ldc = plan_.m.c;
    g.epilogue = epilogue_.with(residual, plan_.m.c);
    return g;
  }

  kernels::BatchedGemmArgs batch_args(const float* a, const float* b, float* c,
                                      const float* residual) const {
    const LoopDim batch = plan_.loops.empty() ? LoopDim{} : plan_.loops.back();
    kernels::BatchedGemmArgs g;
    g.batches = batch.size;
    g.m = plan_.m.size;
    g.n = plan_.n.size;
    g.k = plan_.k.size;
    g.a = a;
    g.lda = plan_.m.a;
    g.a_col_stride = plan_.k.size == 1 ? 1 : plan_.k.a;
    g.a_batch = batch.a;
    g.b = b;
    g.b_row_stride = plan_.k.b;
    g.b_col_stride = plan_.n.size == 1 ? 1 : plan_.n.b;
    g.b_batch = batch.b;
    g.c = c;
    g.ldc = plan_.m.c;
    g.c_batch = batch.c;
    g.epilogue = epilogue_.with(residual, plan_.m.c);
    g.residual_batch = batch.c;
    return g;
  }

  ContractPlan plan_;
  std::shared_ptr<const PackedConstant> packed_;
  std::vector<std::size_t> matrices_;
  OwnedEpilogue epilogue_;
  std::size_t workspace_ = 0;
};

// The second factor is packed once when it is a constant, whatever the sizes of the other.
class ContractKernel final : public Kernel {
 public:
  ContractKernel(const ops::Contract& op, const Fact& a, const Fact& b, OwnedEpilogue epilogue)
      : op_(op), epilogue_(std::move(epilogue)) {
    const bool swapped = op.inputs[0].find(op.output.back()) != std::string::npos;
    const Fact& second = swapped ? a : b;
    if (second.value) constant_ = swapped ? 0 : 1;
    // Known sizes: pack now, so that the constant can be let go.
    if (constant_ >= 0 && is_const(a.shape) && is_const(b.shape)) {
      const Shape sa = concrete(a.shape), sb = concrete(b.shape);
      packed_ = pack(plan_contract(op_, sa, sb, output_shape(sa, sb)),
                     static_cast<const float*>(second.value->data()));
    } else if (constant_ >= 0 && batch_free()) {
      SymShape any = constant_ == 0 ? b.shape : a.shape;
      Shape other;
      for (const Dim& d : any) other.push_back(d.is_const() ? d.value() : 2);
      const Shape own = concrete(second.shape);
      // The summed sizes are those of the constant.
      fix_summed(other, own);
      const Shape& sa = constant_ == 0 ? own : other;
      const Shape& sb = constant_ == 0 ? other : own;
      packed_ = pack(plan_contract(op_, sa, sb, output_shape(sa, sb)),
                     static_cast<const float*>(second.value->data()));
    }
  }
  std::string_view name() const override { return "contract"; }
  bool consumes(std::size_t i) const override {
    return packed_ && static_cast<int>(i) == constant_;
  }
  std::size_t packed_bytes() const override { return packed_ ? packed_->data.bytes() : 0; }

  std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override {
    auto plan = plan_contract(op_, ctx.in[0]->shape, ctx.in[1]->shape, ctx.out[0]->shape);
    return std::make_unique<BoundContract>(std::move(plan), packed_, epilogue_, ctx.threads);
  }

 private:
  Shape output_shape(const Shape& a, const Shape& b) const {
    Shape out;
    for (char letter : op_.output) {
      std::int64_t size = 1;
      const auto in_a = op_.inputs[0].find(letter), in_b = op_.inputs[1].find(letter);
      if (in_a != std::string::npos) size = a[in_a];
      if (in_b != std::string::npos && size == 1) size = b[in_b];
      out.push_back(size);
    }
    return out;
  }

  // The packed form does not depend on the other operand's sizes: no letter stands in all three,
  // and the constant's letters end the output in a row, so that what merges is known.
  bool batch_free() const {
    const std::string& own = op_.inputs[static_cast<std::size_t>(constant_)];
    const std::string& other = op_.inputs[static_cast<std::size_t>(1 - constant_)];
    bool tail = false;
    for (char letter : op_.output) {
      const bool here = own.find(letter) != std::string::npos;
      if ((here && other.find(letter) != std::string::npos) || (tail && !here)) return false;
      tail = here;
    }
    return true;
  }

  void fix_summed(Shape& other, const Shape& own) const {
    const std::string& lo = op_.inputs[static_cast<std::size_t>(1 - constant_)];
    const std::string& lc = op_.inputs[static_cast<std::size_t>(constant_)];
    for (std::size_t i = 0; i < lo.size(); ++i) {
      if (const auto at = lc.find(lo[i]); at != std::string::npos) other[i] = own[at];
    }
  }

  ops::Contract op_;
  OwnedEpilogue epilogue_;
  int constant_ = -1;
  std::shared_ptr<const PackedConstant> packed_;
};

}  // namespace

Translation translate_contract(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Contract>();
  if (!is_gemm(op) || ctx.in(0).dtype != DType::F32) return {};
  return {std::make_shared<ContractKernel>(op, ctx.in(0), ctx.in(1),
                                           OwnedEpilogue(ctx.fused, nullptr))};
}

}  // namespace treadle::cpu
