#include "gpu/lower.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

#include <fmt/ranges.h>

#include "cpu/contract_plan.hpp"
#include "cpu/conv_desc.hpp"
#include "gpu/conv_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/block_matmul.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"

namespace treadle::gpu {
namespace {

struct Entry {
  std::string_view op;
  Translator translator;
};

constexpr Entry kTable[] = {
#define TREADLE_GPU(Operator, function) {#Operator, function},
#include "gpu/translators.inc"
#undef TREADLE_GPU
};

class Target final : public cpu::DeviceTarget {
 public:
  explicit Target(std::shared_ptr<Device> device)
      : device_(std::move(device)), uploads_(device_->make_queue()) {}
  const std::shared_ptr<Device>& device() const override { return device_; }
  DeviceQueue& uploads() override { return *uploads_; }

  bool takes_epilogue(const Graph& graph, const Node& node) const override {
    if (node.op->as<ops::Conv>()) return cpu::has_conv_kernel(graph, node, kConvDTypes);
    if (const auto* contract = node.op->as<ops::Contract>())
      return takes(kContractDTypes, node.outputs[0].fact.dtype) && cpu::is_gemm(*contract);
    if (node.op->as<ops::BlockMatMul>()) return takes(kContractDTypes, node.outputs[0].fact.dtype);
    return cpu::has_epilogue_kernel(graph, node);
  }
  cpu::ChainLimits chain_limits() const override { return gpu::chain_limits(); }

  DeviceTranslation translate(const cpu::TranslateContext& ctx) override {
    DeviceTranslation last =
        refuse("no device kernel computes " + std::string(ctx.node.op->name()));
    for (const Entry& e : kTable) {
      if (e.op != ctx.node.op->name()) continue;
      DeviceTranslation t = try_translator(ctx.chain ? translate_chain : e.translator, ctx);
      if (t.kernel) return t;
      last = std::move(t);
    }
    return last;
  }

 private:
  DeviceTranslation try_translator(Translator translator, const cpu::TranslateContext& ctx) {
    try {
      DeviceTranslation t = translator({ctx, *device_, *uploads_});
      if (t.kernel) try_sizes(ctx, *t.kernel);
      return t;
    } catch (const Error& error) {
      // What a plan does not take, the CPU does.
      if (error.kind() != ErrorKind::Unsupported) throw;
      return refuse(error.message());
    }
  }

  // Binds the kernel where all sizes are known, so that sizes which it refuses are met now.
  static void try_sizes(const cpu::TranslateContext& ctx, const Kernel& kernel) {
    std::vector<TensorView> views;
    std::vector<const TensorView*> in, out;
    const auto& inputs = ctx.chain ? ctx.chain->inputs : ctx.node.inputs;
    views.reserve(inputs.size() + ctx.node.outputs.size() + 1);
    const auto add = [&](const Fact& f, std::vector<const TensorView*>& list) {
      if (!is_const(f.shape)) return false;
      views.push_back({f.dtype, concrete(f.shape), nullptr});
      list.push_back(&views.back());
      return true;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].present() || (ctx.written && (*ctx.written)[i]))
        in.push_back(nullptr);
      else if (!add(ctx.graph.fact(inputs[i]), in))
        return;
    }
    if (ctx.fused && ctx.fused->residual.present() && !add(ctx.graph.fact(ctx.fused->residual), in))
      return;
    for (const Output& o : ctx.node.outputs)
      if (!add(o.fact, out)) return;
    kernel.bind({in, out, {}, 1});
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceQueue> uploads_;
};

class DeviceKernel final : public Kernel {
 public:
  DeviceKernel(std::string_view name,
               std::function<std::unique_ptr<BoundKernel>(const BindContext&)> bind,
               std::vector<std::size_t> consumed, std::size_t packed_bytes)
      : name_(name),
        bind_(std::move(bind)),
        consumed_(std::move(consumed)),
        packed_bytes_(packed_bytes) {}
  std::string_view name() const override { return name_; }
  std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override { return bind_(ctx); }
  std::size_t packed_bytes() const override { return packed_bytes_; }
  bool consumes(std::size_t i) const override {
    return std::find(consumed_.begin(), consumed_.end(), i) != consumed_.end();
  }

 private:
  std::string_view name_;
  std::function<std::unique_ptr<BoundKernel>(const BindContext&)> bind_;
  std::vector<std::size_t> consumed_;
  std::size_t packed_bytes_;
};

// Names that stand for nothing are errors: the caller would measure something else.
void check_names(const LowerOptions& options) {
  for (const std::string& name : options.keep_on_cpu) {
    const bool found = std::ranges::any_of(kTable, [&](const Entry& e) { return e.op == name; });
    check(found, ErrorKind::Parse,
          "operator '{}' is to be kept on the CPU, but no device kernel computes one of that name; "
          "expected one of {}",
          name, fmt::join(kTable | std::views::transform(&Entry::op), ", "));
  }
  for (const std::string& name : options.avoid_kernels)
    check(begins_conv_variant(name), ErrorKind::Parse,
          "kernel '{}' is to be avoided, but no convolution kernel's name begins so; expected e.g. "
          "depthwise, gemm, gemm_64x64 or direct",
          name);
}

}  // namespace

KernelPtr device_kernel(std::string_view name,
                        std::function<std::unique_ptr<BoundKernel>(const BindContext&)> bind,
                        std::vector<std::size_t> consumed, std::size_t packed_bytes) {
  return std::make_shared<const DeviceKernel>(name, std::move(bind), std::move(consumed),
                                              packed_bytes);
}

std::shared_ptr<const Program> lower(Graph graph, const LowerOptions& options,
                                     std::shared_ptr<Device> device) {
  check_names(options);
  Target target(std::move(device));
  return cpu::lower(std::move(graph), options, &target);
}

std::shared_ptr<Device> device_from_name(std::string_view target) {
  if (target == "sim") return make_sim_device();
  if (target == "cuda") return make_cuda_device();
  if (target == "metal") return make_metal_device();
  int ordinal = -1;
  if (target.starts_with("cuda:")) {
    const std::string_view digits = target.substr(5);
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (code == std::errc() && end == digits.data() + digits.size() && ordinal >= 0)
      return make_cuda_device(ordinal);
  }
  fail(ErrorKind::Parse, "target '{}' is not known; expected cpu, cuda, cuda:N, metal or sim",
       target);
}

}  // namespace treadle::gpu
