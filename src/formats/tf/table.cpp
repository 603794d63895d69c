#include "formats/tf/importer.hpp"
#include "formats/tf/ops/operators.hpp"

namespace treadle::tf {
namespace {

constexpr OperatorEntry kTable[] = {
#define TREADLE_TF(Op, function) {#Op, function},
#define TREADLE_TF_MADE(Op, ...) {#Op, __VA_ARGS__},
#include "formats/tf/table.inc"
#undef TREADLE_TF
#undef TREADLE_TF_MADE
};

}  // namespace

std::span<const OperatorEntry> operators() {
  return kTable;
}

const OperatorEntry* find_operator(std::string_view op) {
  for (const OperatorEntry& e : kTable) {
    if (e.op == op) return &e;
  }
  return nullptr;
}

}  // namespace treadle::tf
