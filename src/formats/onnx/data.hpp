// Values in files of their own: TensorProto, SequenceProto, OptionalProto.
#pragma once

#include <memory>

#include "base/mapped_file.hpp"
#include "graph/fact.hpp"
#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace treadle::onnx {

// Reads the value in the file, which must be of the kind of `fact`; its dtype and shape are as the
// file says. Throws the errors of TensorReader.
Value read_value(std::shared_ptr<const MappedFile> file, const Fact& fact,
                 const Limits& limits = {});

}  // namespace treadle::onnx
