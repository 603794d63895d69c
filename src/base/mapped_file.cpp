#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace treadle {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string system_text(int error) {
  return std::generic_category().message(error);
}

// O_NONBLOCK: opening a pipe must not wait; it is refused after.
constexpr int kFileFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::map(int fd, const std::string& name) {
  struct stat info {};
  check(::fstat(fd, &info) == 0, ErrorKind::Io, "cannot stat '{}': {}", name, system_text(errno));
  check(S_ISREG(info.st_mode), ErrorKind::Io, "'{}' is not a regular file", name);
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = static_cast<std::size_t>(info.st_size);
  if (file->size_ == 0) return file;
  void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    file->size_ = 0;
    fail(ErrorKind::Io, "cannot map '{}': {}", name, system_text(errno));
  }
  file->data_ = static_cast<const char*>(data);
  file->mapped_ = true;
  return file;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), kFileFlags));
  check(fd.get() >= 0, ErrorKind::Io, "cannot open '{}': {}", path, system_text(errno));
  return map(fd.get(), path);
}

std::shared_ptr<const MappedFile> MappedFile::open_below(const std::string& folder,
                                                         std::string_view relative) {
  check(relative.find('\0') == std::string_view::npos, ErrorKind::Io, "path holds a zero byte");
  Descriptor at(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  check(at.get() >= 0, ErrorKind::Io, "cannot open folder '{}': {}", folder, system_text(errno));
  std::string_view rest = relative;
  for (;;) {
    const std::size_t slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    check(!part.empty() && part != "." && part != "..", ErrorKind::Io,
          "'{}' must be a plain path inside the model's folder", relative);
    const bool last = slash == std::string_view::npos;
    const int flags = O_NOFOLLOW | (last ? kFileFlags : O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Descriptor next(::openat(at.get(), part.c_str(), flags));
    check(next.get() >= 0, ErrorKind::Io, "cannot open '{}' in '{}': {}", relative, folder,
          errno == ELOOP ? std::string("it is a symbolic link") : system_text(errno));
    if (last) return map(next.get(), std::string(relative));
    at = std::move(next);
    rest.remove_prefix(slash + 1);
  }
}

std::shared_ptr<const MappedFile> MappedFile::from_memory(std::string bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->memory_ = std::move(bytes);
  file->data_ = file->memory_.data();
  file->size_ = file->memory_.size();
  return file;
}

std::shared_ptr<const MappedFile> MappedFile::from_memory(std::string_view bytes,
                                                          std::shared_ptr<const void> owner) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->owner_ = std::move(owner);
  if (!bytes.empty()) file->data_ = bytes.data();
  file->size_ = bytes.size();
  return file;
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<char*>(data_), size_);
}

void MappedFile::release_pages() const {
  if (mapped_) ::madvise(const_cast<char*>(data_), size_, MADV_DONTNEED);
}

}  // namespace treadle
