#include "tensor/npz.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "tensor/file.hpp"
#include "tensor/npy.hpp"

namespace treadle {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kLocatorSize = 20;
constexpr std::uint32_t kMax32 = 0xffffffffu;
// Deflate cannot shrink by more than this.
constexpr std::uint64_t kMaxRatio = 1032;

template <typename T>
T get(Bytes b, std::size_t at) {
  check(at <= b.size() && sizeof(T) <= b.size() - at, ErrorKind::Parse,
        "npz: truncated: needs {} bytes at offset {} of {}", sizeof(T), at, b.size());
  T v;
  std::memcpy(&v, b.data() + at, sizeof(T));
  return v;
}

Bytes range(Bytes b, std::uint64_t at, std::uint64_t size, const char* what) {
  check(at <= b.size() && size <= b.size() - at, ErrorKind::Parse,
        "npz: {} ({} bytes at offset {}) lies outside the file of {} bytes", what, size, at,
        b.size());
  return b.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
}

struct Member {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, offset = 0;
};

struct Directory {
  std::uint64_t count = 0, size = 0, offset = 0;
};

Directory find_directory(Bytes file) {
  check(file.size() >= kEndSize, ErrorKind::Parse, "npz: not a zip file (too short)");
  const std::size_t last = file.size() - kEndSize;
  const std::size_t first = last > 0xffff ? last - 0xffff : 0;
  std::size_t at = last + 1;
  while (at-- > first)
    if (get<std::uint32_t>(file, at) == kEnd) break;
  check(at + 1 > first && at <= last && get<std::uint32_t>(file, at) == kEnd, ErrorKind::Parse,
        "npz: not a zip file (no end of central directory)");
  Directory d{get<std::uint16_t>(file, at + 10), get<std::uint32_t>(file, at + 12),
              get<std::uint32_t>(file, at + 16)};
  const bool zip64 = d.count == 0xffff || d.size == kMax32 || d.offset == kMax32;
  if (!zip64 || at < kLocatorSize || get<std::uint32_t>(file, at - kLocatorSize) != kLocator64)
    return d;
  const auto end64 = get<std::uint64_t>(file, at - kLocatorSize + 8);
  const Bytes record = range(file, end64, 56, "zip64 end record");
  check(get<std::uint32_t>(record, 0) == kEnd64, ErrorKind::Parse, "npz: bad zip64 end record");
  return {get<std::uint64_t>(record, 32), get<std::uint64_t>(record, 40),
          get<std::uint64_t>(record, 48)};
}

// Replaces the sizes that are all ones by those of the zip64 extra field.
void apply_zip64(Bytes extra, Member& m) {
  while (extra.size() >= 4) {
    const auto id = get<std::uint16_t>(extra, 0);
    const Bytes field = range(extra, 4, get<std::uint16_t>(extra, 2), "extra field");
    extra = extra.subspan(4 + field.size());
    if (id != 1) continue;
    std::size_t at = 0;
    for (std::uint64_t* v : {&m.size, &m.packed, &m.offset}) {
      if (*v != kMax32) continue;
      *v = get<std::uint64_t>(field, at);
      at += 8;
    }
  }
}

std::vector<Member> read_directory(Bytes file) {
  const Directory d = find_directory(file);
  Bytes rest = range(file, d.offset, d.size, "central directory");
  check(d.count <= rest.size() / kCentralSize, ErrorKind::Parse,
        "npz: {} members do not fit a directory of {} bytes", d.count, rest.size());
  std::vector<Member> members;
  for (std::uint64_t i = 0; i < d.count; ++i) {
    check(get<std::uint32_t>(rest, 0) == kCentral, ErrorKind::Parse, "npz: bad directory entry {}",
          i);
    Member m;
    m.flags = get<std::uint16_t>(rest, 8);
    m.method = get<std::uint16_t>(rest, 10);
    m.crc = get<std::uint32_t>(rest, 16);
    m.packed = get<std::uint32_t>(rest, 20);
    m.size = get<std::uint32_t>(rest, 24);
    const std::size_t name = get<std::uint16_t>(rest, 28);
    const std::size_t extra = get<std::uint16_t>(rest, 30);
    const std::size_t comment = get<std::uint16_t>(rest, 32);
    m.offset = get<std::uint32_t>(rest, 42);
    const Bytes text = range(rest, kCentralSize, name, "member name");
    m.name.assign(reinterpret_cast<const char*>(text.data()), text.size());
    apply_zip64(range(rest, kCentralSize + name, extra, "extra field"), m);
    rest = rest.subspan(kCentralSize + name +
                        range(rest, kCentralSize + name, extra + comment, "member").size());
    members.push_back(std::move(m));
  }
  return members;
}

std::vector<std::byte> inflate_all(Bytes packed, std::size_t size) {
  // One byte more than promised shows a stream that is too long.
  std::vector<std::byte> out(size + 1);
  z_stream z{};
  check(inflateInit2(&z, -MAX_WBITS) == Z_OK, ErrorKind::Memory, "npz: zlib cannot start");
  std::size_t in = 0, made = 0;
  int code = Z_OK;
  constexpr std::size_t kChunk = std::numeric_limits<uInt>::max() / 2;
  while (code == Z_OK) {
    const std::size_t feed = std::min(packed.size() - in, kChunk);
    const std::size_t room = std::min(out.size() - made, kChunk);
    z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data() + in));
    z.avail_in = static_cast<uInt>(feed);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    z.avail_out = static_cast<uInt>(room);
    code = inflate(&z, Z_NO_FLUSH);
    in += feed - z.avail_in;
    made += room - z.avail_out;
    if (code == Z_OK && feed == z.avail_in && room == z.avail_out) break;
  }
  inflateEnd(&z);
  check(code == Z_STREAM_END && made == size && in == packed.size(), ErrorKind::Parse,
        "npz: deflated data is broken or does not have the {} bytes promised", size);
  out.pop_back();
  return out;
}

std::uint32_t checksum(Bytes b) {
  uLong crc = crc32(0, nullptr, 0);
  while (!b.empty()) {
    const std::size_t n = std::min<std::size_t>(b.size(), 1u << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(b.data()), static_cast<uInt>(n));
    b = b.subspan(n);
  }
  return static_cast<std::uint32_t>(crc);
}

Tensor read_member(Bytes file, const Member& m) {
  check((m.flags & 1) == 0, ErrorKind::Unsupported, "npz: encrypted members are not supported");
  check(m.method == 0 || m.method == 8, ErrorKind::Unsupported,
        "npz: compression method {} is not supported", m.method);
  const Bytes local = range(file, m.offset, kLocalSize, "local header");
  check(get<std::uint32_t>(local, 0) == kLocal, ErrorKind::Parse, "npz: bad local header");
  const std::uint64_t skip =
      kLocalSize + get<std::uint16_t>(local, 26) + get<std::uint16_t>(local, 28);
  const Bytes packed = range(file, m.offset + skip, m.packed, "data");
  std::vector<std::byte> inflated;
  Bytes data = packed;
  if (m.method == 8) {
    check(m.size / kMaxRatio <= m.packed, ErrorKind::Parse,
          "npz: {} bytes cannot be deflated to {}", m.size, m.packed);
    inflated = inflate_all(packed, static_cast<std::size_t>(m.size));
    data = inflated;
  }
  check(data.size() == m.size, ErrorKind::Parse, "npz: stored {} bytes, expected {}", data.size(),
        m.size);
  check(checksum(data) == m.crc, ErrorKind::Parse, "npz: checksum does not match");
  return read_npy(data);
}

class Writer {
 public:
  explicit Writer(bool compress) : compress_(compress) {}

  void add(const std::string& name, const std::vector<std::byte>& data) {
    const std::string member = name + ".npy";
    check(member.size() <= 0xffff, ErrorKind::Unsupported, "npz: name of {} bytes is too long",
          member.size());
    const std::vector<std::byte> deflated =
        compress_ ? deflate_all(data) : std::vector<std::byte>{};
    const auto& packed = compress_ ? deflated : data;
    check(data.size() < kMax32 && out_.size() + packed.size() < kMax32, ErrorKind::Unsupported,
          "npz: archives above 4 GiB cannot be written");
    const std::uint16_t method = compress_ ? 8 : 0;
    const auto common = [&](std::vector<std::byte>& to) {
      put<std::uint16_t>(to, 20);
      put<std::uint16_t>(to, 0x800);  // the name is UTF-8
      put(to, method);
      put<std::uint16_t>(to, 0);       // time
      put<std::uint16_t>(to, 0x0021);  // 1980-01-01
      put(to, checksum(data));
      put(to, static_cast<std::uint32_t>(packed.size()));
      put(to, static_cast<std::uint32_t>(data.size()));
      put(to, static_cast<std::uint16_t>(member.size()));
      put<std::uint16_t>(to, 0);  // extra
    };
    const auto offset = static_cast<std::uint32_t>(out_.size());
    put(out_, kLocal);
    common(out_);
    put_bytes(out_, member.data(), member.size());
    put_bytes(out_, packed.data(), packed.size());
    put(directory_, kCentral);
    put<std::uint16_t>(directory_, 20);
    common(directory_);
    put<std::uint16_t>(directory_, 0);  // comment
    put<std::uint16_t>(directory_, 0);  // disk
    put<std::uint16_t>(directory_, 0);  // internal attributes
    put<std::uint32_t>(directory_, 0);  // external attributes
    put(directory_, offset);
    put_bytes(directory_, member.data(), member.size());
    ++count_;
  }

  std::vector<std::byte> finish() {
    check(count_ < 0xffff, ErrorKind::Unsupported, "npz: {} members are too many", count_);
    const auto offset = static_cast<std::uint32_t>(out_.size());
    put_bytes(out_, directory_.data(), directory_.size());
    put(out_, kEnd);
    put<std::uint32_t>(out_, 0);  // disks
    put(out_, static_cast<std::uint16_t>(count_));
    put(out_, static_cast<std::uint16_t>(count_));
    put(out_, static_cast<std::uint32_t>(directory_.size()));
    put(out_, offset);
    put<std::uint16_t>(out_, 0);  // comment
    return std::move(out_);
  }

 private:
  static void put_bytes(std::vector<std::byte>& to, const void* p, std::size_t n) {
    const auto* b = static_cast<const std::byte*>(p);
    to.insert(to.end(), b, b + n);
  }
  template <typename T>
  static void put(std::vector<std::byte>& to, T v) {
    put_bytes(to, &v, sizeof v);
  }
  static std::vector<std::byte> deflate_all(const std::vector<std::byte>& data) {
    check(data.size() < kMax32 / 2, ErrorKind::Unsupported, "npz: array is too large to deflate");
    z_stream z{};
    check(deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) ==
              Z_OK,
          ErrorKind::Memory, "npz: zlib cannot start");
    std::vector<std::byte> out(deflateBound(&z, data.size()));
    z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data()));
    z.avail_in = static_cast<uInt>(data.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    const int code = deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    deflateEnd(&z);
    check(code == Z_STREAM_END, ErrorKind::Internal, "npz: deflate failed ({})", code);
    return out;
  }

  bool compress_;
  std::size_t count_ = 0;
  std::vector<std::byte> out_, directory_;
};

}  // namespace

NamedTensors read_npz(Bytes bytes) {
  const auto members = read_directory(bytes);
  std::uint64_t sum = 0;
  std::unordered_set<std::string> names;
  for (const Member& m : members) {
    check(m.packed <= bytes.size() && (sum += m.packed) <= bytes.size(), ErrorKind::Parse,
          "npz: members overlap: their sizes exceed the file");
    check(names.insert(m.name).second, ErrorKind::Parse, "npz: member '{}' stands twice", m.name);
  }
  NamedTensors out;
  for (const Member& m : members) {
    std::string name = m.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    Tensor t = in_context([&] { return "member '" + m.name + "'"; },
                          [&] { return read_member(bytes, m); });
    out.emplace_back(std::move(name), std::move(t));
  }
  return out;
}

NamedTensors read_npz_file(const std::string& path) {
  const auto bytes = read_file(path);
  return in_context([&] { return path; }, [&] { return read_npz(bytes); });
}

std::vector<std::byte> write_npz(const NamedTensors& arrays, bool compress) {
  Writer writer(compress);
  std::unordered_set<std::string> names;
  for (const auto& [name, tensor] : arrays) {
    check(names.insert(name).second, ErrorKind::Type, "npz: name '{}' stands twice", name);
    writer.add(name, write_npy(tensor));
  }
  return writer.finish();
}

void write_npz_file(const std::string& path, const NamedTensors& arrays, bool compress) {
  write_file(path, write_npz(arrays, compress));
}

}  // namespace treadle
