#include "translate.hpp"

#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include "group.hpp"

namespace softmetal {

namespace {

struct Token {
  std::string_view text;
  std::size_t at = 0;
  std::uint32_t line = 0;
  bool word() const { return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_'; }
};

bool word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Words, numbers, strings and single characters; line markers set the line.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> out;
  std::uint32_t line = 1;
  std::size_t i = 0;
  bool start = true;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '\n') {
      ++line, ++i;
      start = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (c == '#' && start) {
      std::size_t end = text.find('\n', i);
      if (end == std::string_view::npos) end = text.size();
      const std::string_view marker = text.substr(i, end - i);
      const std::size_t digit = marker.find_first_of("0123456789");
      if (digit == 2)
        line = static_cast<std::uint32_t>(std::stoul(std::string(marker.substr(2)))) - 1;
      i = end;
    } else {
      start = false;
      std::size_t end = i + 1;
      if (word_character(c)) {
        const bool number = std::isdigit(static_cast<unsigned char>(c));
        while (end < text.size() && (word_character(text[end]) || (number && text[end] == '.')))
          ++end;
      } else if (c == '"' || c == '\'') {
        while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2u : 1u;
        end = std::min(end + 1, text.size());
      }
      out.push_back({text.substr(i, end - i), i, line});
      i = end;
    }
  }
  return out;
}

const std::map<std::string_view, Position>& positions() {
  static const std::map<std::string_view, Position> names = {
      {"thread_position_in_threadgroup", Position::ThreadInThreadgroup},
      {"threadgroup_position_in_grid", Position::ThreadgroupInGrid},
      {"threads_per_threadgroup", Position::ThreadsPerThreadgroup},
      {"threadgroups_per_grid", Position::ThreadgroupsPerGrid},
      {"thread_position_in_grid", Position::ThreadInGrid},
      {"threads_per_grid", Position::ThreadsPerGrid},
      {"thread_index_in_threadgroup", Position::ThreadIndexInThreadgroup},
      {"thread_index_in_simdgroup", Position::ThreadIndexInSimdgroup},
      {"simdgroup_index_in_threadgroup", Position::SimdgroupIndexInThreadgroup},
      {"simdgroups_per_threadgroup", Position::SimdgroupsPerThreadgroup},
      {"threads_per_simdgroup", Position::ThreadsPerSimdgroup},
      {"dispatch_threads_per_threadgroup", Position::DispatchThreadsPerThreadgroup},
  };
  return names;
}

bool vector_type(std::string_view word) {
  static const std::set<std::string_view> scalars = {"char", "uchar", "short", "ushort", "int",
                                                     "uint", "long",  "ulong", "half",   "float"};
  return word.size() > 1 && word.back() >= '2' && word.back() <= '4' &&
         scalars.count(word.substr(0, word.size() - 1)) != 0;
}

class Translator {
 public:
  Translator(const std::string& text, const std::string& only)
      : text_(text), only_(only), tokens_(tokens_of(text)) {}

  Translation run() {
    while (i_ < tokens_.size()) {
      if (std::size_t end = kernel_attributes(i_); end != i_) {
        kernel(end);
      } else {
        i_ = step(i_, tokens_.size());
      }
    }
    copy_to(text_.size());
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const Token& at, const std::string& what) const {
    throw TranslationError("program_source:" + std::to_string(at.line) + ": error: " + what);
  }
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].text == text;
  }
  bool attribute_at(std::size_t i) const {
    return is(i, "[") && is(i + 1, "[") && tokens_[i + 1].at == tokens_[i].at + 1;
  }
  // The token after the bracket that closes the one at i.
  std::size_t after(std::size_t i) const {
    int depth = 0;
    for (std::size_t j = i; j < tokens_.size(); ++j) {
      const std::string_view t = tokens_[j].text;
      if (t == "(" || t == "[" || t == "{") ++depth;
      if (t == ")" || t == "]" || t == "}") {
        if (--depth == 0) return j + 1;
      }
    }
    fail(tokens_[i], "'" + std::string(tokens_[i].text) + "' is not closed");
  }
  void copy_to(std::size_t at) {
    out_.text.append(text_, copied_, at - copied_);
    copied_ = at;
  }
  // Replaces the text from token i up to token `end` by as many new lines.
  void drop(std::size_t i, std::size_t end) {
    copy_to(tokens_[i].at);
    const std::size_t to = end < tokens_.size() ? tokens_[end].at : text_.size();
    for (; copied_ < to; ++copied_) {
      if (text_[copied_] == '\n') out_.text += '\n';
    }
    out_.text += ' ';
  }
  std::string text_of(std::size_t i, std::size_t end) const {
    if (i >= end) return "";
    return text_.substr(tokens_[i].at,
                        tokens_[end - 1].at + tokens_[end - 1].text.size() - tokens_[i].at);
  }

  // Copies one token; V(…) of a vector type V becomes softmetal_make<V>(…).
  std::size_t step(std::size_t i, std::size_t end) {
    std::size_t type_end = i + 1;
    const bool named = i > 0 && (is(i - 1, "operator") || is(i - 1, "<") || is(i - 1, "."));
    if (is(i, "vec") && is(i + 1, "<")) {
      while (type_end < end && !is(type_end, ">")) ++type_end;
      ++type_end;
    } else if (!vector_type(tokens_[i].text)) {
      return i + 1;
    }
    if (named || type_end >= end || !is(type_end, "(") || is(type_end + 1, "*") ||
        is(type_end + 1, "&")) {
      return i + 1;
    }
    copy_to(tokens_[i].at);
    out_.text += "softmetal_make<" + text_of(i, type_end) + ">";
    copied_ = tokens_[type_end].at;
    return type_end;
  }

  // Where the attributes and the word that make a kernel end; i when there is none.
  std::size_t kernel_attributes(std::size_t i) {
    if (!attribute_at(i) && !is(i, "kernel")) return i;
    bool found = false;
    std::size_t j = i;
    max_threads_ = 1024;
    while (attribute_at(j) || is(j, "kernel")) {
      const std::size_t end = is(j, "kernel") ? j + 1 : after(j);
      for (std::size_t k = j; k < end; ++k) {
        if (is(k, "kernel")) found = true;
        if (is(k, "host_name")) fail(tokens_[k], "software Metal has no [[host_name]]");
        if (is(k, "max_total_threads_per_threadgroup")) {
          max_threads_ = static_cast<std::uint32_t>(std::stoul(std::string(tokens_[k + 2].text)));
        }
      }
      j = end;
    }
    return found ? j : i;
  }

  void kernel(std::size_t from) {
    const std::size_t start = i_;
    if (!is(from, "void") || !is(from + 2, "(")) fail(tokens_[from], "a kernel must return void");
    Kernel k;
    k.name = tokens_[from + 1].text;
    k.max_threads = max_threads_;
    const std::size_t open = from + 2, close = after(open) - 1;
    if (!is(close + 1, "{")) fail(tokens_[from + 1], "a kernel without a body");
    const std::size_t end = after(close + 1);
    if (!only_.empty() && k.name != only_) {
      drop(start, end);
      i_ = end;
      return;
    }
    drop(start, from);
    out_.text += "static inline __attribute__((always_inline)) ";
    parameters(k, open + 1, close);
    body(k, close + 2, end);
    copy_to(tokens_[end - 1].at + 1);
    entries(k);
    out_.kernels.push_back(std::move(k));
    i_ = end;
  }

  void parameters(Kernel& k, std::size_t i, std::size_t close) {
    while (i < close) {
      std::size_t end = i, attribute = 0, attribute_end = 0;
      for (int depth = 0; end < close && (depth > 0 || !is(end, ",")); ++end) {
        if (attribute_at(end)) {
          attribute = end;
          attribute_end = after(end);
          end = attribute_end - 1;
        } else if (is(end, "<") || is(end, "(")) {
          ++depth;
        } else if (is(end, ">") || is(end, ")")) {
          --depth;
        }
      }
      if (attribute == 0)
        fail(tokens_[i], "parameter '" + text_of(i, end) + "' of kernel " + k.name +
                             " has no attribute such as [[buffer(0)]]");
      k.parameters.push_back(parameter(k, i, attribute));
      drop(attribute, attribute_end);
      i = end + 1;
    }
  }

  Parameter parameter(const Kernel& k, std::size_t i, std::size_t attribute) const {
    Parameter p;
    const Token& name = tokens_[attribute - 1];
    p.name = name.text;
    p.type = text_of(i, attribute - 1);
    const std::string_view what = tokens_[attribute + 2].text;
    if (const auto found = positions().find(what); found != positions().end()) {
      p.kind = Parameter::Kind::Position;
      p.index = static_cast<std::uint32_t>(found->second);
      return p;
    }
    const std::string where = "parameter '" + p.name + "' of kernel " + k.name;
    // [[threadgroup(n)]] has met the macro of the address space.
    if (what != "buffer" && what != "__local") {
      fail(name, where + " has the attribute [[" + std::string(what) +
                     "]], which software Metal has not");
    }
    p.kind = what == "buffer" ? Parameter::Kind::Buffer : Parameter::Kind::Threadgroup;
    p.index = static_cast<std::uint32_t>(std::stoul(std::string(tokens_[attribute + 4].text)));
    const std::string_view last = tokens_[attribute - 2].text;
    if (last != "*" && last != "&") fail(name, where + " is neither a pointer nor a reference");
    p.reference = last == "&";
    p.pointee = text_of(i, attribute - 2);
    std::set<std::string_view> words;
    for (std::size_t j = i; j < attribute; ++j) words.insert(tokens_[j].text);
    const bool global = words.count("__global") != 0, local = words.count("__local") != 0;
    const bool constants = words.count("__constant") != 0 || words.count("constant") != 0;
    if (p.kind == Parameter::Kind::Buffer ? !global && !constants : !local) {
      fail(name, where + " points to the wrong address space: '" + p.type + "'");
    }
    p.writable = global && words.count("const") == 0;
    return p;
  }

  void body(Kernel& k, std::size_t i, std::size_t end) {
    while (i < end) {
      const bool statement = is(i - 1, ";") || is(i - 1, "{") || is(i - 1, "}");
      i = statement && is(i, "__local") ? threadgroup_variable(k, i) : step(i, end);
    }
  }

  // The variables become references to memory of the group.
  std::size_t threadgroup_variable(Kernel& k, std::size_t i) {
    std::vector<std::size_t> ends;  // of the declarators
    std::size_t name = 0, end = i;
    for (int depth = 0; !is(end, ";"); end = is(end, "[") ? after(end) : end + 1) {
      if (is(end, "*") || is(end, "&")) return i + 1;  // a pointer to such memory
      if (is(end, "=")) fail(tokens_[i], "a threadgroup variable cannot be initialised");
      depth += is(end, "<") - is(end, ">");
      if (depth == 0 && is(end, ",")) ends.push_back(end);
      const bool declared = is(end + 1, "[") || is(end + 1, ";") || is(end + 1, ",");
      if (depth == 0 && name == 0 && declared) name = end;
    }
    ends.push_back(end);
    const std::string type = text_of(i + 1, name);
    copy_to(tokens_[i].at);
    for (const std::size_t stop : ends) {
      const std::string number = std::to_string(k.threadgroup.size());
      const std::string own = "softmetal_type_" + number;
      out_.text += "typedef " + type + " " + own + text_of(name + 1, stop) +
                   "; static __constant const ulong softmetal_note_" + number +
                   "[4] __attribute__((section(\"softmetal_notes\"), used)) = {" +
                   std::to_string(out_.kernels.size()) + ", " + number + ", sizeof(" + own +
                   "), 0}; __local " + own + "& " + std::string(tokens_[name].text) +
                   " = *(__local " + own + "*)softmetal_threadgroup(" + number + ", sizeof(" + own +
                   "));";
      k.threadgroup.push_back(0);
      name = stop + 1;
    }
    copied_ = tokens_[end].at + 1;
    return end + 1;
  }

  void entries(const Kernel& k) {
    std::string call, describe;
    for (const Parameter& p : k.parameters) {
      if (!call.empty()) call += ", ";
      if (p.kind == Parameter::Kind::Position) {
        call += "softmetal_position<" + p.type + ">(p, " + std::to_string(p.index) + ")";
        continue;
      }
      const std::uint32_t slot = p.index + (p.kind == Parameter::Kind::Threadgroup ? 32 : 0);
      const std::string value = "a[" + std::to_string(slot) + "]";
      call += p.reference ? "*(" + p.pointee + "*)" + value : "(" + p.type + ")" + value;
      describe += " out[" + std::to_string(slot) + "] = softmetal_sizeof<" + p.pointee +
                  ">::bytes; out[" + std::to_string(kArguments + slot) + "] = softmetal_sizeof<" +
                  p.pointee + ">::alignment;";
    }
    out_.text += " extern \"C\" void softmetal_entry_" + k.name +
                 "(__private const ulong* a, __private const softmetal_positions* p) { " + k.name +
                 "(" + call + "); } extern \"C\" void softmetal_describe_" + k.name +
                 "(__private ulong* out) {" + describe + " out[" + std::to_string(2 * kArguments) +
                 "] = (ulong)__start_softmetal_notes; out[" + std::to_string(2 * kArguments + 1) +
                 "] = (ulong)__stop_softmetal_notes; }";
  }

  const std::string& text_;
  const std::string& only_;
  std::vector<Token> tokens_;
  Translation out_;
  std::size_t copied_ = 0;
  std::size_t i_ = 0;
  std::uint32_t max_threads_ = 1024;
};

}  // namespace

Translation translate(const std::string& preprocessed, const std::string& only) {
  return Translator(preprocessed, only).run();
}

}  // namespace softmetal
