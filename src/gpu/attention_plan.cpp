#include "gpu/attention_plan.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/error.hpp"
#include "gpu/epilogue.hpp"
#include "gpu/rows_plan.hpp"
#include "gpu/tiles.hpp"

namespace treadle::gpu {
namespace {

// A group of `attention`: threads, queries, columns of v.
constexpr std::uint32_t kTileThreads = 128;
constexpr std::int64_t kTileRows = 64, kTileWidths[] = {32, 64, 96, 128};
// A group of `attention_few`: threads, and elements of q and of v at most.
constexpr std::int64_t kFewThreads = 256;
// Where it is faster on an H200 (bench/results/gpu-h200.md). It reads keys and values for each query,
// where a tile computes 64 queries whether there are so many or not; and tiles of few queries leave
// multiprocessors idle, as their keys are not split.
constexpr std::int64_t kFewQueries = 14, kFewRows = 3584;
constexpr std::int64_t kMostSplits = 64;
constexpr std::int64_t kLimit = (std::int64_t{1} << 31) - 2048;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Positions within a head are 32-bit numbers, those just beyond its end too.
void check_sizes(const AttentionDesc& d) {
  const std::int64_t rows = std::max(d.q[2], d.k[2]) + 1024;
  const std::int64_t columns = std::max({d.q[3], d.v[3], std::int64_t{1}});
  check(rows <= kLimit / columns && d.q[2] + d.k[2] < kLimit, ErrorKind::Unsupported,
        "attention on a device: {} queries and {} keys of {} and {} elements are too large", d.q[2],
        d.k[2], d.q[3], d.v[3]);
}

tk::tk_divisor divisor(std::int64_t d) {
  return make_divisor(static_cast<std::uint32_t>(d));
}
tk::tk_i32 narrow(std::int64_t v) {
  return static_cast<tk::tk_i32>(v);
}

// From the window of the operator: no further than what there is.
void put_window(const AttentionDesc& d, tk::AttentionParams& p) {
  constexpr std::int64_t kFar = std::int64_t{1} << 61;
  const std::int64_t queries = d.q[2], keys = d.k[2];
  const std::int64_t offset = std::clamp(d.offset, -kFar, kFar);
  const std::int64_t low = d.left < 0 ? -queries : offset - std::min(d.left, kFar);
  const std::int64_t high = d.right < 0 ? keys : offset + std::min(d.right, kFar);
  p.low = narrow(std::clamp(low, -queries, keys));
  p.high = narrow(std::clamp(high, -queries - 1, keys));
}

void put_mask(const AttentionDesc& d, tk::AttentionParams& p) {
  p.masked = d.mask ? 1 : 0;
  if (!d.mask) return;
  const Shape strides = d.mask->strides();
  const auto stride = [&](std::size_t axis) { return (*d.mask)[axis] == 1 ? 0 : strides[axis]; };
  p.mask_batch = stride(0);
  p.mask_head = stride(1);
  p.mask_row = narrow(stride(2));
  p.mask_key = narrow(stride(3));
}

bool takes_few(const AttentionDesc& d) {
  const std::int64_t rows = d.q[0] * d.q[1] * d.q[2];
  return d.q[3] <= kFewThreads && d.v[3] <= kFewThreads &&
         rows <= kLimit / std::max<std::int64_t>(d.v[3], 1);
}
bool prefers_few(const AttentionDesc& d) {
  return takes_few(d) && (d.q[2] <= kFewQueries || d.q[0] * d.q[1] * d.q[2] <= kFewRows);
}

}  // namespace

AttentionDesc attention_desc(const ops::Attention& op, std::int64_t offset, const Shape& q,
                             const Shape& k, const Shape& v, std::optional<Shape> mask) {
  return {q, k, v, std::move(mask), op.scale, op.softcap, op.left, op.right, offset};
}

AttentionPlan::AttentionPlan(const AttentionDesc& d, DType type, std::string_view variant)
    : type_(type) {
  check(type == DType::F32 || type == DType::F16, ErrorKind::Unsupported,
        "attention on a device: dtype {}, expected f32 or f16", name_of(type));
  const std::int64_t rows = d.q[0] * d.q[1] * d.q[2];
  empty_ = rows * d.v[3] == 0;
  if (empty_) return;
  check_sizes(d);
  params_.heads = divisor(d.q[1]);
  params_.group = divisor(d.q[1] / d.k[1]);
  params_.queries = narrow(d.q[2]);
  params_.keys = narrow(d.k[2]);
  params_.depth = narrow(d.q[3]);
  params_.width = narrow(d.v[3]);
  params_.scale = static_cast<float>(d.scale);
  params_.softcap = static_cast<float>(d.softcap);
  put_window(d, params_);
  put_mask(d, params_);
  const bool few = variant.empty() ? prefers_few(d) : variant.starts_with("few");
  check(!few || takes_few(d), ErrorKind::Unsupported,
        "attention on a device: no variant '{}' for {} rows of {} and {} elements", variant, rows,
        d.q[3], d.v[3]);
  few ? use_few(d, variant) : use_tile(d);
  const bool named = variant.empty() || variant == "tile" || variant == "few" || variant == name_;
  check(named, ErrorKind::Unsupported, "attention on a device: no variant '{}', but '{}'", variant,
        name_);
}

void AttentionPlan::use_tile(const AttentionDesc& d) {
  const std::int64_t heads = d.q[0] * d.q[1], width = d.v[3];
  const std::int64_t blocks = divide_up(width, std::end(kTileWidths)[-1]);
  const std::int64_t columns = *std::ranges::find_if(
      kTileWidths, [&](std::int64_t w) { return w >= divide_up(width, blocks); });
  const std::int64_t tiles = divide_up(d.q[2], kTileRows);
  check(heads <= kLimit / tiles / blocks, ErrorKind::Unsupported,
        "attention on a device: {} heads of {} queries are too many", heads, d.q[2]);
  name_ = fmt::format("tile_{}", columns);
  kernel_ = kernel_named(fmt::format("attention_{}_{}", columns, name_of(type_)));
  groups_.x = static_cast<std::uint32_t>(heads * tiles * blocks);
  threads_.x = kTileThreads;
  params_.tiles = divisor(tiles);
  params_.blocks = divisor(blocks);
  params_.splits = 1;
}

void AttentionPlan::use_few(const AttentionDesc& d, std::string_view variant) {
  const std::int64_t rows = d.q[0] * d.q[1] * d.q[2];
  // What the longest row reads; two groups for each that a device runs at a time.
  const std::int64_t span = std::clamp<std::int64_t>(std::int64_t{params_.high} - params_.low + 1,
                                                     1, std::max<std::int64_t>(params_.keys, 1));
  const std::int64_t most = std::min(divide_up(span, kFewThreads), kMostSplits);
  std::int64_t splits = std::clamp<std::int64_t>(2 * kBusyGroups / rows, 1, most);
  if (variant.starts_with("few/")) {
    const std::string_view number = variant.substr(4);
    const auto [end, error] = std::from_chars(number.begin(), number.end(), splits);
    check(error == std::errc() && end == number.end() && splits > 0 && splits <= most,
          ErrorKind::Unsupported, "attention on a device: no variant '{}'", variant);
  }
  const std::int64_t share = divide_up(divide_up(span, splits), kFewThreads) * kFewThreads;
  splits = divide_up(span, share);
  name_ = splits > 1 ? fmt::format("few/{}", splits) : "few";
  kernel_ = kernel_named(fmt::format("attention_few_{}", name_of(type_)));
  groups_ = {static_cast<std::uint32_t>(rows), 1, static_cast<std::uint32_t>(splits)};
  threads_.x = kFewThreads;
  const auto fours = static_cast<std::uint32_t>(divide_up(d.v[3], 4));
  params_.tiles = divisor(d.q[2]);
  params_.blocks = divisor(d.v[3]);
  params_.splits = narrow(splits);
  params_.split_keys = narrow(share);
  params_.columns_log = narrow(std::bit_width(fours - 1));
  params_.rows = narrow(rows);
}

std::size_t AttentionPlan::workspace_bytes() const {
  if (empty_ || params_.splits == 1) return 0;
  const auto parts =
      static_cast<std::size_t>(params_.splits) * static_cast<std::size_t>(params_.rows);
  return parts * (static_cast<std::size_t>(params_.width) + 3) * sizeof(float);
}

tk::AttentionParams AttentionPlan::placed(const AttentionAddresses& at) const {
  tk::AttentionParams p = params_;
  const std::size_t four = 4 * size_of(type_);
  p.vectors = p.depth % 4 == 0 && (at.q | at.k) % four == 0;
  p.value_vectors = p.width % 4 == 0 && (at.v | at.y) % four == 0;
  p.mask_vectors = p.mask_key == 1 && p.keys % 4 == 0 && at.mask % four == 0;
  return p;
}

PreparedLaunches AttentionPlan::prepare(const AttentionAddresses& at, DeviceAddress workspace,
                                        const char* label) const {
  if (empty_) return {};
  const tk::AttentionParams p = placed(at);
  const DeviceAddress mask = p.masked ? at.mask : at.q;
  PreparedLaunches all;
  if (p.rows == 0) {
    all.emplace_back(kernel_, groups_, threads_,
                     std::initializer_list<DeviceAddress>{at.q, at.k, at.v, mask, at.y}, p, label);
    return all;
  }
  const bool split = p.splits > 1;
  const DeviceAddress partial = split ? workspace : unused_floats(at.y);
  all.emplace_back(kernel_, groups_, threads_,
                   std::initializer_list<DeviceAddress>{at.q, at.k, at.v, mask, partial, at.y}, p,
                   label);
  if (split) {
    const KernelId merge =
        type_ == DType::F16 ? KernelId::attention_merge_f16 : KernelId::attention_merge_f32;
    const Extent3 groups{groups_of(std::int64_t{p.rows} * p.width, kFewThreads)};
    all.emplace_back(merge, groups, threads_, std::initializer_list<DeviceAddress>{workspace, at.y},
                     p, label);
  }
  return all;
}

void AttentionPlan::run(Queue& queue, const AttentionAddresses& at, DeviceAddress workspace,
                        const char* label) const {
  for (const PreparedLaunch& l : prepare(at, workspace, label)) queue.launch(l.get());
}

std::vector<std::string> attention_variants(const AttentionDesc& d) {
  if (takes_few(d)) return {"tile", "few"};
  return {"tile"};
}

}  // namespace treadle::gpu
