// Symbolic sizes: integer expressions over named symbols, kept in one canonical form.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.hpp"

namespace treadle {

class Dim;

// What symbols stand for when an expression is evaluated.
using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

// An immutable integer expression: a sum of integer multiples of products of atoms; an atom is a
// symbol or one of floor_div, ceil_div, mod, min, max, broadcast over two expressions. Two equal
// expressions in this form compare equal. Arithmetic that overflows 64 bits throws Shape error.
class Dim {
 public:
  Dim(std::int64_t value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor)
  // A symbol: any non-empty text; it must be unique within a model for what it stands for.
  static Dim symbol(std::string_view name);

  bool is_const() const { return expr_ == nullptr; }
  bool is(std::int64_t v) const { return is_const() && value_ == v; }
  std::optional<std::int64_t> as_const() const {
    return is_const() ? std::optional(value_) : std::nullopt;
  }
  // The constant; throws Shape error naming the expression when there are symbols in it.
  std::int64_t value() const;
  // The name, when the expression is one symbol and nothing else.
  std::optional<std::string> as_symbol() const;

  // Throws Shape error naming the first symbol without a value, and on division by zero or a
  // broadcast of two different sizes neither of which is 1.
  std::int64_t eval(const SymbolValues& symbols) const;
  // Replaces symbols by expressions; others stay.
  Dim substitute(const std::map<std::string, Dim, std::less<>>& by) const;
  // Adds the names of the symbols in it.
  void collect_symbols(std::vector<std::string>& out) const;

  // "batch", "2*seq+1", "(h-1)/2" (floor division, from left to right), "3*(h/2)", "ceil(h,2)",
  // "min(a,b)". Equal expressions have the same text, different ones different texts: what is added
  // comes before what is subtracted and the constant last, brackets stand only where they matter.
  std::string str() const;

  bool operator==(const Dim& o) const;
  bool operator<(const Dim& o) const;  // any total order, for canonical forms and maps

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  // Rounds to minus infinity, plus infinity; the sign of mod follows the divisor.
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  // The size of an axis broadcast from a and b: the other one when one is 1; a constant other than
  // 1 wins over an expression. Throws Shape error for two different constants neither of which is 1.
  friend Dim broadcast(const Dim& a, const Dim& b);
  // a / b when b divides every term of a, as in (2*N*C)/(2*N) = C.
  friend std::optional<Dim> exact_div(const Dim& a, const Dim& b);

  struct Expr;

 private:
  std::int64_t value_ = 0;
  std::shared_ptr<const Expr> expr_;
  friend struct DimAccess;
};

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim broadcast(const Dim& a, const Dim& b);
std::optional<Dim> exact_div(const Dim& a, const Dim& b);

using SymShape = std::vector<Dim>;

// "[batch, 3, 224, 224]".
std::string str(const SymShape& shape);
// Product of all sizes.
Dim elements(const SymShape& shape);
bool is_const(const SymShape& shape);
SymShape to_sym(const Shape& shape);
// Throws Shape error when a size is negative or has an unbound symbol, or the rank is above kMaxRank.
Shape eval(const SymShape& shape, const SymbolValues& symbols);
// The concrete shape of a shape without symbols; throws Shape error otherwise.
Shape concrete(const SymShape& shape);

}  // namespace treadle
