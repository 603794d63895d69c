#include "mutate.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace treadle::hostile {
namespace {

constexpr int kMaxDepth = 16;
constexpr int kLengthDelimited = 2;

std::optional<std::uint64_t> read_varint(std::string_view text, std::size_t& at, std::size_t end) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && at < end; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(text[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
  return out;
}

std::size_t below(std::mt19937_64& random, std::size_t n) {
  return n == 0 ? 0 : static_cast<std::size_t>(random() % n);
}

// Sizes that break arithmetic, and small ones that break assumptions.
std::uint64_t hostile_number(std::mt19937_64& random) {
  static constexpr std::uint64_t kNumbers[] = {0,
                                               1,
                                               2,
                                               3,
                                               7,
                                               16,
                                               17,
                                               255,
                                               65536,
                                               1u << 20,
                                               0x7fffffff,
                                               0x80000000,
                                               0xffffffff,
                                               std::uint64_t{1} << 40,
                                               0x7fffffffffffffff,
                                               0x8000000000000000,
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0} - 1};
  const std::size_t i = below(random, std::size(kNumbers) + 2);
  return i < std::size(kNumbers) ? kNumbers[i] : random() >> below(random, 64);
}

}  // namespace

Mutator::Mutator(std::string model) : model_(std::move(model)) {
  scan(0, model_.size(), -1, 0);
}

// Appends the fields of the message in [begin, end); false, appending none, when it is no message.
bool Mutator::scan(std::size_t begin, std::size_t end, int parent, int depth) {
  const std::size_t before = fields_.size();
  const auto refuse = [&] {
    fields_.resize(before);
    return false;
  };
  if (depth > kMaxDepth) return false;
  for (std::size_t at = begin; at < end;) {
    Field f{at, 0, 0, 0, 0, parent};
    const auto key = read_varint(model_, at, end);
    if (!key || (*key >> 3) == 0 || (*key >> 3) > 2000) return refuse();
    f.wire = static_cast<int>(*key & 7);
    f.length = at;
    std::uint64_t size = f.wire == 1 ? 8 : 4;
    if (f.wire == 0 || f.wire == kLengthDelimited) {
      const auto number = read_varint(model_, at, end);
      if (!number) return refuse();
      size = f.wire == 0 ? 0 : *number;
    } else if (f.wire != 1 && f.wire != 5) {
      return refuse();
    }
    if (size > end - at) return refuse();
    f.payload = at;
    f.end = at += static_cast<std::size_t>(size);
    fields_.push_back(f);
    const auto index = fields_.size() - 1;
    if (f.wire == kLengthDelimited && size > 1)
      fields_[index].leaf = !scan(f.payload, f.end, static_cast<int>(index), depth + 1);
  }
  return true;
}

const Mutator::Field& Mutator::pick(Random& random) const {
  return fields_[below(random, fields_.size())];
}

// An offset in the structure, or anywhere in the first bytes of a leaf.
std::size_t Mutator::place(Random& random) const {
  if (fields_.empty()) return below(random, model_.size());
  const Field& f = pick(random);
  return f.begin + below(random, std::min<std::size_t>(f.end - f.begin, 24));
}

// The file with a whole field replaced and the lengths around it adapted.
std::string Mutator::replaced(const Field& field, std::string_view with) const {
  std::string out = model_;
  out.replace(field.begin, field.end - field.begin, with);
  auto delta =
      static_cast<std::int64_t>(with.size()) - static_cast<std::int64_t>(field.end - field.begin);
  for (int p = field.parent; p >= 0; p = fields_[static_cast<std::size_t>(p)].parent) {
    const Field& up = fields_[static_cast<std::size_t>(p)];
    const auto size = static_cast<std::int64_t>(up.end - up.payload) + delta;
    const std::string text = varint(static_cast<std::uint64_t>(size));
    out.replace(up.length, up.payload - up.length, text);
    delta +=
        static_cast<std::int64_t>(text.size()) - static_cast<std::int64_t>(up.payload - up.length);
  }
  return out;
}

Mutant Mutator::truncate(Random& random) const {
  const std::size_t percent = 10 + below(random, 81);
  const std::size_t size = model_.size() / 100 * percent + below(random, 64);
  return {model_.substr(0, size), "cut at " + std::to_string(percent) + " %"};
}

Mutant Mutator::flip(Random& random) const {
  std::string out = model_;
  const std::size_t count = 1 + below(random, 8);
  for (std::size_t i = 0; i < count; ++i) {
    char& c = out[place(random)];
    c = static_cast<char>(c ^ (1 << below(random, 8)));
  }
  return {std::move(out), "flip " + std::to_string(count) + " bits"};
}

Mutant Mutator::splice(Random& random) const {
  std::string out = model_;
  const std::size_t from = place(random), to = place(random), size = 1 + below(random, 64);
  const std::string part = model_.substr(from, size);
  if (below(random, 2) == 0) {
    out.insert(to, part);
    return {std::move(out), "insert bytes"};
  }
  out.replace(to, std::min(part.size(), out.size() - to), part);
  return {std::move(out), "overwrite bytes"};
}

Mutant Mutator::edit_number(Random& random) const {
  for (int tries = 0; tries < 1000; ++tries) {
    const Field& f = pick(random);
    if (f.wire != 0 && below(random, 8) != 0) continue;
    const std::string key = model_.substr(f.begin, f.length - f.begin);
    if (f.wire == 0) return {replaced(f, key + varint(hostile_number(random))), "edit a number"};
    if (f.wire != kLengthDelimited) continue;
    // A length that is wrong.
    std::string out = model_;
    out.replace(f.length, f.payload - f.length, varint(hostile_number(random)));
    return {std::move(out), "edit a length"};
  }
  return flip(random);
}

Mutant Mutator::edit_field(Random& random) const {
  const Field& f = pick(random);
  const std::string text = model_.substr(f.begin, f.end - f.begin);
  switch (below(random, 3)) {
    case 0:
      return {replaced(f, ""), "remove a field"};
    case 1:
      return {replaced(f, text + text), "repeat a field"};
    default: {
      // Another field of the same key, from anywhere.
      const std::string_view key = std::string_view(text).substr(0, f.length - f.begin);
      for (int tries = 0; tries < 200; ++tries) {
        const Field& g = pick(random);
        const auto other = std::string_view(model_).substr(g.begin, g.end - g.begin);
        if (g.begin != f.begin && other.starts_with(key))
          return {replaced(f, other), "put another field in its place"};
      }
      return {replaced(f, ""), "remove a field"};
    }
  }
}

Mutant Mutator::rewrite_leaf(Random& random) const {
  for (int tries = 0; tries < 1000; ++tries) {
    const Field& f = pick(random);
    if (f.wire != kLengthDelimited || !f.leaf) continue;
    const std::string key = model_.substr(f.begin, f.length - f.begin);
    std::string text = model_.substr(f.payload, std::min<std::size_t>(f.end - f.payload, 256));
    switch (below(random, 4)) {
      case 0:
        text.clear();
        break;
      case 1:
        text.resize(below(random, text.size() + 1));
        break;
      case 2:
        // Packed numbers, as often as not.
        text.clear();
        for (std::size_t n = 1 + below(random, 6); n > 0; --n)
          text += varint(hostile_number(random));
        break;
      default:
        for (char& c : text) c = static_cast<char>(random());
    }
    return {replaced(f, key + varint(text.size()) + text), "rewrite a leaf"};
  }
  return flip(random);
}

Mutant Mutator::make(std::uint64_t seed, int number) const {
  Random random(seed * 1'000'003 + static_cast<std::uint64_t>(number));
  if (model_.empty() || fields_.empty()) return {model_, "nothing to change"};
  switch (number % 8) {
    case 0:
      return truncate(random);
    case 1:
      return flip(random);
    case 2:
      return splice(random);
    case 3:
      return rewrite_leaf(random);
    case 4:
    case 5:
      return edit_number(random);
    default:
      return edit_field(random);
  }
}

}  // namespace treadle::hostile
