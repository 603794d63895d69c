#include "base/mapped_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace treadle {
namespace {

TEST(MappedFile, MapsReleasesAndReadsAgain) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("treadle_map_{}", ::getpid());
  std::ofstream(path) << "hello";
  const auto file = MappedFile::open(path.string());
  EXPECT_EQ(file->bytes(), "hello");
  file->release_pages();
  EXPECT_EQ(file->bytes(), "hello");
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_EQ(MappedFile::open(path.string())->size(), 0u);
  std::filesystem::remove(path);
  EXPECT_THROW(MappedFile::open(path.string()), Error);
  EXPECT_THROW(MappedFile::open("/tmp"), Error);
  EXPECT_THROW(MappedFile::open("/dev/null"), Error);
}

TEST(MappedFile, HoldsMemory) {
  const auto owned = MappedFile::from_memory(std::string("ab"));
  EXPECT_EQ(owned->bytes(), "ab");
  owned->release_pages();
  const auto text = std::make_shared<const std::string>("xyz");
  EXPECT_EQ(MappedFile::from_memory(std::string_view(*text), text)->bytes(), "xyz");
}

}  // namespace
}  // namespace treadle
