// treadle bench report
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "cli/report_judge.hpp"
#include "cli_util.hpp"
#include "report_util.hpp"

namespace treadle::cli {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

using Found = std::set<std::string>;  // "metric of entry"

class BenchReport : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::filesystem::create_directories(path("history"));
  }

  // A history of `runs`, a base and a new run; the plants are in the new run alone.
  void make(const Bench& bench, int runs, std::uint64_t seed = 1) {
    Noise noise(seed);
    Bench clean = bench;
    clean.plants.clear();
    // Names in an order that is not that of time.
    for (int i = 0; i < runs; ++i)
      write(fmt::format("history/{:02}.jsonl", runs - i),
            bench_run(clean, fmt::format("h{}", i), i, noise));
    write("base.jsonl", bench_run(clean, "base", runs, noise));
    write("new.jsonl", bench_run(bench, "new", runs + 1, noise));
  }

  Outcome report(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"bench", "report", path("base.jsonl"), path("new.jsonl")};
    args.insert(args.end(), more.begin(), more.end());
    return call(args);
  }
  Outcome with_history(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--history", path("history")});
    return report(more);
  }

  static Found found(const Outcome& o, const std::string& verdict) {
    Found out;
    const Json j = Json::parse(o.out);
    for (const Json& row : j["rows"])
      if (row["verdict"] == verdict)
        out.insert(row["metric"].get<std::string>() + " of " + row["entry"].get<std::string>());
    return out;
  }

  // Records of a one-metric entry in several rounds.
  static std::string rounds(const std::string& run, const std::string& metric,
                            const std::vector<double>& values, int day = 50) {
    std::string out;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Json r = bench_record("m", run, day, static_cast<int>(i));
      r["metrics"] = {{metric, values[i]}};
      out += r.dump() + "\n";
    }
    return out;
  }
  void write_history(const std::string& metric, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      write(fmt::format("history/{:03}.jsonl", i),
            rounds(fmt::format("h{}", i), metric, {values[i]}, static_cast<int>(i)));
  }
  // The verdict on one metric of the entry.
  std::string verdict(const std::string& metric, const std::vector<double>& base,
                      const std::vector<double>& now) {
    write("base.jsonl", rounds("base", metric, base));
    write("new.jsonl", rounds("new", metric, now));
    const auto o = with_history({"--json"});
    return o.code > 1 ? o.err : Json::parse(o.out)["rows"][0]["verdict"].get<std::string>();
  }
};

TEST_F(BenchReport, TwoRunsOfOneBuildGiveNothing) {
  make({}, 24);
  const auto o = with_history();
  EXPECT_EQ(o.code, kRight) << o.err;
  EXPECT_TRUE(has(o.out, "## Bench vs main: 0 regressions, 0 improvements\n")) << o.out;
  EXPECT_TRUE(has(o.out, "<summary>All 29 measurements</summary>")) << o.out;
  EXPECT_FALSE(has(o.out, "❌") || has(o.out, "✅")) << o.out;
  EXPECT_TRUE(has(report().out, ": 0 regressions, 0 improvements\n"));
}

TEST_F(BenchReport, ASlowerKernelIsNamedAndNothingElse) {
  Bench bench;
  bench.plants["mobilenet"].eval = 1.1;
  bench.day_noise = 0.008;
  make(bench, 24);
  const auto o = with_history({"--json"});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  EXPECT_EQ(found(o, "regression"), Found{"eval_ms of mobilenet"});
  EXPECT_EQ(Json::parse(o.out)["title"], "Bench vs main: 1 regression, 0 improvements");
}

TEST_F(BenchReport, MoreMemoryIsNamedAndNothingElse) {
  Bench bench;
  bench.plants["inception"].more_mb = 20;
  make(bench, 24);
  const auto o = with_history({"--json"});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  EXPECT_EQ(found(o, "regression"), Found{"rss_peak_mb of inception"});
}

TEST_F(BenchReport, ASlowerLoaderIsNamedWhereLoadIsLongEnough) {
  Bench bench;
  for (const auto& m : bench.models) bench.plants[m.name].ready = 1.3;
  make(bench, 24);
  const auto o = with_history({"--json"});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  // mobilenet loads in 21 ms.
  EXPECT_EQ(found(o, "regression"),
            (Found{"load_ms of inception", "ready_ms of inception", "ready_ms of mobilenet"}));
}

TEST_F(BenchReport, ImprovementsDoNotFail) {
  Bench bench;
  bench.plants["mnist"].eval = 0.8;
  make(bench, 24);
  const auto o = with_history({"--json"});
  EXPECT_EQ(o.code, kRight) << o.err;
  EXPECT_EQ(found(o, "improvement"), Found{"eval_ms of mnist"});
}

TEST_F(BenchReport, WithoutAHistoryTimesAreJudgedAndLoadAndMemoryListed) {
  Bench bench;
  bench.plants["mobilenet"] = {1.15, 2, 20};
  make(bench, 4);
  const auto o = with_history({"--json"});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  EXPECT_EQ(found(o, "regression"), Found{"eval_ms of mobilenet"});
  EXPECT_TRUE(found(o, "young").contains("ready_ms of mobilenet"));
  EXPECT_TRUE(found(o, "young").contains("rss_peak_mb of mobilenet"));
  EXPECT_TRUE(has(with_history().out, "young series listed, not judged"));
}

TEST_F(BenchReport, YoungTimesNeedThreeRoundsThatAreAllWorse) {
  EXPECT_EQ(verdict("eval_ms", {1, 1.01, 1.02}, {1.2, 1.21, 1.22}), "regression");
  EXPECT_EQ(verdict("eval_ms", {1, 1.01}, {1.2, 1.21}), "young");
  EXPECT_EQ(verdict("eval_ms", {1, 1.01, 1.3}, {1.2, 1.21, 1.22}), "same");
  EXPECT_EQ(verdict("eval_ms", {1, 1.1, 1.2}, {1.21, 1.3, 1.4}), "same");
  EXPECT_EQ(verdict("decode_tps", {50, 50.1, 50.2}, {48, 48.1, 48.2}), "regression");
  EXPECT_EQ(verdict("decode_tps", {50, 50.1, 50.2}, {52, 52.1, 52.2}), "improvement");
  EXPECT_EQ(verdict("decode_tps", {50, 50.1, 50.2}, {49, 49.1, 49.2}), "same");
}

TEST_F(BenchReport, CountsMayStartAtNothing) {
  EXPECT_EQ(verdict("syncs", {0, 0, 0}, {1, 1, 1}), "regression");
  EXPECT_EQ(verdict("syncs", {0, 0, 0}, {0, 0, 0}), "same");
  EXPECT_EQ(verdict("syncs", {2, 2, 2}, {1, 1, 1}), "improvement");
  EXPECT_EQ(verdict("eval_ms", {0, 0, 0}, {1, 1, 1}), "listed");
  EXPECT_EQ(verdict("device_mb", {0, 0, 0}, {100, 100, 100}), "listed");
}

TEST_F(BenchReport, InstructionsAreJudgedByTwoRoundsFromOnePerCentOn) {
  EXPECT_EQ(verdict("eval_minstr", {100, 100}, {101.2, 101.2}), "regression");
  EXPECT_EQ(verdict("eval_minstr", {100, 100}, {98.8, 98.8}), "improvement");
  EXPECT_EQ(verdict("eval_minstr", {100, 100}, {100.8, 100.8}), "same");
  EXPECT_EQ(verdict("eval_minstr", {100, 100}, {101.2}), "listed");
  // A build whose counts differ from round to round is held against that.
  EXPECT_EQ(verdict("eval_minstr", {100, 102}, {103, 105}), "same");
  EXPECT_EQ(verdict("eval_minstr", {100, 102}, {120, 122}), "regression");
}

TEST_F(BenchReport, TheHistoryOfInstructionsIsNotAsked) {
  write_history("load_minstr", {100, 150, 90, 160, 80, 170, 85, 140, 95, 130});
  EXPECT_EQ(verdict("load_minstr", {100, 100}, {102, 102}), "regression");
}

TEST_F(BenchReport, DisturbedRoundsKeepWhatDoesNotDependOnTime) {
  for (const char* metric : {"rss_peak_mb", "eval_minstr", "copies"}) {
    write_history(metric, {100, 100, 100.1, 100, 100, 100});
    std::string base, now;
    for (const int round : {0, 1, 2}) {
      Json r = bench_record("m", "run", 50, round);
      r["disturbed"] = true;
      r["metrics"] = {{metric, 100}, {"eval_ms", 1}};
      base += r.dump() + "\n";
      r["metrics"] = {{metric, 120}, {"eval_ms", 2}};
      now += r.dump() + "\n";
    }
    write("base.jsonl", base);
    write("new.jsonl", now);
    EXPECT_EQ(found(with_history({"--json"}), "regression"), Found{std::string(metric) + " of m"});
  }
}

TEST_F(BenchReport, ANoisyHistoryRaisesTheBar) {
  write_history("eval_ms", {1, 1.1, 0.95, 1.08, 0.92, 1.05, 0.97, 1.1, 0.94, 1.02});
  EXPECT_EQ(verdict("eval_ms", {1, 1, 1}, {1.2, 1.2, 1.2}), "same");
  EXPECT_EQ(verdict("eval_ms", {1, 1, 1}, {2.5, 2.5, 2.5}), "regression");
}

TEST_F(BenchReport, ASlowDriftInTheHistoryHidesNothing) {
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(std::pow(1.02, i));
  write_history("eval_ms", values);
  EXPECT_EQ(verdict("eval_ms", {1.5, 1.5, 1.5}, {1.6, 1.6, 1.6}), "regression");
}

TEST_F(BenchReport, RunsThatJumpBetweenTwoLevelsGiveNoAlarm) {
  write_history("eval_ms", {1, 1.2, 1, 1, 1.2, 1.2, 1, 1.2, 1.2, 1, 1.2, 1});
  EXPECT_EQ(verdict("eval_ms", {1, 1, 1}, {1.2, 1.2, 1.2}), "same");
}

TEST_F(BenchReport, WithASteadyHistoryMostPairsOfRoundsMustAgree) {
  write_history("eval_ms", {1, 1.001, 1, 0.999, 1, 1.001});
  // The medians differ by 20 %, 16 of 25 pairs and 9 of 25 do.
  EXPECT_EQ(verdict("eval_ms", {1, 1, 1, 1, 1.2}, {1, 1.2, 1.2, 1.2, 1.2}), "regression");
  EXPECT_EQ(verdict("eval_ms", {1, 1, 1, 1.2, 1.2}, {1, 1, 1.2, 1.2, 1.2}), "suspect, worse");
  EXPECT_EQ(verdict("eval_ms", {1}, {1.2}), "suspect, worse");
  EXPECT_EQ(verdict("eval_ms", {1}, {0.8}), "suspect, better");
}

TEST_F(BenchReport, SuspectsAreRunAgain) {
  write_history("eval_ms", {1, 1.001, 1, 0.999, 1, 1.001});
  ASSERT_EQ(verdict("eval_ms", {1}, {1.2}), "suspect, worse");
  write("slow.jsonl", rounds("again", "eval_ms", {1.21, 1.19, 1.2}));
  write("fast.jsonl", rounds("again", "eval_ms", {1.01, 1, 1}));
  const auto rerun = [&](const std::string& file) {
    return with_history({"--rerun", "test \"$TREADLE_RERUN_ENTRIES\" = m && echo noise && cp '" +
                                        path(file) + "' \"$TREADLE_RERUN_NEW\""});
  };
  auto o = rerun("slow.jsonl");
  // One round of the base is too few to confirm anything.
  EXPECT_EQ(o.code, kRight) << o.out << o.err;
  write("base.jsonl", rounds("base", "eval_ms", {1, 1}));
  o = rerun("slow.jsonl");
  EXPECT_EQ(o.code, kMismatch) << o.out << o.err;
  EXPECT_TRUE(has(o.out, "+20.0 % when run again")) << o.out;
  EXPECT_FALSE(has(o.out, "noise\n")) << o.out;
  write("new.jsonl", rounds("new", "eval_ms", {1.2, 1.2, 1.2}));
  o = rerun("fast.jsonl");
  EXPECT_EQ(o.code, kRight) << o.out << o.err;
  EXPECT_TRUE(has(o.out, "suspect, worse")) << o.out;
  EXPECT_TRUE(has(o.out, "Bench vs main: 0 regressions")) << o.out;
}

TEST_F(BenchReport, ARerunThatFailsIsAnError) {
  write_history("eval_ms", {1, 1.001, 1, 0.999, 1, 1.001});
  ASSERT_EQ(verdict("eval_ms", {1, 1}, {1.2, 1.2}), "regression");
  auto o = with_history({"--rerun", "exit 3"});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "expected the command to exit with 0, got 3")) << o.err;
  o = with_history({"--rerun", "true"});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "TREADLE_RERUN_NEW names, got none")) << o.err;
}

TEST_F(BenchReport, BinarySizeIsOneRow) {
  Bench bench;
  make(bench, 10);
  Noise noise(9);
  std::string text = bench_run(bench, "new", 20, noise);
  for (std::size_t at = 0; (at = text.find("21.4", at)) != std::string::npos;)
    text.replace(at, 4, "25.0");
  write("new.jsonl", text);
  EXPECT_EQ(found(with_history({"--json"}), "regression"), Found{"binary_mb of (binary)"});
}

TEST_F(BenchReport, DisturbedAndFailedRoundsAreLeftOutAndCounted) {
  write_history("eval_ms", {1, 1.001, 1, 0.999, 1, 1.001});
  write("base.jsonl",
        rounds("base", "eval_ms", {1, 1, 1}) + bench_record("gone", "base", 1, 0).dump());
  Json disturbed = bench_record("m", "new", 50, 7), failed = bench_record("m", "new", 50, 8);
  disturbed["disturbed"] = true;
  disturbed["metrics"]["eval_ms"] = 90;
  failed["ok"] = false;
  failed["error"] = "cannot `load` | <b>";
  failed.erase("metrics");
  write("new.jsonl", rounds("new", "eval_ms", {1, 1}) + disturbed.dump() + "\n\n" + failed.dump() +
                         "\r\n" + bench_record("fresh", "new", 50, 0).dump());
  const auto o = with_history();
  EXPECT_EQ(o.code, kRight) << o.err;
  EXPECT_TRUE(has(o.out, "- 1 disturbed round left out (0 of the base, 1 new)")) << o.out;
  EXPECT_TRUE(has(o.out, "- 1 failed round left out (0 of the base, 1 new)")) << o.out;
  EXPECT_TRUE(has(o.out, "- `m`: `cannot 'load' \\| <b>`")) << o.out;
  EXPECT_TRUE(has(o.out, "Only in the base: `gone` of")) << o.out;
  EXPECT_TRUE(has(o.out, "Only in the new measurements: `fresh` of")) << o.out;
}

TEST_F(BenchReport, TheNewRunInTheHistoryDoesNotHideItself) {
  write_history("eval_ms", {1, 1.001, 1, 0.999, 1, 1.001});
  write("history/new.jsonl", rounds("new", "eval_ms", {1.2, 1.2, 1.2}));
  EXPECT_EQ(verdict("eval_ms", {1, 1, 1}, {1.2, 1.2, 1.2}), "regression");
  const auto o = with_history({"--json"});
  EXPECT_EQ(Json::parse(o.out)["rows"][0]["history_runs"], 6);
}

TEST_F(BenchReport, ErrorsNameFileAndLine) {
  make({}, 0);
  const std::string good = bench_record("m", "new", 1, 0).dump();
  const auto error = [&](const std::string& text) {
    write("new.jsonl", text);
    const auto o = report();
    EXPECT_EQ(o.code, kBadInput) << o.out;
    EXPECT_TRUE(o.out.empty()) << o.out;
    return o.err;
  };
  const auto changed = [&](const std::function<void(Json&)>& change) {
    Json r = Json::parse(good);
    change(r);
    return error(good + "\n" + r.dump() + "\n");
  };
  const std::string at = path("new.jsonl") + ":2: ";
  EXPECT_TRUE(has(error(good + "\nhello\n"), at + "expected a JSON object, got text"));
  EXPECT_TRUE(has(error(good + "\n[1]\n"), at + "expected a JSON object, got array"));
  EXPECT_TRUE(has(error(good + "\n" + good.substr(0, 80)), at + "expected a JSON object"));
  EXPECT_TRUE(has(error(good + "\n" + std::string(1, '\0')), at + "expected text, got a zero"));
  EXPECT_TRUE(has(error(good + "\n\"\xff\"\n"), at + "expected a JSON object"));
  EXPECT_TRUE(has(error(good + "\n" + std::string(2 << 20, ' ')), at + "expected a line of at"));
  EXPECT_TRUE(has(error(good + "\n" + std::string(500'000, '[')), at + "expected a JSON object"));
  EXPECT_TRUE(has(error(""), "expected records, got an empty file"));
  EXPECT_TRUE(has(changed([](Json& r) { r["schema"] = 2; }), at + "'schema': expected 1, got 2"));
  EXPECT_TRUE(has(changed([](Json& r) { r.erase("entry"); }), at + "'entry': expected a string"));
  EXPECT_TRUE(has(changed([](Json& r) { r["threads"] = "2"; }),
                  at + "'threads': expected an integer, got string \"2\""));
  EXPECT_TRUE(has(changed([](Json& r) { r["threads"] = 1e30; }), at + "'threads': expected an"));
  EXPECT_TRUE(has(changed([](Json& r) { r["ok"] = 1; }), at + "'ok': expected true or false"));
  EXPECT_TRUE(has(changed([](Json& r) { r["time"] = "today"; }), at + "'time': expected a time"));
  EXPECT_TRUE(has(changed([](Json& r) { r["machine"] = "vax"; }), at + "'machine': expected an"));
  EXPECT_TRUE(has(changed([](Json& r) { r["metrics"]["eval_ms"] = "1"; }),
                  at + "'eval_ms': expected a number or null, got string"));
  EXPECT_TRUE(has(changed([](Json& r) { r["metrics"]["eval_ms"] = -1; }),
                  at + "'eval_ms': expected a number that is not negative, got -1"));
  EXPECT_TRUE(has(changed([](Json& r) { r["entry"] = std::string(1000, 'x'); }),
                  at + "'entry': expected at most 512 bytes, got 1000"));
  EXPECT_TRUE(has(error("{\"schema\":1,\"threads\":1e999}"), "expected a JSON object"));
}

TEST_F(BenchReport, FilesThatAreNotThere) {
  make({}, 0);
  EXPECT_EQ(call({"bench", "report", path("base.jsonl"), path("none.jsonl")}).code, kBadInput);
  EXPECT_EQ(call({"bench", "report", path("base.jsonl"), folder_}).code, kBadInput);
  EXPECT_EQ(report({"--history", path("nowhere")}).code, kBadInput);
  EXPECT_EQ(report({"--html", path("nowhere/x.html")}).code, kBadInput);
  EXPECT_EQ(call({"bench"}).code, kBadInput);
}

TEST_F(BenchReport, HostileNamesStayText) {
  Bench bench;
  const std::string evil = "</svg><script>alert('&\"')</script>|`@all`\x01\n# x";
  bench.models[0].name = evil;
  bench.plants[evil].eval = 2;
  make(bench, 10);
  const auto o = with_history({"--html", path("page.html")});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  const std::string cell = "| `</svg><script>alert('&\"')</script>\\|'@all'  # x` |";
  EXPECT_TRUE(has(o.out, cell)) << o.out;
  const auto bytes = read_file(path("page.html"));
  const std::string page(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)"));
  EXPECT_FALSE(has(page, "http:") || has(page, "https:") || has(page, "src="));
  EXPECT_TRUE(has(page, "prefers-color-scheme: dark"));
}

TEST_F(BenchReport, TheTextFitsAComment) {
  Bench bench;
  for (int i = 0; i < 200; ++i)
    bench.models.push_back({fmt::format("a model with a long name, number {}", i), 1, 40, 10});
  for (const auto& m : bench.models) bench.plants[m.name].eval = 2;
  make(bench, 0);
  const auto o = report();
  EXPECT_LT(o.out.size(), 65'536u);
  EXPECT_TRUE(has(o.out, "204 regressions")) << o.out.substr(0, 100);
  EXPECT_TRUE(has(o.out, "more rows: `--json` and `--html` have them all")) << o.out;
}

report::Report compared(const Bench& bench, std::size_t runs, std::uint64_t seed) {
  Noise noise(seed);
  Bench clean = bench;
  clean.plants.clear();
  report::Records history, base, now;
  for (std::size_t i = 0; i < runs; ++i)
    add_bench_run(clean, noise, fmt::format("h{}", i), history);
  add_bench_run(clean, noise, "base", base);
  add_bench_run(bench, noise, "new", now);
  return report::compare(base, now, history);
}

// What 200 comparisons of a build with itself call regressions.
struct Alarms {
  std::size_t reports = 0, rows = 0, all_rows = 0;
};

Alarms alarms(const Bench& bench, std::size_t runs) {
  Alarms out;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const report::Report r = compared(bench, runs, 1000 + seed);
    const std::size_t n = r.count(report::Verdict::Regression);
    out.reports += n > 0 ? 1 : 0;
    out.rows += n;
    out.all_rows += r.rows.size();
  }
  return out;
}

TEST(BenchReportPower, AtMostOneReportInAHundredIsAFalseAlarm) {
  Bench bench;
  bench.round_noise = 0.02;
  bench.day_noise = 0;
  for (const std::size_t runs : {0, 5, 10, 24}) {
    const Alarms a = alarms(bench, runs);
    EXPECT_LE(a.reports, 2u) << runs << " runs of history";
    ::testing::Test::RecordProperty(fmt::format("reports_{}", runs), static_cast<int>(a.reports));
  }
}

TEST(BenchReportPower, AtMostOneSeriesInAHundredIsAFalseAlarmWhenDaysDifferAsWell) {
  Bench bench;
  bench.round_noise = bench.day_noise = 0.02;
  for (const std::size_t runs : {5, 10, 24}) {
    const Alarms a = alarms(bench, runs);
    EXPECT_LE(a.rows * 100, a.all_rows) << runs << " runs of history";
    ::testing::Test::RecordProperty(fmt::format("rows_{}", runs), static_cast<int>(a.rows));
  }
}

// The part of 200 comparisons in which a plant of that size is found.
double power(Bench bench, std::size_t runs, double slower) {
  bench.plants["wakeword"].eval = slower;
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    for (const report::Row& row : compared(bench, runs, 5000 + seed).rows)
      if (row.verdict == report::Verdict::Regression && row.metric == report::metric_at("eval_ms"))
        found += row.key.entry == "wakeword" ? 1 : 0;
  return found / 200.0;
}

TEST(BenchReportPower, TenPerCentIsFound) {
  Bench bench;
  bench.round_noise = 0.02;
  bench.day_noise = 0;
  // The fewer runs tell the noise, the wider the margin.
  const std::pair<std::size_t, double> expected[] = {{0, 0.85}, {5, 0.7}, {10, 0.8}, {24, 0.95}};
  for (const auto& [runs, least] : expected) {
    const double part = power(bench, runs, 1.1);
    EXPECT_GE(part, least) << runs << " runs of history";
    ::testing::Test::RecordProperty(fmt::format("found_{}", runs), fmt::format("{}", part));
  }
}

}  // namespace
}  // namespace treadle::cli
