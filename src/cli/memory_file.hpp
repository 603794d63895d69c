// A file that is only in memory, for what other programs write: nobody has to read it while they
// run, as with a pipe, and nothing stays behind when this process is killed, as with a file of a
// disk.
#pragma once

#include <cstddef>
#include <string>

namespace treadle::cli {

class MemoryFile {
 public:
  // Throws Io error when it cannot be made.
  explicit MemoryFile(const char* name);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Closed in programs that this process starts.
  int fd() const { return fd_; }
  // By which other processes open it, as long as this one lives.
  std::string path() const;
  // What was written, up to `most` bytes.
  std::string content(std::size_t most = std::size_t{16} << 20) const;

 private:
  int fd_;
};

}  // namespace treadle::cli
