// Finds commands of a concurrent encoder that touch the same bytes without a barrier between them.
// Compiled kernels call softmetal_load4_noabort and the like before every access of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace softmetal {

class Buffer;

// For every byte of a buffer, numbers of commands: who wrote it last, and who read it first and
// last since then.
class Shadow {
 public:
  explicit Shadow(std::size_t bytes);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  void clear();
  std::uint16_t* writers() const { return planes_; }
  std::uint16_t* first_readers() const { return planes_ + bytes_; }
  std::uint16_t* last_readers() const { return planes_ + 2 * bytes_; }

 private:
  std::size_t bytes_;
  std::uint16_t* planes_;
};

// What one command may touch. Commands are numbered from 1.
struct Access {
  struct Region {
    const Buffer* buffer = nullptr;
    std::uintptr_t begin = 0, end = 0;
    Shadow* shadow = nullptr;
    std::uint16_t since = 0;  // the first command that no barrier keeps apart from this one
  };
  std::vector<Region> regions;
  std::uint16_t number = 0;
  // Names of all commands, by number - 1.
  const std::vector<std::string>* names = nullptr;

  // A fault on a conflict.
  void touch(std::uintptr_t address, std::size_t bytes, bool write) const;
};

// What this thread runs kernels of; null for none that is watched.
void set_access(const Access* access);

}  // namespace softmetal
