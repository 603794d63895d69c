#include "graph/dim.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace treadle {
namespace {

enum class AtomKind : std::uint8_t { Symbol, FloorDiv, CeilDiv, Mod, Min, Max, Broadcast };

struct Atom {
  AtomKind kind = AtomKind::Symbol;
  std::string name;  // of a symbol
  Dim a, b;          // of the others
  std::string key;   // canonical text of it as a factor: equal atoms have equal keys
};
using AtomPtr = std::shared_ptr<const Atom>;

struct Term {
  std::int64_t coefficient = 0;
  std::vector<AtomPtr> factors;  // sorted by key; empty: the constant term
  std::string key;
};

// Expressions beyond this size come from hostile files only.
constexpr std::size_t kMaxTerms = 256;
constexpr std::size_t kMaxKey = 1 << 14;

std::int64_t floor_div_i(std::int64_t a, std::int64_t b) {
  check(b != 0, ErrorKind::Shape, "a size is divided by zero");
  check(!(b == -1 && a == INT64_MIN), ErrorKind::Shape, "size overflows 64 bits");
  const std::int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

std::int64_t apply(AtomKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case AtomKind::FloorDiv:
      return floor_div_i(a, b);
    case AtomKind::CeilDiv:
      return -floor_div_i(checked_mul(a, -1), b);
    case AtomKind::Mod: {
      check(b != 0, ErrorKind::Shape, "a size is divided by zero");
      if (b == -1) return 0;  // INT64_MIN % -1 traps
      const std::int64_t r = a % b;
      return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
    }
    case AtomKind::Min:
      return std::min(a, b);
    case AtomKind::Max:
      return std::max(a, b);
    case AtomKind::Broadcast:
      check(a == b || a == 1 || b == 1, ErrorKind::Shape, "sizes {} and {} do not broadcast", a, b);
      return a == 1 ? b : a;
    case AtomKind::Symbol:
      break;
  }
  fail(ErrorKind::Internal, "symbol evaluated as an operation");
}

std::string join_key(const std::vector<AtomPtr>& factors) {
  std::string key;
  for (const auto& f : factors) {
    if (!key.empty()) key += '*';
    key += f->key;
  }
  return key;
}

}  // namespace

struct Dim::Expr {
  std::vector<Term> terms;  // sorted by key, no zero coefficient
  std::string key;
};

struct DimAccess {
  static std::vector<Term> terms(const Dim& d) {
    if (d.expr_) return d.expr_->terms;
    if (d.value_ == 0) return {};
    return {Term{d.value_, {}, {}}};
  }

  static Dim make(std::vector<Term> terms) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return x.key < y.key; });
    std::vector<Term> merged;
    for (auto& t : terms) {
      if (!merged.empty() && merged.back().key == t.key) {
        merged.back().coefficient = checked_add(merged.back().coefficient, t.coefficient);
      } else {
        merged.push_back(std::move(t));
      }
    }
    std::erase_if(merged, [](const Term& t) { return t.coefficient == 0; });
    if (merged.empty()) return Dim(0);
    if (merged.size() == 1 && merged[0].factors.empty()) return Dim(merged[0].coefficient);
    auto expr = std::make_shared<Dim::Expr>();
    expr->terms = std::move(merged);
    expr->key = text(expr->terms);
    check(expr->terms.size() <= kMaxTerms && expr->key.size() <= kMaxKey, ErrorKind::Shape,
          "a symbolic size is too complex ({} terms)", expr->terms.size());
    Dim d;
    d.expr_ = std::move(expr);
    return d;
  }

  static Dim atom(Atom a) {
    auto p = std::make_shared<const Atom>(std::move(a));
    return make({Term{1, {p}, p->key}});
  }

  static Dim operation(AtomKind kind, const Dim& a, const Dim& b, const char* function) {
    if (a.is_const() && b.is_const()) return Dim(apply(kind, a.value_, b.value_));
    Atom atom_value;
    atom_value.kind = kind;
    atom_value.a = a;
    atom_value.b = b;
    if (kind == AtomKind::FloorDiv) {
      atom_value.key = "(" + dividend(a) + "/" + divisor(b) + ")";
    } else {
      atom_value.key = std::string(function) + "(" + a.str() + "," + b.str() + ")";
    }
    return atom(std::move(atom_value));
  }

  static bool is_sum(const Dim& d) { return d.expr_ && d.expr_->terms.size() > 1; }

  // "h", "2*h", "h/2", "(h+1)", "(-h)": what may stand to the left of a division.
  static std::string dividend(const Dim& d) {
    const std::string s = d.str();
    return is_sum(d) || s.front() == '-' ? "(" + s + ")" : s;
  }

  // "n", "2", "(2*n)", "(n/2)", "(n+1)".
  static std::string divisor(const Dim& d) {
    const std::string s = d.str();
    if (d.is_const()) return s;
    const Term& t = d.expr_->terms.front();
    const bool whole = !is_sum(d) && t.coefficient == 1 && t.factors.size() == 1 &&
                       t.factors[0]->kind != AtomKind::FloorDiv;
    return whole ? s : "(" + s + ")";
  }

  // A term without its sign. A quotient alone needs no brackets, unless a minus leads the text:
  // -(h/2) is not (-h)/2.
  static std::string magnitude(const Term& t, bool leading) {
    const std::int64_t c = t.coefficient;
    std::string number = std::to_string(c);
    if (c < 0) number.erase(0, 1);
    if (t.factors.empty()) return number;
    if (c != 1 && c != -1) return number + "*" + t.key;
    const bool quotient = t.factors.size() == 1 && t.factors[0]->kind == AtomKind::FloorDiv;
    if (!quotient || (leading && c < 0)) return t.key;
    return t.key.substr(1, t.key.size() - 2);
  }

  static std::string text(const std::vector<Term>& terms) {
    std::string s;
    const auto add = [&](bool positive, bool constant) {
      for (const Term& t : terms) {
        if ((t.coefficient > 0) != positive || t.factors.empty() != constant) continue;
        const bool leading = s.empty();
        if (!positive) s += '-';
        if (positive && !leading) s += '+';
        s += magnitude(t, leading);
      }
    };
    const bool has_positive = std::any_of(terms.begin(), terms.end(), [](const Term& t) {
      return t.coefficient > 0 && !t.factors.empty();
    });
    add(true, false);
    if (!has_positive) add(true, true);
    add(false, false);
    if (has_positive) add(true, true);
    add(false, true);
    return s;
  }

  static const Dim::Expr* expr(const Dim& d) { return d.expr_.get(); }
};

namespace {

std::int64_t eval_atom(const Atom& a, const SymbolValues& symbols) {
  if (a.kind == AtomKind::Symbol) {
    auto it = symbols.find(a.name);
    check(it != symbols.end(), ErrorKind::Shape, "the size '{}' has no value", a.name);
    return it->second;
  }
  return apply(a.kind, a.a.eval(symbols), a.b.eval(symbols));
}

Dim rebuild(AtomKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case AtomKind::FloorDiv:
      return floor_div(a, b);
    case AtomKind::CeilDiv:
      return ceil_div(a, b);
    case AtomKind::Mod:
      return mod(a, b);
    case AtomKind::Min:
      return min(a, b);
    case AtomKind::Max:
      return max(a, b);
    case AtomKind::Broadcast:
      return broadcast(a, b);
    case AtomKind::Symbol:
      break;
  }
  fail(ErrorKind::Internal, "symbol rebuilt as an operation");
}

}  // namespace

Dim Dim::symbol(std::string_view name) {
  check(!name.empty(), ErrorKind::Shape, "a symbol needs a name");
  Atom a;
  a.name = name;
  // Names that could be read as an expression are quoted in the canonical text.
  const bool plain =
      name.find_first_of("+-*/(),`") == std::string_view::npos && (name[0] < '0' || name[0] > '9');
  a.key = plain ? std::string(name) : "`" + std::string(name) + "`";
  return DimAccess::atom(std::move(a));
}

std::int64_t Dim::value() const {
  check(is_const(), ErrorKind::Shape, "the size '{}' is not known", str());
  return value_;
}

std::optional<std::string> Dim::as_symbol() const {
  if (!expr_ || expr_->terms.size() != 1) return std::nullopt;
  const Term& t = expr_->terms[0];
  if (t.coefficient != 1 || t.factors.size() != 1 || t.factors[0]->kind != AtomKind::Symbol) {
    return std::nullopt;
  }
  return t.factors[0]->name;
}

std::int64_t Dim::eval(const SymbolValues& symbols) const {
  if (!expr_) return value_;
  std::int64_t sum = 0;
  for (const Term& t : expr_->terms) {
    std::int64_t product = t.coefficient;
    for (const auto& f : t.factors) product = checked_mul(product, eval_atom(*f, symbols));
    sum = checked_add(sum, product);
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& by) const {
  if (!expr_ || by.empty()) return *this;
  Dim sum = 0;
  for (const Term& t : expr_->terms) {
    Dim product = t.coefficient;
    for (const auto& f : t.factors) {
      if (f->kind == AtomKind::Symbol) {
        auto it = by.find(f->name);
        product = product * (it == by.end() ? Dim::symbol(f->name) : it->second);
      } else {
        product = product * rebuild(f->kind, f->a.substitute(by), f->b.substitute(by));
      }
    }
    sum = sum + product;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& out) const {
  if (!expr_) return;
  for (const Term& t : expr_->terms) {
    for (const auto& f : t.factors) {
      if (f->kind == AtomKind::Symbol) {
        out.push_back(f->name);
      } else {
        f->a.collect_symbols(out);
        f->b.collect_symbols(out);
      }
    }
  }
}

std::string Dim::str() const {
  return expr_ ? expr_->key : std::to_string(value_);
}

bool Dim::operator==(const Dim& o) const {
  if (!expr_ || !o.expr_) return !expr_ && !o.expr_ && value_ == o.value_;
  return expr_ == o.expr_ || expr_->key == o.expr_->key;
}

bool Dim::operator<(const Dim& o) const {
  if (is_const() != o.is_const()) return is_const();
  if (is_const()) return value_ < o.value_;
  return expr_->key < o.expr_->key;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(checked_add(a.value_, b.value_));
  auto terms = DimAccess::terms(a);
  for (auto& t : DimAccess::terms(b)) terms.push_back(std::move(t));
  return DimAccess::make(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) {
  return a + Dim(-1) * b;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(checked_mul(a.value_, b.value_));
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  std::vector<Term> product;
  const auto tb = DimAccess::terms(b);
  for (const Term& x : DimAccess::terms(a)) {
    for (const Term& y : tb) {
      Term t;
      t.coefficient = checked_mul(x.coefficient, y.coefficient);
      t.factors = x.factors;
      t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(t.factors.begin(), t.factors.end(),
                [](const AtomPtr& p, const AtomPtr& q) { return p->key < q->key; });
      t.key = join_key(t.factors);
      product.push_back(std::move(t));
      check(product.size() <= kMaxTerms * 4, ErrorKind::Shape, "a symbolic size is too complex");
    }
  }
  return DimAccess::make(std::move(product));
}

std::optional<Dim> exact_div(const Dim& a, const Dim& b) {
  if (b.is(0)) return std::nullopt;
  if (a == b) return Dim(1);
  if (b.is(1)) return a;
  const auto divisor = DimAccess::terms(b);
  if (divisor.size() != 1) return std::nullopt;
  std::vector<Term> result;
  for (Term t : DimAccess::terms(a)) {
    const std::int64_t by = divisor[0].coefficient;
    if (by == -1) {
      t.coefficient = checked_mul(t.coefficient, -1);  // INT64_MIN % -1 traps
    } else {
      if (t.coefficient % by != 0) return std::nullopt;
      t.coefficient /= by;
    }
    for (const auto& f : divisor[0].factors) {
      auto it = std::find_if(t.factors.begin(), t.factors.end(),
                             [&f](const AtomPtr& p) { return p->key == f->key; });
      if (it == t.factors.end()) return std::nullopt;
      t.factors.erase(it);
    }
    t.key = join_key(t.factors);
    result.push_back(std::move(t));
  }
  return DimAccess::make(std::move(result));
}

Dim floor_div(const Dim& a, const Dim& b) {
  check(!b.is(0), ErrorKind::Shape, "the size '{}' is divided by zero", a.str());
  if (auto q = exact_div(a, b)) return *q;
  // (c·n + r) / n = c·x + r / n for the terms that n divides: keeps (2h+1)/2 = h + 1/2's floor.
  if (b.is_const() && b.value_ > 0) {
    std::vector<Term> whole, rest;
    for (auto& t : DimAccess::terms(a)) {
      (t.coefficient % b.value_ == 0 && !t.factors.empty() ? whole : rest).push_back(std::move(t));
    }
    if (!whole.empty()) {
      const Dim w = *exact_div(DimAccess::make(std::move(whole)), b);
      return w + floor_div(DimAccess::make(std::move(rest)), b);
    }
    // Fold the constant into [0, n).
    std::int64_t c = 0;
    for (const auto& t : rest)
      if (t.factors.empty()) c = t.coefficient;
    const std::int64_t k = floor_div_i(c, b.value_);
    if (k != 0) {
      rest.push_back(Term{checked_mul(-k, b.value_), {}, {}});
      return DimAccess::operation(AtomKind::FloorDiv, DimAccess::make(std::move(rest)), b, "") +
             Dim(k);
    }
  }
  return DimAccess::operation(AtomKind::FloorDiv, a, b, "");
}

Dim ceil_div(const Dim& a, const Dim& b) {
  check(!b.is(0), ErrorKind::Shape, "the size '{}' is divided by zero", a.str());
  if (auto q = exact_div(a, b)) return *q;
  if (b.is_const() && b.value_ > 0) return floor_div(a + Dim(b.value_ - 1), b);
  return DimAccess::operation(AtomKind::CeilDiv, a, b, "ceil");
}

Dim mod(const Dim& a, const Dim& b) {
  check(!b.is(0), ErrorKind::Shape, "the size '{}' modulo zero", a.str());
  if (exact_div(a, b)) return Dim(0);
  return DimAccess::operation(AtomKind::Mod, a, b, "mod");
}

Dim min(const Dim& a, const Dim& b) {
  const Dim d = a - b;
  if (d.is_const()) return d.value_ <= 0 ? a : b;
  return b < a ? min(b, a) : DimAccess::operation(AtomKind::Min, a, b, "min");
}

Dim max(const Dim& a, const Dim& b) {
  const Dim d = a - b;
  if (d.is_const()) return d.value_ >= 0 ? a : b;
  return b < a ? max(b, a) : DimAccess::operation(AtomKind::Max, a, b, "max");
}

Dim broadcast(const Dim& a, const Dim& b) {
  if (a == b || b.is(1)) return a;
  if (a.is(1)) return b;
  if (a.is_const() && b.is_const()) {
    fail(ErrorKind::Shape, "sizes {} and {} do not broadcast", a.value_, b.value_);
  }
  if (a.is_const()) return a;
  if (b.is_const()) return b;
  return b < a ? broadcast(b, a) : DimAccess::operation(AtomKind::Broadcast, a, b, "broadcast");
}

std::string str(const SymShape& shape) {
  std::string s = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + shape[i].str();
  return s + "]";
}

Dim elements(const SymShape& shape) {
  Dim n = 1;
  for (const Dim& d : shape) n = n * d;
  return n;
}

bool is_const(const SymShape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_const(); });
}

SymShape to_sym(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

Shape eval(const SymShape& shape, const SymbolValues& symbols) {
  Shape s;
  for (const Dim& d : shape) {
    const std::int64_t v = d.eval(symbols);
    check(v >= 0, ErrorKind::Shape, "the size '{}' is negative: {}", d.str(), v);
    s.push_back(v);
  }
  return s;
}

Shape concrete(const SymShape& shape) {
  return eval(shape, {});
}

}  // namespace treadle
