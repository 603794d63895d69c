// A report as Markdown for a pull request, as JSON, and as a page with charts.
#pragma once

#include <string>

#include "cli/json.hpp"
#include "cli/report_judge.hpp"

namespace treadle::cli::report {

// "Bench vs main: 1 regression, 2 improvements".
std::string title_of(const Report& report);
// "0.0334 ms".
std::string value_text(const Metric& metric, double value);
// "+10.0 %".
std::string change_text(const Row& row);
// "3 × 0.9 % (24 runs)": what the change was judged against.
std::string noise_text(const Row& row);
// "mnist/cpu-1", with the engine when it is not treadle, threads and precision when they differ
// from one and f32.
std::string entry_text(const SeriesKey& key);
// "3 disturbed rounds left out (1 of the base, 2 new)", and so on; nothing for what is 0.
std::vector<std::string> notes_of(const Report& report);

std::string to_markdown(const Report& report);
Json to_json(const Report& report);
// One file without outside resources or scripts.
std::string to_html(const Report& report);

// Text in HTML, in element content and in quoted attributes. Control characters are replaced.
std::string html_escaped(std::string_view text);
// The style of the page for a verdict: "worse", "better" or "suspect"; empty for the others.
const char* style_of(Verdict verdict);
// An inline SVG of the history, the base and the new value of a row.
std::string chart_of(const Report& report, const Row& row);

}  // namespace treadle::cli::report
