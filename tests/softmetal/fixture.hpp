// What the tests of software Metal share: kernels from text, and runs of one.
#pragma once

#import <Metal/Metal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace softmetal_test {

typedef id<MTLBuffer> Buffer;  // GCC takes no protocol in the arguments of a template

// The system's device; all autoreleased objects live until the test has ended.
class SoftMetal : public testing::Test {
 protected:
  SoftMetal();
  ~SoftMetal() override;

  // Nil with the log in `log`.
  id<MTLComputePipelineState> try_pipeline(const std::string& text, const std::string& name);
  // Fails the test with the log where there is none.
  id<MTLComputePipelineState> pipeline(const std::string& text, const std::string& name = "f");
  id<MTLBuffer> buffer(std::size_t bytes);
  template <class T>
  id<MTLBuffer> buffer_of(const std::vector<T>& values) {
    id<MTLBuffer> b = buffer(values.size() * sizeof(T));
    std::copy(values.begin(), values.end(), static_cast<T*>([b contents]));
    return b;
  }
  template <class T>
  static std::vector<T> values(id<MTLBuffer> b) {
    const T* first = static_cast<const T*>([b contents]);
    return std::vector<T>(first, first + [b length] / sizeof(T));
  }
  id<MTLCommandBuffer> commands();
  // One dispatch with the buffers at 0, 1, …; waits.
  void run(id<MTLComputePipelineState> what, const std::vector<Buffer>& buffers, MTLSize groups,
           MTLSize threads);
  void run(id<MTLComputePipelineState> what, const std::vector<Buffer>& buffers,
           std::size_t threads);

  id<MTLDevice> device;
  std::string log;

 private:
  NSAutoreleasePool* pool_;
  id<MTLCommandQueue> queue_;
};

// Text before every kernel of the tests.
extern const char* const kHead;

}  // namespace softmetal_test
