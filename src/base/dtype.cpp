#include "base/dtype.hpp"

#include <array>
#include <string>

namespace treadle {
namespace {

struct Info {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Info, kDTypes> kInfo{
    {{"bool", 1},     {"i8", 1},         {"i16", 2},    {"i32", 4},
     {"i64", 8},      {"u8", 1},         {"u16", 2},    {"u32", 4},
     {"u64", 8},      {"f16", 2},        {"bf16", 2},   {"f32", 4},
     {"f64", 8},      {"c64", 8},        {"c128", 16},  {"string", sizeof(std::string)},
     {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1}, {"f8e5m2", 1}, {"f8e5m2fnuz", 1},
     {"f8e8m0", 1},   {"f6e2m3", 1},     {"f6e3m2", 1}, {"f4e2m1", 1},
     {"i4", 1},       {"u4", 1},         {"i2", 1},     {"u2", 1}}};

}  // namespace

std::size_t size_of(DType t) {
  return kInfo[static_cast<std::size_t>(t)].size;
}

std::string_view name_of(DType t) {
  return kInfo[static_cast<std::size_t>(t)].name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace treadle
