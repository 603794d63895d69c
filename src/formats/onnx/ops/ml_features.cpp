// ai.onnx.ml operators that prepare features: Scaler, Normalizer, Imputer, OneHotEncoder,
// FeatureVectorizer; and ZipMap.
#include <cmath>
#include <limits>
#include <set>

#include "formats/onnx/ops/ml_common.hpp"
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/label_encoder.hpp"
#include "ops/move.hpp"
#include "ops/one_hot.hpp"

namespace treadle::onnx {

using namespace ml;

namespace {

// One element, or one a feature of x: what x is to be computed with.
ValueId per_feature(NodeContext& c, ValueId& x, const Tensor& values, std::string_view attr) {
  check(values.elements() >= 1, ErrorKind::Parse, "attribute '{}' is empty", attr);
  if (values.elements() > 1) x = with_features(c, x, values.elements());
  return cast(c, c.constant_value(values), dtype_of(c, x));
}

// f64 stays until the result, which is f32.
ValueId as_real(NodeContext& c, ValueId x) {
  return dtype_of(c, x) == DType::F64 ? x : as_f32(c, x);
}

// With 0 for i32: what the attribute holds must be a value of it.
void check_fits(const std::vector<std::int64_t>& values, DType dtype, std::string_view attr) {
  if (dtype != DType::I32) return;
  for (const std::int64_t v : values) {
    check(v >= std::numeric_limits<std::int32_t>::min() &&
              v <= std::numeric_limits<std::int32_t>::max(),
          ErrorKind::Parse, "attribute '{}' holds {}, which is no int32", attr, v);
  }
}

}  // namespace

// (x − offset)·scale.
std::vector<ValueId> import_scaler(NodeContext& c) {
  const auto scale = required_floats(c, "scale"), offset = required_floats(c, "offset");
  check(scale.size() == offset.size(), ErrorKind::Parse,
        "attributes 'scale' and 'offset' have {} and {} entries, expected as many", scale.size(),
        offset.size());
  check(scale.size() == 1 || c.fact(0).rank() <= 2, ErrorKind::Unsupported,
        "a scale for each feature of shape {}, expected [N, F] or [F]", str(c.fact(0).shape));
  ValueId x = as_real(c, c.in(0));
  const ValueId from = per_feature(c, x, float_vector(offset), "offset");
  const ValueId by = per_feature(c, x, float_vector(scale), "scale");
  return {as_f32(c, binary(c, BinaryFn::Mul, binary(c, BinaryFn::Sub, x, from), by))};
}

// x by the norm of its row; a row whose norm is 0 stays. MAX is the largest element, not the
// largest magnitude (as in the standard's formula, and in ONNX Runtime).
std::vector<ValueId> import_normalizer(NodeContext& c) {
  const std::string norm = c.string_attr("norm", "MAX");
  check(norm == "MAX" || norm == "L1" || norm == "L2", ErrorKind::Parse,
        "attribute 'norm' is '{}', expected MAX, L1 or L2", norm);
  // Squares of f32 may be beyond f32.
  const ValueId x = norm == "L2" ? cast(c, c.in(0), DType::F64) : as_real(c, c.in(0));
  const int rank = rank_of_rows(c, x);
  const ReduceFn fn = norm == "MAX" ? ReduceFn::Max : norm == "L1" ? ReduceFn::L1 : ReduceFn::L2;
  const ValueId size = reduce(c, fn, x, {rank - 1});
  const ValueId one = ops::scalar_like(c.graph(), c.fresh_name(), 1.0, size);
  const ValueId by = select(c, binary(c, BinaryFn::Equal, size, 0.0), one, size);
  return {as_f32(c, binary(c, BinaryFn::Div, x, by))};
}

std::vector<ValueId> import_imputer(NodeContext& c) {
  ValueId x = c.in(0);
  const DType dtype = dtype_of(c, x);
  const bool real = is_float(dtype);
  check(real || dtype == DType::I64 || dtype == DType::I32, ErrorKind::Type,
        "input 0 'X' is {}, expected floats, int32 or int64", c.fact(0).str());
  const auto floats = c.floats_attr("imputed_value_floats");
  const auto ints = c.ints_attr("imputed_value_int64s");
  check(floats.has_value() != ints.has_value() && floats.has_value() == real, ErrorKind::Parse,
        "input 0 'X' is {}: attribute '{}' must be given, and no other", c.fact(0).str(),
        real ? "imputed_value_floats" : "imputed_value_int64s");
  ValueId missing, value;
  if (real) {
    value = per_feature(c, x, float_vector(*floats), "imputed_value_floats");
    const double replaced = c.float_attr("replaced_value_float", 0.0);
    missing = std::isnan(replaced) ? unary(c, UnaryFn::IsNaN, x)
                                   : binary(c, BinaryFn::Equal, x, replaced);
  } else {
    const std::vector<std::int64_t> replaced{c.int_attr("replaced_value_int64", 0)};
    check_fits(*ints, dtype, "imputed_value_int64s");
    check_fits(replaced, dtype, "replaced_value_int64");
    value = per_feature(c, x, vector_of(*ints), "imputed_value_int64s");
    missing = binary(c, BinaryFn::Equal, x,
                     per_feature(c, x, vector_of(replaced), "replaced_value_int64"));
  }
  return {select(c, missing, value, x)};
}

namespace {

// A number that is not in the list, for what is none.
std::int64_t other_than(const std::vector<std::int64_t>& list) {
  const std::set<std::int64_t> taken(list.begin(), list.end());
  std::int64_t v = 0;
  while (taken.contains(v)) ++v;
  return v;
}

}  // namespace

// A new last axis, 1 at the category of each element; numbers are truncated to integers.
std::vector<ValueId> import_one_hot_encoder(NodeContext& c) {
  const auto ints = c.ints_attr("cats_int64s");
  const auto texts = c.strings_attr("cats_strings");
  check(ints.has_value() != texts.has_value(), ErrorKind::Parse,
        "attributes 'cats_int64s' and 'cats_strings': expected one of them");
  const Tensor categories = ints ? vector_of(*ints) : vector_of(*texts);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < categories.elements(); ++i) places.push_back(i);
  const bool zeros = c.int_attr("zeros", 1) != 0;
  const Tensor unknown =
      zeros ? Tensor::scalar(categories.elements()) : Tensor(DType::I64, Shape{0});
  ValueId x = c.in(0);
  if (ints) {
    check(dtype_of(c, x) != DType::String, ErrorKind::Type,
          "input 0 'X' is {}, but the categories are integers", c.fact(0).str());
    const ValueId number = cast(c, x, DType::I64);
    x = is_float(dtype_of(c, x))
            ? select(c, unary(c, UnaryFn::IsNaN, x), int_constant(c, other_than(*ints)), number)
            : number;
  }
  const ValueId place =
      c.add1(make_op<ops::LabelEncoder>(categories, vector_of(places), unknown), {x});
  const ValueId off_on = c.constant_value(Tensor::of<float>(Shape{2}, {0, 1}));
  return {c.add1(make_op<ops::OneHot>(rank_of(c, place), categories.elements()), {place, off_on})};
}

// The columns of all inputs side by side, of each as many as inputdimensions says: what is missing
// is 0, what is more is left out (as in ONNX Runtime).
std::vector<ValueId> import_feature_vectorizer(NodeContext& c) {
  const auto sizes = c.ints_attr("inputdimensions");
  check(sizes && !sizes->empty() && sizes->size() == c.inputs(), ErrorKind::Parse,
        "attribute 'inputdimensions' must have {} entries, one an input", c.inputs());
  std::vector<ValueId> columns;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    const std::int64_t wanted = (*sizes)[i];
    check(wanted >= 0, ErrorKind::Parse, "attribute 'inputdimensions' holds {}", wanted);
    ValueId x = as_f32(c, c.in(i));
    const SymShape shape = shape_of(c, x);
    check(!shape.empty(), ErrorKind::Shape, "input {} is a scalar", i);
    const Dim rows = shape.size() == 1 ? Dim(1) : shape[0];
    Dim width = 1;
    for (std::size_t k = shape.size() == 1 ? 0 : 1; k < shape.size(); ++k) width = width * shape[k];
    x = reshape(c, x, {rows, width});
    const ValueId zero = c.constant_value(Tensor::zeros(DType::F32, Shape{1, 1}));
    if (!width.is_const()) {
      const ValueId padded = c.add1(make_op<ops::Concat>(1), {x, expand(c, zero, {rows, wanted})});
      columns.push_back(slice(c, padded, 1, 0, wanted));
      continue;
    }
    columns.push_back(width.value() > wanted ? slice(c, x, 1, 0, wanted) : x);
    if (width.value() < wanted) {
      columns.push_back(expand(c, zero, {rows, wanted - width.value()}));
    }
  }
  return {columns.size() == 1 ? columns[0] : c.add1(make_op<ops::Concat>(1), std::move(columns))};
}

// treadle has no maps: the tensor that the maps would be made of passes through, its columns in the
// order of the labels.
std::vector<ValueId> import_zip_map(NodeContext& c) {
  const Tensor labels = class_labels(c, "classlabels_int64s");
  return {with_features(c, c.in(0), labels.elements())};
}

}  // namespace treadle::onnx
