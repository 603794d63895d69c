#include "api/option_text.hpp"

#include <charconv>

namespace treadle {
namespace {

std::optional<std::int64_t> whole_number(std::string_view s) {
  std::int64_t v = 0;
  const auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (code != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return v;
}

}  // namespace

std::pair<std::string, std::string> split_assignment(std::string_view text, std::string_view what) {
  const auto at = text.find('=');
  check(at != std::string_view::npos && at > 0 && at + 1 < text.size(), ErrorKind::Parse,
        "{} '{}' must have the form name=value", what, text);
  return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

void add_shape(std::string_view text, ModelOptions& options) {
  const auto at = text.find('=');
  check(at != std::string_view::npos && at > 0, ErrorKind::Parse,
        "shape '{}' must have the form name=1,3,224,224", text);
  SymShape shape;
  std::string_view rest = text.substr(at + 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto number = whole_number(part);
    const bool symbol = !part.empty() && part.find_first_of("+-*/() ") == std::string_view::npos &&
                        (part[0] < '0' || part[0] > '9');
    check(number ? *number >= 0 : symbol, ErrorKind::Parse,
          "shape '{}': '{}' is neither a size nor a symbol", text, part);
    shape.push_back(number ? Dim(*number) : Dim::symbol(part));
  }
  check(shape.size() <= kMaxRank, ErrorKind::Parse, "shape '{}' has more than {} sizes", text,
        kMaxRank);
  options.shapes.insert_or_assign(std::string(text.substr(0, at)), std::move(shape));
}

void add_symbol(std::string_view text, ModelOptions& options) {
  const auto [name, value] = split_assignment(text, "symbol");
  const auto number = whole_number(value);
  check(number && *number >= 0, ErrorKind::Parse, "symbol '{}': '{}' is not a size", text, value);
  options.symbols.insert_or_assign(name, *number);
}

}  // namespace treadle
