#include "gpu/metal/pipelines.hpp"

#include <cstdio>

#include "base/error.hpp"

namespace treadle::gpu::metal {

namespace {

constexpr std::size_t kSimdWidth = 32;  // what the kernels are written for

}  // namespace

std::string kernel_text(KernelId id, bool matrix_units) {
  const KernelText& text = kKernelTexts[static_cast<std::size_t>(id)];
  std::string all = matrix_units ? "" : "#define TK_PORTABLE_TILES\n";
  for (const int* piece = text.family; *piece >= 0; ++piece) all += kPieces[*piece];
  all += "using namespace tk;\n#define TK_ENTRY TK_KERNEL\n";
  all += text.entry;
  return all += '\n';
}

Pipelines::Pipelines(DeviceObject* device, std::string device_name, const MetalOptions& options)
    : device_(device),
      device_name_(std::move(device_name)),
      archive_path_(options.archive),
      matrix_units_(options.matrix_units) {
  if (archive_path_.empty()) return;
  std::string error;
  archive_ = open_archive(device_, archive_path_, error);
  check(archive_ != nullptr, ErrorKind::Device,
        "Metal device ({}): reading the kernels in {}: {}; remove the file to have it written anew",
        device_name_, archive_path_, error);
}

const PipelineObject* Pipelines::get(KernelId id) {
  const std::lock_guard lock(mutex_);
  Owned<PipelineObject>& made = made_[static_cast<std::size_t>(id)];
  if (!made) made = compile(id);
  return made.get();
}

Owned<PipelineObject> Pipelines::compile(KernelId id) {
  const KernelInfo& info = kernel_info(id);
  PipelineFacts facts;
  std::string error;
  Owned<PipelineObject> pipeline = new_pipeline(device_, kernel_text(id, matrix_units_), info.name,
                                                archive_.get(), facts, error);
  check(pipeline != nullptr, ErrorKind::Device, "Metal device ({}): compiling the kernel {}: {}",
        device_name_, info.name, error);
  check(!info.barriers || facts.simd_width == kSimdWidth, ErrorKind::Device,
        "Metal device ({}): it runs the kernel {} in groups of {} lanes, expected {}", device_name_,
        info.name, facts.simd_width, kSimdWidth);
  check(facts.threads >= static_cast<std::size_t>(info.max_threads), ErrorKind::Device,
        "Metal device ({}): it takes groups of at most {} threads for the kernel {}, expected {}",
        device_name_, facts.threads, info.name, info.max_threads);
  if (facts.added) unsaved_ = true;
  return pipeline;
}

void Pipelines::save() {
  if (!unsaved_) return;
  const std::lock_guard lock(mutex_);
  unsaved_ = false;
  std::string error;
  if (unwritable_ || save_archive(archive_.get(), archive_path_, error)) return;
  unwritable_ = true;
  std::fputs(fmt::format("warning: Metal device ({}): writing the kernels to {}: {}\n",
                         device_name_, archive_path_, error)
                 .c_str(),
             stderr);
}

}  // namespace treadle::gpu::metal
