// TensorFlow's StridedSlice: its five masks. Expected values by hand from x = 0 … 11 as [1, 6, 2].
// Numbers that UnsortedSegmentSum and NonMaxSuppressionV4 refuse. A batch norm of f16.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "formats/tf/load.hpp"
#include "graph/evaluate.hpp"
#include "onnx_model_builder.hpp"

namespace treadle::tf {
namespace {

using treadle::testing::pbf_writer;
using treadle::testing::raw_bytes;
using Ints = std::vector<std::int32_t>;

std::string shape_text(const std::vector<std::int64_t>& sizes) {
  std::string shape;
  pbf_writer w(shape);
  for (const std::int64_t d : sizes) {
    std::string dim;
    pbf_writer(dim).add_int64(1, d);
    w.add_message(2, dim);
  }
  return shape;
}

// `field` of an AttrValue: 3 an integer, 6 a type.
std::string number_attr(unsigned field, std::int64_t v) {
  std::string out;
  pbf_writer(out).add_int64(field, v);
  return out;
}

std::string message_attr(unsigned field, const std::string& message) {
  std::string out;
  pbf_writer(out).add_message(field, message);
  return out;
}

std::string tf_node(const std::string& name, const std::string& op,
                    const std::vector<std::string>& inputs,
                    const std::vector<std::pair<std::string, std::string>>& attrs) {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, name);
  w.add_string(2, op);
  for (const auto& i : inputs) w.add_string(3, i);
  for (const auto& [key, v] : attrs) {
    std::string entry;
    pbf_writer e(entry);
    e.add_string(1, key);
    e.add_message(2, v);
    w.add_message(5, entry);
  }
  return out;
}

// A constant of a DataType (1: f32, 3: i32).
template <typename T>
std::string const_node(const std::string& name, int dtype, const std::vector<T>& values) {
  std::string t;
  pbf_writer w(t);
  w.add_int32(1, dtype);
  w.add_message(2, shape_text({static_cast<std::int64_t>(values.size())}));
  w.add_bytes(4, raw_bytes(values));
  return tf_node(name, "Const", {},
                 {{"dtype", number_attr(6, dtype)}, {"value", message_attr(8, t)}});
}
std::string ints_node(const std::string& name, const Ints& values) {
  return const_node(name, 3, values);
}

struct Masks {
  int begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

Graph slice(const Ints& begin, const Ints& end, const Ints& strides, const Masks& m,
            const std::vector<std::int64_t>& x_shape = {1, 6, 2}) {
  std::string out;
  pbf_writer w(out);
  w.add_message(
      1, tf_node("x", "Placeholder", {},
                 {{"dtype", number_attr(6, 1)}, {"shape", message_attr(7, shape_text(x_shape))}}));
  w.add_message(1, ints_node("b", begin));
  w.add_message(1, ints_node("e", end));
  w.add_message(1, ints_node("s", strides));
  w.add_message(1, tf_node("y", "StridedSlice", {"x", "b", "e", "s"},
                           {{"T", number_attr(6, 1)},
                            {"begin_mask", number_attr(3, m.begin)},
                            {"end_mask", number_attr(3, m.end)},
                            {"ellipsis_mask", number_attr(3, m.ellipsis)},
                            {"new_axis_mask", number_attr(3, m.new_axis)},
                            {"shrink_axis_mask", number_attr(3, m.shrink)}}));
  return load(MappedFile::from_memory(out), "m.pb");
}

struct Result {
  Shape shape;
  std::vector<float> values;
};

Result run(const Graph& g) {
  Tensor x(DType::F32, {1, 6, 2});
  std::iota(x.mutable_span<float>().begin(), x.mutable_span<float>().end(), 0.f);
  const Tensor y = evaluate(g, {x}).at(0).tensor();
  const auto v = y.span<float>();
  return {y.shape(), {v.begin(), v.end()}};
}

void expect(const Graph& g, const Shape& shape, const std::vector<float>& values) {
  const Result r = run(g);
  EXPECT_EQ(r.shape, shape) << r.shape.str();
  EXPECT_EQ(r.values, values);
}

TEST(TfStridedSlice, MasksTakeWholeAxes) {
  expect(slice({0, 2, 0}, {0, -1, 0}, {1, 1, 1}, {5, 5}), {1, 3, 2}, {4, 5, 6, 7, 8, 9});
  // The same where sizes are unknown while the file is read.
  expect(slice({0, 2, 0}, {0, -1, 0}, {1, 1, 1}, {5, 5}, {-1, -1, 2}), {1, 3, 2},
         {4, 5, 6, 7, 8, 9});
}

TEST(TfStridedSlice, ShrunkAxesIgnoreTheirEndAndMasks) {
  const Masks m{5, 5, 0, 0, 2};
  expect(slice({0, -1, 0}, {0, 0, 0}, {1, 1, 1}, m), {1, 2}, {10, 11});
  expect(slice({0, 1, 0}, {0, 1, 0}, {1, 1, 1}, m), {1, 2}, {2, 3});
  // begin_mask and end_mask on the shrunk axis itself.
  expect(slice({0, 3, 0}, {0, 0, 0}, {1, 1, 1}, {7, 7, 0, 0, 2}), {1, 2}, {6, 7});
  expect(slice({0, -1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0, 0, 7}), {}, {11});
  EXPECT_THROW(slice({0, 6, 0}, {0, 0, 0}, {1, 1, 1}, m), Error);
  EXPECT_THROW(slice({0, -7, 0}, {0, 0, 0}, {1, 1, 1}, m), Error);
  EXPECT_THROW(slice({0, 1, 0}, {0, 0, 0}, {1, -1, 1}, m), Error);
}

TEST(TfStridedSlice, NegativeStrides) {
  expect(slice({0, 0, 0}, {0, 0, 0}, {1, -1, 1}, {7, 7}), {1, 6, 2},
         {10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1});
  expect(slice({0, 4, 0}, {0, 0, 0}, {1, -2, 1}, {5, 5}), {1, 2, 2}, {8, 9, 4, 5});
  expect(slice({0, -1, 0}, {0, 0, 0}, {1, -2, -1}, {5, 7}), {1, 3, 2}, {11, 10, 7, 6, 3, 2});
  EXPECT_THROW(slice({0, 0, 0}, {1, 6, 2}, {1, 0, 1}, {}), Error);
}

TEST(TfStridedSlice, EmptyAndOutOfRange) {
  expect(slice({0, 4, 0}, {1, 2, 2}, {1, 1, 1}, {}), {1, 0, 2}, {});
  expect(slice({0, -100, 0}, {1, 100, 2}, {1, 3, 1}, {}), {1, 2, 2}, {0, 1, 6, 7});
}

TEST(TfStridedSlice, EllipsisAndNewAxis) {
  // x[..., 1]
  expect(slice({0, 1}, {0, 0}, {1, 1}, {0, 0, 1, 0, 2}), {1, 6}, {1, 3, 5, 7, 9, 11});
  // x[0, ..., newaxis, 1:]
  expect(slice({0, 0, 0, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 8, 2, 4, 1}), {6, 1, 1},
         {1, 3, 5, 7, 9, 11});
  // x[newaxis]: new_axis wins over shrink_axis.
  expect(slice({0}, {0}, {1}, {0, 0, 0, 1, 1}), {1, 1, 6, 2},
         {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  // An ellipsis of no axis: x[:, 5, ..., :].
  expect(slice({0, 5, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, {9, 9, 4, 0, 2}), {1, 2}, {10, 11});
  // Fewer entries than axes.
  expect(slice({0}, {1}, {1}, {}), {1, 6, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_THROW(slice({0, 0}, {0, 0}, {1, 1}, {0, 0, 3}), Error);
  EXPECT_THROW(slice({0, 0, 0, 0}, {1, 1, 1, 1}, {1, 1, 1, 1}, {}), Error);
}

std::string error_of(const std::string& graph, const std::vector<Value>& inputs) {
  try {
    evaluate(load(MappedFile::from_memory(graph), "m.pb"), inputs);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// TensorFlow keeps the statistics of a batch norm of f16 in f32.
TEST(TfFusedBatchNorm, HalfWithStatisticsOfF32) {
  const auto floats = [](const std::string& name, const std::vector<float>& values) {
    return const_node(name, 1, values);
  };
  std::string epsilon, out;
  pbf_writer(epsilon).add_float(4, 1);
  pbf_writer w(out);
  const std::string x_shape = message_attr(7, shape_text({1, 1, 2, 2}));
  w.add_message(
      1, tf_node("x", "Placeholder", {}, {{"dtype", number_attr(6, 19)}, {"shape", x_shape}}));
  w.add_message(1, floats("scale", {2, 3}));
  w.add_message(1, floats("offset", {1, -1}));
  w.add_message(1, floats("mean", {1, 0}));
  w.add_message(1, floats("variance", {3, 8}));
  w.add_message(1, tf_node("y", "FusedBatchNormV3", {"x", "scale", "offset", "mean", "variance"},
                           {{"T", number_attr(6, 19)},
                            {"U", number_attr(6, 1)},
                            {"epsilon", epsilon},
                            {"is_training", number_attr(5, 0)}}));
  const Graph g = load(MappedFile::from_memory(out), "m.pb");
  Tensor x(DType::F16, {1, 1, 2, 2});
  const std::array<float, 4> values{1, 2, 3, 4};
  std::ranges::transform(values, x.mutable_span<Half>().begin(), [](float v) { return Half(v); });
  const Tensor y = evaluate(g, {x}).at(0).tensor();
  EXPECT_EQ(y.dtype(), DType::F16);
  // (x - mean) scale / sqrt(variance + 1) + offset, by hand.
  EXPECT_EQ(y.to_f64(), (std::vector<double>{1, 1, 3, 3}));
}

std::string segment_sum(const Ints& ids, int segments) {
  std::string out;
  pbf_writer w(out);
  w.add_message(
      1, tf_node("x", "Placeholder", {},
                 {{"dtype", number_attr(6, 1)}, {"shape", message_attr(7, shape_text({3, 2}))}}));
  w.add_message(1, ints_node("ids", ids));
  w.add_message(1, ints_node("n", {segments}));
  w.add_message(1, tf_node("y", "UnsortedSegmentSum", {"x", "ids", "n"}, {}));
  return out;
}

TEST(TfUnsortedSegment, IdsOutsideAreNamed) {
  const std::vector<Value> x{Tensor(DType::F32, {3, 2})};
  EXPECT_EQ(error_of(segment_sum({0, -1, 3}, 4), x), "");
  for (const int id : {4, 5, INT32_MAX}) {
    const std::string error = error_of(segment_sum({0, -1, id}, 4), x);
    EXPECT_NE(error.find("index " + std::to_string(id) + " is outside [-4, 4)"), std::string::npos)
        << error;
  }
  EXPECT_NE(error_of(segment_sum({0, 1, 2, 3}, 4), x), "");  // more ids than rows
}

std::string padded_boxes(int most) {
  std::string out;
  pbf_writer w(out);
  for (const auto& [name, shape] :
       {std::pair("boxes", shape_text({3, 4})), std::pair("scores", shape_text({3}))})
    w.add_message(1, tf_node(name, "Placeholder", {},
                             {{"dtype", number_attr(6, 1)}, {"shape", message_attr(7, shape)}}));
  w.add_message(1, ints_node("most", {most}));
  w.add_message(1, tf_node("keep", "NonMaxSuppressionV4", {"boxes", "scores", "most"},
                           {{"pad_to_max_output_size", number_attr(5, 1)}}));
  return out;
}

TEST(TfNonMaxSuppression, MostBoxesToKeep) {
  const std::vector<Value> inputs{Tensor(DType::F32, {3, 4}), Tensor(DType::F32, {3})};
  EXPECT_EQ(error_of(padded_boxes(5), inputs), "");
  for (const int most : {-1, INT32_MAX}) {
    const std::string error = error_of(padded_boxes(most), inputs);
    EXPECT_NE(error.find("'keep' (NonMaxSuppressionV4"), std::string::npos) << error;
    EXPECT_NE(error.find("'max_output_size' is " + std::to_string(most)), std::string::npos)
        << error;
  }
}

}  // namespace
}  // namespace treadle::tf
