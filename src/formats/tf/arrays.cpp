#include "formats/tf/arrays.hpp"

#include "base/error.hpp"
#include "ops/axis.hpp"
#include "ops/build.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/symbolic_constant.hpp"

namespace treadle::tf {

ValueId new_array(Graph& g, const std::string& name, ValueId length, DType dtype,
                  const SymShape& element) {
  check(dtype != DType::String, ErrorKind::Unsupported, "arrays of strings are not supported");
  SymShape shape{Dim(0)};
  shape.insert(shape.end(), element.begin(), element.end());
  Shape ones;
  for (std::size_t i = 0; i < shape.size(); ++i) ones.push_back(1);
  const ValueId zero = g.add_constant(name + "/zero", Tensor::zeros(dtype, ones));
  if (const auto known = g.fact(length).symbolic(); known && known->size() == 1) {
    shape[0] = (*known)[0];
    check(!shape[0].is_const() || shape[0].value() >= 0, ErrorKind::Shape,
          "an array has the length {}", shape[0].str());
    return g.add1(name + "/array", make_op<ops::Expand>(std::move(shape)), {zero});
  }
  shape[0] = g.fresh_symbol(name + ".length");
  std::vector<ValueId> sizes{ops::reshape(
      g, name + "/length", ops::cast(g, name + "/length", length, DType::I64), {Dim(1)})};
  if (!element.empty()) {
    const auto rank = static_cast<std::int64_t>(element.size());
    sizes.push_back(
        g.add1(name + "/element",
               make_op<ops::SymbolicConstant>(std::vector<Dim>(element.begin(), element.end()),
                                              DType::I64, SymShape{Dim(rank)}),
               {}));
    sizes = {g.add1(name + "/shape", make_op<ops::Concat>(0), std::move(sizes))};
  }
  return g.add1(name + "/array", make_op<ops::DynamicExpand>(std::move(shape)), {zero, sizes[0]});
}

}  // namespace treadle::tf
