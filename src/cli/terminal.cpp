#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace treadle::cli {
namespace {

bool coloured(int fd) {
  const char* no = std::getenv("NO_COLOR");
  return isatty(fd) != 0 && (no == nullptr || *no == '\0');
}

std::string apply(bool on, Style style, std::string_view text) {
  if (!on) return std::string(text);
  static constexpr const char* kCodes[] = {"1", "2", "31", "32", "33"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<int>(style)], text);
}

// Characters on screen: UTF-8 continuation bytes do not count.
std::size_t width(std::string_view s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string scaled(double v, double base, std::string_view unit) {
  static constexpr const char* kPrefix[] = {"", "k", "M", "G", "T"};
  int i = 0;
  while (v >= base && i < 4) {
    v /= base;
    ++i;
  }
  const int digits = i == 0 ? 0 : v < 10 ? 2 : v < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}{}", v, digits, kPrefix[i], unit);
}

}  // namespace

std::string styled(Style style, std::string_view text) {
  static const bool on = coloured(STDOUT_FILENO);
  return apply(on, style, text);
}

std::string styled_error(Style style, std::string_view text) {
  static const bool on = coloured(STDERR_FILENO);
  return apply(on, style, text);
}

Table::Table(std::vector<std::string> header, std::vector<bool> right) : right_(std::move(right)) {
  right_.resize(header.size());
  rows_.push_back(std::move(header));
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(right_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& r : rows_)
    for (std::size_t c = 0; c < r.size(); ++c) widths[c] = std::max(widths[c], width(r[c]));
  std::string out;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::string line;
    for (std::size_t c = 0; c < rows_[i].size(); ++c) {
      const std::string pad(widths[c] - width(rows_[i][c]), ' ');
      line += right_[c] ? pad + rows_[i][c] : rows_[i][c] + pad;
      line += "  ";
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += (i == 0 ? styled(Style::Bold, line) : line) + "\n";
  }
  return out;
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1024, "B");
}
std::string count_text(double count) {
  return scaled(count, 1000, "");
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace treadle::cli
