#include "tensor/file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.hpp"

namespace treadle {
namespace {

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;

File open_file(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  check(file != nullptr, ErrorKind::Io, "{}: cannot be opened: {}", path, std::strerror(errno));
  return file;
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path, std::int64_t max_bytes) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  check(std::filesystem::exists(status), ErrorKind::Io, "{}: no such file", path);
  check(std::filesystem::is_regular_file(status), ErrorKind::Io, "{}: not a regular file", path);
  const auto size = std::filesystem::file_size(path, code);
  check(!code, ErrorKind::Io, "{}: {}", path, code.message());
  check(size <= static_cast<std::uintmax_t>(max_bytes), ErrorKind::Io,
        "{}: file of {} bytes is over the limit of {}", path, size, max_bytes);
  const File file = open_file(path, "rb");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file.get());
  check(got == bytes.size(), ErrorKind::Io, "{}: read {} bytes, expected {}", path, got,
        bytes.size());
  return bytes;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string part = path + ".part";
  File file = open_file(part, "wb");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  const bool closed = std::fclose(file.release()) == 0;
  std::error_code code;
  if (written && closed) std::filesystem::rename(part, path, code);
  if (written && closed && !code) return;
  const std::string reason = code ? code.message() : std::strerror(errno);
  std::filesystem::remove(part, code);
  fail(ErrorKind::Io, "{}: cannot be written: {}", path, reason);
}

}  // namespace treadle
