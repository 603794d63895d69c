#include "cli/memory_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#if !defined(__linux__)
#include <filesystem>
#endif

#include "base/error.hpp"

namespace treadle::cli {

#if defined(__linux__)

MemoryFile::MemoryFile(const char* name)
    : fd_(memfd_create(name, MFD_CLOEXEC)), path_(fmt::format("/proc/{}/fd/{}", getpid(), fd_)) {
  check(fd_ >= 0, ErrorKind::Io, "memfd_create: {}", std::strerror(errno));
}

MemoryFile::~MemoryFile() {
  close(fd_);
}

#else

MemoryFile::MemoryFile(const char* name)
    : path_((std::filesystem::temp_directory_path() / fmt::format("treadle-{}-XXXXXX", name))
                .string()) {
  fd_ = mkstemp(path_.data());
  check(fd_ >= 0, ErrorKind::Io, "{}: {}", path_, std::strerror(errno));
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

MemoryFile::~MemoryFile() {
  close(fd_);
  unlink(path_.c_str());
}

#endif

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
