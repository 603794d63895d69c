// The devices that `treadle info` lists.
#pragma once

#include <string>

#include "cli/json.hpp"

namespace treadle::cli {

// {"cuda": {"devices": ["NVIDIA H200 (sm_90, 139 GiB)"], "why_not": "", "architectures": "sm_80
// …"},
//  "metal": {"devices": […], "why_not": "…"}, "sim": {…}}; `why_not` says why there is no device
//  and is empty when there is one.
Json devices_json();

// "NVIDIA H200 (sm_90, 139 GiB), kernels for sm_80 …" or "none: …".
std::string cuda_line();
// "Apple M1" or "none: …".
std::string metal_line();

}  // namespace treadle::cli
