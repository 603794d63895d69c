#include "formats/onnx/import.hpp"

namespace treadle::onnx {

const Binding* Scope::find(std::string_view name) const {
  if (const auto it = values.find(name); it != values.end()) return &it->second;
  if (!outer) return nullptr;
  const Binding* found = outer->find(name);
  if (!found || outer->frame == frame || found->poisoned || !found->value.present()) return found;
  // Constants are repeated in the body; everything else becomes one more input of it.
  const ValueId from = found->value;
  Binding here = *found;
  if (const auto known = frame->captured_as.find(from); known != frame->captured_as.end()) {
    here.value = known->second;
  } else {
    const Fact& fact = outer->frame->graph.fact(from);
    if (fact.value) {
      here.value = frame->graph.add_constant(std::string(name), fact.value);
    } else {
      here.value = frame->graph.add_source(std::string(name), fact);
      frame->captured.push_back(from);
    }
    frame->captured_as.emplace(from, here.value);
  }
  return &values.emplace(name, here).first->second;
}

}  // namespace treadle::onnx
