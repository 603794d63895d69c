#include "cli/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"

namespace treadle::cli {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& purpose)
    : path_((fs::temp_directory_path() / ("treadle-" + purpose + "-XXXXXX")).string()) {
  check(::mkdtemp(path_.data()) != nullptr, ErrorKind::Io, "'{}': cannot be made: {}", path_,
        std::strerror(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace treadle::cli
