// Whole files in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace treadle {

// The bytes of a regular file of at most `max_bytes`; throws Io error with the path and the reason.
std::vector<std::byte> read_file(const std::string& path,
                                 std::int64_t max_bytes = std::int64_t{16} << 30);
// Replaces the file: written beside it first and then renamed. Throws Io error.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace treadle
