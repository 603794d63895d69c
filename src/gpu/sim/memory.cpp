#include "gpu/sim/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace treadle::gpu::sim {

namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kLarge = std::size_t{64} << 20;  // filling more could take all there is
constexpr int kFresh = 0xff;          // a NaN as f32, f16, bf16 and f64; −1 as an integer
constexpr std::size_t kWatched = 64;  // bytes before a buffer, where they are not a guard page

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

[[maybe_unused]] std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// What the kernel could hand out without swapping.
#if defined(__APPLE__)
std::size_t free_bytes() {
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const auto to = reinterpret_cast<host_info64_t>(&pages);
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, to, &count) != KERN_SUCCESS) return 0;
  return (std::size_t{pages.free_count} + pages.inactive_count) * page_bytes();
}
#else
std::size_t free_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kibibytes = 0; file >> name >> kibibytes;) {
    if (name == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  const long pages = sysconf(_SC_AVPHYS_PAGES);
  return pages < 0 ? 0 : static_cast<std::size_t>(pages) * page_bytes();
}
#endif

[[maybe_unused]] bool all_fresh(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char c) { return static_cast<unsigned char>(c) == kFresh; });
}

[[noreturn]] void fail_memory(std::string_view what, std::size_t bytes) {
  fail(ErrorKind::Memory, "sim: no memory for {}: {} bytes asked for, {} free", what, bytes,
       free_bytes());
}

#if defined(__SANITIZE_ADDRESS__)

// A heap block of exactly the bytes asked for; the host may not touch it while it is poisoned.
char* map_block(std::size_t bytes, char*& mapping, std::size_t& mapped) {
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, bytes) != 0) return nullptr;
  mapping = static_cast<char*>(data);
  mapped = bytes;
  return mapping;
}
void unmap_block(char* mapping, std::size_t mapped) {
  __asan_unpoison_memory_region(mapping, mapped);
  std::free(mapping);
}
void set_access(char* mapping, std::size_t mapped, bool allowed) {
  if (allowed) {
    __asan_unpoison_memory_region(mapping, mapped);
  } else {
    __asan_poison_memory_region(mapping, mapped);
  }
}
bool ends_untouched(const char*, std::size_t, const char*, std::size_t) {
  return true;
}

#else

// Pages between two guard pages; the data ends where the last guard page starts, or up to 255 bytes
// before it.
char* map_block(std::size_t bytes, char*& mapping, std::size_t& mapped) {
  const std::size_t page = page_bytes();
  const std::size_t body = round_up(bytes, page);
  void* p = mmap(nullptr, body + 2 * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  mapping = static_cast<char*>(p);
  mapped = body + 2 * page;
  mprotect(mapping, page, PROT_NONE);
  mprotect(mapping + page + body, page, PROT_NONE);
  char* data = mapping + page + body - round_up(bytes, kAlignment);
  const char* begin = mapping + page;
  char* watched = data - std::min<std::size_t>(kWatched, static_cast<std::size_t>(data - begin));
  std::memset(watched, kFresh, static_cast<std::size_t>(mapping + page + body - watched));
  return data;
}
void unmap_block(char* mapping, std::size_t mapped) {
  munmap(mapping, mapped);
}
void set_access(char* mapping, std::size_t mapped, bool allowed) {
  const std::size_t page = page_bytes();
  mprotect(mapping + page, mapped - 2 * page, allowed ? PROT_READ | PROT_WRITE : PROT_NONE);
}
bool ends_untouched(const char* mapping, std::size_t mapped, const char* data, std::size_t bytes) {
  const char* begin = mapping + page_bytes();
  const std::size_t before = std::min(kWatched, static_cast<std::size_t>(data - begin));
  return all_fresh(data - before, data) && all_fresh(data + bytes, mapping + mapped - page_bytes());
}

#endif

}  // namespace

Block::~Block() {
  if (mapping != nullptr) unmap_block(mapping, mapped);
}

DeviceBufferPtr Memory::allocate(std::size_t bytes, std::string_view what) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  if (size > kLarge && size > free_bytes()) fail_memory(what, bytes);
  const auto block = std::make_shared<Block>();
  char* data = map_block(size, block->mapping, block->mapped);
  if (data == nullptr) fail_memory(what, bytes);
  std::memset(data, kFresh, size);
  block->begin = device_address(data);
  block->bytes = bytes;
  block->what = what;
  const std::lock_guard lock(mutex_);
  if (opened_ == 0) set_access(block->mapping, block->mapped, false);
  return blocks_->add(block);
}

void Memory::open() {
  const std::lock_guard lock(mutex_);
  if (opened_++ > 0) return;
  blocks_->for_each([](const Block& b) { set_access(b.mapping, b.mapped, true); });
}

void Memory::close() {
  const std::lock_guard lock(mutex_);
  if (--opened_ > 0) return;
  blocks_->for_each([](const Block& b) { set_access(b.mapping, b.mapped, false); });
}

void Memory::check_ends() const {
  blocks_->for_each([](const Block& b) {
    const char* data = static_cast<const char*>(device_pointer(b.begin));
    check(ends_untouched(b.mapping, b.mapped, data, b.bytes), ErrorKind::Device,
          "sim: a kernel wrote beside the buffer of {}, which has {} bytes", b.what, b.bytes);
  });
}

}  // namespace treadle::gpu::sim
