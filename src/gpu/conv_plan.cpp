#include "gpu/conv_plan.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "gpu/store_as.hpp"

namespace treadle::gpu {

namespace {

using kernels::ConvDesc;
using Form = ConvPlan::Form;
using Method = ConvPlan::Method;

constexpr Tile kFourTiles[] = {
    {"128x128", 128, 128, 8, 256, 2, 0.67}, {"128x64", 128, 64, 8, 128, 3, 0.65},
    {"64x64", 64, 64, 16, 128, 4, 0.68},    {"64x64w", 64, 64, 16, 256, 3, 0.51},
    {"32x64", 32, 64, 16, 128, 5, 0.50},    {"32x32", 32, 32, 32, 64, 8, 0.30},
    {"128x32", 128, 32, 16, 128, 4, 0.55},  {"128x16", 128, 16, 16, 128, 4, 0.37},
};
constexpr Tile kAnyTiles[] = {
    {"128x64", 128, 64, 8, 128, 3, 0.61},
    {"64x64", 64, 64, 16, 128, 4, 0.61},
    {"32x32", 32, 32, 32, 64, 8, 0.39},
    {"128x32", 128, 32, 16, 128, 4, 0.48},
};

constexpr std::int64_t kLeastTiledOutputs = 8;  // a group
constexpr std::int64_t kMostStrips = 8;         // of rows, Depthwise
constexpr std::int64_t kMostRows = 4096;        // a group, Ring
constexpr double kIndexLimit = 2147483648.0;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Axes along which the kernel does nothing but go from pixel to pixel become one.
ConvDesc merged(ConvDesc d) {
  if (d.kD == 1 && d.stride_d == 1 && d.pad_front == 0 && d.D_out == d.D) {
    d.N *= d.D;
    d.D = d.D_out = 1;
    d.dilation_d = 1;
  }
  if (d.D == 1 && d.D_out == 1 && d.kD == 1 && d.kH == 1 && d.kW == 1 && d.stride_h == 1 &&
      d.stride_w == 1 && d.pad_top == 0 && d.pad_left == 0 && d.H_out == d.H && d.W_out == d.W) {
    d.W = d.W_out = d.N * d.H * d.W;
    d.N = d.H = d.H_out = 1;
  }
  return d;
}

void check_sizes(const ConvDesc& d) {
  for (const std::int64_t size : {d.N,
                                  d.D,
                                  d.H,
                                  d.W,
                                  d.Cin,
                                  d.Cout,
                                  d.kD,
                                  d.kH,
                                  d.kW,
                                  d.stride_d,
                                  d.stride_h,
                                  d.stride_w,
                                  d.dilation_d,
                                  d.dilation_h,
                                  d.dilation_w,
                                  std::abs(d.pad_front),
                                  std::abs(d.pad_top),
                                  std::abs(d.pad_left),
                                  d.D_out,
                                  d.H_out,
                                  d.W_out}) {
    check(size < (std::int64_t{1} << 30), ErrorKind::Unsupported,
          "convolution on a device: a size of {}, expected less than 2^30", size);
  }
  const auto reach = [](std::int64_t out, std::int64_t stride, std::int64_t kernel,
                        std::int64_t dilation) {
    return static_cast<double>(out) * static_cast<double>(stride) +
           static_cast<double>(kernel) * static_cast<double>(dilation);
  };
  const double most = std::max({reach(d.D_out, d.stride_d, d.kD, d.dilation_d),
                                reach(d.H_out, d.stride_h, d.kH, d.dilation_h),
                                reach(d.W_out + 4, d.stride_w, d.kW, d.dilation_w)});
  check(most < kIndexLimit / 2, ErrorKind::Unsupported,
        "convolution on a device: windows reach {} positions, expected less than 2^30", most);
  check(d.Cin > 0 && d.Cout > 0 && d.taps() > 0, ErrorKind::Unsupported,
        "convolution on a device: {} input channels, {} output channels, {} taps", d.Cin, d.Cout,
        d.taps());
}

bool is_depthwise(const ConvDesc& d) {
  return d.cin_per_group() == 1 && d.D == 1 && d.D_out == 1 && d.kD == 1;
}

// Rows of padded K may reach 40 rows below the kernel.
bool tiles_can_index(const ConvDesc& d) {
  const double row = static_cast<double>(d.W) * static_cast<double>(d.Cin);
  const double image = row * static_cast<double>(d.H);
  const double window = row * static_cast<double>(d.dilation_h) * static_cast<double>(d.kH + 40);
  const double pixels =
      static_cast<double>(d.N) * static_cast<double>(d.H_out) * static_cast<double>(d.W_out);
  const double k = static_cast<double>(d.taps()) * static_cast<double>(d.cin_per_group());
  return std::max({image, window, k + 64, pixels + 256}) < kIndexLimit &&
         row * static_cast<double>(d.stride_w + d.kW + std::abs(d.pad_left)) < kIndexLimit;
}
bool is_tiled(const ConvDesc& d) {
  return d.D == 1 && d.D_out == 1 && d.kD == 1 && d.group < 2048 && tiles_can_index(d);
}
bool has_fours(const ConvDesc& d) {
  return d.cin_per_group() % 4 == 0 && d.Cin % 4 == 0 && d.kH <= 24 && d.kW <= 32;
}

KernelId kernel_of(std::string_view stem, DType type) {
  return kernel_named(std::string(stem) + "_" + std::string(name_of(type)));
}

ProductShape product_of(const ConvDesc& d) {
  return {d.N * d.H_out * d.W_out, d.cout_per_group(), d.taps() * d.cin_per_group(), d.group};
}

std::string square_name(const ConvDesc& d, int vector, int pixels) {
  return fmt::format("depthwise_{}x{}s{}_v{}o{}", d.kH, d.kW, d.stride_h, vector, pixels);
}
// The kernel for squares that a depthwise convolution can use, or kCount.
Method depthwise_square(const ConvDesc& d, DType type, int vector, int pixels, int rows) {
  const bool fits = d.Cout == d.Cin && d.Cin % vector == 0 && d.kH == d.kW &&
                    d.stride_h == d.stride_w && d.dilation_h == 1 && d.dilation_w == 1;
  Method m{Form::Depthwise, KernelId::kCount, vector, pixels, rows, {}};
  const std::string name = square_name(d, vector, pixels);
  if (fits) m.kernel = kernel_of(rows == 1 ? name : name + "d", type);
  return m;
}
// Rows a thread that divide the output evenly among up to kMostStrips threads.
std::vector<int> downs(const ConvDesc& d) {
  std::vector<int> all{1};
  for (std::int64_t strips = kMostStrips; strips > 0; --strips) {
    const auto rows = static_cast<int>(divide_up(d.H_out, strips));
    if (rows > all.back()) all.push_back(rows);
  }
  return all;
}
std::int64_t pad_bottom(const ConvDesc& d) {
  return d.H_out + d.kH - 1 - d.H - d.pad_top;
}
// The kernel whose groups of threads keep rows in shared memory, or kCount: `rows` of the images of
// its warps a group.
Method depthwise_ring(const ConvDesc& d, DType type, int rows) {
  const auto aligned = static_cast<std::int64_t>(16 / size_of(type));
  const RingShape shape = ring_shape(d, type);
  Method m{Form::Ring, KernelId::kCount, 2, tk::kRingPixels, rows, {}};
  if (d.Cout == d.Cin && d.Cin % aligned == 0 && d.kH == d.kW && d.stride_h == 1 &&
      d.stride_w == 1 && d.dilation_h == 1 && d.dilation_w == 1 && d.pad_top >= 0 &&
      pad_bottom(d) >= 0 && tiles_can_index(d) && shape.slabs * shape.tiles <= 65535) {
    m.kernel = kernel_of(fmt::format("depthwise_{}x{}s1_ring", d.kH, d.kW), type);
  }
  return m;
}
Method depthwise_any(const ConvDesc& d, DType type) {
  Method m{Form::Depthwise, KernelId::kCount, 1, 4, 1, {}};
  for (const int vector : {8, 4}) {
    if (d.Cout != d.Cin || d.Cin % vector != 0 || m.vector > 1) continue;
    if (kernel_of(fmt::format("depthwise_any_v{}", vector), type) != KernelId::kCount) {
      m.vector = vector;
    }
  }
  m.kernel = kernel_of(fmt::format("depthwise_any_v{}", m.vector), type);
  return m;
}

// The kernel whose threads go down several rows, or kCount. An H200 runs kAtOnce of its threads at
// a time, below half of which more threads with less work are faster. Strips of rows cost those
// that they share with the next, and a round of threads takes as long as a full one: the number of
// strips is that of the least cost, but for stride 2, where reading is the limit.
Method fitted_down(const ConvDesc& d, DType type) {
  constexpr std::int64_t kAtOnce = 132 * 384;
  const int vector = type == DType::F16 && d.kH == 3 ? 4 : 2;
  const int pixels = d.stride_w == 2 || (vector == 4 && d.W_out <= 16) ? 2 : 4;
  const std::int64_t shared = (d.kH - 1) / d.stride_h;
  Method best{Form::Depthwise, KernelId::kCount, vector, pixels, 1, {}};
  std::int64_t least = 0;
  for (const int rows : downs(d)) {
    const std::int64_t strips = divide_up(d.H_out, rows);
    if (rows == 1 || (d.stride_h > 1 && strips > 1)) continue;
    const std::int64_t threads =
        d.N * strips * divide_up(d.W_out, pixels) * divide_up(d.Cin, vector);
    const std::int64_t cost = divide_up(threads, kAtOnce) * (rows + shared + 1);
    if (threads < kAtOnce / 2 || (least != 0 && cost >= least)) continue;
    least = cost;
    best = depthwise_square(d, type, vector, pixels, rows);
  }
  return best;
}

// The same of groups that keep rows in shared memory. A multiprocessor holds 12 warps of them; its
// time is that of the rows of all groups that it gets, and longer where fewer warps than that hide
// the time of reads. Narrow images leave columns of the groups idle, and groups of few rows read
// many that are those of the next (7 rows: 10.3 µs where depthwise_down takes 9.1).
Method fitted_ring(const ConvDesc& d, DType type) {
  Method best = depthwise_ring(d, type, 1);
  const bool narrow = d.W_out < tk::kRingAcross * tk::kRingPixels;
  if (best.kernel == KernelId::kCount || narrow) return {};
  const RingShape shape = ring_shape(d, type);
  std::int64_t least = 0;
  for (std::int64_t down = d.kH; down <= std::min(shape.rows, kMostRows); ++down) {
    const std::int64_t groups = shape.slabs * shape.tiles * divide_up(shape.rows, down);
    const std::int64_t turns = divide_up(groups, 132);
    const std::int64_t warps = turns * shape.warps;
    if (warps < 6) break;
    const std::int64_t cost = warps * (down + d.kH - 1) * (warps < 12 ? 108 : 100);
    if (least != 0 && cost >= least) continue;
    least = cost;
    best.rows = static_cast<int>(down);
  }
  return least == 0 || best.rows < 2 * d.kH ? Method{} : best;
}

bool ring_finishes(const EpilogueDesc& epilogue) {
  return epilogue.residual == ResidualAt::None && epilogue.act != kernels::Act::PRelu;
}

// The kernel for squares whose time is least as measured on an H200, or kCount: more pixels a
// thread read less, fewer make more threads.
Method fitted_square(const ConvDesc& d, DType type, const EpilogueDesc& epilogue) {
  const Method ring = fitted_ring(d, type);
  if (ring.kernel != KernelId::kCount && ring_finishes(epilogue)) return ring;
  const Method down = fitted_down(d, type);
  if (down.kernel != KernelId::kCount) return down;
  const auto threads = [&](std::int64_t vector, std::int64_t pixels) {
    return d.N * d.H_out * divide_up(d.W_out, pixels) * (d.Cin / vector) / 132;
  };
  const auto square = [&](int vector, int pixels) {
    return depthwise_square(d, type, vector, pixels, 1);
  };
  if (type != DType::F32) {
    if (d.kH == 5) return threads(8, 2) >= 200 && d.Cin % 8 == 0 ? square(8, 2) : square(4, 2);
    return square(8, threads(8, 2) >= 368 ? 2 : 1);
  }
  if (d.stride_w == 1 && threads(4, 4) >= 512) return square(4, 4);
  return square(4, threads(4, 2) >= (d.kH == 5 && d.stride_w == 1 ? 100 : 368) ? 2 : 1);
}

std::string depthwise_name(const ConvDesc& d, const Method& m, bool square) {
  if (!square) return "depthwise_any";
  if (m.form == Form::Ring) {
    return fmt::format("depthwise_{}x{}s{}_ring{}", d.kH, d.kW, d.stride_h, m.rows);
  }
  const std::string name = square_name(d, m.vector, m.pixels);
  return m.rows == 1 ? name : fmt::format("{}d{}", name, m.rows);
}

struct Named {
  std::string name;
  Method method;
};

Named tiled_method(const ConvDesc& d, DType type, const TileChoice& choice, Form form) {
  const std::string prefix = form == Form::Fours ? "gemm_" : "gemm_any_";
  Named r{tile_variant(prefix, choice), {form, KernelId::kCount, 1, 1, 1, choice}};
  r.method.kernel = kernel_of("conv_" + prefix + choice.tile->name, type);
  if (d.group * choice.splits > 65535) r.method.kernel = KernelId::kCount;
  return r;
}

std::vector<Named> all_variants(const ConvDesc& d, DType type) {
  std::vector<Named> all;
  const auto add = [&](std::string name, const Method& m) {
    if (m.kernel != KernelId::kCount) all.push_back({std::move(name), m});
  };
  if (is_depthwise(d)) {
    for (const int vector : {8, 4, 2}) {
      for (const int pixels : {1, 2, 4}) {
        for (const int rows : downs(d)) {
          const Method m = depthwise_square(d, type, vector, pixels, rows);
          add(depthwise_name(d, m, true), m);
        }
      }
    }
    std::vector<int> rows = downs(d);
    const Method ring = fitted_ring(d, type);
    if (ring.form == Form::Ring && std::find(rows.begin(), rows.end(), ring.rows) == rows.end()) {
      rows.push_back(ring.rows);
    }
    for (const int images : {1, 3}) {
      if (d.N > images) rows.push_back(static_cast<int>(images * d.H_out + d.H_out / 2 + 1));
    }
    for (const int down : rows) {
      const Method m = depthwise_ring(d, type, down);
      add(depthwise_name(d, m, true), m);
    }
    const Method m = depthwise_any(d, type);
    add(depthwise_name(d, m, false), m);
  }
  const std::int64_t k = d.taps() * d.cin_per_group();
  if (is_tiled(d)) {
    for (const Tile& tile : kFourTiles) {
      if (!has_fours(d)) break;
      const Named n = tiled_method(d, type, split_evenly(tile, k, 1), Form::Fours);
      add(n.name, n.method);
    }
    for (const Tile& tile : kAnyTiles) {
      const Named n = tiled_method(d, type, split_evenly(tile, k, 1), Form::Any);
      add(n.name, n.method);
    }
  }
  add("direct", {Form::Direct, kernel_of("conv_direct", type), 1, 1, 1, {}});
  return all;
}

Named chosen(const ConvDesc& d, DType type, const EpilogueDesc& epilogue) {
  if (is_depthwise(d)) {
    const Method square = fitted_square(d, type, epilogue);
    if (square.kernel != KernelId::kCount) return {depthwise_name(d, square, true), square};
    const Method any = depthwise_any(d, type);
    return {depthwise_name(d, any, false), any};
  }
  if (is_tiled(d) && (d.group == 1 || d.cout_per_group() >= kLeastTiledOutputs)) {
    const bool fours = has_fours(d);
    const TileChoice tile = fours ? choose_tile(kFourTiles, product_of(d), true)
                                  : choose_tile(kAnyTiles, product_of(d), true);
    const Named n = tiled_method(d, type, tile, fours ? Form::Fours : Form::Any);
    if (n.method.kernel != KernelId::kCount) return n;
  }
  return {"direct", {Form::Direct, kernel_of("conv_direct", type), 1, 1, 1, {}}};
}

Named wanted(const ConvDesc& d, DType type, std::string_view variant) {
  for (Named& n : all_variants(d, type)) {
    if (n.name == variant) return std::move(n);
    if (n.method.form != Form::Fours && n.method.form != Form::Any) continue;
    const std::string prefix = n.method.form == Form::Fours ? "gemm_" : "gemm_any_";
    const TileChoice choice =
        find_tile({n.method.tile.tile, 1}, prefix, variant, d.taps() * d.cin_per_group());
    if (choice.tile != nullptr) return tiled_method(d, type, choice, n.method.form);
  }
  fail(ErrorKind::Unsupported, "this convolution of {} has no variant '{}'", name_of(type),
       variant);
}

std::int64_t padded_k(const ConvDesc& d) {
  return divide_up(d.taps() * d.cin_per_group(), 32) * 32;
}
std::int64_t padded_n(const ConvDesc& d) {
  return divide_up(d.cout_per_group(), 4) * 4;
}

}  // namespace

RingShape ring_shape(const ConvDesc& d, DType type) {
  const std::int64_t channels = tk::kRingBytes / static_cast<std::int64_t>(size_of(type));
  RingShape shape{};
  shape.slabs = divide_up(d.Cin, channels);
  shape.tiles = divide_up(std::max<std::int64_t>(d.W_out, 1), tk::kRingAcross * tk::kRingPixels);
  shape.images = divide_up(std::max<std::int64_t>(d.N, 1), tk::kRingParts);
  shape.warps = divide_up(std::max<std::int64_t>(d.N, 1), shape.images);
  shape.period = d.H + std::max(d.pad_top, pad_bottom(d));
  shape.rows = (shape.images - 1) * shape.period + d.H_out;
  return shape;
}

ConvPlan::ConvPlan(const ConvDesc& desc, DType type, const EpilogueDesc& epilogue,
                   std::string_view variant)
    : type_(type), epilogue_(epilogue) {
  check(type == DType::F32 || type == DType::F16 || type == DType::BF16, ErrorKind::Unsupported,
        "convolution on a device: dtype {}, expected f32, f16 or bf16", name_of(type));
  kernels::check_conv(desc);
  desc_ = merged(desc);
  check_sizes(desc_);
  check_epilogue(epilogue, desc.Cout);
  Named n = variant.empty() ? chosen(desc_, type, epilogue) : wanted(desc_, type, variant);
  check(n.method.form != Form::Ring || ring_finishes(epilogue), ErrorKind::Unsupported,
        "convolution on a device: variant '{}' takes neither a residual nor slopes", n.name);
  name_ = std::move(n.name);
  method_ = n.method;
}

std::size_t ConvPlan::weight_bytes() const {
  const std::int64_t count =
      weight_layout() == WeightLayout::Taps
          ? checked_mul(desc_.taps() * desc_.cin_per_group(), desc_.Cout)
          : checked_mul(checked_mul(padded_k(desc_), padded_n(desc_)), desc_.group);
  return static_cast<std::size_t>(count) * size_of(type_);
}

Tensor ConvPlan::pack(const float* weights, const kernels::WeightStrides& s) const {
  const ConvDesc& d = desc_;
  const bool tiles = weight_layout() == WeightLayout::Tiles;
  const std::int64_t inputs = d.cin_per_group(), outputs = d.cout_per_group();
  const std::int64_t row = tiles ? padded_n(d) : d.Cout;
  const std::int64_t group = tiles ? padded_k(d) * row : outputs;
  Tensor packed = Tensor::zeros(DType::U8, Shape{static_cast<std::int64_t>(weight_bytes())});
  auto* const to = static_cast<std::byte*>(packed.mutable_data());
  for (std::int64_t g = 0; g < d.group; ++g) {
    std::int64_t k = 0;
    for (std::int64_t z = 0; z < d.kD; ++z) {
      for (std::int64_t r = 0; r < d.kH; ++r) {
        for (std::int64_t q = 0; q < d.kW; ++q) {
          for (std::int64_t i = 0; i < inputs; ++i, ++k) {
            const float* from = weights + g * outputs * s.o + i * s.i + z * s.d + r * s.h + q * s.w;
            for (std::int64_t o = 0; o < outputs; ++o) {
              store_as(type_, to, g * group + k * row + o, from[o * s.o]);
            }
          }
        }
      }
    }
  }
  return packed;
}

std::size_t ConvPlan::workspace_bytes() const {
  if (method_.tile.splits <= 1) return 0;
  const std::int64_t pixels = checked_mul(desc_.N * desc_.H_out, desc_.W_out);
  return static_cast<std::size_t>(
      checked_mul(checked_mul(pixels, desc_.Cout), method_.tile.splits * std::int64_t{4}));
}

std::vector<std::string> conv_variants(const ConvDesc& desc, DType type) {
  kernels::check_conv(desc);
  const ConvDesc d = merged(desc);
  check_sizes(d);
  std::vector<std::string> names;
  for (Named& n : all_variants(d, type)) names.push_back(std::move(n.name));
  return names;
}

bool begins_conv_variant(std::string_view name) {
  for (std::uint16_t i = 0; i < static_cast<std::uint16_t>(KernelId::kCount); ++i) {
    std::string_view kernel = kernel_info(KernelId{i}).name;
    if (kernel.starts_with("conv_"))
      kernel.remove_prefix(5);
    else if (!kernel.starts_with("depthwise_"))
      continue;
    if (kernel.substr(0, kernel.rfind('_')).starts_with(name)) return true;
  }
  return false;
}

}  // namespace treadle::gpu
