// TensorProto to Tensor.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mapped_file.hpp"
#include "graph/graph.hpp"
#include "tensor/tensor.hpp"

namespace treadle::onnx {

// A decoded tensor.
struct FileTensor {
  std::string_view name;
  std::shared_ptr<const Tensor> tensor;
};

// Decodes the tensors of one file. Each encoded tensor is decoded once; asking again shares it.
// Elements stay in the file where it stores them as they are used; what is stored misaligned for
// its type, or in typed fields, is copied.
class TensorReader {
 public:
  // `folder` is where external data is looked for; without one, external data is an error.
  TensorReader(std::shared_ptr<const MappedFile> file, std::optional<std::string> folder,
               const Limits& limits)
      : file_(std::move(file)), folder_(std::move(folder)), limits_(limits) {}

  // `encoded` must lie in the file. Throws Parse, Unsupported, Io or Memory errors that begin with
  // "tensor 'name'".
  FileTensor read(std::string_view encoded);
  // The same for a SparseTensorProto, made dense.
  FileTensor read_sparse(std::string_view encoded);

 private:
  struct Proto;
  static Proto parse(std::string_view encoded);
  std::shared_ptr<const Tensor> make(const Proto& p);
  std::shared_ptr<const Tensor> from_bytes(const Proto& p, DType dtype, const Shape& shape,
                                           std::string_view bytes,
                                           const std::shared_ptr<const MappedFile>& owner) const;
  std::shared_ptr<const Tensor> external(const Proto& p, DType dtype, const Shape& shape);

  std::shared_ptr<const MappedFile> file_;
  std::optional<std::string> folder_;
  Limits limits_;
  std::unordered_map<const char*, FileTensor> decoded_;
  std::unordered_map<std::string, std::shared_ptr<const MappedFile>> external_files_;
};

}  // namespace treadle::onnx
