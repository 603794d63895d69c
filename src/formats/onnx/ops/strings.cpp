// StringConcat, StringSplit, StringNormalizer, RegexFullMatch, TfIdfVectorizer.
#include "ops/strings.hpp"

#include "formats/onnx/ops/math_helpers.hpp"
#include "ops/tfidf.hpp"

namespace treadle::onnx {
namespace {

ops::CaseChange case_change(const std::string& action) {
  if (action == "LOWER") return ops::CaseChange::Lower;
  if (action == "UPPER") return ops::CaseChange::Upper;
  check(action == "NONE", ErrorKind::Parse, "attribute 'case_change_action' is '{}'", action);
  return ops::CaseChange::None;
}

// Case changes of these languages are not those of Unicode's common mappings.
void check_locale(const std::string& locale) {
  const std::string language = locale.substr(0, 2);
  check(language != "tr" && language != "az" && language != "lt", ErrorKind::Unsupported,
        "attribute 'locale' is '{}', whose case changes are its own", locale);
}

Tensor pool_attr(NodeContext& c) {
  const auto strings = c.strings_attr("pool_strings");
  const auto ints = c.ints_attr("pool_int64s");
  check(strings.has_value() != ints.has_value(), ErrorKind::Parse,
        "one of the attributes 'pool_strings' and 'pool_int64s' is required");
  if (strings) {
    return Tensor::from<std::string>(Shape{static_cast<std::int64_t>(strings->size())}, *strings);
  }
  return Tensor::from<std::int64_t>(Shape{static_cast<std::int64_t>(ints->size())}, *ints);
}

std::vector<std::int64_t> required_ints(NodeContext& c, std::string_view attr) {
  auto values = c.ints_attr(attr);
  check(values.has_value(), ErrorKind::Parse, "attribute '{}' (ints) is required", attr);
  return *std::move(values);
}

}  // namespace

std::vector<ValueId> import_string_concat(NodeContext& c) {
  return {c.add1(make_op<ops::StringConcat>(),
                 ops::equal_ranks(c.graph(), c.fresh_name(), {c.in(0), c.in(1)}))};
}

std::vector<ValueId> import_string_split(NodeContext& c) {
  return c.add(make_op<ops::StringSplit>(c.string_attr("delimiter", ""), c.int_attr("maxsplit", -1),
                                         c.graph().fresh_symbol("parts")),
               {c.in(0)});
}

std::vector<ValueId> import_string_normalizer(NodeContext& c) {
  auto op = std::make_shared<ops::StringNormalizer>();
  op->change = case_change(c.string_attr("case_change_action", "NONE"));
  op->case_sensitive = c.int_attr("is_case_sensitive", 0) != 0;
  op->stopwords = c.strings_attr("stopwords").value_or(std::vector<std::string>{});
  op->count = c.graph().fresh_symbol("strings");
  check_locale(c.string_attr("locale", "en_US"));
  return {c.add1(std::move(op), {c.in(0)})};
}

std::vector<ValueId> import_regex_full_match(NodeContext& c) {
  return {c.add1(make_op<ops::RegexFullMatch>(c.string_attr("pattern", std::nullopt)), {c.in(0)})};
}

std::vector<ValueId> import_tfidf_vectorizer(NodeContext& c) {
  ops::TfIdf::Params p;
  const std::string mode = c.string_attr("mode", std::nullopt);
  check(mode == "TF" || mode == "IDF" || mode == "TFIDF", ErrorKind::Parse,
        "attribute 'mode' is '{}', expected TF, IDF or TFIDF", mode);
  using Weighting = ops::TfIdf::Weighting;
  p.weighting = mode == "TF"    ? Weighting::Count
                : mode == "IDF" ? Weighting::Presence
                                : Weighting::WeightedCount;
  p.min_length = c.int_attr("min_gram_length", std::nullopt);
  p.max_length = c.int_attr("max_gram_length", std::nullopt);
  p.max_skip = c.int_attr("max_skip_count", std::nullopt);
  p.pool = pool_attr(c);
  p.starts = required_ints(c, "ngram_counts");
  p.indexes = required_ints(c, "ngram_indexes");
  p.weights = c.floats_attr("weights").value_or(std::vector<double>{});
  return {c.add1(make_op<ops::TfIdf>(std::move(p)), {c.in(0)})};
}

}  // namespace treadle::onnx
