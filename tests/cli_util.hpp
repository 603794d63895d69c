// What the tests of the command share: a call of it, and a folder of files for each test.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "tensor/file.hpp"

namespace treadle::cli {

struct Outcome {
  int code = 0;
  std::string out, err;
};

inline Outcome call(std::vector<std::string> args) {
  std::vector<const char*> argv = {"treadle"};
  for (const auto& a : args) argv.push_back(a.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome o;
  o.code = command(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  o.out = ::testing::internal::GetCapturedStdout();
  o.err = ::testing::internal::GetCapturedStderr();
  return o;
}

// A fresh folder a test, gone afterwards.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "treadle_" + info->test_suite_name() + "_" + info->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // The path of the file.
  std::string write(const std::string& name, const std::string& text) const {
    write_file(path(name), std::as_bytes(std::span(text.data(), text.size())));
    return path(name);
  }

  std::string folder_;
};

}  // namespace treadle::cli
