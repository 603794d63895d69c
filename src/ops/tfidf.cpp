#include "ops/tfidf.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

// The n-grams by their elements. Strings stand for themselves as their number in `words`.
struct TfIdf::Trie {
  struct Node {
    std::map<std::int64_t, std::size_t> next;
    std::int64_t ngram = -1;
  };
  std::vector<Node> nodes{Node{}};
  std::unordered_map<std::string, std::int64_t> words;

  void add(std::span<const std::int64_t> gram, std::int64_t number) {
    std::size_t at = 0;
    for (const std::int64_t item : gram) {
      const auto [it, added] = nodes[at].next.emplace(item, nodes.size());
      const std::size_t child = it->second;
      if (added) nodes.emplace_back();
      at = child;
    }
    nodes[at].ngram = number;
  }
  // What stands for a string that is in no n-gram is −1.
  std::vector<std::int64_t> numbers(std::span<const std::string> strings) const {
    std::vector<std::int64_t> out;
    for (const std::string& s : strings) {
      const auto it = words.find(s);
      out.push_back(it == words.end() ? -1 : it->second);
    }
    return out;
  }
};

TfIdf::TfIdf(Params p) : p_(std::move(p)) {
  const auto parse = [](bool ok, std::string_view what) {
    check(ok, ErrorKind::Parse, "{}", what);
  };
  const auto kinds = static_cast<std::int64_t>(p_.starts.size());
  check(p_.min_length >= 1 && p_.min_length <= p_.max_length && p_.max_length <= kinds,
        ErrorKind::Parse, "n-grams of {} to {} elements, but ngram_counts has {} entries",
        p_.min_length, p_.max_length, kinds);
  parse(p_.max_skip >= 0, "attribute 'max_skip_count' is negative");
  parse(!p_.indexes.empty(), "attribute 'ngram_indexes' is empty");
  for (const std::int64_t i : p_.indexes) {
    check(i >= 0 && i < std::int64_t{1} << 40, ErrorKind::Parse,
          "attribute 'ngram_indexes' holds {}", i);
  }
  size_ = *std::max_element(p_.indexes.begin(), p_.indexes.end()) + 1;
  check(p_.weighting == Weighting::Count || p_.weights.empty() ||
            static_cast<std::int64_t>(p_.weights.size()) == size_,
        ErrorKind::Parse, "attribute 'weights' has {} entries, expected {}", p_.weights.size(),
        size_);

  auto trie = std::make_shared<Trie>();
  std::vector<std::int64_t> pool;
  if (p_.pool.dtype() == DType::String) {
    for (const std::string& s : p_.pool.span<std::string>()) {
      pool.push_back(
          trie->words.emplace(s, static_cast<std::int64_t>(trie->words.size())).first->second);
    }
  } else {
    pool = p_.pool.to_i64();
  }
  std::int64_t number = 0;
  for (std::int64_t n = 1; n <= kinds; ++n) {
    const auto total = static_cast<std::int64_t>(pool.size());
    const std::int64_t first = p_.starts[static_cast<std::size_t>(n - 1)];
    const std::int64_t last = n < kinds ? p_.starts[static_cast<std::size_t>(n)] : total;
    check(first >= 0 && first <= last && last <= total && (last - first) % n == 0, ErrorKind::Parse,
          "attribute 'ngram_counts': the {}-grams lie in [{}, {}) of a pool of {}", n, first, last,
          total);
    for (std::int64_t at = first; at < last; at += n, ++number) {
      if (n < p_.min_length || n > p_.max_length) continue;
      trie->add(std::span(pool).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n)),
                number);
    }
  }
  check(number == static_cast<std::int64_t>(p_.indexes.size()), ErrorKind::Parse,
        "attribute 'ngram_indexes' has {} entries for {} n-grams", p_.indexes.size(), number);
  trie_ = std::move(trie);
}

void TfIdf::visit(ParamVisitor& v) const {
  v.param("weighting", static_cast<std::int64_t>(p_.weighting));
  v.param("min_length", p_.min_length);
  v.param("max_length", p_.max_length);
  v.param("max_skip", p_.max_skip);
  v.param("pool", p_.pool);
  v.param("starts", p_.starts);
  v.param("indexes", p_.indexes);
  v.param("weights", p_.weights);
}

std::vector<Fact> TfIdf::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  const bool strings = p_.pool.dtype() == DType::String;
  check(strings ? x.dtype == DType::String : x.dtype == DType::I32 || x.dtype == DType::I64,
        ErrorKind::Type, "input 0 'x' has dtype {}, expected {}", name_of(x.dtype),
        strings ? "string" : "i32 or i64");
  check(x.rank() == 1 || x.rank() == 2, ErrorKind::Shape,
        "input 0 'x' has shape {}, expected [C] or [N, C]", str(x.shape));
  SymShape shape(x.shape.begin(), x.shape.end() - 1);
  shape.push_back(size_);
  return {Fact::tensor(DType::F32, std::move(shape))};
}

void TfIdf::count_row(const std::vector<std::int64_t>& row, float* out) const {
  const auto length = static_cast<std::int64_t>(row.size());
  std::int64_t least = p_.min_length;
  for (std::int64_t step = 1; step <= std::min(p_.max_skip + 1, std::max<std::int64_t>(length, 1));
       ++step) {
    for (std::int64_t start = 0; start < length; ++start) {
      const Trie::Node* node = &trie_->nodes[0];
      std::int64_t n = 1;
      for (std::int64_t at = start; at < length && n <= p_.max_length; at += step, ++n) {
        const auto it = node->next.find(row[static_cast<std::size_t>(at)]);
        if (it == node->next.end()) break;
        node = &trie_->nodes[it->second];
        if (n >= least && node->ngram >= 0) {
          out[p_.indexes[static_cast<std::size_t>(node->ngram)]] += 1;
        }
      }
    }
    // A 1-gram is the same at every distance.
    if (least == 1 && ++least > p_.max_length) break;
  }
}

void TfIdf::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  const std::int64_t length = x.shape.back();
  float* out = y.as<float>();
  std::fill_n(out, y.elements(), 0.0f);
  const std::vector<std::int64_t> all =
      x.dtype == DType::String ? trie_->numbers(x.span<const std::string>()) : read_ints(x);
  const std::int64_t rows = x.shape.rank() == 1 ? 1 : x.shape[0];
  for (std::int64_t r = 0; r < rows; ++r, out += size_) {
    count_row({all.begin() + r * length, all.begin() + (r + 1) * length}, out);
    if (p_.weighting == Weighting::Count) continue;
    for (std::int64_t i = 0; i < size_; ++i) {
      const double w = p_.weights.empty() ? 1.0 : p_.weights[static_cast<std::size_t>(i)];
      const float n = p_.weighting == Weighting::Presence ? (out[i] > 0 ? 1.0f : 0.0f) : out[i];
      out[i] = static_cast<float>(n * w);
    }
  }
}

}  // namespace treadle::ops
