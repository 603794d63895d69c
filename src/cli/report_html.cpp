// `bench report --html`: one page, without scripts and outside resources.
#include <fmt/format.h>

#include <map>

#include "cli/report_text.hpp"

namespace treadle::cli::report {
namespace {

// The policy forbids what an escaping fault would need: scripts, pictures, connections.
constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
)";

constexpr const char* kStyle = R"(<style>
:root { --back: #fff; --card: #f5f6f8; --text: #1c1e21; --soft: #5f6670; --grid: #d5d9df;
  --line: #3a6ea5; --worse: #c62828; --better: #2e7d32; --suspect: #b26a00; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171b; --card: #1e2329; --text: #e6e8eb; --soft: #a0a8b2; --grid: #39414b;
    --line: #7fb2e5; --worse: #ff7b72; --better: #6fcf7c; --suspect: #f0b860; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--back);
  color: var(--text); font: 16px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; }
h3 { font-size: .95rem; margin: 0; }
p, ul { margin: .4rem 0; } .soft { color: var(--soft); font-size: .85rem; }
.cards { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); }
.card { background: var(--card); border: 1px solid transparent; border-radius: .5rem; padding: .6rem .75rem; }
.card.worse { border-color: var(--worse); } .card.better { border-color: var(--better); }
.card.suspect { border-color: var(--suspect); }
b.worse { color: var(--worse); } b.better { color: var(--better); } b.suspect { color: var(--suspect); }
svg { display: block; width: 100%; height: auto; margin-top: .3rem; }
svg text { font: 10px system-ui, sans-serif; fill: var(--soft); }
svg polyline { fill: none; stroke: var(--line); stroke-width: 1.5; stroke-linejoin: round; }
svg .grid { stroke: var(--grid); stroke-width: 1; stroke-dasharray: 2 3; }
svg circle { stroke: var(--card); stroke-width: 1; fill: var(--line); }
svg circle.base { fill: var(--card); stroke: var(--line); stroke-width: 2; }
svg circle.worse { fill: var(--worse); } svg circle.better { fill: var(--better); }
svg circle.suspect { fill: var(--suspect); } svg circle.same { fill: var(--text); }
</style>
)";

std::string card(const Report& report, const Row& row, const std::string& title) {
  const Metric& metric = kMetrics[row.metric];
  const char* kind = style_of(row.verdict);
  std::string out = fmt::format("<div class=\"card {}\"><h3>{}</h3>", kind, html_escaped(title));
  out += fmt::format(
      "<p>{} → {} <b class=\"{}\">{}</b>{}</p>", html_escaped(value_text(metric, row.base)),
      html_escaped(value_text(metric, row.now)), kind, html_escaped(change_text(row)),
      *kind ? fmt::format(" ({})", name_of(row.verdict)) : std::string());
  out += chart_of(report, row);
  return out + fmt::format("<p class=\"soft\">{}</p></div>\n", html_escaped(noise_text(row)));
}

std::string changed(const Report& report) {
  std::string out;
  for (const Row& row : report.rows)
    if (*style_of(row.verdict))
      out += card(report, row,
                  fmt::format("{}: {} ({})", entry_text(row.key), kMetrics[row.metric].title,
                              device_of(row.key)));
  return out.empty() ? out : "<h2>What changed</h2>\n<div class=\"cards\">\n" + out + "</div>\n";
}

std::string by_series(const Report& report) {
  std::map<SeriesKey, std::vector<const Row*>> series;
  for (const Row& row : report.rows) series[row.key].push_back(&row);
  std::string out;
  for (const auto& [key, rows] : series) {
    out += fmt::format("<h2>{}</h2>\n<p class=\"soft\">{}</p>\n<div class=\"cards\">\n",
                       html_escaped(entry_text(key)), html_escaped(device_of(key)));
    for (const Row* row : rows) out += card(report, *row, kMetrics[row->metric].title);
    out += "</div>\n";
  }
  return out;
}

std::string summary(const Report& report) {
  std::string out = fmt::format("<p class=\"soft\">{} → {}, {} runs of history</p>\n<ul>\n",
                                html_escaped(report.base_commit), html_escaped(report.new_commit),
                                report.history_runs);
  for (const std::string& n : notes_of(report)) out += "<li>" + html_escaped(n) + "</li>\n";
  for (const Failure& f : report.failures)
    out += fmt::format("<li>{} failed: {}</li>\n", html_escaped(entry_text(f.key)),
                       html_escaped(f.error));
  const auto names = [&](const char* what, const std::vector<SeriesKey>& keys) {
    for (const SeriesKey& k : keys)
      out += fmt::format("<li>{}: {} ({})</li>\n", what, html_escaped(entry_text(k)),
                         html_escaped(device_of(k)));
  };
  names("only in the base", report.only_base);
  names("only in the new measurements", report.only_new);
  names("without an undisturbed round on a side", report.no_rounds);
  return out + "</ul>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const auto u = static_cast<unsigned char>(c);
        if ((u < 0x20 && c != '\n' && c != '\t') || u == 0x7f)
          out += "\uFFFD";
        else
          out += c;
      }
    }
  }
  return out;
}

const char* style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Regression:
      return "worse";
    case Verdict::Improvement:
      return "better";
    case Verdict::SuspectWorse:
    case Verdict::SuspectBetter:
      return "suspect";
    default:
      return "";
  }
}

std::string to_html(const Report& report) {
  const std::string title = html_escaped(title_of(report));
  return fmt::format(
      "{0}<title>{1}</title>\n{2}</head>\n<body>\n<h1>{1}</h1>\n{3}{4}{5}</body>\n</html>\n", kHead,
      title, kStyle, summary(report), changed(report), by_series(report));
}

}  // namespace treadle::cli::report
