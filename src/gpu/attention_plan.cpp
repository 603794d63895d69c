#include "gpu/attention_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "gpu/tiles.hpp"

namespace treadle::gpu {
namespace {

constexpr std::int64_t kRows = 64, kThreads = 128;  // of a group
struct Form {
  std::int64_t width;  // columns of v
  std::string_view name;
};
constexpr Form kForms[] = {{32, "tile_32"}, {64, "tile_64"}, {96, "tile_96"}, {128, "tile_128"}};
constexpr std::int64_t kLimit = (std::int64_t{1} << 31) - 256;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Positions within a head are 32-bit numbers, those of a last tile too.
void check_sizes(const AttentionDesc& d) {
  const std::int64_t rows = std::max(d.q[2], d.k[2]) + kRows;
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

}  // namespace

AttentionDesc attention_desc(const ops::Attention& op, std::int64_t offset, const Shape& q,
                             const Shape& k, const Shape& v, std::optional<Shape> mask) {
  return {q, k, v, std::move(mask), op.scale, op.softcap, op.left, op.right, offset};
}

AttentionPlan::AttentionPlan(const AttentionDesc& d, DType type) : type_(type) {
  check(type == DType::F32 || type == DType::F16, ErrorKind::Unsupported,
        "attention on a device: dtype {}, expected f32 or f16", name_of(type));
  const std::int64_t heads = d.q[1], queries = d.q[2], width = d.v[3];
  if (d.q[0] * heads * queries * width == 0) return;
  check_sizes(d);
  const std::int64_t blocks = divide_up(width, std::end(kForms)[-1].width);
  const Form& form = *std::ranges::find_if(
      kForms, [&](const Form& f) { return f.width >= divide_up(width, blocks); });
  const std::int64_t tiles = divide_up(queries, kRows);
  name_ = form.name;
  kernel_ = kernel_named(fmt::format("attention_{}_{}", form.width, name_of(type)));
  check(d.q[0] * heads <= kLimit / tiles / blocks, ErrorKind::Unsupported,
        "attention on a device: {} heads of {} queries are too many", d.q[0] * heads, queries);
  groups_ = d.q[0] * heads * tiles * blocks;
  params_.heads = divisor(heads);
  params_.group = divisor(heads / d.k[1]);
  params_.tiles = divisor(tiles);
  params_.blocks = divisor(blocks);
  params_.queries = narrow(queries);
  params_.keys = narrow(d.k[2]);
  params_.depth = narrow(d.q[3]);
  params_.width = narrow(width);
  params_.scale = static_cast<float>(d.scale);
  params_.softcap = static_cast<float>(d.softcap);
  put_window(d, params_);
  put_mask(d, params_);
}

void AttentionPlan::place(const AttentionAddresses& at, tk::AttentionParams& p) const {
  const std::size_t four = 4 * size_of(type_);
  p.vectors = p.depth % 4 == 0 && (at.q | at.k) % four == 0;
  p.value_vectors = p.width % 4 == 0 && (at.v | at.y) % four == 0;
  p.mask_vectors = p.mask_key == 1 && p.keys % 4 == 0 && at.mask % four == 0;
}

PreparedLaunches AttentionPlan::prepare(const AttentionAddresses& at, const char* label) const {
  if (groups_ == 0) return {};
  tk::AttentionParams p = params_;
  place(at, p);
  return {PreparedLaunch(kernel_, {static_cast<std::uint32_t>(groups_)},
                         {static_cast<std::uint32_t>(kThreads)},
                         {at.q, at.k, at.v, p.masked ? at.mask : at.q, at.y}, p, label)};
}

void AttentionPlan::run(Queue& queue, const AttentionAddresses& at, const char* label) const {
  for (const PreparedLaunch& l : prepare(at, label)) queue.launch(l.get());
}

}  // namespace treadle::gpu
