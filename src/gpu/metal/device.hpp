// The parts of a Metal device.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "gpu/block_table.hpp"
#include "gpu/host_staging.hpp"
#include "gpu/metal/api.hpp"

namespace treadle::gpu::metal {

// A DeviceAddress is the address at which the host sees the bytes (MTLBuffer.contents); encoders
// take a buffer and an offset.
struct Block : DeviceBlock {
  Owned<BufferObject> buffer;
  std::shared_ptr<const void> owner;  // of wrapped memory
};

// The MSL text of the kernels, which scripts/kernel_text.py strings together while treadle is
// built: the files of the dialect and the kernels, cut where they include another.
extern const char* const kPieces[];

struct KernelText {
  const int* family;  // the pieces, in their order, that hold the bodies of its family; -1 ends it
  const char* entry;  // its line of the kernel list
};
extern const KernelText kKernelTexts[];  // by KernelId

// Compiled kernels, each made from its text when it is first launched.
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
  std::string device_name_;
  MetalOptions options_;
  Owned<ArchiveObject> archive_;
  std::mutex mutex_;
  std::array<Owned<PipelineObject>, static_cast<std::size_t>(KernelId::kCount)> made_;
  std::atomic<bool> unsaved_ = false;
};

class MetalDevice final : public Device, public std::enable_shared_from_this<MetalDevice> {
 public:
  // Throws Error (kind Device) that says what is missing.
  explicit MetalDevice(const MetalOptions& options);

  std::string_view kind() const override { return "metal"; }
  std::string name() const override { return name_; }
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what) override;
  // Where `data` lies at a page's start, and has kMapFrom bytes or more.
  DeviceBufferPtr wrap(const void* data, std::size_t bytes, std::shared_ptr<const void> owner,
                       std::string_view what) override;
  std::unique_ptr<StagingBuffer> allocate_staging(std::size_t bytes) override {
    return host_staging(bytes, "Metal");
  }
  std::unique_ptr<DeviceQueue> make_queue() override;
  bool separate_buffers() const override { return false; }
  bool orders_by_values() const override { return true; }
  std::size_t bytes_in_use() const override { return blocks_->bytes_in_use(); }
  std::size_t peak_bytes() const override { return blocks_->peak_bytes(); }

  DeviceObject* object() const { return object_.get(); }
  const BlockTable<Block>& blocks() const { return *blocks_; }
  Pipelines& pipelines() { return pipelines_; }

 private:
  DeviceBufferPtr add(Owned<BufferObject> buffer, std::size_t bytes,
                      std::shared_ptr<const void> owner, std::string_view what);

  Owned<DeviceObject> object_;
  std::string name_;
  std::shared_ptr<BlockTable<Block>> blocks_ = std::make_shared<BlockTable<Block>>("Metal");
  std::mutex wrapping_;
  Pipelines pipelines_;
};

}  // namespace treadle::gpu::metal
