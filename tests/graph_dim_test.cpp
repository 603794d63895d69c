#include "graph/dim.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace treadle {
namespace {

const Dim n = Dim::symbol("n"), h = Dim::symbol("h"), w = Dim::symbol("w");

TEST(DimText, Sums) {
  EXPECT_EQ((n * 2 + 1).str(), "2*n+1");
  EXPECT_EQ((Dim(1) + Dim(2) * n).str(), "2*n+1");
  EXPECT_EQ((n - 3).str(), "n-3");
  EXPECT_EQ((Dim(5) - h).str(), "5-h");
  EXPECT_EQ((w - h).str(), "w-h");
  EXPECT_EQ((w - h + 4).str(), "w-h+4");
  EXPECT_EQ((Dim(0) - h).str(), "-h");
  EXPECT_EQ((Dim(-3) - h).str(), "-h-3");
  EXPECT_EQ((h * w + h).str(), (h + w * h).str());
}

TEST(DimText, Products) {
  EXPECT_EQ((n * h * 4).str(), "4*h*n");
  EXPECT_EQ(((n + 1) * 2).str(), "2*n+2");
  EXPECT_EQ(((h + 1) * (h - 1)).str(), "h*h-1");
}

TEST(DimText, Quotients) {
  EXPECT_EQ(floor_div(h, 2).str(), "h/2");
  EXPECT_EQ(floor_div(h + 1, 2).str(), "(h+1)/2");
  EXPECT_EQ(floor_div(h * w, 2).str(), "h*w/2");
  EXPECT_EQ(floor_div(floor_div(h + 1, 2) + 1, 2).str(), "((h+1)/2+1)/2");
  EXPECT_EQ(floor_div(floor_div(h, 2), 3).str(), "h/2/3");
  EXPECT_EQ((floor_div(n + 128, 160) - 3).str(), "(n+128)/160-3");
  EXPECT_EQ((n - floor_div(h, 2)).str(), "n-h/2");
  EXPECT_EQ(floor_div(h, n).str(), "h/n");
  EXPECT_EQ(floor_div(h, n * 2).str(), "h/(2*n)");
  EXPECT_EQ(floor_div(h, floor_div(n, 2)).str(), "h/(n/2)");
  EXPECT_EQ(max(0, floor_div(h, 2)).str(), "max(0,h/2)");
}

// Where brackets matter they stay.
TEST(DimText, QuotientsThatAreNoOthers) {
  EXPECT_EQ((floor_div(h, 2) * 3).str(), "3*(h/2)");
  EXPECT_EQ(floor_div(h * 3, 2).str(), "3*h/2");
  EXPECT_EQ((floor_div(h, 2) * floor_div(w, 2)).str(), "(h/2)*(w/2)");
  EXPECT_EQ((Dim(0) - floor_div(h, 2)).str(), "-(h/2)");
  EXPECT_EQ(floor_div(Dim(0) - h, 2).str(), "(-h)/2");
  EXPECT_NE(floor_div(Dim(0) - h, 2), Dim(0) - floor_div(h, 2));
  EXPECT_EQ(floor_div(-7, n).str(), "(-7)/n");
}

TEST(DimText, NamesThatLookLikeExpressions) {
  EXPECT_EQ(Dim::symbol("h/2").str(), "`h/2`");
  EXPECT_NE(Dim::symbol("h/2"), floor_div(h, 2));
}

// Reads a text by the usual rules: division rounds down, * and / go from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::int64_t sum() {
    const bool negative = accept('-');
    std::int64_t v = negative ? -product() : product();
    while (true) {
      if (accept('+')) {
        v += product();
      } else if (accept('-')) {
        v -= product();
      } else {
        return v;
      }
    }
  }
  bool at_end() const { return text_.empty(); }

 private:
  bool accept(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  static std::int64_t floored(std::int64_t a, std::int64_t b) {
    const std::int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }

  std::int64_t product() {
    std::int64_t v = factor();
    while (true) {
      if (accept('*')) {
        v *= factor();
      } else if (accept('/')) {
        v = floored(v, factor());
      } else {
        return v;
      }
    }
  }

  std::int64_t factor() {
    if (accept('(')) {
      const std::int64_t v = sum();
      EXPECT_TRUE(accept(')'));
      return v;
    }
    std::string word;
    while (!text_.empty() && std::isalnum(static_cast<unsigned char>(text_[0]))) {
      word += text_[0];
      text_.remove_prefix(1);
    }
    if (word == "n") return 7;
    if (word == "h") return 10;
    if (word == "w") return 3;
    if (!accept('(')) return std::stoll(word);
    const std::int64_t a = sum();
    EXPECT_TRUE(accept(','));
    const std::int64_t b = sum();
    EXPECT_TRUE(accept(')'));
    if (word == "min") return std::min(a, b);
    if (word == "max") return std::max(a, b);
    ADD_FAILURE() << "unknown function " << word;
    return 0;
  }

  std::string_view text_;
};

Dim random_dim(std::mt19937& random, int depth) {
  if (depth == 0 || random() % 5 == 0) {
    const Dim leaves[] = {n, h, w, static_cast<std::int64_t>(random() % 9) - 4};
    return leaves[random() % 4];
  }
  const Dim a = random_dim(random, depth - 1), b = random_dim(random, depth - 1);
  switch (random() % 7) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return min(a, b);
    case 4:
      return max(a, b);
    case 5:
      return floor_div(a, static_cast<std::int64_t>(random() % 4) + 2);
    default:
      return floor_div(a, b * b + 1);
  }
}

TEST(DimText, ReadsAsWhatItIs) {
  const SymbolValues values{{"n", 7}, {"h", 10}, {"w", 3}};
  std::mt19937 random(5);
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    try {
      const Dim d = random_dim(random, 5);
      const std::int64_t value = d.eval(values);
      if (value > 1'000'000'000 || value < -1'000'000'000) continue;
      const std::string text = d.str();
      Reader reader(text);
      ASSERT_EQ(reader.sum(), value) << text;
      ASSERT_TRUE(reader.at_end()) << text;
      ++compared;
    } catch (const Error&) {  // too large, or a division by zero
    }
  }
  EXPECT_GT(compared, 2000);
}

}  // namespace
}  // namespace treadle
