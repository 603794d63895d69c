// ai.onnx.ml operators on elements: Binarizer, LabelEncoder, CategoryMapper; ArrayFeatureExtractor.
#include "formats/onnx/ops/ml_common.hpp"
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/label_encoder.hpp"
#include "ops/move.hpp"

namespace treadle::onnx {

using namespace ml;

namespace {

// The one given of PREFIX_strings, PREFIX_int64s, PREFIX_floats and PREFIX_tensor.
Tensor list_attr(NodeContext& c, const std::string& prefix) {
  std::vector<Tensor> given;
  if (const auto v = c.strings_attr(prefix + "_strings")) given.push_back(vector_of(*v));
  if (const auto v = c.ints_attr(prefix + "_int64s")) given.push_back(vector_of(*v));
  if (const auto v = c.floats_attr(prefix + "_floats")) given.push_back(float_vector(*v));
  if (const auto v = c.tensor_attr(prefix + "_tensor")) given.push_back(*v);
  check(given.size() == 1, ErrorKind::Parse, "{} attributes '{}_*', expected one", given.size(),
        prefix);
  return given[0];
}

// What stands for unknown keys, of the values' dtype.
Tensor default_attr(NodeContext& c, DType dtype) {
  if (const auto v = c.tensor_attr("default_tensor")) {
    check(v->elements() == 1, ErrorKind::Parse,
          "attribute 'default_tensor' has shape {}, expected one element", v->shape().str());
    return *v;
  }
  if (dtype == DType::String) return Tensor::scalar(c.string_attr("default_string", "_Unused"));
  if (dtype == DType::I64) return Tensor::scalar(c.int_attr("default_int64", -1));
  if (dtype == DType::F32) {
    return Tensor::scalar(static_cast<float>(c.float_attr("default_float", -0.0)));
  }
  if (dtype == DType::F64) return Tensor::scalar(-0.0);
  if (dtype == DType::I32) return Tensor::scalar<std::int32_t>(-1);
  if (dtype == DType::I16) return Tensor::scalar<std::int16_t>(-1);
  fail(ErrorKind::Unsupported, "values of dtype {}", name_of(dtype));
}

}  // namespace

std::vector<ValueId> import_label_encoder(NodeContext& c) {
  if (c.opset() < 2) {
    // Strings to their places, or places to strings.
    const auto classes = c.strings_attr("classes_strings");
    check(classes.has_value(), ErrorKind::Parse, "attribute 'classes_strings' is required");
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < classes->size(); ++i) {
      places.push_back(static_cast<std::int64_t>(i));
    }
    const bool from_strings = c.fact(0).dtype == DType::String;
    const Tensor keys = from_strings ? vector_of(*classes) : vector_of(places);
    const Tensor values = from_strings ? vector_of(places) : vector_of(*classes);
    const Tensor fallback = default_attr(c, values.dtype());
    return {c.add1(make_op<ops::LabelEncoder>(keys, values, fallback), {c.in(0)})};
  }
  const Tensor values = list_attr(c, "values");
  return {c.add1(
      make_op<ops::LabelEncoder>(list_attr(c, "keys"), values, default_attr(c, values.dtype())),
      {c.in(0)})};
}

// Strings to integers, or integers to strings.
std::vector<ValueId> import_category_mapper(NodeContext& c) {
  const auto ints = c.ints_attr("cats_int64s");
  const auto texts = c.strings_attr("cats_strings");
  check(ints && texts, ErrorKind::Parse,
        "attributes 'cats_int64s' and 'cats_strings' are required");
  const bool from_strings = c.fact(0).dtype == DType::String;
  const Tensor keys = from_strings ? vector_of(*texts) : vector_of(*ints);
  const Tensor values = from_strings ? vector_of(*ints) : vector_of(*texts);
  const Tensor fallback = default_attr(c, values.dtype());
  return {c.add1(make_op<ops::LabelEncoder>(keys, values, fallback), {c.in(0)})};
}

// 1 where x is above the threshold, else 0.
std::vector<ValueId> import_binarizer(NodeContext& c) {
  const ValueId above = binary(c, BinaryFn::Greater, c.in(0), c.float_attr("threshold", 0.0));
  return {cast(c, above, c.fact(0).dtype)};
}

// Columns of the last axis; a vector counts as one row.
std::vector<ValueId> import_array_feature_extractor(NodeContext& c) {
  ValueId x = c.in(0), columns = c.in(1);
  check(c.fact(0).rank() >= 1, ErrorKind::Shape, "input 0 'X' is a scalar");
  if (c.fact(0).rank() == 1) x = unsqueeze(c, x, {0});
  columns = reshape(c, columns, {elements(c.fact(1).shape)});
  return {c.add1(make_op<ops::Gather>(rank_of(c, x) - 1), {x, columns})};
}

}  // namespace treadle::onnx
