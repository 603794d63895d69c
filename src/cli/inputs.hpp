// Model inputs as the command line names them: arrays, pictures, recordings, random numbers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "api/model.hpp"
#include "cli/image.hpp"
#include "graph/value.hpp"

namespace CLI {
class App;
}

namespace treadle::cli {

struct InputArgs {
  std::vector<std::string> inputs;  // "name=source", or a source alone
  std::string image_size, image_layout, image_order;
  std::vector<double> image_mean, image_scale;
};

void add_input_args(CLI::App& app, InputArgs& args);

// Names that --input gives: a name that is no input of the model cuts the graph there.
std::vector<std::string> input_names(const InputArgs& args);

// Shapes of inputs that are already known.
using KnownShapes = std::map<std::string, SymShape, std::less<>>;
// Those of the .npy files among --input.
KnownShapes array_shapes(const InputArgs& args);
// Model::load(); where the file alone does not say enough, as import_with_shapes().
std::shared_ptr<const Model> load_with_shapes(const std::string& path, const ModelOptions& options,
                                              const KnownShapes& known);
// import_model(); when the file itself does not say enough (a TensorFlow placeholder without a
// shape, an inner value that becomes an input), once more with the known shapes.
ImportedModel import_with_shapes(const std::string& path, const ModelOptions& options,
                                 const KnownShapes& known);

enum class Missing { Error, Random };

// One value a port, in their order. Sizes that the file leaves open follow from the arrays, then
// from `symbols`; what is still open is 1 on the first axis and a Shape error elsewhere. Inputs
// that are not named are an error, or random numbers.
std::vector<Value> make_inputs(std::span<const Port> ports, const InputArgs& args,
                               const SymbolValues& symbols, Missing missing);

// mulberry32: the k-th number of the stream that `seed` starts, in [0, 1).
class Mulberry32 {
 public:
  explicit Mulberry32(std::uint32_t seed) : state_(seed) {}
  double next();

 private:
  std::uint32_t state_;
};

// Floats uniform in [0, 1), integers and bools 0 or 1, strings empty.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint32_t seed);

}  // namespace treadle::cli
