// Memory that host and device share: each buffer is mapped twice, at an address for the host, which
// is closed from a commit to its completion, and at one for the kernels. Pages without access lie
// beside both, and the last byte of a buffer that software Metal allocates lies as near as its
// alignment lets it to the page after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "access.hpp"

namespace softmetal {

class Buffer {
 public:
  // Zeros. Null when there is no memory.
  static std::shared_ptr<Buffer> allocate(std::size_t bytes);
  // The caller's own pages: both must be multiples of the page size.
  static std::shared_ptr<Buffer> wrap(void* data, std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* host() const { return host_ + head_; }
  char* device() const { return device_ + head_; }
  std::size_t size() const { return bytes_; }
  // "the buffer 'label' of 16 bytes".
  std::string describe() const;

  // From a commit to its completion; they nest. Closed to the host, or only to its writes.
  void close(bool written);
  void open(bool written);
  // A fault that names `user` if bytes beside the buffer have changed.
  void check_ends(const std::string& user) const;

  std::string label;
  bool tracked = true;  // MTLResourceHazardTrackingModeTracked
  std::unique_ptr<Shadow> shadow;
  // Command buffers that use it without retaining it and are not completed.
  int borrowers = 0;

 private:
  Buffer() = default;
  static std::shared_ptr<Buffer> make(std::size_t bytes, std::size_t head, std::size_t mapped);
  void protect() const;

  std::size_t bytes_ = 0, head_ = 0, mapped_ = 0;
  char* host_ = nullptr;  // of the pages
  char* device_ = nullptr;
  bool wrapped_ = false;
  int protection_ = 0;  // of the host's pages when open
  int writers_ = 0, readers_ = 0;
};

std::size_t page_bytes();
// Bytes of all living buffers.
std::size_t allocated_bytes();

// Memory of one group, argument or threadgroup variable: its end lies before a page without access.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes);
  ~Guarded();
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  // The last `bytes` of it but for alignment.
  char* place(std::size_t bytes) const;
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  char* memory_;
};

// Why the memory at that address cannot be touched, or empty when it is none of ours. Takes no
// lock: for the handler of a fault.
std::string describe_address(const void* address, const char* doing);

}  // namespace softmetal
