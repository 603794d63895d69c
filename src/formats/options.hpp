// What every importer can be asked, and what it can find wrong.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace treadle::formats {

struct LoadOptions {
  Limits limits;
  // Shapes of inputs by name, in place of what the file declares. An initializer that the file also
  // lists as an input becomes an input when it is named here.
  std::map<std::string, SymShape, std::less<>> input_shapes;
  // Sizes for dimension labels: batch=4.
  SymbolValues symbols;
  // Inner values that become inputs: what computes them is cut off, and so are the file's inputs
  // that nothing needs any more.
  std::vector<std::string> inputs;
  // When not empty: the values that become the outputs, in place of the file's.
  std::vector<std::string> outputs;
  // Values that become outputs after the others.
  std::vector<std::string> extra_outputs;
  // Where external data of a model that is loaded from memory lies.
  std::optional<std::string> folder;
  // Called with what is wrong in the file and keeps nothing from running; may be empty.
  std::function<void(const std::string&)> warn;
};

// The file is sound as far as it was read, but how many axes a value has follows from the sizes of
// the inputs, which are not all known.
class NeedsSizes : public Error {
 public:
  explicit NeedsSizes(std::string message) : Error(ErrorKind::Unsupported, std::move(message)) {}
};

// An input or output as the file declares it. A tensor of which no shape is declared has
// ops::unknown_shape().
struct Declared {
  std::string name;
  Fact fact;
};

struct Interface {
  std::vector<Declared> inputs, outputs;
};

struct Problem {
  ErrorKind kind = ErrorKind::Parse;
  std::string text;
};

}  // namespace treadle::formats
