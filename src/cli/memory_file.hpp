// A file for what other programs write: nobody has to read it while they run, as with a pipe. On
// Linux it is only in memory, and nothing stays behind when this process is killed; elsewhere it is
// a temporary file, which the destructor removes.
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
  const std::string& path() const { return path_; }
  // What was written, up to `most` bytes.
  std::string content(std::size_t most = std::size_t{16} << 20) const;

 private:
  int fd_;
  std::string path_;
};

}  // namespace treadle::cli
