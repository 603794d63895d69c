#include "ops/strings.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <limits>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/loop.hpp"
#include "tensor/limit.hpp"

namespace treadle::ops {
namespace {

// Strings that a tensor of them may hold together, in bytes.
void check_text(std::int64_t bytes) {
  check(bytes <= TensorLimit::current(), ErrorKind::Memory,
        "the strings of a tensor take more than {} bytes", TensorLimit::current());
}

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

std::vector<std::string_view> split_at_space(std::string_view s, std::int64_t most) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t first = s.find_first_not_of(kWhiteSpace);
    if (first == std::string_view::npos) return parts;
    s.remove_prefix(first);
    const std::size_t end = s.find_first_of(kWhiteSpace);
    if (end == std::string_view::npos || static_cast<std::int64_t>(parts.size()) == most) {
      parts.push_back(s);
      return parts;
    }
    parts.push_back(s.substr(0, end));
    s.remove_prefix(end);
  }
}

std::vector<std::string_view> split_at(std::string_view s, std::string_view delimiter,
                                       std::int64_t most) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = s.find(delimiter);
    if (at == std::string_view::npos || static_cast<std::int64_t>(parts.size()) == most) {
      parts.push_back(s);
      return parts;
    }
    parts.push_back(s.substr(0, at));
    s.remove_prefix(at + delimiter.size());
  }
}

}  // namespace

void StringConcat::visit(ParamVisitor&) const {}

std::vector<Fact> StringConcat::infer(InputFacts in) const {
  need_inputs(in, 2);
  need_dtype(need(in, 0), DType::String, 0);
  need_dtype(need(in, 1), DType::String, 1);
  return {Fact::tensor(DType::String, broadcast_shape(in))};
}

void StringConcat::eval(EvalContext& ctx) const {
  const TensorView &a = ctx.in(0), &b = ctx.in(1);
  Shape shape = a.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) shape[d] = b.shape[d];
  }
  const std::array<const Shape*, 2> inputs{&a.shape, &b.shape};
  const StridedLoop loop = broadcast_loop("StringConcat", shape, inputs);
  write_output(ctx, 0, DType::String, shape, [&](TensorView& y) {
    std::int64_t bytes = 0;
    for_each_row(loop, [&](const std::int64_t* at) {
      for (std::int64_t i = 0; i < loop.row(); ++i) {
        const std::string& left = a.as<std::string>()[at[1] + i * loop.row_stride(1)];
        const std::string& right = b.as<std::string>()[at[2] + i * loop.row_stride(2)];
        bytes += static_cast<std::int64_t>(left.size() + right.size());
        check_text(bytes);
        y.as<std::string>()[at[0] + i] = left + right;
      }
    });
  });
}

void StringSplit::visit(ParamVisitor& v) const {
  v.param("delimiter", std::string_view(delimiter));
  v.param("max_splits", max_splits);
  v.param("count", count);
}

std::vector<Fact> StringSplit::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  need_dtype(x, DType::String, 0);
  SymShape shape = x.shape;
  shape.push_back(count);
  return {Fact::tensor(DType::String, std::move(shape)), Fact::tensor(DType::I64, x.shape)};
}

void StringSplit::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  std::vector<std::vector<std::string_view>> parts;
  std::size_t most = 0;
  for (const std::string& s : x.span<std::string>()) {
    parts.push_back(delimiter.empty() ? split_at_space(s, max_splits)
                                      : split_at(s, delimiter, max_splits));
    most = std::max(most, parts.back().size());
  }
  Shape shape = x.shape;
  shape.push_back(static_cast<std::int64_t>(most));
  allocate_output(ctx, 0, DType::String, shape, [&](TensorView& y) {
    auto* out = y.as<std::string>();
    for (const auto& p : parts) {
      std::copy(p.begin(), p.end(), out);
      out += most;
    }
  });
  if (ctx.outputs() < 2) return;
  allocate_output(ctx, 1, DType::I64, x.shape, [&](TensorView& z) {
    std::transform(parts.begin(), parts.end(), z.as<std::int64_t>(),
                   [](const auto& p) { return static_cast<std::int64_t>(p.size()); });
  });
}

RegexFullMatch::RegexFullMatch(std::string p) : pattern(std::move(p)) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_shared<const re2::RE2>(pattern, options);
  check(regex->ok(), ErrorKind::Parse, "attribute 'pattern' is '{}', no regular expression: {}",
        pattern, regex->error());
  regex_ = std::move(regex);
}

void RegexFullMatch::visit(ParamVisitor& v) const {
  v.param("pattern", std::string_view(pattern));
}

std::vector<Fact> RegexFullMatch::infer(InputFacts in) const {
  need_inputs(in, 1);
  need_dtype(need(in, 0), DType::String, 0);
  return {Fact::tensor(DType::Bool, in[0]->shape)};
}

void RegexFullMatch::eval(EvalContext& ctx) const {
  const auto x = ctx.in(0).span<std::string>();
  bool* y = ctx.output(0).as<bool>();
  for (const std::string& s : x) *y++ = re2::RE2::FullMatch(s, *regex_);
}

}  // namespace treadle::ops
