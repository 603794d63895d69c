#include "ops/function_name.hpp"

#include "ops/binary.hpp"
#include "ops/reduce.hpp"
#include "ops/unary.hpp"

namespace treadle::ops {

std::string_view function_name(const Operator& op) {
  if (const auto* b = op.as<Binary>()) return name_of(b->fn);
  if (const auto* u = op.as<Unary>()) return name_of(u->fn);
  if (const auto* r = op.as<Reduce>()) return name_of(r->fn);
  return {};
}

}  // namespace treadle::ops
