// treadle bench suite: the list, the order, what is not trusted, programs that misbehave, records.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "cli/json.hpp"
#include "cli/suite_child.hpp"
#include "cli/suite_manifest.hpp"
#include "cli/suite_plan.hpp"
#include "cli/suite_probe.hpp"
#include "cli/suite_run.hpp"
#include "cli_util.hpp"

namespace treadle::cli {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string content(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<Json> json_lines(const std::string& path) {
  std::vector<Json> out;
  std::istringstream in(content(path));
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
  return out;
}

class SuiteTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    write("m.onnx", "a model");
  }

  // The text of the error that the entry gives, empty when it is read.
  std::string error_of(const std::string& text) {
    write("s.toml", text);
    try {
      read_suite(path("s.toml"), "");
      return {};
    } catch (const Error& e) {
      return e.what();
    }
  }
  std::string entry_error(const std::string& keys) {
    return error_of("name = 's'\n[[entry]]\nname = 'e'\nmodel = 'm.onnx'\n" + keys);
  }

  Suite read(const std::string& text, const std::string& models_root = "") {
    return read_suite(write("s.toml", text), models_root);
  }

  // A program that answers `info`, and does `bench` (and `compare`) as told; every call but `info`
  // is noted in the file "log".
  std::string program(const std::string& name, const std::string& bench,
                      const std::string& compare = "echo '{\"ok\":true}'") {
    const std::string info =
        R"({"version":"0.1","commit":"abc","compiler":"GNU","flags":"-O2","isa_used":"avx2",)"
        R"("cpu":"a cpu","processors":2,"devices":{"cuda":{"devices":[],"why_not":"no driver"},)" +
        metal_ + "}}";
    const std::string file =
        write(name, "#!/bin/sh\nif [ $1 = info ]; then echo '" + info + "'; exit; fi\necho " +
                        name + " \"$@\" >> " + path("log") + "\nif [ $1 = compare ]; then\n" +
                        compare + "\nexit\nfi\n" + bench + "\n");
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }
  static std::string right(const std::string& median = "2.0") {
    return R"(echo '{"load_ms":1.5,"ready_ms":2.5,"first_ms":3.5,"eval_ms":{"min":1.9,"median":)" +
           median +
           R"(,"p95":2.2,"n":3},"rss_ready_mb":7,"rss_peak_mb":8,"device_mb":null,"copies":null,)"
           R"("syncs":null,"samples":{"eval_ms":[1.9,2.0,2.2]}}')";
  }

  // Runs the suite with calibration loops that give these rates, the last one from then on.
  SuiteSummary run(const Suite& suite, const std::vector<std::string>& programs,
                   std::deque<double> rates = {10}) {
    std::vector<SuiteProgram> asked;
    for (const std::string& p : programs) asked.push_back(ask_program(p));
    SuiteHooks hooks;
    hooks.probe = [rates](const std::string&, int) mutable {
      const double rate = rates.front();
      if (rates.size() > 1) rates.pop_front();
      return Probe{rate, "GFLOP/s"};
    };
    records.clear();
    hooks.write = [this](std::size_t, const Json& record) { records.push_back(record); };
    return run_suite(suite, "", asked, hooks);
  }

  std::vector<Json> records;
  // What the programs say of Metal.
  std::string metal_ = R"("metal":{"devices":[],"why_not":"made elsewhere"})";
  const std::string one_ = "name = 's'\nrounds = 1\n[[entry]]\nname = 'e'\nmodel = 'm.onnx'\n";
};

TEST_F(SuiteTest, ReadsEveryKey) {
  write("x.npy", "");
  const Suite s = read(
      "name = 'all'\nrounds = 4\ntime = 0.5\ntimeout = 9\n[[entry]]\nname = 'e'\nmodel = 'm.onnx'\n"
      "format = 'tf'\npulse = 8\nprecision = 'int8'\ntarget = ['cpu', 'sim']\nthreads = [1, 2]\n"
      "time = 0.25\ntimeout = 3.5\nprefill_tokens = 64\naccuracy = { io = '.', tolerance = 0.5 }\n"
      "shapes = { x = [1, 'n', 3] }\nsymbols = { n = 7 }\n"
      "[entry.inputs]\nx = 'x.npy'\ny = 'random:3'\nz = 0.5\n");
  EXPECT_EQ(s.name, "all");
  EXPECT_EQ(s.rounds, 4);
  ASSERT_EQ(s.entries.size(), 4u);
  EXPECT_EQ(s.entries[0].id, "e/cpu-1-int8");
  EXPECT_EQ(s.entries[3].id, "e/sim-2-int8");
  const SuiteEntry& e = s.entries[3];
  EXPECT_EQ(e.skip, "");
  EXPECT_EQ(e.target, "sim");
  EXPECT_EQ(e.threads, 2);
  EXPECT_EQ(e.pulse, 8);
  EXPECT_EQ(e.format, "tf");
  EXPECT_EQ(e.seconds, 0.25);
  EXPECT_EQ(e.timeout, 3.5);
  EXPECT_EQ(e.prefill_tokens, 64);
  EXPECT_EQ(e.accuracy->tolerance, 0.5);
  EXPECT_EQ(e.model, path("m.onnx"));
  EXPECT_EQ(e.shapes, std::vector<std::string>{"x=1,n,3"});
  EXPECT_EQ(e.symbols, std::vector<std::string>{"n=7"});
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"x", path("x.npy")}, {"y", "random:3"}, {"z", "0.5"}};
  EXPECT_EQ(e.inputs, inputs);
}

TEST_F(SuiteTest, ErrorsNameFileEntryAndKey) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"colour = 1", {"key 'colour' is not known", "line 5"}},
      {"threads = 'two'", {"key 'threads'", "whole number", "'two'"}},
      {"threads = 0", {"key 'threads'", "from 1 to 1024", "got 0"}},
      {"threads = [1, 1]", {"'e/cpu-1' is there twice"}},
      {"target = 'tpu'", {"key 'target'", "cpu, cuda, cuda:N, metal or sim", "'tpu'"}},
      {"target = 3", {"key 'target'", "a text", "got 3"}},
      {"format = 'h5'", {"key 'format'", "onnx, tf, nnef", "'h5'"}},
      {"precision = 'f8'", {"key 'precision'", "'f8'"}},
      {"pulse = 1.5", {"key 'pulse'", "whole number", "1.5"}},
      {"time = 'long'", {"key 'time'", "a number", "'long'"}},
      {"time = nan", {"key 'time'", "a number"}},
      {"required = 1", {"key 'required'", "true or false", "got 1"}},
      {"needs = [3]", {"key 'needs'", "a text", "got 3"}},
      {"symbols = 3", {"key 'symbols'", "a table", "got 3"}},
      {"symbols = { n = 'x' }", {"key 'symbols.n'", "whole number", "'x'"}},
      {"shapes = { x = 3 }", {"key 'shapes.x'", "a list", "got 3"}},
      {"shapes = { x = [-1] }", {"key 'shapes.x'", "got -1"}},
      {"inputs = { x = true }", {"key 'inputs.x'", "a text", "true"}},
      {"accuracy = '.'", {"key 'accuracy'", "a table"}},
      {"accuracy = { tolerance = 1 }", {"accuracy: key 'io' is missing"}},
      {"accuracy = { io = '.', atol = 1 }", {"key 'atol' is not known"}},
      {"accuracy = { io = '.', tolerance = -1 }", {"key 'tolerance'", "got -1"}},
  };
  for (const auto& [keys, parts] : cases) {
    const std::string error = entry_error(keys);
    EXPECT_TRUE(has(error, path("s.toml") + ": entry 'e': ")) << keys << ": " << error;
    for (const std::string& part : parts) EXPECT_TRUE(has(error, part)) << keys << ": " << error;
  }
  const std::string head = "name = 's'\n[[entry]]\n";
  EXPECT_TRUE(has(error_of(head + "name = 'e'"), "entry 'e': key 'model' is missing"));
  EXPECT_TRUE(has(error_of(head + "model = 'm'"), "entry 1: key 'name' is missing"));
  EXPECT_TRUE(has(error_of(one_ + "[[entry]]\nname = 'e'\nmodel = 'm.onnx'"), "is there twice"));
  EXPECT_TRUE(has(error_of("name = 's'"), "key 'entry' is missing"));
  EXPECT_TRUE(has(error_of("name = 's'\nentry = 3"), "key 'entry'"));
  EXPECT_TRUE(has(error_of("[[entry]]\n"), "key 'name' is missing"));
  EXPECT_TRUE(has(error_of("runds = 3\n" + one_), "key 'runds' is not known"));
  EXPECT_TRUE(has(error_of("name = \n"), "s.toml: line 1: "));
}

TEST_F(SuiteTest, ErrorsInTheListAreTwo) {
  EXPECT_EQ(call({"bench", "suite", path("none.toml")}).code, kBadInput);
  auto o = call({"bench", "suite", write("s.toml", one_ + "threads = 'x'")});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "entry 'e': key 'threads'")) << o.err;
  o = call({"bench", "suite", write("s.toml", one_), "--program", path("none")});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "none: cannot be started: No such file")) << o.err;
  EXPECT_EQ(call({"bench", "suite"}).code, kBadInput);
}

TEST_F(SuiteTest, MissingFilesAreSkippedUnlessRequired) {
  const std::string head = "name = 's'\n[[entry]]\nname = 'e'\n";
  EXPECT_EQ(read(head + "model = 'q.onnx'").entries[0].skip, "file is not there");
  EXPECT_EQ(read(head + "model = 'm.onnx'\ninputs = { x = 'q.npy' }").entries[0].skip,
            "file is not there");
  EXPECT_EQ(read(head + "model = 'models:m.onnx'").entries[0].skip, "TREADLE_MODELS is not set");
  EXPECT_EQ(read(head + "model = 'models:m.onnx'", folder_).entries[0].model, path("m.onnx"));
  const std::string error = error_of(head + "model = 'q.onnx'\nrequired = true");
  EXPECT_TRUE(has(error, "entry 'e': key 'model': ") && has(error, "q.onnx is not there")) << error;
  EXPECT_TRUE(has(error_of(head + "model = 'models:q'\nrequired = true"), "TREADLE_MODELS"));
  const Suite s = read(head + "model = 'q.onnx'\nrequired = true\nneeds = ['pulse', 'NNEF']");
  EXPECT_EQ(s.entries[0].skip, "needs pulse, NNEF");
}

TEST_F(SuiteTest, SkippedEntriesAreCountedByReason) {
  const std::string right_program = program("a", right());
  const Suite s =
      read(one_ + "[[entry]]\nname = 'p'\nmodel = 'm'\nneeds = ['pulse']\nthreads = [1, 2]\n" +
           "[[entry]]\nname = 'g'\nmodel = 'm.onnx'\ntarget = ['cuda', 'metal']\n");
  const SuiteSummary summary = run(s, {right_program});
  EXPECT_EQ(summary.entries, 1u);
  const std::map<std::string, std::size_t> want = {
      {"needs pulse", 2}, {"no CUDA device", 1}, {"no Metal device", 1}};
  EXPECT_EQ(by_reason(summary), want);
  const auto o = call({"bench", "suite", path("s.toml"), "--program", right_program});
  EXPECT_EQ(o.code, kRight) << o.err;
  EXPECT_TRUE(has(o.out, "skipped p/cpu-1: needs pulse\n")) << o.out;
  EXPECT_TRUE(has(o.out, "skipped g/cuda-1: no CUDA device (no driver)\n")) << o.out;
  EXPECT_TRUE(has(o.out, "skipped g/metal-1: no Metal device (made elsewhere)\n")) << o.out;
  EXPECT_TRUE(has(o.out, "4 skipped (2 needs pulse; 1 no CUDA device; 1 no Metal device)"))
      << o.out;
  EXPECT_EQ(o.err, "") << "progress without a terminal";
}

TEST_F(SuiteTest, MetalIsATarget) {
  const Suite s = read("name = 's'\n[[entry]]\nname = 'g'\nmodel = 'm.onnx'\ntarget = 'metal'\n");
  metal_ = R"("metal":{"devices":["Apple M1"],"why_not":""})";
  const SuiteSummary summary = run(s, {program("a", right())});
  EXPECT_EQ(summary.entries, 1u);
  EXPECT_TRUE(summary.skipped.empty());
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records[0]["target"], "metal");
  EXPECT_EQ(records[0]["machine"]["gpu"], "Apple M1");
  EXPECT_TRUE(has(content(path("log")), "--target metal")) << content(path("log"));
  // A program from before Metal.
  metal_ = R"("sim":{})";
  const SuiteSummary old = run(s, {program("b", right())});
  ASSERT_EQ(old.skipped.size(), 1u);
  EXPECT_EQ(old.skipped[0].reason, "no Metal device");
  EXPECT_EQ(old.skipped[0].detail, "the program names no such device");
}

TEST(SuitePlan, ProgramsTakeTurns) {
  std::string order;
  for (const Turn& t : turns(2, 2, 3))
    order += std::to_string(t.round) + "xy"[t.entry] + "AB"[t.program] + " ";
  EXPECT_EQ(order, "0xA 0xB 0yA 0yB 1xB 1xA 1yB 1yA 2xA 2xB 2yA 2yB ");
}

TEST(SuitePlan, DisturbedByDifferenceOrBelowTheBest) {
  Disturbance d;
  EXPECT_FALSE(d.disturbed("cpu-1", 100, 95.5));
  EXPECT_FALSE(d.disturbed("cpu-1", 95.5, 100));
  EXPECT_TRUE(d.disturbed("cpu-1", 100, 94.5));
  EXPECT_TRUE(d.disturbed("cpu-1", 94.5, 100));
  EXPECT_FALSE(d.disturbed("cpu-1", 91, 91));
  EXPECT_TRUE(d.disturbed("cpu-1", 89, 91));
  EXPECT_TRUE(d.disturbed("cpu-1", 91, 89));
  EXPECT_FALSE(d.disturbed("cpu-2", 20, 20)) << "another loop";
  d.saw("cpu-2", 23);
  EXPECT_TRUE(d.disturbed("cpu-2", 20, 20));
}

TEST_F(SuiteTest, DisturbedMeasurementsAreRepeatedTwiceAtMost) {
  const Suite s = read(one_);
  const std::string p = program("a", right());
  // Three to know the machine, then before and after each measurement.
  SuiteSummary summary = run(s, {p}, {10, 10, 10, 10, 9, 8, 8, 10, 10, 10});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0]["disturbed"], true);
  EXPECT_EQ(records[0]["probe"], (Json{{"before", 10.0}, {"after", 9.0}, {"unit", "GFLOP/s"}}));
  EXPECT_EQ(records[1]["disturbed"], true) << "steady, but 20 % below the best";
  EXPECT_EQ(records[2]["disturbed"], false);
  EXPECT_EQ(summary.disturbed, 2u);
  EXPECT_EQ(summary.measurements, 3u);
  for (const Json& record : records) EXPECT_EQ(record["round"], 0);
  summary = run(s, {p}, {10, 10, 10, 5});
  EXPECT_EQ(records.size(), 3u);
  EXPECT_EQ(summary.disturbed, 3u);
  run(s, {p}, {10});
  EXPECT_EQ(records.size(), 1u);
}

TEST_F(SuiteTest, RoundsAreInterleaved) {
  const std::string a = program("a", right()), b = program("b", right());
  Suite s = read(one_ +
                 "time = 0.25\nshapes = { x = [1, 2] }\nsymbols = { n = 3 }\npulse = 8\n"
                 "threads = 2\ninputs = { y = 'zeros' }\n");
  s.rounds = 3;
  run(s, {a, b});
  std::istringstream log(content(path("log")));
  std::string order;
  for (std::string line; std::getline(log, line); order += line.substr(0, 1))
    EXPECT_EQ(line.substr(1), " bench " + path("m.onnx") +
                                  " --json --target cpu --threads 2 --time 0.25 --input y=zeros "
                                  "--shape x=1,2 --set n=3 --pulse 8");
  EXPECT_EQ(order, "abbaab");
}

TEST_F(SuiteTest, EachProgramHasItsFile) {
  const std::string a = program("a", right()), b = program("b", right("2.5"));
  write("s.toml", one_);
  auto o = call({"bench", "suite", path("s.toml"), "--rounds", "2", "--program", a, "--program", b,
                 "--out", path("a.jsonl"), "--out", path("b.jsonl")});
  ASSERT_EQ(o.code, kRight) << o.err;
  const auto of_a = json_lines(path("a.jsonl")), of_b = json_lines(path("b.jsonl"));
  EXPECT_EQ(of_a.back()["round"], 1);
  EXPECT_EQ(of_b.back()["round"], 1);
  for (const Json& j : of_a) EXPECT_EQ(j["program"], a);
  for (const Json& j : of_b) EXPECT_EQ(j["metrics"]["eval_ms"], 2.5);
  EXPECT_EQ(of_a[0]["run"], of_b[0]["run"]);
  o = call({"bench", "suite", path("s.toml"), "--program", a, "--program", b, "--out",
            path("ab.jsonl")});
  EXPECT_GE(json_lines(path("ab.jsonl")).size(), 2u);
  o = call({"bench", "suite", path("s.toml"), "--program", a, "--out", "x", "--out", "y"});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "--out is given 2 times for 1 programs")) << o.err;
}

TEST_F(SuiteTest, AProgramThatFailsDoesNotEndTheSuite) {
  const std::string p = program(
      "a",
      "case $2 in *crash) echo dying >&2; kill -SEGV $$;; *fail) echo 'error: no' >&2; exit 3;; "
      "*hang) sleep 600 & echo $! > " +
          path("pid") + "; wait;; *mute) echo hello;; *) " + right() + ";; esac");
  std::string text = "name = 's'\nrounds = 1\ntimeout = 30\n";
  for (const char* name : {"crash", "fail", "hang", "mute", "right"}) {
    write(name, "");
    text += "[[entry]]\nname = '" + std::string(name) + "'\nmodel = '" + name + "'\n";
    if (std::string(name) == "hang") text += "timeout = 0.5\n";
  }
  const auto o = call({"bench", "suite", write("s.toml", text), "--program", p, "--out",
                       path("o.jsonl"), "--json"});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  EXPECT_EQ(Json::parse(o.out)["failed"], 4);
  EXPECT_EQ(Json::parse(o.out)["entries"], 5);
  std::map<std::string, Json> by_model;
  for (const Json& j : json_lines(path("o.jsonl"))) by_model[j["model"]] = j;
  for (const char* name : {"crash", "fail", "hang", "mute"}) {
    EXPECT_EQ(by_model[name]["ok"], false) << name;
    EXPECT_EQ(by_model[name]["disturbed"], false) << name;
    EXPECT_TRUE(by_model[name]["metrics"]["eval_ms"].is_null()) << name;
  }
  EXPECT_EQ(by_model["crash"]["error"], "killed by signal 11 (Segmentation fault): dying");
  EXPECT_EQ(by_model["fail"]["error"], "exit code 3: error: no");
  EXPECT_EQ(by_model["hang"]["error"], "no answer within 0.5 s");
  EXPECT_TRUE(has(by_model["mute"]["error"], "wrote no measurement: hello"));
  EXPECT_EQ(by_model["right"]["ok"], true);
}

// Whether a process runs; one that ended and that nobody has waited for does not.
bool runs(const std::string& pid) {
  const std::string stat = content("/proc/" + pid + "/stat");
  return !stat.empty() && !has(stat, ") Z ") && !has(stat, ") X ");
}

TEST_F(SuiteTest, WhatAHangingProgramStartedEndsWithIt) {
  const std::string script = write("h", "#!/bin/sh\nsleep 600 &\necho $!\nwait\n");
  fs::permissions(script, fs::perms::owner_all);
  const ChildResult result = run_child({script}, 0.5);
  EXPECT_TRUE(result.timed_out);
  ASSERT_FALSE(result.out.empty());
  const std::string pid = result.out.substr(0, result.out.find('\n'));
  for (int i = 0; i < 500 && runs(pid); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(runs(pid));
}

TEST_F(SuiteTest, AnEndedProgramDoesNotWaitForWhatItStarted) {
  const std::string script = write("h", "#!/bin/sh\nsleep 600 &\necho done\n");
  fs::permissions(script, fs::perms::owner_all);
  const ChildResult result = run_child({script}, 300);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.out, "done\n");
}

TEST_F(SuiteTest, WrongOutputsAreNotMeasured) {
  const std::string p =
      program("a", right(), "echo '{\"ok\":false,\"first_mismatch\":{\"value\":\"y\"}}'; exit 1");
  write("s.toml", one_ + "accuracy = { io = '.', tolerance = 0.5, rtol = 0.25 }\n");
  const auto o = call({"bench", "suite", path("s.toml"), "--rounds", "2", "--program", p, "--out",
                       path("o.jsonl")});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  const auto lines = json_lines(path("o.jsonl"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1]["error"], "accuracy: {\"value\":\"y\"}");
  const std::string log = content(path("log"));
  EXPECT_TRUE(has(log, "--tolerance 0.5 --rtol 0.25")) << log;
  EXPECT_EQ(log.find("a compare"), log.rfind("a compare")) << "compared once";
  EXPECT_FALSE(has(log, "a bench"));
}

TEST_F(SuiteTest, RecordsAreAsTheSchemaSays) {
  const std::string p = program("a", right());
  write("s.toml", one_ + "prefill_tokens = 64\n");
  const auto o = call(
      {"bench", "suite", path("s.toml"), "--program", p, "--out", path("o.jsonl"), "--only", "e/"});
  ASSERT_EQ(o.code, kRight) << o.err;
  const Json j = json_lines(path("o.jsonl")).at(0);
  std::vector<std::string> keys;
  for (const auto& [key, value] : j.items()) keys.push_back(key);
  const std::vector<std::string> want = {
      "schema",  "run",       "time",    "engine", "engine_version",
      "commit",  "compiler",  "flags",   "isa",    "instructions_isa",
      "machine", "suite",     "entry",   "model",  "target",
      "threads", "precision", "round",   "probe",  "disturbed",
      "ok",      "error",     "metrics", "samples"};
  EXPECT_EQ(keys, want);
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["engine"], "treadle");
  EXPECT_EQ(j["commit"], "abc");
  EXPECT_EQ(j["isa"], "avx2");
  EXPECT_EQ(j["machine"]["cpu"], "a cpu");
  EXPECT_EQ(j["machine"]["cores"], 2);
  EXPECT_GT(j["machine"]["memory_mb"], 0);
  EXPECT_TRUE(j["machine"]["gpu"].is_null());
  EXPECT_EQ(j["entry"], "e/cpu-1");
  EXPECT_EQ(j["precision"], "f32");
  EXPECT_TRUE(j["error"].is_null());
  EXPECT_GT(j["probe"]["before"], 0);
  const std::string time = j["time"];
  ASSERT_EQ(time.size(), 20u);
  EXPECT_EQ(time[10], 'T');
  EXPECT_EQ(time[19], 'Z');
  const Json& m = j["metrics"];
  const std::map<std::string, double> metrics = {
      {"load_ms", 1.5},     {"ready_ms", 2.5},   {"first_ms", 3.5},  {"eval_ms", 2},
      {"eval_min_ms", 1.9}, {"rss_ready_mb", 7}, {"rss_peak_mb", 8}, {"prefill_tps", 32000}};
  for (const auto& [name, value] : metrics) EXPECT_EQ(m.at(name), value) << name;
  for (const char* name : {"decode_tps", "device_mb", "copies", "syncs"})
    EXPECT_TRUE(m.at(name).is_null()) << name;
  EXPECT_TRUE(m.at("binary_mb").is_number());
  EXPECT_EQ(j["samples"]["eval_ms"], (Json{1.9, 2.0, 2.2}));
  EXPECT_EQ(call({"bench", "suite", path("s.toml"), "--program", p, "--only", "q"}).code,
            kBadInput);
}

// Answers `bench --instructions` with counts, and `bench` with times.
std::string counting(const std::string& times) {
  return R"(case "$*" in *--instructions*) echo '{"isa":"avx2","load_minstr":1,"ready_minstr":2,)"
         R"("first_minstr":4,"eval_minstr":3.5}';; *) )" +
         times + ";; esac";
}

TEST_F(SuiteTest, InstructionsOfOneThreadAreCountedTwiceBeforeAnythingIsMeasured) {
  const std::string a = program("a", counting(right())), b = program("b", counting(right()));
  Suite s = read(one_ + "threads = [1, 2]\nsymbols = { n = 3 }\n");
  s.rounds = 3;
  s.instructions = true;
  const SuiteSummary summary = run(s, {a, b});
  EXPECT_EQ(summary.counted, 1u);
  std::istringstream log(content(path("log")));
  std::vector<std::string> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4u + 12u);
  std::sort(lines.begin(), lines.begin() + 4);  // several are counted at once
  const std::string count =
      " bench " + path("m.onnx") + " --json --target cpu --threads 1 --instructions --set n=3";
  const std::vector<std::string> want = {"a" + count, "a" + count, "b" + count, "b" + count};
  EXPECT_EQ(std::vector(lines.begin(), lines.begin() + 4), want);
  for (std::size_t i = 4; i < lines.size(); ++i) EXPECT_TRUE(has(lines[i], "--time")) << lines[i];
  ASSERT_EQ(records.size(), 12u);
  for (const Json& r : records) {
    const bool has_count = r["threads"] == 1 && r["round"] < 2;
    const Json value = has_count ? Json(3.5) : Json(nullptr);
    EXPECT_EQ(r["metrics"]["eval_minstr"], value) << r;
    EXPECT_EQ(r["metrics"]["eval_ms"], 2.0) << r;
    EXPECT_EQ(r["instructions_isa"], has_count ? Json("avx2") : Json(nullptr)) << r;
  }
  const std::map<std::string, double> counts = {
      {"load_minstr", 1}, {"ready_minstr", 2}, {"first_minstr", 4}};
  for (const auto& [name, value] : counts) EXPECT_EQ(records[0]["metrics"].at(name), value);
}

TEST_F(SuiteTest, TheReportFindsWhatWasCountedWhereEveryTimeIsDisturbed) {
  Suite s = read(one_);
  s.rounds = 3;
  s.instructions = true;
  const auto measure = [&](const std::string& name, const std::string& times) {
    std::deque<double> rates = {10, 10, 10};
    for (int i = 0; i < 9; ++i) rates.insert(rates.end(), {10, 8});
    EXPECT_EQ(run(s, {program(name, counting(times))}, rates).disturbed, 9u);
    std::string text;
    for (const Json& r : records) text += r.dump() + "\n";
    return write(name + ".jsonl", text);
  };
  const std::string base = measure("a", right());
  std::string slower = content(measure("b", right("4.0")));
  for (std::size_t at = 0; (at = slower.find("\"eval_minstr\":3.5", at)) != std::string::npos;)
    slower.replace(at, 17, "\"eval_minstr\":3.6");
  const auto o = call({"bench", "report", base, write("b.jsonl", slower), "--json"});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  std::string found;
  const Json report = Json::parse(o.out);
  for (const Json& row : report["rows"])
    if (row["verdict"] == "regression") found += row["metric"].get<std::string>() + " ";
  EXPECT_EQ(found, "eval_minstr ");
  EXPECT_EQ(call({"bench", "report", base, base}).code, kRight);
}

TEST_F(SuiteTest, CountingThatFailsIsAFailedMeasurement) {
  Suite s = read(one_);
  s.instructions = true;
  const std::string fails =
      R"(case "$*" in *--instructions*) echo 'error: no' >&2; exit 3;; *) )" + right() + ";; esac";
  EXPECT_EQ(run(s, {program("a", fails)}).failed, 1u);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["error"], "instructions: exit code 3: error: no");
  const std::string wrong = program("b", counting(right()), "echo '{\"ok\":false}'; exit 1");
  s.entries[0].accuracy = SuiteAccuracy{path("")};
  EXPECT_EQ(run(s, {wrong}).counted, 0u) << "wrong outputs are not counted";
}

TEST_F(SuiteTest, ProgramsThatCannotCountAreNamed) {
  const std::string p = program("a", right());
  const auto suite = [&] {
    return call({"bench", "suite", write("s.toml", one_), "--program", p, "--instructions"});
  };
  auto o = suite();
  EXPECT_EQ(o.code, kUnsupported);
  EXPECT_TRUE(has(o.err, "--instructions: " + p + " cannot count them")) << o.err;
  EXPECT_TRUE(has(o.err, "hint: scripts/setup.sh installs valgrind")) << o.err;
  const std::string before = std::getenv("PATH");
  setenv("PATH", path("").c_str(), 1);
  o = suite();
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(o.code, kUnsupported);
  EXPECT_TRUE(has(o.err, "--instructions: expected valgrind in PATH, got none")) << o.err;
}

TEST(SuiteProbe, CalibrationGivesARate) {
  for (const int threads : {1, 2}) {
    const Probe p = calibrate("cpu", threads);
    EXPECT_GT(p.rate, 0);
    EXPECT_EQ(p.unit, "GFLOP/s");
  }
  const Probe copies = calibrate_copies("sim");
  EXPECT_GT(copies.rate, 0);
  EXPECT_EQ(copies.unit, "GB/s");
}

TEST(SuiteLists, ThoseOfTheRepositoryAreRead) {
  const Suite quick = read_suite(TREADLE_SUITES "/quick.toml", "");
  for (const SuiteEntry& e : quick.entries) EXPECT_EQ(e.skip, "") << e.id << ": " << e.skip_detail;
  EXPECT_GT(read_suite(TREADLE_SUITES "/nightly.toml", "").entries.size(), quick.entries.size());
}

}  // namespace
}  // namespace treadle::cli
