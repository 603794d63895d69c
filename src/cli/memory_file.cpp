#include "cli/memory_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace treadle::cli {

MemoryFile::MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
  check(fd_ >= 0, ErrorKind::Io, "memfd_create: {}", std::strerror(errno));
}

MemoryFile::~MemoryFile() {
  close(fd_);
}

std::string MemoryFile::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), fd_);
}

std::string MemoryFile::content(std::size_t most) const {
  const off_t written = std::max(lseek(fd_, 0, SEEK_END), off_t{0});
  std::string text(std::min(static_cast<std::size_t>(written), most), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = pread(fd_, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

}  // namespace treadle::cli
