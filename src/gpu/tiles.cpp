#include "gpu/tiles.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace treadle::gpu {

namespace {

constexpr double kMultiprocessors = 132;
constexpr double kPeak = 128;             // multiply-adds a cycle and multiprocessor
constexpr double kFullWarps = 8;          // that a multiprocessor needs to come near its rate
constexpr double kLaunch = 2500;          // cycles: of a kernel, up to its first results
constexpr double kStep = 30;              // cycles: a barrier and what surrounds it
constexpr double kCacheBytes = 1500;      // a cycle, of partial results
constexpr std::int64_t kLeastSplit = 64;  // positions of K

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

KernelId kernel_named(std::string_view name) {
  for (std::uint16_t i = 0; i < static_cast<std::uint16_t>(KernelId::kCount); ++i) {
    if (name == kernel_info(KernelId{i}).name) return KernelId{i};
  }
  return KernelId::kCount;
}

double estimated_cycles(const Tile& tile, const ProductShape& s, int splits) {
  const std::int64_t split_k = divide_up(divide_up(s.k, splits), tile.k) * tile.k;
  const auto blocks = static_cast<double>(divide_up(s.m, tile.m) * divide_up(s.n, tile.n) *
                                          s.groups * divide_up(s.k, split_k));
  // The fullest multiprocessor sets the time; what it holds at once hides its latencies.
  const double on_one =
      blocks > kMultiprocessors * tile.resident
          ? blocks / kMultiprocessors
          : static_cast<double>(divide_up(static_cast<std::int64_t>(blocks),
                                          static_cast<std::int64_t>(kMultiprocessors)));
  const double warps = std::min<double>(on_one, tile.resident) * tile.threads / 32;
  const double rate = kPeak * tile.rate * std::min(1.0, 0.25 + 0.75 * warps / kFullWarps);
  const double steps = static_cast<double>(split_k) / tile.k;
  double cycles =
      kLaunch + on_one * tile.m * tile.n * static_cast<double>(split_k) / rate + steps * kStep;
  if (splits > 1) {
    const double bytes = 8.0 * static_cast<double>(s.m * s.n * s.groups) * splits;
    cycles += kLaunch + bytes / kCacheBytes;
  }
  return cycles;
}

TileChoice split_evenly(const Tile& tile, std::int64_t k, int splits) {
  TileChoice c{&tile, 1, 0};
  c.split_k = std::max<std::int64_t>(1, divide_up(divide_up(k, splits), tile.k)) * tile.k;
  c.splits = static_cast<int>(std::max<std::int64_t>(1, divide_up(k, c.split_k)));
  return c;
}

TileChoice choose_tile(std::span<const Tile> tiles, const ProductShape& shape, bool may_split) {
  TileChoice best;
  double least = 0;
  for (const Tile& tile : tiles) {
    for (int splits = 1; splits <= kMaxSplits; ++splits) {
      if (splits > 1 && (!may_split || shape.k < splits * kLeastSplit)) break;
      const TileChoice c = split_evenly(tile, shape.k, splits);
      if (c.splits != splits) continue;
      const double cycles = estimated_cycles(tile, shape, splits);
      if (best.tile != nullptr && cycles >= least) continue;
      best = c;
      least = cycles;
    }
  }
  check(best.tile != nullptr, ErrorKind::Internal, "no tile to choose from");
  return best;
}

TileChoice find_tile(std::span<const Tile> tiles, std::string_view prefix, std::string_view variant,
                     std::int64_t k) {
  for (const Tile& tile : tiles) {
    const std::string name = std::string(prefix) + tile.name;
    if (variant == name) return split_evenly(tile, k, 1);
    if (!variant.starts_with(name + "/")) continue;
    const std::string_view number = variant.substr(name.size() + 1);
    int splits = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), splits);
    check(error == std::errc() && end == number.data() + number.size() && splits >= 1 &&
              splits <= kMaxSplits,
          ErrorKind::Unsupported, "variant '{}': expected 1 to {} splits", variant, kMaxSplits);
    return split_evenly(tile, k, splits);
  }
  return {};
}

std::string tile_variant(std::string_view prefix, const TileChoice& choice) {
  std::string name = std::string(prefix) + choice.tile->name;
  if (choice.splits > 1) name += "/" + std::to_string(choice.splits);
  return name;
}

}  // namespace treadle::gpu
