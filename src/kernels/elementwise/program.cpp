#include "kernels/elementwise/program.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace treadle::kernels {
namespace {

constexpr std::int64_t kTile = 1024;
// Rows shorter than this are joined into tiles of many rows.
constexpr std::int64_t kShortRow = 256;
constexpr std::int64_t kGrainElements = 16384;

// Where each step's result goes; empty when there are too many at once.
std::vector<int> place(int inputs, std::span<const ElementwiseStep> steps) {
  const int count = static_cast<int>(steps.size());
  std::vector<int> last_use(steps.size(), -1);
  for (int s = 0; s < count; ++s) {
    const ElementwiseStep& step = steps[static_cast<std::size_t>(s)];
    for (const int v : {step.x, step.is_unary ? step.x : step.y}) {
      if (v >= inputs) last_use[static_cast<std::size_t>(v - inputs)] = s;
    }
  }
  std::vector<int> places;
  int holder[ElementwiseProgram::kMaxTemporaries];
  std::fill(std::begin(holder), std::end(holder), -1);
  for (int s = 0; s + 1 < count; ++s) {
    int slot = 0;
    while (slot < ElementwiseProgram::kMaxTemporaries && holder[slot] >= 0 &&
           last_use[static_cast<std::size_t>(holder[slot])] > s) {
      ++slot;
    }
    if (slot == ElementwiseProgram::kMaxTemporaries) return {};
    holder[slot] = s;
    places.push_back(slot);
  }
  places.push_back(-1);
  return places;
}

}  // namespace

bool ElementwiseProgram::fits(int inputs, std::span<const ElementwiseStep> steps) {
  if (inputs < 1 || inputs > kMaxInputs || steps.empty()) return false;
  if (steps.size() > static_cast<std::size_t>(kMaxSteps)) return false;
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
    const ElementwiseStep& step = steps[static_cast<std::size_t>(s)];
    if (step.x < 0 || step.x >= inputs + s) return false;
    if (!step.is_unary && (step.y < 0 || step.y >= inputs + s)) return false;
  }
  return !place(inputs, steps).empty();
}

ElementwiseProgram::ElementwiseProgram(int inputs, std::vector<ElementwiseStep> steps)
    : inputs_(inputs), steps_(std::move(steps)) {
  check(fits(inputs_, steps_), ErrorKind::Internal,
        "elementwise program of {} inputs and {} steps is too large or refers to a later step",
        inputs_, steps_.size());
  temporaries_ = place(inputs_, steps_);
}

BoundElementwise::BoundElementwise(ElementwiseProgram program, const Shape& out,
                                   std::span<const Shape> in, const Rows& table)
    : program_(std::move(program)), table_(table) {
  check(static_cast<int>(in.size()) == program_.inputs(), ErrorKind::Internal,
        "elementwise program has {} inputs, got {} shapes", program_.inputs(), in.size());
  for (const Shape& shape : in) {
    bool ok = shape.rank() == out.rank();
    for (std::size_t i = 0; ok && i < out.size(); ++i) ok = shape[i] == 1 || shape[i] == out[i];
    check(ok, ErrorKind::Shape, "input of shape {} does not broadcast to {}", shape.str(),
          out.str());
  }
  collapse(out, in);
  row_length_ = axes_.back().size;
  rows_ = 1;
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) rows_ *= axes_[i].size;
  long_rows_ = row_length_ >= kShortRow || rows_ <= 1;
  if (long_rows_) {
    tiles_per_row_ = std::max<std::int64_t>(1, (row_length_ + kTile - 1) / kTile);
    tile_ = std::max<std::int64_t>(1, (row_length_ + tiles_per_row_ - 1) / tiles_per_row_);
  } else {
    tile_ = std::max<std::int64_t>(1, kTile / std::max<std::int64_t>(row_length_, 1));
  }
}

void BoundElementwise::collapse(const Shape& out, std::span<const Shape> in) {
  const std::size_t inputs = in.size();
  std::vector<Shape> strides;
  for (const Shape& shape : in) strides.push_back(shape.strides());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 1) continue;
    Axis axis;
    axis.size = out[i];
    for (std::size_t k = 0; k < inputs; ++k) axis.strides[k] = in[k][i] == 1 ? 0 : strides[k][i];
    bool merges = !axes_.empty();
    for (std::size_t k = 0; merges && k < inputs; ++k) {
      merges = axes_.back().strides[k] == axis.strides[k] * axis.size;
    }
    if (merges) {
      axis.size *= axes_.back().size;
      axes_.back() = axis;
    } else {
      axes_.push_back(axis);
    }
  }
  if (axes_.empty()) axes_.emplace_back();
  for (std::size_t k = 0; k < inputs; ++k) {
    bool one = true, flat = true;
    std::int64_t expected = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      one = one && axes_[i].strides[k] == 0;
      flat = flat && axes_[i].strides[k] == expected;
      expected *= axes_[i].size;
    }
    access_.push_back(one ? Access::One : flat ? Access::Flat : Access::Broadcast);
  }
}

std::int64_t BoundElementwise::offset(std::size_t input, std::int64_t row) const {
  std::int64_t result = 0;
  for (std::size_t i = axes_.size() - 1; i-- > 0;) {
    result += row % axes_[i].size * axes_[i].strides[input];
    row /= axes_[i].size;
  }
  return result;
}

void BoundElementwise::gather(std::size_t input, const float* data, std::int64_t row,
                              std::int64_t count, float* to) const {
  const std::int64_t n = row_length_;
  const bool repeats = axes_.back().strides[input] == 0;
  const std::size_t outer = axes_.size() - 1;
  // `outer` is at least 1 here: with one axis every input is flat or one.
  const std::int64_t size = axes_[outer - 1].size, stride = axes_[outer - 1].strides[input];
  std::int64_t inner = row % size;
  const float* from = data + offset(input, row);
  for (std::int64_t r = 0; r < count; ++r) {
    if (repeats) {
      std::fill_n(to, n, *from);
    } else {
      std::copy_n(from, n, to);
    }
    to += n;
    from += stride;
    if (++inner == size) {
      inner = 0;
      if (r + 1 < count) from = data + offset(input, row + r + 1);
    }
  }
}

void BoundElementwise::run_tile(Operand* values, float (*temporaries)[kTile], float* out,
                                std::int64_t n) const {
  const std::span<const ElementwiseStep> steps = program_.steps();
  const int inputs = program_.inputs();
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const ElementwiseStep& step = steps[s];
    const int slot = program_.temporaries()[s];
    float* to = slot < 0 ? out : temporaries[slot];
    const Operand& x = values[step.x];
    const Operand& y = step.is_unary ? x : values[step.y];
    const bool one = x.one && y.one;
    const std::int64_t count = one ? 1 : n;
    if (step.is_unary) {
      table_[step.fn1](x.data, to, count, step.a, step.b);
    } else if (x.one == y.one) {
      table_.both(step.fn2)(x.data, y.data, to, count);
    } else if (y.one) {
      table_.second_one(step.fn2)(x.data, y.data, to, n);
    } else {
      table_.first_one(step.fn2)(x.data, y.data, to, n);
    }
    if (slot < 0 && one) std::fill_n(to, n, to[0]);
    values[inputs + static_cast<int>(s)] = {to, one};
  }
}

void BoundElementwise::run_long_rows(std::span<const float* const> in, float* out,
                                     std::int64_t begin, std::int64_t end) const {
  alignas(64) float temporaries[ElementwiseProgram::kMaxTemporaries][kTile];
  Operand values[ElementwiseProgram::kMaxInputs + ElementwiseProgram::kMaxSteps];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t row = unit / tiles_per_row_;
    const std::int64_t first = unit % tiles_per_row_ * tile_;
    const std::int64_t n = std::min(tile_, row_length_ - first);
    if (n <= 0) continue;
    const std::int64_t flat = row * row_length_ + first;
    for (std::size_t k = 0; k < in.size(); ++k) {
      const std::int64_t step = axes_.back().strides[k];
      values[k].one = step == 0;
      values[k].data = in[k] + (access_[k] == Access::Flat  ? flat
                                : access_[k] == Access::One ? 0
                                                            : offset(k, row) + step * first);
    }
    run_tile(values, temporaries, out + flat, n);
  }
}

void BoundElementwise::run_short_rows(std::span<const float* const> in, float* out,
                                      std::int64_t begin, std::int64_t end) const {
  alignas(64) float temporaries[ElementwiseProgram::kMaxTemporaries][kTile];
  alignas(64) float gathered[ElementwiseProgram::kMaxInputs][kTile];
  Operand values[ElementwiseProgram::kMaxInputs + ElementwiseProgram::kMaxSteps];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t row = unit * tile_;
    const std::int64_t count = std::min(tile_, rows_ - row);
    for (std::size_t k = 0; k < in.size(); ++k) {
      values[k] = {in[k], access_[k] == Access::One};
      if (access_[k] == Access::Flat) values[k].data += row * row_length_;
      if (access_[k] != Access::Broadcast) continue;
      values[k].data = gathered[k];
      // Where only the innermost axis counts, every tile is the same.
      bool same = unit > begin;
      for (std::size_t i = 0; i + 1 < axes_.size(); ++i) same = same && axes_[i].strides[k] == 0;
      if (!same) gather(k, in[k], row, count, gathered[k]);
    }
    run_tile(values, temporaries, out + row * row_length_, count * row_length_);
  }
}

void BoundElementwise::run(std::span<const float* const> in, float* out, Parallel& parallel) const {
  if (rows_ * row_length_ == 0) return;
  const std::int64_t units = long_rows_ ? rows_ * tiles_per_row_ : (rows_ + tile_ - 1) / tile_;
  const std::int64_t unit_elements = long_rows_ ? tile_ : tile_ * row_length_;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / unit_elements);
  parallel.run(units, grain, [&](std::int64_t begin, std::int64_t end) {
    if (long_rows_) {
      run_long_rows(in, out, begin, end);
    } else {
      run_short_rows(in, out, begin, end);
    }
  });
}

}  // namespace treadle::kernels
