"""Writes frozen TensorFlow graphs without TensorFlow: the few messages of GraphDef that a graph of float
weights needs (tensorflow/core/framework: graph.proto, node_def.proto, attr_value.proto, tensor.proto)."""
import struct

import numpy as np

TYPES = {np.dtype(np.float32): 1, np.dtype(np.int32): 3}  # DataType: DT_FLOAT, DT_INT32
FLOAT = TYPES[np.dtype(np.float32)]


def varint(value):
    value &= (1 << 64) - 1  # negative numbers as two's complement of 64 bits
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A number as varint, bytes and text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def shape_proto(shape):
    return b"".join(field(2, field(1, size)) for size in shape)


def tensor_proto(array):
    return (field(1, TYPES[array.dtype]) + field(2, shape_proto(array.shape)) +
            field(4, array.astype(array.dtype.newbyteorder("<")).tobytes()))


def attribute(value):
    """AttrValue by the Python type; ("type", n) and ("shape", sizes) say what else is meant."""
    if isinstance(value, bool):
        return field(5, int(value))
    if isinstance(value, int):
        return field(3, value)
    if isinstance(value, float):
        return varint(4 << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        return field(2, value)
    if isinstance(value, np.ndarray):
        return field(8, tensor_proto(value))
    if isinstance(value, list):
        return field(1, field(3, b"".join(varint(v) for v in value)))
    kind, inner = value
    return field(6, inner) if kind == "type" else field(7, shape_proto(inner))


class GraphDef:
    def __init__(self):
        self._nodes, self._count = [], {}

    def node(self, op, inputs, name=None, **attributes):
        """Adds a node and returns its name: `name`, or the operator's with a number as TensorFlow gives it."""
        if name is None:
            at = self._count[op] = self._count.get(op, -1) + 1
            name = f"{op}_{at}" if at else op
        data = field(1, name) + field(2, op) + b"".join(field(3, i) for i in inputs)
        for key in sorted(attributes):
            data += field(5, field(1, key) + field(2, attribute(attributes[key])))
        self._nodes.append(data)
        return name

    def placeholder(self, name, shape):
        return self.node("Placeholder", [], name, dtype=("type", FLOAT), shape=("shape", shape))

    def const(self, array):
        array = np.asarray(array)
        return self.node("Const", [], dtype=("type", TYPES[array.dtype]), value=array)

    def op(self, op, inputs, name=None, **attributes):
        """A node that computes in float: with the attribute T."""
        return self.node(op, inputs, name, T=("type", FLOAT), **attributes)

    def reshape(self, x, shape):
        return self.op("Reshape", [x, self.const(np.array(shape, np.int32))], Tshape=("type", 3))

    def serialized(self):
        versions = field(1, 134)  # producer: a TensorFlow 1.13
        return b"".join(field(1, n) for n in self._nodes) + field(4, versions)
