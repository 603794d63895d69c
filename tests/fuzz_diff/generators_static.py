"""Graphs that ONNX Runtime's static quantiser wrote (QDQ), per tensor and per channel, u8 and s8, of layers as
exporters write them. ONNX Runtime runs them with its optimisations, which makes integer operators of them: the answers
are the same to the last bit.

Left out is where it is not exact itself and treadle does what the operators say: Add (in fixed point there), averages,
Softmax (a table there), and what the quantiser leaves in f32 (Sub)."""
import logging
import pathlib
import tempfile

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

from case import Case, flag, generator
from generators_chain import Builder

OPSETS = (14, 17, 19, 21)
IMAGES = ("Conv", "Conv", "Conv", "depthwise", "groups", "Relu", "Clip", "MaxPool", "Mul", "Concat", "Sigmoid",
          "HardSwish", "LeakyRelu", "Reshape", "Transpose", "Resize", "Split", "Pad", "MatMul")
MATRICES = ("MatMul", "MatMul", "Gemm", "Gemm", "Relu", "Mul", "Concat", "Sigmoid", "Transpose", "Clip")


class Readings(CalibrationDataReader):
    """What the float graph is calibrated with."""

    def __init__(self, readings):
        self.left = list(readings)

    def get_next(self):
        return self.left.pop() if self.left else None


class Layers(Builder):
    """A float graph; `value` is the last result."""

    def __init__(self, r, shape):
        super().__init__(r)
        self.value, self.shape = self.input(shape), tuple(shape)
        self.earlier = []

    def normal(self, *shape):
        return self.constant(self.r.g.standard_normal(shape).astype(np.float32))

    def put(self, op, inputs, shape, **attributes):
        self.earlier.append((self.value, self.shape))
        self.value, self.shape = self.node(op, inputs, shape, **attributes), tuple(shape)

    def convolution(self, kind):
        r, (n, c, *size) = self.r, self.shape
        k, stride, dilation = ([r.pick(o) for _ in size] for o in ((1, 3, 3, 2, 5), (1, 1, 2), (1, 1, 1, 2)))
        pads = [r.integer(0, 2) for _ in range(2 * len(size))]
        group, o = 1, r.pick((1, 3, 4, 8, 16, 17, 33))
        if kind == "depthwise":
            group, o = c, c * r.pick((1, 1, 2))
        elif kind == "groups" and c % 2 == 0:
            group, o = 2, 2 * r.pick((1, 2, 4, 5, 8))
        out = [(s + pads[i] + pads[len(size) + i] - (k[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, s in enumerate(size)]
        if min(out) < 1:
            return
        bias = [self.normal(o)] if r.chance(0.7) else []
        w = self.normal(o, c // group, *k)
        self.put("Conv", [self.value, w, *bias], (n, o, *out), kernel_shape=k, strides=stride, dilations=dilation, pads=pads, group=group)

    def with_another(self, op):
        same = [v for v, s in self.earlier if s == self.shape]
        c = self.shape[1]
        other = self.r.pick(same) if same and self.r.chance(0.7) else self.normal(*((c, 1, 1) if len(self.shape) == 4 else (c,)))
        self.put(op, [self.value, other], self.shape)

    def concat(self):
        fits = [(v, s) for v, s in self.earlier if len(s) == len(self.shape) and s[0] == self.shape[0] and s[2:] == self.shape[2:]]
        other, shape = self.r.pick(fits) if fits else (self.value, self.shape)
        self.put("Concat", [self.value, other], (self.shape[0], self.shape[1] + shape[1], *self.shape[2:]), axis=1)

    def pool(self):
        kernel, stride, pad = self.r.pick((2, 3)), self.r.pick((1, 2)), self.r.pick((0, 1))
        out = [(s + 2 * pad - kernel) // stride + 1 for s in self.shape[2:]]
        if min(out) >= 1:
            self.put("MaxPool", [self.value], (*self.shape[:2], *out), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def split(self):
        n, c, *rest = self.shape
        if c > 1:
            self.put("Split", [self.value, self.ints([1, c - 1])], (n, 1, *rest), axis=1)
            self.nodes[-1].output.append(self.value + "_rest")
            self.value, self.shape = self.value + "_rest", (n, c - 1, *rest)

    def product(self, op):
        r, k, n = self.r, self.shape[-1], self.r.pick((1, 3, 8, 16, 17, 40))
        if op == "MatMul":
            self.put(op, [self.value, self.normal(k, n)], (*self.shape[:-1], n))
        else:
            transposed = flag(r)
            w = self.normal(n, k) if transposed else self.normal(k, n)
            self.put(op, [self.value, w, self.normal(n)], (self.shape[0], n), transB=transposed)

    def moved(self, op):
        if op == "Transpose":
            perm = [int(i) for i in self.r.g.permutation(len(self.shape))]
            self.put(op, [self.value], [self.shape[p] for p in perm], perm=perm)
        elif op == "Reshape":
            flat = (self.shape[0], int(np.prod(self.shape[1:])))
            self.put(op, [self.value, self.ints(flat)], flat)
        elif op == "Pad":
            n, c, h, w = self.shape
            self.put(op, [self.value, self.ints([0, 0, 1, 0, 0, 0, 1, 2])], (n, c, h + 2, w + 2))
        else:
            n, c, h, w = self.shape
            more = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            self.put(op, [self.value, "", self.constant(np.array([1, 1, 2, 2], np.float32))], (n, c, 2 * h, 2 * w), **more)

    def layer(self):
        op = self.r.pick(IMAGES if len(self.shape) == 4 else MATRICES)
        if op in ("Conv", "depthwise", "groups"):
            self.convolution(op)
        elif op == "Mul":
            self.with_another(op)
        elif op in ("MatMul", "Gemm"):
            self.product(op)
        elif op in ("Transpose", "Reshape", "Pad", "Resize"):
            self.moved(op)
        elif op == "Clip":
            self.put(op, [self.value, self.constant(np.float32(0)), self.constant(np.float32(6))], self.shape)
        elif op in ("Concat", "MaxPool", "Split"):
            {"Concat": self.concat, "MaxPool": self.pool, "Split": self.split}[op]()
        else:
            self.put(op, [self.value], self.shape)

    def model(self, opset):
        sizes = {n: list(v.shape) for n, v in self.inputs.items() if n not in self.constants}
        inputs = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in sizes.items()]
        held = [onnx.numpy_helper.from_array(self.inputs[n], n) for n in self.constants]
        for i, node in enumerate(self.nodes):
            node.name = f"node{i}"
        outputs = [onnx.helper.make_tensor_value_info(self.value, onnx.TensorProto.FLOAT, None)]
        graph = onnx.helper.make_graph(self.nodes, "fuzz", inputs, outputs, held)
        return onnx.shape_inference.infer_shapes(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10))


def quantised(r, model, readings):
    """The model that the static quantiser makes of it."""
    activations, weights = r.pick(((QuantType.QUInt8, QuantType.QInt8), (QuantType.QUInt8, QuantType.QUInt8), (QuantType.QInt8, QuantType.QInt8)))
    extra = {"ActivationSymmetric": r.chance(0.2), "WeightSymmetric": r.chance(0.8), "DedicatedQDQPair": r.chance(0.1)}
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "quantised.onnx"
        quantize_static(model, path, Readings(readings), per_channel=r.chance(0.5), activation_type=activations, weight_type=weights, extra_options=extra)
        return onnx.load(path)


@generator("static quantiser")
def static(r, kind):
    matrices = r.chance(0.3)
    shape = (r.integer(1, 8), r.pick((1, 3, 5, 8, 16, 33))) if matrices else (r.integer(1, 2), r.pick((1, 2, 3, 4, 5, 8, 16, 20)), r.integer(1, 9), r.integer(1, 9))
    b = Layers(r, shape)
    x = b.value
    for _ in range(r.integer(1, 6)):
        if np.prod(b.shape) < 20000:
            b.layer()
    # What the quantiser leaves in f32 ends as bytes too.
    b.put("Relu", [b.value], b.shape)
    opset = r.pick(OPSETS)
    readings = [{x: r.g.standard_normal(shape).astype(np.float32)} for _ in range(3)]
    model = quantised(r, b.model(opset), readings)
    constants = {c.name: onnx.numpy_helper.to_array(c) for c in model.graph.initializer}
    inputs = {x: readings[0][x], **constants}
    return Case(kind, inputs, outputs=tuple(o.name for o in model.graph.output), opset=opset, nodes=tuple(model.graph.node), constants=tuple(constants), optimised=True)
