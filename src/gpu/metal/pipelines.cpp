#include <cstdio>

#include "gpu/metal/device.hpp"

namespace treadle::gpu::metal {
namespace {

constexpr std::size_t kSimdWidth = 32;  // what the kernels are written for

// All that the compiler needs for one kernel, and no entry of another.
std::string kernel_text(KernelId id, bool own_kernels) {
  const KernelText& text = kKernelTexts[static_cast<std::size_t>(id)];
  std::string all = own_kernels ? "" : "#define TK_PORTABLE\n";
  for (const int* piece = text.family; *piece >= 0; ++piece) all += kPieces[*piece];
  return all + "using namespace tk;\n#define TK_ENTRY TK_KERNEL\n" + text.entry + "\n";
}

}  // namespace

Pipelines::Pipelines(DeviceObject* device, std::string device_name, const MetalOptions& options)
    : device_(device), device_name_(std::move(device_name)), options_(options) {
  if (options_.archive.empty()) return;
  std::string error;
  archive_ = open_archive(device_, options_.archive, error);
  check(archive_ != nullptr, ErrorKind::Device,
        "Metal device ({}): reading the kernels in {}: {}; remove the file to have it written anew",
        device_name_, options_.archive, error);
}

const PipelineObject* Pipelines::get(KernelId id) {
  const std::lock_guard lock(mutex_);
  Owned<PipelineObject>& made = made_[static_cast<std::size_t>(id)];
  if (!made) made = compile(id);
  return made.get();
}

Owned<PipelineObject> Pipelines::compile(KernelId id) {
  const KernelInfo& info = kernel_info(id);
  Pipeline made =
      new_pipeline(device_, kernel_text(id, options_.own_kernels), info.name, archive_.get());
  check(made.object != nullptr, ErrorKind::Device, "Metal device ({}): compiling the kernel {}: {}",
        device_name_, info.name, made.error);
  check(!info.barriers || made.simd_width == kSimdWidth, ErrorKind::Device,
        "Metal device ({}): it runs the kernel {} in groups of {} lanes, expected {}", device_name_,
        info.name, made.simd_width, kSimdWidth);
  check(made.threads >= static_cast<std::size_t>(info.max_threads), ErrorKind::Device,
        "Metal device ({}): it takes groups of at most {} threads for the kernel {}, expected {}",
        device_name_, made.threads, info.name, info.max_threads);
  if (made.added) unsaved_ = true;
  return std::move(made.object);
}

void Pipelines::save() {
  if (!unsaved_) return;
  const std::lock_guard lock(mutex_);
  unsaved_ = false;
  if (options_.archive.empty()) return;
  const std::string error = save_archive(archive_.get(), options_.archive);
  if (error.empty()) return;
  const std::string warning =
      fmt::format("warning: Metal device ({}): writing the kernels to {}: {}\n", device_name_,
                  options_.archive, error);
  std::fputs(warning.c_str(), stderr);
  options_.archive.clear();
}

}  // namespace treadle::gpu::metal
