#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "fault.hpp"

namespace softmetal {

namespace {

constexpr std::size_t kAlignment = 16;
constexpr unsigned char kBeside = 0xff;  // a NaN where floats lie

struct Range {
  std::size_t bytes;
  const Buffer* buffer;  // null for Guarded
  bool host;
};
std::mutex mutex;
std::map<std::uintptr_t, Range>& ranges() {
  static auto* all = new std::map<std::uintptr_t, Range>;  // lives as long as any buffer
  return *all;
}
std::size_t allocated = 0;

std::size_t pages_of(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

// Address space of `bytes` with a page without access on each side.
char* reserve(std::size_t bytes) {
  void* p = mmap(nullptr, bytes + 2 * page_bytes(), PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p) + page_bytes();
}
void unreserve(char* p, std::size_t bytes) {
  if (p != nullptr) munmap(p - page_bytes(), bytes + 2 * page_bytes());
}

void add(const char* p, std::size_t bytes, const Buffer* buffer, bool host) {
  const std::lock_guard lock(mutex);
  ranges()[reinterpret_cast<std::uintptr_t>(p)] = {bytes, buffer, host};
}
void remove(const char* p) {
  const std::lock_guard lock(mutex);
  ranges().erase(reinterpret_cast<std::uintptr_t>(p));
}

// How the pages at p are mapped now.
int protection_of(const void* p) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  int protection = PROT_READ | PROT_WRITE;
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long from = 0, to = 0;
    char mode[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3) continue;
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    if (at < from || at >= to) continue;
    protection = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0);
    break;
  }
  if (maps != nullptr) std::fclose(maps);
  return protection;
}

int shared_memory(std::size_t bytes) {
  const int fd = memfd_create("softmetal", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

bool map_at(char* where, std::size_t bytes, int protection, int fd) {
  return where != nullptr &&
         mmap(where, bytes, protection, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

}  // namespace

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t allocated_bytes() {
  const std::lock_guard lock(mutex);
  return allocated;
}

std::shared_ptr<Buffer> Buffer::make(std::size_t bytes, std::size_t head, std::size_t mapped) {
  std::shared_ptr<Buffer> b(new Buffer);
  b->bytes_ = bytes;
  b->head_ = head;
  b->mapped_ = mapped;
  b->protection_ = PROT_READ | PROT_WRITE;
  const std::lock_guard lock(mutex);
  allocated += bytes;
  return b;
}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes) {
  const std::size_t mapped = pages_of(bytes);
  const std::shared_ptr<Buffer> b = make(bytes, (mapped - bytes) / kAlignment * kAlignment, mapped);
  const int fd = shared_memory(mapped);
  if (fd < 0) return nullptr;
  b->host_ = reserve(mapped);
  b->device_ = reserve(mapped);
  const bool made = map_at(b->host_, mapped, PROT_READ | PROT_WRITE, fd) &&
                    map_at(b->device_, mapped, PROT_READ | PROT_WRITE, fd);
  ::close(fd);
  if (!made) return nullptr;
  const std::size_t end = b->head_ + bytes;
  std::memset(b->host_, kBeside, b->head_);
  std::memset(b->host_ + end, kBeside, mapped - end);
  add(b->host_, mapped, b.get(), true);
  add(b->device_, mapped, b.get(), false);
  return b;
}

std::shared_ptr<Buffer> Buffer::wrap(void* data, std::size_t bytes) {
  const std::shared_ptr<Buffer> b = make(bytes, 0, bytes);
  b->wrapped_ = true;
  b->protection_ = protection_of(data);
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  {
    const std::lock_guard lock(mutex);
    for (const auto& [begin, range] : ranges()) {
      if (begin < at + bytes && at < begin + range.bytes) {
        fault("newBufferWithBytesNoCopy: the pages are those of " +
              (range.buffer != nullptr ? range.buffer->describe() : "software Metal") +
              ", which software Metal has not");
      }
    }
  }
  // The caller's pages are replaced by shared ones with the same bytes.
  const int fd = shared_memory(bytes);
  if (fd < 0) return nullptr;
  b->device_ = reserve(bytes);
  bool made = map_at(b->device_, bytes, PROT_READ | PROT_WRITE, fd);
  if (made) {
    std::memcpy(b->device_, data, bytes);
    made = map_at(static_cast<char*>(data), bytes, b->protection_, fd);
  }
  ::close(fd);
  if (!made) return nullptr;
  b->host_ = static_cast<char*>(data);
  add(b->host_, bytes, b.get(), true);
  add(b->device_, bytes, b.get(), false);
  return b;
}

Buffer::~Buffer() {
  {
    const std::lock_guard lock(mutex);
    allocated -= bytes_;
  }
  if (host_ != nullptr) remove(host_);
  if (device_ != nullptr) remove(device_);
  if (!wrapped_) unreserve(host_, mapped_);
  unreserve(device_, mapped_);
}

std::string Buffer::describe() const {
  return "the buffer " + (label.empty() ? "" : "'" + label + "' ") + "of " +
         std::to_string(bytes_) + " bytes";
}

void Buffer::protect() const {
  const int now = writers_ > 0 ? PROT_NONE : readers_ > 0 ? protection_ & PROT_READ : protection_;
  mprotect(host_, mapped_, now);
}

void Buffer::close(bool written) {
  const std::lock_guard lock(mutex);
  ++(written ? writers_ : readers_);
  protect();
}

void Buffer::open(bool written) {
  const std::lock_guard lock(mutex);
  --(written ? writers_ : readers_);
  protect();
}

void Buffer::check_ends(const std::string& user) const {
  if (wrapped_) return;
  const auto changed = [this](std::size_t from, std::size_t to) {
    for (; from < to; ++from) {
      if (static_cast<unsigned char>(device_[from]) != kBeside) return true;
    }
    return false;
  };
  if (changed(0, head_)) fault(user + " wrote before the start of " + describe());
  if (changed(head_ + bytes_, mapped_)) fault(user + " wrote after the end of " + describe());
}

Guarded::Guarded(std::size_t bytes) : bytes_(pages_of(bytes)), memory_(reserve(bytes_)) {
  if (memory_ == nullptr || mprotect(memory_, bytes_, PROT_READ | PROT_WRITE) != 0) {
    fault("no memory");
  }
  add(memory_, bytes_, nullptr, false);
}

Guarded::~Guarded() {
  remove(memory_);
  unreserve(memory_, bytes_);
}

char* Guarded::place(std::size_t bytes) const {
  return memory_ + (bytes_ - bytes) / kAlignment * kAlignment;
}

std::string describe_address(const void* address, const char* doing) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::string who = doing == nullptr ? "the host" : doing;
  for (const auto& [begin, range] : ranges()) {
    const bool within = at >= begin && at < begin + range.bytes;
    if (at + page_bytes() < begin || at >= begin + range.bytes + page_bytes()) continue;
    if (range.buffer == nullptr) {
      return who + " touches memory beside an argument or a threadgroup variable";
    }
    const auto first = reinterpret_cast<std::uintptr_t>(range.host ? range.buffer->host()
                                                                   : range.buffer->device());
    const std::string where =
        std::to_string(static_cast<std::ptrdiff_t>(at - first)) + " of " + range.buffer->describe();
    if (within && range.host && doing == nullptr) {
      return "the host touches byte " + where + " between a commit and its completion";
    }
    return who + " touches byte " + where;
  }
  if (doing == nullptr) return "";
  return who + " touches an address that is in no buffer";
}

}  // namespace softmetal
