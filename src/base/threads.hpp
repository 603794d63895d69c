// A small thread pool that the caller owns. The calling thread takes part in the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace treadle {

// A non-owning reference to a callable `void(std::int64_t begin, std::int64_t end)`.
class RangeBody {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, RangeBody>)
  RangeBody(F&& f)  // NOLINT(google-explicit-constructor): made at the call
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o, std::int64_t b, std::int64_t e) {
          (*static_cast<std::remove_reference_t<F>*>(o))(b, e);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};

// How kernels get more than one thread. A host may supply its own by deriving from this.
class Parallel {
 public:
  virtual ~Parallel() = default;
  virtual int threads() const = 0;
  // Runs body over disjoint ranges that cover [0, count); each range holds at least `grain` items
  // (but for the last). Returns when all is done. The body must not throw. Not re-entrant.
  virtual void run(std::int64_t count, std::int64_t grain, RangeBody body) = 0;
};

// One thread: runs the body in place, no atomics.
Parallel& serial();

// `threads` >= 1, the caller included. With 1 no thread is made. Workers wait on a futex between
// runs after a spin bounded in time (at most 20 µs); none spins after a run has ended for that long.
std::unique_ptr<Parallel> make_thread_pool(int threads);

}  // namespace treadle
