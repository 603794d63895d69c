// Tiles of matrix products on a device: which there are, what each costs, and which one to take.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpu/queue.hpp"

namespace treadle::gpu {

// A kernel that computes m x n results a group, k positions of the sum at a time.
struct Tile {
  const char* name;
  int m, n, k;
  int threads;
  int resident;  // groups that a multiprocessor holds at once
  double rate;   // of the device's peak, with all of its multiprocessors full
};

// The kernel of the list that has this name, or kCount.
KernelId kernel_named(std::string_view name);

struct ProductShape {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t groups = 1;  // independent products
};

struct TileChoice {
  const Tile* tile = nullptr;
  int splits = 1;            // of K
  std::int64_t split_k = 0;  // positions a split, a multiple of tile->k
};

inline constexpr int kMaxSplits = 32;

// The least of the estimated times. `may_split`: sums of parts of K are allowed.
TileChoice choose_tile(std::span<const Tile> tiles, const ProductShape& shape, bool may_split);
// The estimate, in cycles of an H200. For tests and benchmarks.
double estimated_cycles(const Tile& tile, const ProductShape& shape, int splits);
// `splits` parts of K at most, each a multiple of the tile's K and none empty.
TileChoice split_evenly(const Tile& tile, std::int64_t k, int splits);

// "<prefix><name>" or "<prefix><name>/<splits>", as a variant is written; no tile when the text is
// neither. Throws Unsupported error for a number of splits that is none. Prefixes end in "_".
TileChoice find_tile(std::span<const Tile> tiles, std::string_view prefix, std::string_view variant,
                     std::int64_t k);
std::string tile_variant(std::string_view prefix, const TileChoice& choice);

}  // namespace treadle::gpu
