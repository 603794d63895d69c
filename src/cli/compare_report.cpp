#include "cli/compare_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"

namespace treadle::cli {
namespace {

bool good(const Finding& f) {
  return f.difference.equal || (f.missing && !f.required);
}

Json to_json(const Finding& f) {
  Json j{{"where", f.where}, {"value", f.value}, {"ok", good(f)}};
  if (!f.missing) {
    j["max_abs"] = f.difference.max_abs;
    j["max_rel"] = f.difference.max_rel;
    j["largest"] = f.difference.largest;
  }
  if (f.difference.where >= 0) j["element"] = f.difference.where;
  if (!f.difference.note.empty()) j["note"] = f.difference.note;
  return j;
}

}  // namespace

bool CompareReport::ok() const {
  return !findings.empty() && std::all_of(findings.begin(), findings.end(), good);
}

double CompareReport::max_abs() const {
  double v = 0;
  for (const Finding& f : findings) v = std::max(v, f.difference.max_abs);
  return v;
}

double CompareReport::max_rel() const {
  double v = 0;
  for (const Finding& f : findings) v = std::max(v, f.difference.max_rel);
  return v;
}

Json to_json(const CompareReport& report) {
  Json j{{"model", report.model},
         {"ok", report.ok()},
         {"max_abs", report.max_abs()},
         {"max_rel", report.max_rel()},
         {"compared", report.findings.size()},
         {"skipped", report.skipped},
         {"findings", Json::array()}};
  const auto first = std::find_if_not(report.findings.begin(), report.findings.end(), good);
  if (first != report.findings.end()) j["first_mismatch"] = to_json(*first);
  for (const Finding& f : report.findings) j["findings"].push_back(to_json(f));
  return j;
}

std::string to_text(const CompareReport& report, bool all) {
  std::string out;
  Table table({"", "where", "value", "max abs", "max rel", "note"},
              {false, false, false, true, true, false});
  std::size_t rows = 0;
  for (const Finding& f : report.findings) {
    if (!all && good(f)) continue;
    const auto number = [&](double v) {
      return f.missing ? std::string("-") : fmt::format("{:.3g}", v);
    };
    table.row({good(f) ? "ok" : "differs", f.where, f.value, number(f.difference.max_abs),
               number(f.difference.max_rel), f.difference.note});
    ++rows;
  }
  if (rows > 0) out += table.str();
  const auto first = std::find_if_not(report.findings.begin(), report.findings.end(), good);
  if (first != report.findings.end()) {
    out += fmt::format("{} first at {}, value '{}': {}", styled(Style::Red, "mismatch:"),
                       first->where, first->value, describe(first->difference));
    if (first->difference.where >= 0) out += fmt::format(", element {}", first->difference.where);
    out += "\n";
  } else if (report.findings.empty()) {
    out += styled(Style::Red, "mismatch:") + " nothing could be compared\n";
  } else {
    out += fmt::format("{} {} values agree, max difference {:.3g} (relative {:.3g})",
                       styled(Style::Green, "ok:"), report.findings.size(), report.max_abs(),
                       report.max_rel());
    if (report.skipped > 0) out += fmt::format("; {} values have no counterpart", report.skipped);
    out += "\n";
  }
  return out;
}

}  // namespace treadle::cli
