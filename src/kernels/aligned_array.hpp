// Storage for packed weights.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "base/pages.hpp"

namespace treadle::kernels {

// 64-byte aligned storage, uninitialised.
template <typename T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size)
      : data_(allocate(size * sizeof(T)), Free{size * sizeof(T)}), size_(size) {}
  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    Free() : bytes(0) {}
    explicit Free(std::size_t n) : bytes(n) {}
    std::size_t bytes;
    void operator()(T* p) const {
      if (bytes >= kMapFrom)
        unmap_pages(p, bytes);
      else
        ::operator delete (p, std::align_val_t{64});
    }
  };
  static T* allocate(std::size_t bytes) {
    if (bytes < kMapFrom) return static_cast<T*>(::operator new (bytes, std::align_val_t{64}));
    void* p = map_pages(bytes);
    if (p == nullptr) throw std::bad_alloc();
    expect_writes(p, bytes);
    return static_cast<T*>(p);
  }
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace treadle::kernels
