// Operators over two or more broadcast inputs.
#include <array>

#include "formats/onnx/ops/math_helpers.hpp"

namespace treadle::onnx {
namespace {

struct Named {
  std::string_view op_type;
  BinaryFn fn;
};

constexpr std::array kBinary = {
    Named{"Add", BinaryFn::Add},
    Named{"Sub", BinaryFn::Sub},
    Named{"Mul", BinaryFn::Mul},
    Named{"Div", BinaryFn::Div},
    Named{"Pow", BinaryFn::Pow},
    Named{"And", BinaryFn::And},
    Named{"Or", BinaryFn::Or},
    Named{"Xor", BinaryFn::Xor},
    Named{"BitwiseAnd", BinaryFn::BitAnd},
    Named{"BitwiseOr", BinaryFn::BitOr},
    Named{"BitwiseXor", BinaryFn::BitXor},
    Named{"Equal", BinaryFn::Equal},
    Named{"Less", BinaryFn::Less},
    Named{"LessOrEqual", BinaryFn::LessEqual},
    Named{"Greater", BinaryFn::Greater},
    Named{"GreaterOrEqual", BinaryFn::GreaterEqual},
};

constexpr std::array kVariadic = {
    Named{"Min", BinaryFn::Min},
    Named{"Max", BinaryFn::Max},
    Named{"Sum", BinaryFn::Add},
    Named{"Mean", BinaryFn::Add},
};

// Opsets before 7: the second input's axes stand at `axis` of the first's, by default at its end.
ValueId old_broadcast(NodeContext& c, ValueId a, ValueId b) {
  if (c.opset() >= 7 || c.int_attr("broadcast", 0) == 0) return b;
  const int rank = rank_of(c, a);
  const std::int64_t axis = c.int_attr("axis", rank - rank_of(c, b));
  return at_axis(c, b, axis < 0 ? axis + rank : axis, rank);
}

}  // namespace

std::vector<ValueId> import_binary(NodeContext& c) {
  for (const Named& n : kBinary) {
    if (n.op_type != c.proto().op_type) continue;
    const ValueId a = c.in(0);
    return {binary(c, n.fn, a, old_broadcast(c, a, c.in(1)))};
  }
  fail(ErrorKind::Internal, "no binary function for {}", c.proto().op_type);
}

std::vector<ValueId> import_variadic(NodeContext& c) {
  const std::string_view type = c.proto().op_type;
  for (const Named& n : kVariadic) {
    if (n.op_type != type) continue;
    ValueId x = c.in(0);
    for (std::size_t i = 1; i < c.inputs(); ++i) x = binary(c, n.fn, x, c.in(i));
    if (type == "Mean" && c.inputs() > 1) {
      x = binary(c, BinaryFn::Div, x, static_cast<double>(c.inputs()));
    }
    return {x};
  }
  fail(ErrorKind::Internal, "no variadic function for {}", type);
}

std::vector<ValueId> import_mod(NodeContext& c) {
  const bool fmod = c.int_attr("fmod", 0) != 0;
  return {binary(c, fmod ? BinaryFn::Fmod : BinaryFn::FloorMod, c.in(0), c.in(1))};
}

std::vector<ValueId> import_bit_shift(NodeContext& c) {
  const std::string direction = c.string_attr("direction", std::nullopt);
  check(direction == "LEFT" || direction == "RIGHT", ErrorKind::Parse,
        "attribute 'direction' is '{}', expected LEFT or RIGHT", direction);
  const BinaryFn fn = direction == "LEFT" ? BinaryFn::ShiftLeft : BinaryFn::ShiftRight;
  return {binary(c, fn, c.in(0), c.in(1))};
}

// Before opset 7 a 1-D slope holds one value a channel.
std::vector<ValueId> import_prelu(NodeContext& c) {
  const ValueId x = c.in(0);
  ValueId slope = c.in(1);
  const bool per_channel =
      c.opset() < 7 && rank_of(c, slope) == 1 && rank_of(c, x) > 1 && !shape_of(c, slope)[0].is(1);
  if (per_channel) slope = at_axis(c, slope, 1, rank_of(c, x));
  return {binary(c, BinaryFn::PRelu, x, slope)};
}

std::vector<ValueId> import_where(NodeContext& c) {
  return {select(c, c.in(0), c.in(1), c.in(2))};
}

}  // namespace treadle::onnx
