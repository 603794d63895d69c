#include "compile.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fault.hpp"

extern char** environ;

namespace softmetal {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFewKernels = 4;
constexpr const char* kWrongWords[] = {"__global", "__local",   "__private", "__constant",
                                       "__kernel", "__generic", "__opencl"};

// FNV-1a, 128 bits as two of 64 with other starts.
std::string hash_of(const std::string& text) {
  std::uint64_t a = 0xcbf29ce484222325u, b = 0x9e3779b97f4a7c15u;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b = (b ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b ^= b >> 29;
  }
  char out[33];
  std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return out;
}

std::string read_file(const fs::path& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

// Names the address spaces as Metal does.
std::string in_metal(std::string text) {
  static const std::pair<const char*, const char*> kNames[] = {{"__global", "device"},
                                                               {"__local", "threadgroup"},
                                                               {"__constant", "constant"},
                                                               {"__private", "thread"},
                                                               {"__generic ", ""}};
  for (const auto& [from, to] : kNames) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, std::strlen(from), to);
    }
  }
  return text;
}

// Metal's pragma of contraction under clang's name.
std::string in_clang(std::string text) {
  const std::string metal = "#pragma METAL fp ", clang = "#pragma clang fp ";
  for (std::size_t at = text.find(metal); at != std::string::npos; at = text.find(metal, at)) {
    text.replace(at, metal.size(), clang);
  }
  return text;
}

// A folder that ends with the object.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "softmetal-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fault("no temporary folder");
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

fs::path clang() {
  if (const char* given = std::getenv("SOFTMETAL_CLANG")) return given;
  const char* path = std::getenv("PATH");
  for (const char* name : {"clang-14", "clang"}) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (access((fs::path(folder) / name).c_str(), X_OK) == 0) return fs::path(folder) / name;
    }
  }
  return {};
}

// Runs clang in the folder; false with its log.
bool run_clang(const fs::path& folder, std::vector<std::string> arguments, std::string& log) {
  const fs::path program = clang();
  if (program.empty()) {
    log = "software Metal compiles with clang, and there is neither clang-14 nor clang in PATH";
    return false;
  }
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  const fs::path log_path = folder / "log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(pid, &status, 0) != pid) {
    log = program.string() + " could not be run";
    return false;
  }
  log = in_metal(read_file(log_path));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<std::string> language() {
  std::vector<std::string> flags = {"-x", "cl", "-cl-std=clc++2021", "-cl-no-stdinc", "-Xclang",
                                    "-cl-ext=-all,+cl_khr_fp16,+__opencl_c_generic_address_space",
                                    // Metal is C++14 with things left out.
                                    "-Wno-everything", "-Werror=c++98-c++11-c++14-compat",
                                    "-fno-caret-diagnostics", "-fPIC", "-O1", "-ffp-contract=on"};
#if defined(__x86_64__)
  flags.insert(flags.end(), {"-target", "x86_64-pc-linux-gnu", "-mf16c", "-mfma"});
#else
  flags.insert(flags.end(), {"-target", "aarch64-linux-gnu"});
#endif
  return flags;
}

fs::path cache() {
  const char* folder = std::getenv("SOFTMETAL_CACHE");
  if (folder == nullptr || *folder == '\0') return {};
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  return folder;
}

void keep(const fs::path& file, const fs::path& kept) {
  std::error_code failed;
  const fs::path part = kept.string() + "." + std::to_string(getpid());
  fs::copy_file(file, part, fs::copy_options::overwrite_existing, failed);
  if (!failed) fs::rename(part, kept, failed);
}

std::string join(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += w + " ";
  return all;
}

// Of the headers and the compiler, so that nothing kept outlives a change to them.
const std::string& headers() {
  static const std::string all = [] {
    std::string text;
    std::vector<fs::path> files;
    for (const auto& f : fs::directory_iterator(SOFTMETAL_MSL)) files.push_back(f.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& f : files) text += read_file(f);
    std::error_code ignored;
    const auto changed = fs::last_write_time(clang(), ignored).time_since_epoch();
    text += clang().string() + std::to_string(changed.count());
    return hash_of(text);
  }();
  return all;
}

// Runs clang with `arguments` and the text as program_source, into out; takes what is kept if it
// is.
bool clang_to(const Folder& folder, const std::string& text, std::vector<std::string> arguments,
              const fs::path& out, std::string& log) {
  const fs::path kept =
      cache().empty() ? fs::path() : cache() / hash_of(join(arguments) + headers() + text);
  if (!kept.empty() && fs::exists(kept)) {
    fs::copy_file(kept, out, fs::copy_options::overwrite_existing);
    return true;
  }
  std::ofstream(folder.path / "program_source", std::ios::binary) << text;
  arguments.insert(arguments.end(), {"-o", out.string(), "program_source"});
  if (!run_clang(folder.path, arguments, log)) return false;
  if (!kept.empty()) keep(out, kept);
  return true;
}

}  // namespace

std::uint64_t Function::threadgroup_bytes() const {
  std::uint64_t all = 0;
  for (const std::uint64_t b : kernel.threadgroup) all += (b + 15) / 16 * 16;
  return all;
}

std::shared_ptr<Library> Library::compile(const std::string& source, const CompileOptions& options,
                                          std::string& error) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Library>> made;
  const std::lock_guard lock(mutex);
  const std::string key =
      hash_of(source) + (options.fast_math ? "f" : "p") + std::to_string(options.version);
  if (const auto found = made.find(key); found != made.end()) return found->second;

  for (const char* word : kWrongWords) {
    if (source.find(word) != std::string::npos) {
      error = std::string("program_source: error: Metal has no ") + word;
      return nullptr;
    }
  }
  const auto library = std::make_shared<Library>();
  library->options_ = options;
  library->key_ = key;
  const Folder folder;
  const fs::path out = folder.path / "out";
  std::vector<std::string> flags = language();
  flags.insert(flags.end(),
               {"-E", "-isystem", SOFTMETAL_MSL, "-include", SOFTMETAL_MSL "/language.h",
                "-D__METAL__", "-D__METAL_VERSION__=" + std::to_string(options.version)});
  if (!clang_to(folder, source, flags, out, error)) return nullptr;
  library->preprocessed_ = in_clang(read_file(out));
  Translation all;
  try {
    all = translate(library->preprocessed_);
  } catch (const TranslationError& e) {
    error = e.what();
    return nullptr;
  }
  for (const Kernel& k : all.kernels) library->names_.push_back(k.name);
  // Prints what the text declares, with the address space that clang gives a pointer without one.
  flags = language();
  flags.insert(flags.end(),
               {"-fsyntax-only", "-Xclang", "-ast-print", "-Xclang", "-o", "-Xclang", "printed"});
  if (!clang_to(folder, all.text, flags, folder.path / "printed", error)) return nullptr;
  std::istringstream printed(read_file(folder.path / "printed"));
  for (std::string line; std::getline(printed, line);) {
    if (line.find("__generic") == std::string::npos) continue;
    error =
        "program_source: error: a pointer or reference without an address space:" + in_metal(line);
    return nullptr;
  }
  if (all.kernels.size() <= kFewKernels && !library->load("", error)) return nullptr;
  made[key] = library;
  return library;
}

std::vector<std::string> Library::names() const {
  return names_;
}

bool Library::has(const std::string& name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::shared_ptr<Function> Library::function(const std::string& name, std::string& error) {
  const std::lock_guard lock(mutex_);
  if (functions_.find(name) == functions_.end() && !load(name, error)) return nullptr;
  return functions_.at(name);
}

// Compiles one kernel, or all, and asks the code for the sizes of what they take.
bool Library::load(const std::string& only, std::string& error) {
  const Translation t = translate(preprocessed_, only);
  const Folder folder;
  const fs::path out = folder.path / "kernels.so";
  std::vector<std::string> flags = language();
  if (options_.fast_math) flags.push_back("-ffast-math");
  // A call before every access of memory: see access.hpp. Made for kernels' AddressSanitizer.
  flags.insert(flags.end(), {"-shared", "-fsanitize=kernel-address"});
  for (const char* option : {"-asan-instrumentation-with-call-threshold=0",
                             "-asan-memory-access-callback-prefix=softmetal_", "-asan-stack=0",
                             "-asan-globals=0", "-asan-instrument-atomics=0"}) {
    flags.insert(flags.end(), {"-mllvm", option});
  }
  if (!clang_to(folder, t.text, flags, out, error)) return false;
  void* code = dlopen(out.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (code == nullptr) {
    error = std::string("the compiled kernels do not load: ") + dlerror();
    return false;
  }
  for (std::size_t i = 0; i < t.kernels.size(); ++i) {
    const auto f = std::make_shared<Function>();
    f->kernel = t.kernels[i];
    const std::string& name = f->kernel.name;
    f->entry = reinterpret_cast<Entry>(dlsym(code, ("softmetal_entry_" + name).c_str()));
    const auto sizes = reinterpret_cast<void (*)(std::uint64_t*)>(
        dlsym(code, ("softmetal_describe_" + name).c_str()));
    if (f->entry == nullptr || sizes == nullptr) {
      error = "the compiled kernels have no entry for " + name;
      return false;
    }
    std::uint64_t out_values[2 * kArguments + 2] = {};
    sizes(out_values);
    for (Parameter& p : f->kernel.parameters) {
      const std::size_t slot = p.index + (p.kind == Parameter::Kind::Threadgroup ? 32 : 0);
      if (p.kind == Parameter::Kind::Position) continue;
      p.bytes = out_values[slot];
      p.alignment = out_values[kArguments + slot];
    }
    // Notes of the variables: number of the kernel, of the variable, bytes.
    const auto* note = reinterpret_cast<const std::uint64_t*>(out_values[2 * kArguments]);
    const auto* end = reinterpret_cast<const std::uint64_t*>(out_values[2 * kArguments + 1]);
    for (; note != nullptr && note < end; note += 4) {
      if (note[0] == i) f->kernel.threadgroup[note[1]] = note[2];
    }
    functions_[name] = f;
  }
  return true;
}

}  // namespace softmetal
