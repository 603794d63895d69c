// Which format a model file has, by its content.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace treadle {

enum class Format { Onnx, TensorFlow };

// "ONNX", "TensorFlow GraphDef".
std::string_view name_of(Format format);

// Walks the first fields of the protobuf message: a ModelProto's field 1 is a number and its graph
// is field 7; a GraphDef's field 1 is a NodeDef that begins with a name or an operator. Throws
// Parse error when the bytes are neither, naming what they look like.
Format detect_format(std::span<const std::byte> bytes);

}  // namespace treadle
