#include "cpu/translators.hpp"

namespace treadle::cpu {
namespace {

struct Entry {
  std::string_view op;
  Translator translator;
};

constexpr Entry kTable[] = {
#define TREADLE_CPU(Operator, function) {#Operator, function},
#include "cpu/translators.inc"
#undef TREADLE_CPU
};

}  // namespace

Translation translate(const TranslateContext& ctx) {
  if (ctx.chain) return translate_chain(ctx);
  for (const Entry& e : kTable) {
    if (e.op != ctx.node.op->name()) continue;
    Translation t = e.translator(ctx);
    if (t.kernel) return t;
  }
  return {};
}

}  // namespace treadle::cpu
