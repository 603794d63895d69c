#include "gpu/tiles.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace treadle::gpu {

namespace {

// Fitted to measurements of an H200: scripts/fit_tiles.py.
constexpr std::int64_t kMultiprocessors = 132;
constexpr double kPeak = 128;             // multiply-adds a cycle and multiprocessor
constexpr double kFullWarps = 11;         // that a multiprocessor needs to come to its rate
constexpr double kIdleRate = 0.3;         // of its rate, that the first of them would have
constexpr double kLaunch = 2000;          // cycles: of a kernel, up to its first results
constexpr double kEnds = 32;              // positions of K that take as long as the ends of a group
constexpr double kSumLaunch = 1000;       // cycles: of the kernel that adds partial results,
constexpr double kSumSplit = 450;         // and of each of them
constexpr double kCacheBytes = 4000;      // a cycle, of partial results
constexpr std::int64_t kLeastSplit = 64;  // positions of K
constexpr int kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Of the groups that one multiprocessor has at once, with `positions` of K each.
double group_cycles(const Tile& tile, std::int64_t groups, std::int64_t positions) {
  if (groups == 0) return 0;
  const double warps = static_cast<double>(groups * tile.threads) / 32;
  const double rate =
      kPeak * tile.rate * std::min(1.0, kIdleRate + (1 - kIdleRate) * warps / kFullWarps);
  const double results = static_cast<double>(groups) * tile.m * tile.n;
  return results * (static_cast<double>(positions) + kEnds) / rate;
}

}  // namespace

KernelId kernel_named(std::string_view name) {
  for (std::uint16_t i = 0; i < static_cast<std::uint16_t>(KernelId::kCount); ++i) {
    if (name == kernel_info(KernelId{i}).name) return KernelId{i};
  }
  return KernelId::kCount;
}

double estimated_cycles(const Tile& tile, const ProductShape& s, int splits) {
  const std::int64_t split_k = split_evenly(tile, s.k, splits).split_k;
  const std::int64_t groups =
      divide_up(s.m, tile.m) * divide_up(s.n, tile.n) * s.groups * divide_up(s.k, split_k);
  const std::int64_t wave = kMultiprocessors * tile.resident, waves = groups / wave;
  double cycles = kLaunch + static_cast<double>(waves) * group_cycles(tile, tile.resident, split_k);
  // The fullest multiprocessor sets the time of what is left.
  cycles += group_cycles(tile, divide_up(groups - waves * wave, kMultiprocessors), split_k);
  if (splits > 1) {
    const double bytes = 8.0 * static_cast<double>(s.m * s.n * s.groups) * splits;
    cycles += kSumLaunch + kSumSplit * splits + bytes / kCacheBytes;
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
    for (const int splits : kSplits) {
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
