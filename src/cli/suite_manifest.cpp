// The only file that includes toml++, which is slow to compile.
#include "cli/suite_manifest.hpp"

#define TOML_HEADER_ONLY 1
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "cli/trace_stage.hpp"

namespace treadle::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModels = "models:";

std::string_view type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

// "'two'", "3", "a list": what an error says that it got.
std::string shown(const toml::node& node) {
  if (const auto* v = node.as_string()) return "'" + v->get() + "'";
  if (const auto* v = node.as_integer()) return std::to_string(v->get());
  if (const auto* v = node.as_floating_point()) return fmt::format("{:g}", v->get());
  if (const auto* v = node.as_boolean()) return v->get() ? "true" : "false";
  return std::string(type_name(node.type()));
}

// A table, its name for errors, and typed access to its keys.
class Keys {
 public:
  Keys(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  void allow(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table_)
      check(std::find(known.begin(), known.end(), key.str()) != known.end(), ErrorKind::Parse,
            "{}key '{}' is not known (line {}); expected one of {}", where_, key.str(), line(node),
            fmt::join(known, ", "));
  }

  const toml::node* find(std::string_view key) const { return table_.get(key); }
  const std::string& where() const { return where_; }

  [[noreturn]] void wrong(std::string_view key, std::string_view expected,
                          const toml::node& got) const {
    fail(ErrorKind::Parse, "{}key '{}': expected {}, got {} (line {})", where_, key, expected,
         shown(got), line(got));
  }

  // Also used for elements of lists, which have the list's key.
  std::string text(std::string_view key, const toml::node& node) const {
    const auto* v = node.as_string();
    if (v == nullptr || v->get().empty()) wrong(key, "a text", node);
    return v->get();
  }
  std::int64_t whole(std::string_view key, const toml::node& node, std::int64_t least,
                     std::int64_t most) const {
    const auto* v = node.as_integer();
    if (v == nullptr || v->get() < least || v->get() > most)
      wrong(key,
            most == std::numeric_limits<std::int64_t>::max()
                ? fmt::format("a whole number from {} on", least)
                : fmt::format("a whole number from {} to {}", least, most),
            node);
    return v->get();
  }

  std::string text(std::string_view key) const {
    const toml::node* node = find(key);
    check(node != nullptr, ErrorKind::Parse, "{}key '{}' is missing; expected a text", where_, key);
    return text(key, *node);
  }
  std::string text_or(std::string_view key, std::string fallback) const {
    return find(key) ? text(key) : std::move(fallback);
  }
  std::string one_of(std::string_view key, std::initializer_list<std::string_view> words,
                     std::string_view fallback) const {
    const std::string v = text_or(key, std::string(fallback));
    if (std::find(words.begin(), words.end(), v) == words.end())
      wrong(key, fmt::format("one of {}", fmt::join(words, ", ")), *find(key));
    return v;
  }
  std::int64_t whole_or(std::string_view key, std::int64_t fallback, std::int64_t least,
                        std::int64_t most) const {
    const toml::node* node = find(key);
    return node ? whole(key, *node, least, most) : fallback;
  }
  double number_or(std::string_view key, double fallback, double least, double most) const {
    const toml::node* node = find(key);
    if (!node) return fallback;
    const auto v = node->is_number() ? node->value<double>() : std::nullopt;
    if (!v || !(*v >= least && *v <= most))
      wrong(key, fmt::format("a number from {:g} to {:g}", least, most), *node);
    return *v;
  }
  bool flag(std::string_view key) const {
    const toml::node* node = find(key);
    if (!node) return false;
    if (!node->is_boolean()) wrong(key, "true or false", *node);
    return node->as_boolean()->get();
  }
  const toml::table* table(std::string_view key) const {
    const toml::node* node = find(key);
    if (node && !node->is_table()) wrong(key, "a table", *node);
    return node ? node->as_table() : nullptr;
  }
  // The elements of a list, or the value itself where it is none.
  std::vector<const toml::node*> list(std::string_view key) const {
    std::vector<const toml::node*> out;
    const toml::node* node = find(key);
    if (!node) return out;
    const toml::array* array = node->as_array();
    if (array == nullptr) return {node};
    for (const toml::node& element : *array) out.push_back(&element);
    return out;
  }

  static std::string line(const toml::node& node) {
    return std::to_string(node.source().begin.line);
  }

 private:
  const toml::table& table_;
  std::string where_;
};

struct Reader {
  fs::path folder;  // of the suite file
  std::string models_root;
  SuiteOverrides overrides;
  double seconds = 1, timeout = 120;
  std::set<std::string, std::less<>> ids;

  // Where a path of the file is; sets the entry's skip when nothing is there.
  std::string resolve(const Keys& keys, std::string_view key, const std::string& text,
                      SuiteEntry& entry) const;
  void read_inputs(const Keys& keys, SuiteEntry& entry) const;
  void read_accuracy(const Keys& keys, SuiteEntry& entry) const;
  SuiteEntry read_entry(const Keys& keys) const;
  void expand(const Keys& keys, const SuiteEntry& entry, std::vector<SuiteEntry>& out);
};

void skip(SuiteEntry& entry, std::string reason, std::string detail) {
  if (!entry.skip.empty()) return;
  entry.skip = std::move(reason);
  entry.skip_detail = std::move(detail);
}

std::string Reader::resolve(const Keys& keys, std::string_view key, const std::string& text,
                            SuiteEntry& entry) const {
  const bool below_models = text.starts_with(kModels);
  const bool required = keys.flag("required");
  if (below_models && models_root.empty()) {
    check(!required, ErrorKind::Io, "{}key '{}': '{}' needs TREADLE_MODELS, which is not set",
          keys.where(), key, text);
    skip(entry, "TREADLE_MODELS is not set", text);
    return text;
  }
  const fs::path path =
      below_models ? fs::path(models_root) / text.substr(kModels.size()) : folder / text;
  std::error_code code;
  if (!fs::exists(path, code)) {
    check(!required, ErrorKind::Io, "{}key '{}': {} is not there", keys.where(), key,
          path.string());
    skip(entry, "file is not there", path.string());
  }
  return path.lexically_normal().string();
}

// "random:7", "zeros" and "0.5" stay as they are.
bool names_file(const std::string& source) {
  return source.starts_with(kModels) ||
         (!source.starts_with("random") && !fs::path(source).extension().empty());
}

void Reader::read_inputs(const Keys& keys, SuiteEntry& entry) const {
  const toml::table* inputs = keys.table("inputs");
  if (!inputs) return;
  for (const auto& [name, node] : *inputs) {
    const std::string key = fmt::format("inputs.{}", name.str());
    if (node.is_number()) {
      entry.inputs.emplace_back(name.str(), shown(node));
      continue;
    }
    std::string source = keys.text(key, node);
    if (names_file(source)) source = resolve(keys, key, source, entry);
    entry.inputs.emplace_back(name.str(), std::move(source));
  }
}

void Reader::read_accuracy(const Keys& keys, SuiteEntry& entry) const {
  const toml::table* table = keys.table("accuracy");
  if (!table) return;
  const Keys inner(*table, keys.where() + "accuracy: ");
  inner.allow({"io", "tolerance", "rtol"});
  SuiteAccuracy accuracy;
  accuracy.io = resolve(keys, "accuracy.io", inner.text("io"), entry);
  accuracy.tolerance = inner.number_or("tolerance", accuracy.tolerance, 0, 1e6);
  accuracy.rtol = inner.number_or("rtol", accuracy.rtol, 0, 1e6);
  entry.accuracy = std::move(accuracy);
}

std::string shape_text(const Keys& keys, const std::string& key, const toml::node& node) {
  const toml::array* sizes = node.as_array();
  if (!sizes) keys.wrong(key, "a list of sizes", node);
  std::vector<std::string> parts;
  for (const toml::node& size : *sizes)
    parts.push_back(size.is_string() ? keys.text(key, size)
                                     : std::to_string(keys.whole(key, size, 0, 1LL << 40)));
  return fmt::format("{}", fmt::join(parts, ","));
}

void read_sizes(const Keys& keys, SuiteEntry& entry) {
  if (const toml::table* shapes = keys.table("shapes"))
    for (const auto& [name, node] : *shapes)
      entry.shapes.push_back(fmt::format(
          "{}={}", name.str(), shape_text(keys, fmt::format("shapes.{}", name.str()), node)));
  if (const toml::table* symbols = keys.table("symbols"))
    for (const auto& [name, node] : *symbols)
      entry.symbols.push_back(
          fmt::format("{}={}", name.str(),
                      keys.whole(fmt::format("symbols.{}", name.str()), node, 0, 1LL << 40)));
}

SuiteEntry Reader::read_entry(const Keys& keys) const {
  keys.allow({"name", "model", "format", "inputs", "shapes", "symbols", "pulse", "precision",
              "target", "threads", "accuracy", "needs", "required", "prefill_tokens",
              "decode_tokens", "time", "timeout"});
  SuiteEntry entry;
  entry.name = keys.text("name");
  std::vector<std::string> needs;
  for (const toml::node* node : keys.list("needs")) needs.push_back(keys.text("needs", *node));
  if (!needs.empty()) skip(entry, fmt::format("needs {}", fmt::join(needs, ", ")), "");
  const std::string model = keys.text("model");
  entry.format = keys.one_of("format", {"onnx", "tf", "nnef"}, "onnx");
  entry.precision = keys.one_of("precision", {"f32", "f16", "bf16", "int8"}, entry.precision);
  constexpr auto kAny = std::numeric_limits<std::int64_t>::max();
  if (keys.find("pulse")) entry.pulse = keys.whole_or("pulse", 0, 1, kAny);
  entry.prefill_tokens = keys.whole_or("prefill_tokens", 0, 1, kAny);
  entry.decode_tokens = keys.whole_or("decode_tokens", 0, 1, kAny);
  entry.seconds = overrides.seconds.value_or(keys.number_or("time", seconds, 0.01, 3600));
  entry.timeout = keys.number_or("timeout", timeout, 0.1, 86400);
  read_sizes(keys, entry);
  // Files of an entry that is skipped anyhow need not be there, whatever `required` says.
  if (!needs.empty()) return entry;
  entry.model = resolve(keys, "model", model, entry);
  read_inputs(keys, entry);
  read_accuracy(keys, entry);
  return entry;
}

void Reader::expand(const Keys& keys, const SuiteEntry& entry, std::vector<SuiteEntry>& out) {
  std::vector<std::string> targets;
  for (const toml::node* node : keys.list("target")) targets.push_back(keys.text("target", *node));
  if (targets.empty()) targets.push_back(entry.target);
  std::vector<int> threads;
  for (const toml::node* node : keys.list("threads"))
    threads.push_back(static_cast<int>(keys.whole("threads", *node, 1, 1024)));
  if (threads.empty()) threads.push_back(entry.threads);
  for (const std::string& target : targets) {
    if (target != "cpu" && !names_device(target))
      keys.wrong("target", "cpu, cuda, cuda:N, metal or sim", *keys.find("target"));
    for (const int n : threads) {
      SuiteEntry one = entry;
      one.target = target;
      one.threads = n;
      one.id = fmt::format("{}/{}-{}", entry.name, target, n);
      if (entry.precision != "f32") one.id += "-" + entry.precision;
      check(ids.insert(one.id).second, ErrorKind::Parse,
            "{}key 'name': '{}' is there twice (line {})", keys.where(), one.id,
            Keys::line(*keys.find("name")));
      out.push_back(std::move(one));
    }
  }
}

toml::table parse_file(const std::string& path) {
  check(fs::is_regular_file(path), ErrorKind::Io, "{}: no such file", path);
  try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    fail(ErrorKind::Parse, "{}: line {}: {}", path, e.source().begin.line, e.description());
  }
}

// How errors name an entry: by its name, or by its place where it has none.
std::string where(const std::string& path, const toml::table& table, std::size_t at) {
  if (const auto* name = table.get_as<std::string>("name"))
    return fmt::format("{}: entry '{}': ", path, name->get());
  return fmt::format("{}: entry {}: ", path, at + 1);
}

}  // namespace

Suite read_suite(const std::string& path, const std::string& models_root,
                 const SuiteOverrides& overrides) {
  const toml::table root = parse_file(path);
  const Keys keys(root, path + ": ");
  keys.allow({"name", "rounds", "time", "timeout", "entry"});
  Suite suite;
  suite.name = keys.text("name");
  suite.rounds = static_cast<int>(keys.whole_or("rounds", suite.rounds, 1, 1000));
  Reader reader{fs::path(path).parent_path(), models_root, overrides, 1, 120, {}};
  reader.seconds = keys.number_or("time", reader.seconds, 0.01, 3600);
  reader.timeout = keys.number_or("timeout", reader.timeout, 0.1, 86400);
  const auto entries = keys.list("entry");
  check(!entries.empty(), ErrorKind::Parse, "{}: key 'entry' is missing; expected [[entry]] tables",
        path);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const toml::table* table = entries[i]->as_table();
    if (!table) keys.wrong("entry", "[[entry]] tables", *entries[i]);
    const Keys of_entry(*table, where(path, *table, i));
    reader.expand(of_entry, reader.read_entry(of_entry), suite.entries);
  }
  return suite;
}

}  // namespace treadle::cli
