// A file's bytes, mapped read-only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace treadle {

// Read-only bytes: a mapped file, or a block of memory. Immutable; share it by shared_ptr, and give
// that pointer to tensors that refer to the bytes.
class MappedFile {
 public:
  // Maps a regular file. Throws Io error naming the path when it cannot be opened or is none.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  // The same for a path below `folder`, of plain names separated by '/': neither it nor any part of
  // it may be absolute, ".", ".." or a symbolic link. Throws Io error naming `relative`.
  static std::shared_ptr<const MappedFile> open_below(const std::string& folder,
                                                      std::string_view relative);
  // Bytes that the caller hands over.
  static std::shared_ptr<const MappedFile> from_memory(std::string bytes);
  // Bytes that stay alive as long as `owner`.
  static std::shared_ptr<const MappedFile> from_memory(std::string_view bytes,
                                                       std::shared_ptr<const void> owner);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  // Lets the system drop the pages from memory; they are read again when touched. Does nothing for
  // memory blocks.
  void release_pages() const;

 private:
  MappedFile() = default;
  static std::shared_ptr<const MappedFile> map(int fd, const std::string& name);

  const char* data_ = "";
  std::size_t size_ = 0;
  bool mapped_ = false;
  std::string memory_;
  std::shared_ptr<const void> owner_;
};

}  // namespace treadle
