// Operators over string tensors. Strings are UTF-8.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/operator.hpp"

namespace re2 {
class RE2;
}

namespace treadle::ops {

// The concatenation of the elements of two string tensors of equal rank, broadcast.
class StringConcat final : public Operator {
 public:
  TREADLE_OPERATOR(StringConcat);
};

// Splits each string at `delimiter`, or, when that is empty, at runs of white space with those at
// the ends left out (a remainder keeps its trailing ones); at most `max_splits` times where that is
// not negative. Outputs: the parts, with an axis of size `count` (a symbol that this operator
// introduces) added and filled up with empty strings; the number of parts of each (i64).
class StringSplit final : public Operator {
 public:
  StringSplit(std::string at, std::int64_t most, Dim n)
      : delimiter(std::move(at)), max_splits(most), count(std::move(n)) {}
  std::string delimiter;
  std::int64_t max_splits;
  Dim count;
  TREADLE_OPERATOR(StringSplit);
};

enum class CaseChange : std::uint8_t { None, Lower, Upper };

// x [C] or [1, C] without the strings in `stopwords`, the others in another case by Unicode's
// simple mappings. Unless `case_sensitive`, stop words are found whatever their case. When no
// string is left, one empty one is. `count`, the size of the last axis, is a symbol that this
// operator introduces.
class StringNormalizer final : public Operator {
 public:
  CaseChange change = CaseChange::None;
  bool case_sensitive = false;
  std::vector<std::string> stopwords;
  Dim count;
  TREADLE_OPERATOR(StringNormalizer);
};

// Whether each string matches the regular expression (RE2 syntax) as a whole. Linear in the length
// of the string. The constructor throws Parse error for what is no regular expression.
class RegexFullMatch final : public Operator {
 public:
  explicit RegexFullMatch(std::string p);
  std::string pattern;
  TREADLE_OPERATOR(RegexFullMatch);

 private:
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace treadle::ops
