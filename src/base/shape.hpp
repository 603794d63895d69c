// Concrete tensor shapes: up to kMaxRank sizes stored in place, so copying one never allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace treadle {

inline constexpr int kMaxRank = 16;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  // Throws Shape error when more than kMaxRank sizes are given or one is negative.
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::size_t size() const { return static_cast<std::size_t>(rank_); }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::int64_t* begin() { return dims_.data(); }
  std::int64_t* end() { return dims_.data() + rank_; }
  const std::int64_t* data() const { return dims_.data(); }
  std::int64_t back() const { return dims_[static_cast<std::size_t>(rank_) - 1]; }
  void push_back(std::int64_t dim);
  void insert(int at, std::int64_t dim);
  void erase(int at);

  // Product of the sizes (1 for rank 0). Throws Shape error on overflow of 64 bits.
  std::int64_t elements() const;
  // Row-major strides in elements.
  Shape strides() const;
  // "[1, 3, 224, 224]".
  std::string str() const;

  bool operator==(const Shape& o) const;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// Product with a check; throws Shape error "size overflows 64 bits".
std::int64_t checked_mul(std::int64_t a, std::int64_t b);
std::int64_t checked_add(std::int64_t a, std::int64_t b);

}  // namespace treadle
