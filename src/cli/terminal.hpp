// Text for people: styles where the output is a terminal, tables, numbers with units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::cli {

enum class Style { Bold, Dim, Red, Green, Yellow };

// The text in a style when standard output is a terminal and NO_COLOR is not set; else unchanged.
std::string styled(Style style, std::string_view text);
// The same for standard error.
std::string styled_error(Style style, std::string_view text);

// Columns aligned to their widest cell; cells of a right-aligned column end at the same place.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<bool> right = {});
  void row(std::vector<std::string> cells);
  std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

// "12.3 MB" (powers of 1024), "1.23 G" (powers of 1000).
std::string bytes_text(double bytes);
std::string count_text(double count);

// Writes to standard output.
void say(std::string_view text);

}  // namespace treadle::cli
