// Compiled kernels, each made from its text when it is first launched.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "gpu/metal/api.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu::metal {

// The MSL text of the kernels, which scripts/kernel_text.py strings together while treadle is
// built: the files of the dialect and the kernels, cut where they include another.
extern const char* const kPieces[];

struct KernelText {
  const int* family;  // the pieces, in their order, that hold the bodies of its family; -1 ends it
  const char* entry;  // its line of the kernel list
};
extern const KernelText kKernelTexts[];  // by KernelId

// All that the compiler needs for one kernel, and no entry of another.
std::string kernel_text(KernelId id, bool matrix_units);

class Pipelines {
 public:
  // Throws Error (kind Device) when the file is not an archive. `device` outlives this.
  Pipelines(DeviceObject* device, std::string device_name, const MetalOptions& options);

  // Throws Error (kind Device) with what the compiler said. Any thread.
  const PipelineObject* get(KernelId id);
  // Writes the archive if kernels were added to it; takes no lock otherwise. What cannot be written
  // is no error of a run: a warning on stderr says so once, and nothing is written from then on.
  void save();

 private:
  Owned<PipelineObject> compile(KernelId id);

  DeviceObject* device_;
  std::string device_name_, archive_path_;
  bool matrix_units_;
  Owned<ArchiveObject> archive_;
  std::mutex mutex_;
  std::array<Owned<PipelineObject>, static_cast<std::size_t>(KernelId::kCount)> made_;
  std::atomic<bool> unsaved_ = false;
  bool unwritable_ = false;
};

}  // namespace treadle::gpu::metal
