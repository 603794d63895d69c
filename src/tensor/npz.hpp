// NumPy's .npz archives: zip files of .npy members, stored or deflated, zip64 included on reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace treadle {

// Names (without ".npy") and arrays, in the order of the archive.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Throws Parse error for anything malformed: ranges outside the file, members that overlap in sum,
// sizes or checksums that disagree, names that stand twice. Encrypted members are Unsupported.
NamedTensors read_npz(std::span<const std::byte> bytes);
NamedTensors read_npz_file(const std::string& path);

// Members are deflated when `compress` is set. Throws Unsupported error above 4 GiB.
std::vector<std::byte> write_npz(const NamedTensors& arrays, bool compress = false);
void write_npz_file(const std::string& path, const NamedTensors& arrays, bool compress = false);

}  // namespace treadle
