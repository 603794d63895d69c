// Hostile input: damaged copies of models must end in an error with context or in a valid run, each
// within the limits on time and memory, and never in a signal or a sanitizer's report.
//
//   hostile [--mutations N] [--extra N] [--seed N] [--keep DIR] [--jobs N] DIR [EXTRA_DIR]
//   hostile --replay FILE [NUMBER]
//
// N mutations are spread evenly over the models below DIR; `extra` ones over those below
// $TREADLE_MODELS or else EXTRA_DIR, when it is there; large models are left out.
// Workers are forked, so that one that dies costs one mutation. Failing files are kept in --keep.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "attempt.hpp"
#include "mutate.hpp"

// Less memory for freed blocks than by default, so that the limit on memory means something.
extern "C" const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "quarantine_size_mb=8:allocator_may_return_null=1:detect_leaks=0:"
         "malloc_context_size=12:allocator_release_to_os_interval_ms=0";
}

namespace {

namespace fs = std::filesystem;
using treadle::hostile::Mutator;

constexpr double kMaxSeconds = 5;  // of processor time
constexpr double kMaxWallSeconds = 60;
constexpr long kMaxMegabytes = 1024;
constexpr int kBatch = 25;
constexpr std::uintmax_t kMaxModelBytes = 4 << 20;

struct Options {
  int mutations = 2000, extra = 0, jobs = 2;
  std::uint64_t seed = 1;
  std::string keep = "hostile_failures";
  std::vector<std::string> folders;
};

struct Task {
  std::size_t model;
  int begin, end;
};

// Written by a worker, read by the parent.
struct Shared {
  std::atomic<int> current, loaded, ran;
  std::atomic<double> started;  // processor seconds when the current mutation began
  char text[512];
};

struct Worker {
  Task task{};
  pid_t pid = 0;
  Shared* shared = nullptr;
  std::string log;
  std::chrono::steady_clock::time_point last_change;
  int last = -1;
  std::string killed;
};

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double processor_seconds_of(pid_t pid) {
  clockid_t clock{};
  timespec t{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

long resident_megabytes(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  long size = 0, resident = 0;
  in >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE) >> 20;
}

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> find_models(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto extension = entry.path().extension();
    if ((extension == ".onnx" || extension == ".pb") && entry.file_size() <= kMaxModelBytes)
      out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

[[noreturn]] void work(const std::string& model, const Task& task, const Options& options,
                       Shared& shared) {
  const Mutator mutator(read_all(model));
  for (int n = task.begin; n < task.end; ++n) {
    const auto mutant = mutator.make(options.seed, n);
    std::snprintf(shared.text, sizeof shared.text, "%s", mutant.what.c_str());
    shared.started = processor_seconds();
    shared.current = n;
    const auto got = treadle::hostile::attempt(mutant.bytes, static_cast<unsigned>(n));
    shared.loaded += got.loaded;
    shared.ran += got.ran;
    if (!got.fault.empty()) {
      std::fprintf(stderr, "%s: %s\n", got.fault.c_str(), got.message.c_str());
      std::fflush(stderr);
      _exit(3);
    }
  }
  shared.current = task.end;
  _exit(0);
}

class Run {
 public:
  Run(Options options, std::vector<std::string> models)
      : options_(std::move(options)), models_(std::move(models)) {}

  void add(std::size_t model, int begin, int end) {
    for (int n = begin; n < end; n += kBatch)
      tasks_.push_back({model, n, std::min(end, n + kBatch)});
  }

  int finish() {
    std::vector<Worker> workers(static_cast<std::size_t>(options_.jobs));
    for (std::size_t i = 0; i < workers.size(); ++i) {
      void* block =
          mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (block == MAP_FAILED) return 2;
      workers[i].shared = new (block) Shared{};
      workers[i].log = fs::temp_directory_path() /
                       ("hostile." + std::to_string(getpid()) + "." + std::to_string(i));
    }
    while (true) {
      bool busy = false;
      for (Worker& w : workers) busy = step(w) || busy;
      if (!busy) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (const Worker& w : workers) fs::remove(w.log);
    std::printf("hostile: %d mutations of %zu models: %d loaded, %d ran, %zu failures\n", done_,
                models_.size(), loaded_, ran_, failures_);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  bool step(Worker& w) {
    if (w.pid == 0) return start(w);
    int status = 0;
    if (waitpid(w.pid, &status, WNOHANG) == w.pid) {
      ended(w, status);
      w.pid = 0;
      return true;
    }
    watch(w);
    return true;
  }

  bool start(Worker& w) {
    if (tasks_.empty()) return false;
    w.task = tasks_.front();
    tasks_.pop_front();
    w.killed.clear();
    w.last = -1;
    w.last_change = std::chrono::steady_clock::now();
    w.shared->current = w.task.begin;
    w.shared->started = 0;
    w.shared->loaded = 0;
    w.shared->ran = 0;
    std::fflush(nullptr);
    w.pid = fork();
    if (w.pid != 0) return true;
    if (!std::freopen(w.log.c_str(), "w", stderr)) _exit(4);
    work(models_[w.task.model], w.task, options_, *w.shared);
  }

  void watch(Worker& w) {
    const auto now = std::chrono::steady_clock::now();
    if (const int current = w.shared->current; current != w.last) {
      w.last = current;
      w.last_change = now;
    }
    const double wall = std::chrono::duration<double>(now - w.last_change).count();
    if (processor_seconds_of(w.pid) - w.shared->started > kMaxSeconds || wall > kMaxWallSeconds)
      w.killed = "takes more than 5 s";
    if (resident_megabytes(w.pid) > kMaxMegabytes) w.killed = "takes more than 1 GB";
    if (!w.killed.empty()) kill(w.pid, SIGKILL);
  }

  void ended(Worker& w, int status) {
    loaded_ += w.shared->loaded;
    ran_ += w.shared->ran;
    const int current = w.shared->current;
    done_ += std::min(current + 1, w.task.end) - w.task.begin;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    std::string why = w.killed;
    if (why.empty())
      why = WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                                : "exit code " + std::to_string(WEXITSTATUS(status));
    fail(w, current, why);
    if (current + 1 < w.task.end) tasks_.push_front({w.task.model, current + 1, w.task.end});
  }

  void fail(const Worker& w, int number, const std::string& why) {
    ++failures_;
    const fs::path model(models_[w.task.model]);
    const std::string name = model.parent_path().filename().string() + "-" +
                             std::to_string(number) + model.extension().string();
    std::string log = read_all(w.log);
    fs::create_directories(options_.keep);
    std::ofstream(fs::path(options_.keep) / name, std::ios::binary)
        << Mutator(read_all(model.string())).make(options_.seed, number).bytes;
    std::ofstream(fs::path(options_.keep) / (name + ".log")) << log;
    if (log.size() > 600) log.resize(600);
    std::printf("FAILED %s (%s): %s\n%s\n", name.c_str(), w.shared->text, why.c_str(), log.c_str());
    std::fflush(stdout);
  }

  Options options_;
  std::vector<std::string> models_;
  std::deque<Task> tasks_;
  int done_ = 0, loaded_ = 0, ran_ = 0;
  std::size_t failures_ = 0;
};

int replay(const std::string& path, unsigned number) {
  const auto got = treadle::hostile::attempt(read_all(path), number);
  std::printf("loaded %d, ran %d, %s%s%s\n", got.loaded, got.ran, got.fault.c_str(),
              got.fault.empty() ? "" : ": ", got.message.c_str());
  return got.fault.empty() ? 0 : 1;
}

// Numbers 0 … count−1 spread evenly over the models [first, last).
void spread(Run& run, std::size_t first, std::size_t last, int count) {
  const auto n = static_cast<int>(last - first);
  for (int i = 0; i < n; ++i)
    run.add(first + static_cast<std::size_t>(i), 0, count / n + (i < count % n ? 1 : 0));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool more = i + 1 < argc;
    if (arg == "--replay" && more)
      return replay(argv[i + 1], i + 2 < argc ? static_cast<unsigned>(std::stoul(argv[i + 2])) : 1);
    if (arg == "--mutations" && more)
      options.mutations = std::stoi(argv[++i]);
    else if (arg == "--extra" && more)
      options.extra = std::stoi(argv[++i]);
    else if (arg == "--seed" && more)
      options.seed = std::stoull(argv[++i]);
    else if (arg == "--jobs" && more)
      options.jobs = std::max(1, std::stoi(argv[++i]));
    else if (arg == "--keep" && more)
      options.keep = argv[++i];
    else
      options.folders.push_back(arg);
  }
  if (options.folders.empty()) {
    std::fprintf(stderr, "usage: hostile [--mutations N] [--extra N] DIR [EXTRA_DIR]\n");
    return 2;
  }
  auto models = find_models(options.folders[0]);
  const std::size_t committed = models.size();
  if (const char* folder = std::getenv("TREADLE_MODELS")) {
    options.folders.resize(1);
    options.folders.emplace_back(folder);
  }
  if (options.extra > 0 && options.folders.size() > 1 && fs::is_directory(options.folders[1])) {
    const auto extra = find_models(options.folders[1]);
    models.insert(models.end(), extra.begin(), extra.end());
  }
  Run run(options, models);
  spread(run, 0, committed, options.mutations);
  spread(run, committed, models.size(), options.extra);
  return run.finish();
}
