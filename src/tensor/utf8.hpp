// UTF-8 to and from code points.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

// Appends one code point; false (nothing appended) for surrogates and values above U+10FFFF.
bool append_utf8(std::string& out, char32_t code);
// nullopt when the text is not well-formed UTF-8 (overlong forms and surrogates included).
std::optional<std::u32string> decode_utf8(std::string_view text);
// Text from a file, fit for a terminal: control characters (of ASCII, and U+0080 to U+009F) are
// written as \x1b, so that names can neither move the cursor nor forge lines. Of what is no UTF-8
// all bytes beyond ASCII are.
std::string printable(std::string_view text);

}  // namespace treadle
