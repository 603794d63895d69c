// Case mapping and stop words.
#include <locale.h>
#include <wctype.h>

#include <set>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/strings.hpp"
#include "tensor/utf8.hpp"

namespace treadle::ops {
namespace {

// Unicode's simple mappings, whatever locale the process is in.
locale_t unicode_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  check(locale != nullptr, ErrorKind::Unsupported, "the system has no locale C.UTF-8");
  return locale;
}

std::string change_case(const std::string& s, CaseChange change) {
  if (change == CaseChange::None) return s;
  const auto codes = decode_utf8(s);
  check(codes.has_value(), ErrorKind::Parse, "input 0 'x' holds a string that is no UTF-8");
  const locale_t locale = unicode_locale();
  std::string out;
  for (const char32_t c : *codes) {
    const auto wide = static_cast<wint_t>(c);
    append_utf8(out, static_cast<char32_t>(change == CaseChange::Lower ? towlower_l(wide, locale)
                                                                       : towupper_l(wide, locale)));
  }
  return out;
}

const char* name_of(CaseChange c) {
  return c == CaseChange::Lower ? "lower" : c == CaseChange::Upper ? "upper" : "none";
}

}  // namespace

void StringNormalizer::visit(ParamVisitor& v) const {
  v.param("change", name_of(change));
  v.param("case_sensitive", case_sensitive);
  v.param("stopwords", stopwords);
  v.param("count", count);
}

std::vector<Fact> StringNormalizer::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  need_dtype(x, DType::String, 0);
  const bool row = x.rank() == 2 && (!x.shape[0].is_const() || x.shape[0].is(1));
  check(x.rank() == 1 || row, ErrorKind::Shape, "input 0 'x' has shape {}, expected [C] or [1, C]",
        str(x.shape));
  return {Fact::tensor(DType::String, x.rank() == 1 ? SymShape{count} : SymShape{1, count})};
}

void StringNormalizer::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  check(x.shape.rank() == 1 || x.shape[0] == 1, ErrorKind::Shape,
        "input 0 'x' has shape {}, expected [C] or [1, C]", x.shape.str());
  const CaseChange folded = case_sensitive ? CaseChange::None : CaseChange::Lower;
  std::set<std::string> stop;
  for (const std::string& s : stopwords) stop.insert(change_case(s, folded));
  std::vector<std::string> kept;
  for (const std::string& s : x.span<std::string>()) {
    if (!stop.empty() && stop.contains(change_case(s, folded))) continue;
    kept.push_back(change_case(s, change));
  }
  if (kept.empty()) kept.emplace_back();
  const auto n = static_cast<std::int64_t>(kept.size());
  ctx.set_output(0, Tensor::from<std::string>(x.shape.rank() == 1 ? Shape{n} : Shape{1, n}, kept));
}

}  // namespace treadle::ops
