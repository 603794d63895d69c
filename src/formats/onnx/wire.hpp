// The protobuf reader under the names that this format's files use.
#pragma once

#include "formats/wire.hpp"

namespace treadle::onnx {

using wire::decode;
using wire::Message;

}  // namespace treadle::onnx
