// How the kernel benchmarks measure time.
#pragma once

#include <time.h>

#include <algorithm>

namespace treadle::bench {

// This thread's processor time: what other processes take away does not count.
inline double seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The least time of one call, over at least 0.25 s and 3 calls; a first call is not counted.
template <typename F>
double best_time(F&& f) {
  f();
  double best = 1e9;
  const double end = seconds() + 0.25;
  for (int i = 0; i < 3 || seconds() < end; ++i) {
    const double start = seconds();
    f();
    best = std::min(best, seconds() - start);
  }
  return best;
}

}  // namespace treadle::bench
