// A folder for files that only this process and what it starts need.
#pragma once

#include <string>

namespace treadle::cli {

// Gone with what it holds when this is destroyed.
class TemporaryFolder {
 public:
  // `purpose` is part of its name. Throws Io error when it cannot be made.
  explicit TemporaryFolder(const std::string& purpose);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace treadle::cli
