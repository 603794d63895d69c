// treadle bench report on what the suite recorded of builds with planted faults: the records of
// bench/results/planted.md, which says how each was made.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/json.hpp"
#include "cli_util.hpp"

namespace treadle::cli {
namespace {

using Names = std::set<std::string>;
using Found = std::map<std::string, Names>;  // entries by metric

const std::string kRecords = TREADLE_BENCH_RECORDS "/";

struct Judged {
  int code = 0;
  Found worse, better;
};

Judged judge(const std::string& build) {
  const auto o = call({"bench", "report", kRecords + "base.jsonl", kRecords + build + ".jsonl",
                       "--history", kRecords + "history", "--json"});
  EXPECT_LE(o.code, kMismatch) << o.err;
  Judged out{o.code, {}, {}};
  const Json report = Json::parse(o.out);
  for (const Json& row : report["rows"]) {
    const std::string metric = row["metric"], entry = row["entry"];
    const std::string name = entry.substr(0, entry.find("/cpu-1"));  // others keep theirs
    if (row["verdict"] == "regression") out.worse[metric].insert(name);
    if (row["verdict"] == "improvement") out.better[metric].insert(name);
  }
  return out;
}

// By what `treadle profile` says of the kernels that a model's run calls.
const Names kWithProducts = {"mnist",
                             "yunet-320",
                             "ppocr-cls",
                             "squeezenet",
                             "shufflenet",
                             "silero-vad",
                             "gtcrn",
                             "sentence-lstm",
                             "stories260k-prefill-64",
                             "stories260k-decode-128",
                             "kws-cnn-s",
                             "kws-ds-cnn-s",
                             "hey-snips"};
// In shufflenet and gtcrn a tenth of the depthwise kernel is less than the floor.
const Names kWithMuchDepthwise = {"yunet-320", "ppocr-cls", "kws-ds-cnn-s"};

Names and_more(Names names, const Names& more) {
  names.insert(more.begin(), more.end());
  return names;
}
const Names kCounted = and_more(kWithProducts, {"qlstm", "qtdnn", "lgbm-regressor"});
const Names kAll = and_more(kCounted, {"mnist/cpu-2", "yunet-320/cpu-2", "squeezenet/cpu-2"});

TEST(BenchReportRecorded, TheSameBuildGivesNothing) {
  const Judged j = judge("same");
  EXPECT_EQ(j.code, kRight);
  EXPECT_EQ(j.worse, Found{});
  EXPECT_EQ(j.better, Found{});
}

TEST(BenchReportRecorded, ATenthMoreStepsInTheProductsIsFoundInTheModelsThatHaveThem) {
  const Judged j = judge("product");
  EXPECT_EQ(j.code, kMismatch);
  EXPECT_EQ(j.worse, (Found{{"eval_minstr", kWithProducts}, {"first_minstr", kWithProducts}}));
  EXPECT_EQ(j.better, Found{});
}

TEST(BenchReportRecorded, ATenthMoreOfTheDepthwiseKernelIsFoundWhereItIsOnePerCentOfTheRun) {
  const Judged j = judge("depthwise");
  EXPECT_EQ(j.code, kMismatch);
  EXPECT_EQ(j.worse,
            (Found{{"eval_minstr", kWithMuchDepthwise}, {"first_minstr", kWithMuchDepthwise}}));
  EXPECT_EQ(j.better, Found{});
}

TEST(BenchReportRecorded, TwentyMegabytesAreFoundInAllModels) {
  const Judged j = judge("memory");
  EXPECT_EQ(j.code, kMismatch);
  EXPECT_EQ(j.worse, (Found{{"rss_peak_mb", kAll}, {"rss_ready_mb", kAll}}));
  EXPECT_EQ(j.better, Found{});
}

TEST(BenchReportRecorded, ASlowerLoaderIsFoundInAllModelsThatAreCounted) {
  const Judged j = judge("loader");
  EXPECT_EQ(j.code, kMismatch);
  EXPECT_EQ(j.worse, (Found{{"load_minstr", kCounted}, {"ready_minstr", kCounted}}));
  EXPECT_EQ(j.better, Found{});
}

}  // namespace
}  // namespace treadle::cli
