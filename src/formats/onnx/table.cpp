#include <unordered_map>

#include "formats/onnx/importer.hpp"

namespace treadle::onnx {

#define TREADLE_ONNX(domain, op, function) std::vector<ValueId> function(NodeContext& c);
#include "formats/onnx/table.inc"
#undef TREADLE_ONNX

namespace {

constexpr OperatorEntry kOperators[] = {
#define TREADLE_ONNX(domain, op, function) {domain, op, &function},
#include "formats/onnx/table.inc"
#undef TREADLE_ONNX
};

struct Key {
  std::string_view domain, op_type;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& k) const {
    const std::hash<std::string_view> hash;
    return hash(k.op_type) * 31 + hash(k.domain);
  }
};

}  // namespace

std::span<const OperatorEntry> operators() {
  return kOperators;
}

const OperatorEntry* find_operator(std::string_view domain, std::string_view op_type) {
  static const auto* const table = [] {
    auto* map = new std::unordered_map<Key, const OperatorEntry*, KeyHash>;
    for (const OperatorEntry& e : kOperators) map->emplace(Key{e.domain, e.op_type}, &e);
    return map;
  }();
  const auto it = table->find({domain, op_type});
  return it == table->end() ? nullptr : it->second;
}

}  // namespace treadle::onnx
