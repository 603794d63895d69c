#include <algorithm>

#include "ops/axis.hpp"

namespace treadle::ops {
namespace {

[[noreturn]] void bad_target(const SymShape& input, const std::vector<Dim>& target,
                             std::string_view why) {
  fail(ErrorKind::Shape, "target {} does not fit input of shape {}: {}", str(target), str(input),
       why);
}

// What −1 stands for: elements not copied by a 0, over the product of the other sizes.
Dim inferred(const SymShape& input, const std::vector<Dim>& target, bool allow_zero,
             std::size_t unknown) {
  Dim have = 1;
  Dim others = 1;
  for (std::size_t i = 0; i < std::max(input.size(), target.size()); ++i) {
    const bool copied = i < target.size() && !allow_zero && target[i].is(0);
    if (copied) continue;
    if (i < input.size()) have = have * input[i];
    if (i < target.size() && i != unknown) others = others * target[i];
  }
  if (others.is(0)) bad_target(input, target, "-1 is ambiguous beside a size of 0");
  if (const auto exact = exact_div(have, others)) return *exact;
  if (have.is_const() && others.is_const()) {
    bad_target(input, target, "the elements do not divide");
  }
  return floor_div(have, others);
}

}  // namespace

SymShape reshape_target(const SymShape& input, const std::vector<Dim>& target, bool allow_zero) {
  SymShape out;
  std::optional<std::size_t> unknown;
  bool zero = false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Dim& d = target[i];
    if (d.is(-1)) {
      if (unknown) bad_target(input, target, "-1 stands twice");
      unknown = i;
      out.push_back(1);
    } else if (d.is(0) && !allow_zero) {
      if (i >= input.size()) bad_target(input, target, "0 has no axis to copy");
      out.push_back(input[i]);
    } else {
      if (d.is_const() && d.value() < 0) bad_target(input, target, "a size is negative");
      zero = zero || d.is(0);
      out.push_back(d);
    }
  }
  if (unknown && zero) bad_target(input, target, "allowzero forbids 0 beside -1");
  if (unknown) out[*unknown] = inferred(input, target, allow_zero, *unknown);
  const Dim have = elements(input);
  const Dim want = elements(out);
  if (have.is_const() && want.is_const() && !(have == want)) {
    bad_target(input, target, "the number of elements differs");
  }
  return out;
}

Perm inverse(const Perm& p) {
  Perm out(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    out[static_cast<std::size_t>(p[i])] = static_cast<int>(i);
  }
  return out;
}

Perm compose(const Perm& first, const Perm& second) {
  Perm out;
  for (const int s : second) out.push_back(first[static_cast<std::size_t>(s)]);
  return out;
}

bool is_identity(const Perm& p) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] != static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace treadle::ops
