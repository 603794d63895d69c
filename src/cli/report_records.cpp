#include "cli/report_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "cli/json.hpp"

namespace treadle::cli::report {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const Json* find(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

const Json& need(const Json& object, const char* name, const char* expected) {
  const Json* v = find(object, name);
  check(v != nullptr, ErrorKind::Parse, "'{}': expected {}, got none", name, expected);
  return *v;
}

[[noreturn]] void wrong_type(const char* name, const char* expected, const Json& got) {
  fail(ErrorKind::Parse, "'{}': expected {}, got {} {}", name, expected, got.type_name(),
       got.is_structured() ? ""
                           : got.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60));
}

std::string text(const Json& object, const char* name, const ReadLimits& limits) {
  const Json& v = need(object, name, "a string");
  if (!v.is_string()) wrong_type(name, "a string", v);
  auto out = v.get<std::string>();
  check(out.size() <= limits.text_bytes, ErrorKind::Parse,
        "'{}': expected at most {} bytes, got {}", name, limits.text_bytes, out.size());
  return out;
}

std::string text_or_empty(const Json& object, const char* name, const ReadLimits& limits) {
  return find(object, name) == nullptr ? std::string() : text(object, name, limits);
}

std::int64_t integer(const Json& object, const char* name) {
  const Json& v = need(object, name, "an integer");
  if (!v.is_number_integer()) wrong_type(name, "an integer", v);
  check(!v.is_number_unsigned() || v.get<std::uint64_t>() <= std::uint64_t{INT64_MAX},
        ErrorKind::Parse, "'{}': expected an integer of 64 bits, got {}", name, v.dump());
  return v.get<std::int64_t>();
}

bool flag(const Json& object, const char* name) {
  const Json& v = need(object, name, "true or false");
  if (!v.is_boolean()) wrong_type(name, "true or false", v);
  return v.get<bool>();
}

// Times are compared as text, which orders them when all have this form.
std::string time_of(const Json& object, const ReadLimits& limits) {
  std::string t = text(object, "time", limits);
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  bool right = t.size() > kForm.size() && t.back() == 'Z';
  for (std::size_t i = 0; right && i < kForm.size(); ++i)
    right = kForm[i] == '0' ? t[i] >= '0' && t[i] <= '9' : t[i] == kForm[i];
  check(right, ErrorKind::Parse, "'time': expected a time like 2026-12-02T08:50:03Z, got '{}'", t);
  return t;
}

std::string machine_of(const Json& record, const ReadLimits& limits) {
  const Json& machine = need(record, "machine", "an object");
  if (!machine.is_object()) wrong_type("machine", "an object", machine);
  std::string out =
      fmt::format("{}, {} cores", text(machine, "cpu", limits), integer(machine, "cores"));
  const std::string gpu = text_or_empty(machine, "gpu", limits);
  if (!gpu.empty()) out += ", " + gpu;
  return out;
}

std::array<double, kMetricCount> metrics_of(const Json& record) {
  std::array<double, kMetricCount> out;
  out.fill(kNone);
  const Json& metrics = need(record, "metrics", "an object");
  if (!metrics.is_object()) wrong_type("metrics", "an object", metrics);
  for (std::size_t i = 0; i < kMetricCount; ++i) {
    const Json* v = find(metrics, kMetrics[i].name);
    if (v == nullptr) continue;
    if (!v->is_number()) wrong_type(kMetrics[i].name, "a number or null", *v);
    out[i] = v->get<double>();
    check(out[i] >= 0 && std::isfinite(out[i]), ErrorKind::Parse,
          "'{}': expected a number that is not negative, got {}", kMetrics[i].name, v->dump());
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const ReadLimits& limits) : limits_(limits) {}

  void file(const std::string& path) {
    std::error_code ignored;
    check(!std::filesystem::is_directory(path, ignored), ErrorKind::Io,
          "'{}': expected a file of JSON lines, got a folder", path);
    std::ifstream in(path, std::ios::binary);
    check(in.is_open(), ErrorKind::Io, "'{}': cannot be opened: {}", path, std::strerror(errno));
    const auto buffer = std::make_unique<char[]>(limits_.line_bytes + 1);
    for (std::size_t number = 1; !in.eof(); ++number) {
      in.getline(buffer.get(), static_cast<std::streamsize>(limits_.line_bytes + 1));
      check(!in.bad(), ErrorKind::Io, "'{}': cannot be read", path);
      in_context([&] { return fmt::format("{}:{}", path, number); },
                 [&] {
                   check(!in.fail() || in.eof(), ErrorKind::Parse,
                         "expected a line of at most {} bytes, got a longer one",
                         limits_.line_bytes);
                   line({buffer.get(), std::strlen(buffer.get())}, in.gcount(), in.eof());
                 });
    }
  }

  Records finish() {
    for (auto& [key, rounds] : out_.series) order(rounds);
    sort_runs();
    return std::move(out_);
  }

 private:
  void line(std::string_view text, std::streamsize taken, bool last) {
    const auto length = static_cast<std::size_t>(taken) - (last || taken == 0 ? 0 : 1);
    check(text.size() == length, ErrorKind::Parse, "expected text, got a zero byte");
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    Json record;
    try {
      record = Json::parse(text);
    } catch (const nlohmann::json::exception& e) {
      fail(ErrorKind::Parse, "expected a JSON object, got text that is none: {}", e.what());
    }
    check(record.is_object(), ErrorKind::Parse, "expected a JSON object, got {}",
          record.type_name());
    add(record);
  }

  void add(const Json& record) {
    const std::int64_t schema = integer(record, "schema");
    check(schema == 1, ErrorKind::Parse, "'schema': expected 1, got {}", schema);
    SeriesKey key{text(record, "engine", limits_),    text(record, "entry", limits_),
                  text(record, "target", limits_),    integer(record, "threads"),
                  text(record, "precision", limits_), machine_of(record, limits_)};
    const std::size_t run = run_of(record);
    const std::int64_t number = integer(record, "round");
    const bool disturbed = flag(record, "disturbed"), ok = flag(record, "ok");
    check(out_.series.size() < limits_.series || out_.series.contains(key), ErrorKind::Parse,
          "expected at most {} series, got one more", limits_.series);
    auto& rounds = out_.series[key];
    if (!ok) return add_failure(record, std::move(key));
    auto values = metrics_of(record);
    if (disturbed) {
      ++out_.disturbed;
      for (std::size_t i = 0; i < kMetricCount; ++i)
        if (depends_on_time(kMetrics[i].kind)) values[i] = kNone;
    }
    check(++count_ <= limits_.rounds, ErrorKind::Parse, "expected at most {} rounds, got one more",
          limits_.rounds);
    rounds.push_back({run, number, disturbed, values});
  }

  void add_failure(const Json& record, SeriesKey key) {
    ++out_.failed;
    if (!failed_.insert(key).second) return;
    const Json* error = find(record, "error");
    std::string why = error != nullptr && error->is_string() ? error->get<std::string>() : "";
    // Cut where the text stays UTF-8.
    if (why.size() > limits_.text_bytes) {
      std::size_t end = limits_.text_bytes;
      while (end > 0 && (static_cast<unsigned char>(why[end]) & 0xc0) == 0x80) --end;
      why.resize(end);
    }
    out_.failures.push_back({std::move(key), std::move(why)});
  }

  std::size_t run_of(const Json& record) {
    std::string id = text(record, "run", limits_), time = time_of(record, limits_);
    const auto [it, fresh] = run_index_.try_emplace(id, out_.runs.size());
    if (fresh) {
      check(out_.runs.size() < limits_.rounds, ErrorKind::Parse,
            "expected at most {} runs, got one more", limits_.rounds);
      out_.runs.push_back({std::move(id), time, text_or_empty(record, "commit", limits_)});
    }
    Run& run = out_.runs[it->second];
    run.time = std::min(run.time, time);
    return it->second;
  }

  // By run and number. A round that is there twice (files that overlap) counts once, the last.
  void order(std::vector<Round>& rounds) const {
    const auto place = [&](const Round& r) {
      const Run& run = out_.runs[r.run];
      return std::tuple<const std::string&, const std::string&, std::int64_t>(run.time, run.id,
                                                                              r.number);
    };
    std::stable_sort(rounds.begin(), rounds.end(),
                     [&](const Round& a, const Round& b) { return place(a) < place(b); });
    const auto same = [](const Round& later, const Round& earlier) {
      return later.run == earlier.run && later.number == earlier.number;
    };
    const auto kept = std::unique(rounds.rbegin(), rounds.rend(), same);
    rounds.erase(rounds.begin(), kept.base());
  }

  void sort_runs() {
    std::vector<std::size_t> from(out_.runs.size()), to(from.size());
    std::iota(from.begin(), from.end(), std::size_t{0});
    std::sort(from.begin(), from.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(out_.runs[a].time, out_.runs[a].id) <
             std::tie(out_.runs[b].time, out_.runs[b].id);
    });
    std::vector<Run> sorted;
    sorted.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[from[i]] = i;
      sorted.push_back(std::move(out_.runs[from[i]]));
    }
    out_.runs = std::move(sorted);
    for (auto& [key, rounds] : out_.series)
      for (Round& r : rounds) r.run = to[r.run];
  }

  ReadLimits limits_;
  Records out_;
  std::unordered_map<std::string, std::size_t> run_index_;
  std::set<SeriesKey> failed_;
  std::size_t count_ = 0;
};

}  // namespace

std::string device_of(const SeriesKey& key) {
  return key.target + " on " + key.machine;
}

Records read_records(const std::vector<std::string>& paths, const ReadLimits& limits) {
  Reader reader(limits);
  for (const std::string& path : paths) reader.file(path);
  return reader.finish();
}

Records read_folder(const std::string& folder, const ReadLimits& limits) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".jsonl") paths.push_back(it->path().string());
  check(!error, ErrorKind::Io, "'{}': expected a folder of *.jsonl files: {}", folder,
        error.message());
  std::sort(paths.begin(), paths.end());
  return read_records(paths, limits);
}

}  // namespace treadle::cli::report
