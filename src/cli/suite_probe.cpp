#include "cli/suite_probe.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/cpu_features.hpp"
#include "base/error.hpp"
#include "cli/process.hpp"
#include "gpu/lower.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace treadle::cli {
namespace {

constexpr double kMilliseconds = 30;
constexpr int kSteps = 20'000;
// Enough to hide the latency of an addition. They begin differently: the compiler would make one of
// equal ones.
constexpr int kChains = 10;
constexpr int kLanes = 4;

#if defined(__x86_64__)
// Registers of 128 bits: wider ones belong to the kernels' files (tests/structure), and lower the
// clock of some processors.
__attribute__((target("fma"))) float fused_steps(float start) {
  __m128 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm_set1_ps(start * static_cast<float>(c));
  const __m128 factor = _mm_set1_ps(start), term = _mm_set1_ps(1e-3f);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 10  // keeps the sums in registers
    for (__m128& sum : sums) sum = _mm_fmadd_ps(sum, factor, term);
  }
  __m128 all = _mm_setzero_ps();
  for (const __m128& sum : sums) all = _mm_add_ps(all, sum);
  return _mm_cvtss_f32(all);
}
#endif

// Where the processor has no fused multiply-add that we know of: a product and a sum.
float plain_steps(float start) {
  using Four = float __attribute__((vector_size(16)));
  Four sums[kChains];
  for (int c = 0; c < kChains; ++c)
    sums[c] = Four{start, start, start, start} * static_cast<float>(c);
  const Four factor = {start, start, start, start}, term = {1e-3f, 1e-3f, 1e-3f, 1e-3f};
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 10
    for (Four& sum : sums) sum = sum * factor + term;
  }
  Four all{};
  for (const Four& sum : sums) all += sum;
  return all[0];
}

bool has_fma() {
#if defined(__x86_64__)
  return detected_isa() == Isa::Avx2 || detected_isa() == Isa::Avx512;
#else
  return false;
#endif
}

float steps(bool fused, float start) {
#if defined(__x86_64__)
  if (fused) return fused_steps(start);
#endif
  (void)fused;
  return plain_steps(start);
}

// Runs `step`, which does `work`, until the time is up: work a second.
double rate_of(const std::function<void()>& step, double work) {
  const Timer timer;
  double done = 0;
  do {
    step();
    done += work;
  } while (timer.ms() < kMilliseconds);
  return done / (timer.ms() / 1000);
}

double flops_of_a_thread() {
  const bool fused = has_fma();
  volatile float start = 0.5f;
  volatile float sink = 0;
  return rate_of([&] { sink = steps(fused, start); }, 2.0 * kLanes * kChains * kSteps);
}

Probe calibrate_cpu(int threads) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < rates.size(); ++i)
    others.emplace_back([&rates, i] { rates[i] = flops_of_a_thread(); });
  rates[0] = flops_of_a_thread();
  others.clear();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return {sum / 1e9, "GFLOP/s"};
}

// What copies to and from the device; kept for the run, since making it takes longer than copying.
class CopyLoop {
 public:
  explicit CopyLoop(const std::string& target)
      : device_(gpu::device_from_name(target)),
        buffer_(device_->allocate(kBytes, "calibration")),
        staging_(device_->allocate_staging(kBytes)),
        queue_(device_->make_queue()) {
    copy();
  }

  Probe measure() {
    return {rate_of([&] { copy(); }, 2.0 * kBytes) / 1e9, "GB/s"};
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{16} << 20;

  void copy() {
    queue_->upload(buffer_->address(), staging_->data(), kBytes);
    queue_->download(staging_->data(), buffer_->address(), kBytes);
    queue_->sync();
  }

  std::shared_ptr<Device> device_;
  DeviceBufferPtr buffer_;
  std::unique_ptr<StagingBuffer> staging_;
  std::unique_ptr<DeviceQueue> queue_;
};

CopyLoop& copy_loop(const std::string& target) {
  // Never destroyed: at exit the driver may be gone already.
  static auto& loops = *new std::map<std::string, std::unique_ptr<CopyLoop>>;
  std::unique_ptr<CopyLoop>& loop = loops[target];
  if (!loop) loop = std::make_unique<CopyLoop>(target);
  return *loop;
}

// The programs measured may be other builds, with a device that this one cannot use.
bool can_copy(const std::string& target) {
  static auto& known = *new std::map<std::string, bool>;
  const auto [at, fresh] = known.try_emplace(target, true);
  if (fresh) try {
      copy_loop(target);
    } catch (const Error&) {
      at->second = false;
    }
  return at->second;
}

}  // namespace

Probe calibrate_copies(const std::string& target) {
  return copy_loop(target).measure();
}

Probe calibrate(const std::string& target, int threads) {
  const bool device = target != "cpu" && target != "sim";
  return device && can_copy(target) ? calibrate_copies(target) : calibrate_cpu(threads);
}

}  // namespace treadle::cli
