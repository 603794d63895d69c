"""Quantised graphs: convolutions and products between DequantizeLinear and QuantizeLinear, with what exporters put
around them, and graphs of integer operators.

Scales are such that no rounding error decides a result: what is quantised lies on a grid (`unit`), and a scale is an odd
multiple of it, so that nothing lies half-way between two steps."""
import ml_dtypes
import numpy as np
import onnx

from case import Case, flag, generator
from generators_chain import Builder

OPSET = 21
WIDE = (np.int8, np.uint8)
NARROW = (ml_dtypes.int4, ml_dtypes.uint4)
WEIGHTS = WIDE + WIDE + NARROW + (np.int16,)
ACTIVATIONS = (np.int8, np.uint8, np.uint8, np.int16, np.uint16, *NARROW)


def integers(r, shape, dtype, most=None):
    """Of the whole range, or of a small one around 0."""
    info = ml_dtypes.iinfo(dtype)
    most = most or r.pick((3, 7, 127))
    low, high = max(int(info.min), -most), min(int(info.max), most)
    return r.g.integers(low, high, shape, endpoint=True).astype(dtype)


class Quantised(Builder):
    """The graph so far; `value` (f32) lies on a grid of `unit` and is about as large as `typical`."""

    def __init__(self, r, shape):
        super().__init__(r)
        self.value, self.shape, self.unit, self.typical = self.input(shape), tuple(shape), None, 1.5

    def put(self, op, inputs, shape, **attributes):
        self.value, self.shape = self.node(op, inputs, shape, **attributes), tuple(shape)

    def held(self, array):
        """A constant, rarely an input: then nothing is folded."""
        plain = array.dtype not in NARROW
        return self.constant(array) if not plain or self.r.chance(0.9) else self.parameter(array)

    def parameter(self, array):
        name = f"p{len(self.inputs)}"
        self.inputs[name] = array
        return name

    def scale(self, sizes):
        """Odd multiples of the unit, which span about what the values do."""
        wanted = self.typical * self.r.g.uniform(0.01, 0.06, sizes)
        if self.unit is None:
            return (2.0 ** np.round(np.log2(wanted))).astype(np.float32)
        return (self.unit * (2 * np.floor(wanted / self.unit / 2) + 1)).astype(np.float32)

    def moved(self):
        """What exporters put between the two operators of a pair, or around it."""
        r, rank = self.r, len(self.shape)
        kind = r.pick(("Transpose", "Transpose", "Reshape", "Identity", "Slice") if not self.narrow(self.value) else ("Transpose", "Identity"))
        if kind == "Transpose":
            perm = [int(i) for i in r.g.permutation(rank)]
            self.put(kind, [self.value], [self.shape[p] for p in perm], perm=perm)
        elif kind == "Reshape" and rank > 1:
            flat = [self.shape[0] * self.shape[1], *self.shape[2:]]
            self.put(kind, [self.value, self.ints(flat)], flat)
        elif kind == "Slice":
            a = r.integer(0, rank - 1)
            self.put(kind, [self.value, self.ints([0]), self.ints([max(1, self.shape[a] - 1)]), self.ints([a])], (*self.shape[:a], max(1, self.shape[a] - 1), *self.shape[a + 1:]))

    def quantise(self, leave=False):
        """QuantizeLinear and, unless `leave`, DequantizeLinear; with one scale or one for each index of an axis."""
        r, rank = self.r, len(self.shape)
        dtype = r.pick(ACTIVATIONS if not leave else ACTIVATIONS[:5])
        axis = r.integer(0, rank - 1) if r.chance(0.25) and rank else None
        scale = self.scale(() if axis is None else (self.shape[axis],))
        names = [self.held(scale)]
        if r.chance(0.8) or dtype not in (np.uint8,):
            info = ml_dtypes.iinfo(dtype)
            middle = (int(info.max) + int(info.min) + 1) // 2
            zero = np.asarray(np.clip(middle + r.g.integers(-3, 3, scale.shape, endpoint=True), int(info.min), int(info.max))).astype(dtype)
            names.append(self.constant(zero))
        more = {} if axis is None else {"axis": axis - rank if r.chance(0.3) else axis}
        self.put("QuantizeLinear", [self.value, *names], self.shape, **more)
        if leave:
            return
        if axis is None:
            for _ in range(r.pick((0, 0, 1, 2))):
                self.moved()
        self.put("DequantizeLinear", [self.value, *names], self.shape, **more)
        self.unit = float(scale) if axis is None else self.unit or float(scale.min())

    def weights(self, shape, axis):
        """Of dequantised integers. Their scale is a power of two, one for each index of the axis, or in blocks."""
        r = self.r
        dtype = r.pick(WEIGHTS)
        kind = r.pick(("one", "axis", "axis", "blocks"))
        block = r.pick((1, 2, 16))
        other = next((i for i in range(len(shape)) if i != axis), axis)
        sizes = {"one": (), "axis": (shape[axis],), "blocks": tuple(-(-s // block) if i == other else s for i, s in enumerate(shape))}[kind]
        most = r.pick((3, 7, 127))
        scale = (2.0 ** r.g.integers(-6, -4, sizes, endpoint=True)).astype(np.float32)
        names = [self.held(integers(r, shape, dtype, most)), self.held(scale)]
        if r.chance(0.5):
            names.append(self.constant(integers(r, sizes, dtype, 3)))
        more = {"one": {}, "axis": {"axis": axis - len(shape) if r.chance(0.3) else axis}, "blocks": {"axis": other, "block_size": block}}[kind]
        made = self.node("DequantizeLinear", names, shape, **more)
        self.values.pop(made)
        return made, 2.0 ** -6, min(most, 8 if dtype in NARROW else most) * 2.0 ** -6

    def turned(self, shape, axis):
        """The same, and sometimes a transpose or a reshape of it behind."""
        r = self.r
        if r.chance(0.7):
            return self.weights(shape, axis)
        perm = [int(i) for i in r.g.permutation(len(shape))]
        # axis i of what is made is axis perm[i] of what is stored.
        stored = [0] * len(shape)
        for i, p in enumerate(perm):
            stored[p] = shape[i]
        made, unit, typical = self.weights(tuple(stored), perm[axis])
        moved = self.node("Transpose", [made], shape, perm=perm)
        self.values.pop(moved)
        return moved, unit, typical

    def multiplied(self, unit, typical, count):
        self.unit *= unit
        self.typical = max(self.typical * typical * np.sqrt(max(1, count)), self.unit)

    def bias(self, sizes):
        """i32 in units of the product, or none."""
        values = self.r.g.integers(-300, 300, sizes, endpoint=True).astype(np.int32)
        made = self.node("DequantizeLinear", [self.held(values), self.constant(np.float32(self.unit))], sizes)
        self.values.pop(made)
        return made

    def convolution(self):
        r = self.r
        n, c, *size = self.shape
        k, stride, dilation = [r.pick((1, 1, 3, 2)) for _ in size], [r.pick((1, 1, 2)) for _ in size], [r.pick((1, 1, 1, 2)) for _ in size]
        group = r.pick((1, 1, c))
        o = group * r.pick((1, 2)) if group > 1 else r.pick((1, 3, 4, 8, 16))
        pads = [r.integer(0, 2) for _ in range(2 * len(size))]
        out = [(s + pads[i] + pads[len(size) + i] - (k[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, s in enumerate(size)]
        if min(out) < 1:
            return
        w, unit, typical = self.turned((o, c // group, *k), 0)
        self.multiplied(unit, typical, c // group * int(np.prod(k)))
        inputs = [self.value, w] + ([self.bias((o,))] if r.chance(0.5) else [])
        self.put("Conv", inputs, (n, o, *out), kernel_shape=k, strides=stride, dilations=dilation, pads=pads, group=group)

    def product(self):
        r, k = self.r, self.shape[-1]
        n = r.pick((1, 3, 8, 16, 17))
        if len(self.shape) == 2 and r.chance(0.4):
            transposed = flag(r)
            w, unit, typical = self.turned((n, k) if transposed else (k, n), 0 if transposed else 1)
            self.multiplied(unit, typical, k)
            inputs = [self.value, w] + ([self.bias((n,))] if r.chance(0.5) else [])
            self.put("Gemm", inputs, (self.shape[0], n), transB=transposed)
            return
        w, unit, typical = self.turned((k, n), 1)
        self.multiplied(unit, typical, k)
        self.put("MatMul", [self.value, w], (*self.shape[:-1], n))
        if r.chance(0.4):
            self.put("Add", [self.value, self.bias((n,))], self.shape)

    def layer(self):
        r = self.r
        if len(self.shape) in (3, 4) and r.chance(0.7):
            self.convolution()
        elif self.shape:
            self.product()
        kind = r.pick(("", "", "Relu", "Clip", "Add", "MaxPool", "AveragePool", "GlobalAveragePool", "Concat", "move"))
        image = len(self.shape) == 4
        if kind == "Relu":
            self.put(kind, [self.value], self.shape)
        elif kind == "Clip":
            self.put(kind, [self.value, self.constant(np.float32(0)), self.constant(np.float32(self.unit * 999))], self.shape)
        elif kind == "Add":
            other = r.g.integers(-200, 200, r.part(self.shape)).astype(np.float32) * np.float32(self.unit)
            self.put(kind, [self.value, self.held(other)], self.shape)
        elif kind == "Concat":
            self.put(kind, [self.value, self.value], (self.shape[0], 2 * self.shape[1], *self.shape[2:]), axis=1) if len(self.shape) > 1 else None
        elif kind == "MaxPool" and image:
            self.put(kind, [self.value], self.shape, kernel_shape=[3, 3], pads=[1] * 4)
        elif kind == "AveragePool" and image:
            self.unit /= 9
            self.put(kind, [self.value], self.shape, kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1)
        elif kind == "GlobalAveragePool" and image:
            self.unit /= self.shape[2] * self.shape[3]
            self.put(kind, [self.value], (*self.shape[:2], 1, 1))
        elif kind == "move":
            self.moved()

    def case(self, kind, **options):
        outputs = [self.value]
        outputs += [v for v in self.values if v != self.value and v not in self.inputs and self.r.chance(0.1)]
        types = [t for n in self.nodes for t in n.output]
        outputs = [o for o in outputs if o in types and not self.narrow(o)]
        return Case(kind, self.inputs, outputs=tuple(outputs), opset=OPSET, nodes=tuple(self.nodes), constants=tuple(self.constants), fixed=tuple(self.parameters()), tolerance=2e-4, **options)

    def parameters(self):
        return [n for n in self.inputs if n.startswith("p")]

    def narrow(self, output):
        """Whether it has elements of 4 bits, which neither runner writes."""
        made = {o: n for n in self.nodes for o in n.output}
        while made.get(output) is not None and made[output].op_type in ("Transpose", "Reshape", "Slice", "Identity"):
            output = made[output].input[0]
        node = made.get(output)
        return node is not None and node.op_type == "QuantizeLinear" and len(node.input) > 2 and self.inputs[node.input[2]].dtype in NARROW


@generator("quantised chain")
def chain(r, kind):
    shape = (r.integer(1, 2), r.pick((1, 2, 3, 4, 8, 16)), *(r.integer(1, 8) for _ in range(r.pick((0, 1, 1, 2, 2, 2)))))
    b = Quantised(r, shape)
    for _ in range(r.pick((0, 0, 0, 1))):
        b.moved()
    for _ in range(r.pick((1, 1, 2, 3))):
        b.quantise()
        if np.prod(b.shape) > 20000:
            break
        if r.chance(0.2):
            b.moved()
        b.layer()
    if r.chance(0.6):
        b.quantise(leave=True)
        for _ in range(r.pick((0, 0, 1))):
            b.moved()
    return b.case(kind)


@generator("integer chain")
def integer_chain(r, kind):
    """DynamicQuantizeLinear, a product or a convolution in integers, and its scaling."""
    images = r.chance(0.5)
    shape = (r.integer(1, 2), r.pick((1, 3, 8)), *(r.integer(3, 8) for _ in range(r.pick((1, 2, 2, 3))))) if images else r.shape(2, 3, 0)
    b = Builder(r)
    x = b.input(shape)
    b.nodes.append(onnx.helper.make_node("DynamicQuantizeLinear", [x], ["q", "s", "z"]))
    dtype = np.dtype(r.pick(WIDE))
    # Two products of larger ones overflow ONNX Runtime's 16 bits where the machine has no VNNI (see explained.py).
    most = r.pick((3, 7, 63))
    if images:
        k, group = [r.pick((1, 2, 3)) for _ in shape[2:]], r.pick((1, 1, shape[1]))
        o = group * r.pick((1, 2, 4))
        w = integers(r, (o, shape[1] // group, *k), dtype, most)
        pads = [r.integer(0, 1) for _ in range(2 * len(k))]
        zero = integers(r, (), dtype, 9)
        out = (shape[0], o, *(s + pads[i] + pads[len(k) + i] - k[i] + 1 for i, s in enumerate(shape[2:])))
        made = b.node("ConvInteger", ["q", b.constant(w), "z", *([b.constant(zero)] if r.chance(0.6) else [])], out, pads=pads, group=group, strides=[1] * len(k))
    else:
        n = r.size(0)
        w = integers(r, (shape[-1], n), dtype, most)
        zero = integers(r, (n,) if r.chance(0.4) else (), dtype, 9)
        out = (*shape[:-1], n)
        made = b.node("MatMulInteger", ["q", b.constant(w), "z", *([b.constant(zero)] if r.chance(0.6) else [])], out)
    outputs = [made] if r.chance(0.3) else []
    cast = b.node("Cast", [made], out, to=onnx.TensorProto.FLOAT)
    scaled = b.node("Mul", [cast, "s"], out)
    y = b.node("Mul", [scaled, b.constant(np.float32(0.03))], out)
    if r.chance(0.5):
        y = b.node("Add", [y, b.floats((out[-1],))], out)
    if r.chance(0.5):
        y = b.node("Relu", [y], out)
    # A step of the input more or less: x divided by the scale may lie half-way.
    return Case(kind, b.inputs, outputs=(y, *outputs), opset=r.pick((13, 21)), nodes=tuple(b.nodes), constants=tuple(b.constants), fixed=(), tolerance=2e-4)
