#include <type_traits>

#include "base/error.hpp"
#include "gpu/kernels/all.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu {

namespace {

using namespace tk;

enum class Mode { nosync, sync };
enum class Slot { In, Out, Status };

constexpr KernelInfo describe(const char* name, std::size_t param_bytes, std::size_t shared_bytes,
                              Mode mode, int max_threads, std::initializer_list<Slot> slots) {
  KernelInfo info{name, 0, 0, param_bytes, shared_bytes, mode == Mode::sync, false, max_threads};
  for (const Slot s : slots) {
    if (s == Slot::Status) {
      info.reports = true;
      continue;
    }
    if (s == Slot::Out) info.written |= 1u << info.buffers;
    ++info.buffers;
  }
  return info;
}

template <typename S>
constexpr std::size_t kSharedBytes = std::is_same_v<S, tk_no_shared> ? 0 : sizeof(S);

#undef TK_IN
#undef TK_OUT
#undef TK_STATUS
#define TK_IN(T) Slot::In
#define TK_OUT(T) Slot::Out
#define TK_STATUS Slot::Status
#define TK_ENTRY(name, body, args, Params, Shared, mode, threads, ...)                           \
  static_assert(sizeof(Params) <= kMaxParamBytes && sizeof(Shared) <= 32768 && threads <= 1024); \
  static_assert(Mode::mode == Mode::sync || std::is_same_v<Shared, tk_no_shared>);
#include "gpu/kernels/list.inc"
#undef TK_ENTRY

constexpr KernelInfo kKernels[] = {
#define TK_ENTRY(name, body, args, Params, Shared, mode, threads, ...) \
  describe(#name, sizeof(Params), kSharedBytes<Shared>, Mode::mode, threads, {__VA_ARGS__}),
#include "gpu/kernels/list.inc"
#undef TK_ENTRY
};

void check_extents(const Launch& l, const KernelInfo& info) {
  const auto nonzero = [](const Extent3& e) { return e.x > 0 && e.y > 0 && e.z > 0; };
  check(nonzero(l.groups) && nonzero(l.threads), ErrorKind::Internal,
        "{}: kernel {} launched with an extent of 0", l.label, info.name);
  check(l.groups.x <= 0x7fffffffu && l.groups.y <= 65535 && l.groups.z <= 65535,
        ErrorKind::Internal,
        "{}: kernel {} launched with {}×{}×{} groups, beyond what devices take", l.label, info.name,
        l.groups.x, l.groups.y, l.groups.z);
  const std::uint64_t threads = std::uint64_t{l.threads.x} * l.threads.y * l.threads.z;
  check(l.threads.x <= 1024 && l.threads.y <= 1024 && l.threads.z <= 64 &&
            threads <= static_cast<std::uint64_t>(info.max_threads),
        ErrorKind::Internal, "{}: kernel {} launched with groups of {}×{}×{} threads, at most {}",
        l.label, info.name, l.threads.x, l.threads.y, l.threads.z, info.max_threads);
  check(!info.barriers || threads % 32 == 0, ErrorKind::Internal,
        "{}: kernel {} has barriers: groups of {} threads, expected a multiple of 32", l.label,
        info.name, threads);
}

}  // namespace

const KernelInfo& kernel_info(KernelId id) {
  check(id < KernelId::kCount, ErrorKind::Internal, "no kernel has the number {}",
        static_cast<int>(id));
  return kKernels[static_cast<std::size_t>(id)];
}

std::string LaunchSpan::waiting() const {
  if (!first_) return "waiting for its commands";
  return fmt::format("waiting for its commands, the first of them for {}, the last for {}", first_,
                     last_);
}

void check_launch(const Launch& launch) {
  const KernelInfo& info = kernel_info(launch.kernel);
  check(launch.buffer_count == info.buffers, ErrorKind::Internal,
        "{}: kernel {} takes {} buffers, got {}", launch.label, info.name, info.buffers,
        launch.buffer_count);
  check(launch.param_bytes == info.param_bytes && launch.params != nullptr, ErrorKind::Internal,
        "{}: kernel {} takes {} bytes of parameters, got {}", launch.label, info.name,
        info.param_bytes, launch.param_bytes);
  check_extents(launch, info);
}

}  // namespace treadle::gpu
