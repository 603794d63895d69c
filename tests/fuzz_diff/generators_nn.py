"""Generators of convolutions, pools, products, norms, resizes, quantisation and recurrent layers."""
import numpy as np

from generators import Case, flag, generator
from values import FLOATS, INTS


def spatial(r, rank, low=1, high=3):
    return [r.integer(low, high) for _ in range(rank)]


def window(r, rank, pooling=False):
    """kernel, attributes and a size of the input at least as large as the window."""
    kernel, strides, dilations = spatial(r, rank, 1, 4), spatial(r, rank), [r.pick((1, 1, 1, 2)) for _ in range(rank)]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    kind = r.pick(("NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"))
    if kind == "NOTSET":
        most = [k - 1 if pooling else 3 for k in kernel]
        attributes["pads"] = [r.integer(0, m) for m in most] + [r.integer(0, m) for m in most]
    else:
        attributes["auto_pad"] = kind
        if kind.startswith("SAME"):
            attributes["dilations"] = [1] * rank
    return kernel, attributes, [e + r.integer(0, 9) for e in reach]


@generator("Conv")
def conv(r, op):
    rank = r.pick((1, 2, 2, 2, 3))
    kernel, attributes, size = window(r, rank)
    group = r.pick((1, 1, 1, 2, 3, 8))
    c, o = group * r.integer(1, 9), group * r.integer(1, 9)
    if r.chance(0.2):
        group, o = c, c * r.integer(1, 2)
    inputs = {"x": r.array((r.integer(1, 2), c, *size), np.float32), "w": r.array((o, c // group, *kernel), np.float32)}
    if r.chance(0.5):
        inputs["b"] = r.array((o,), np.float32)
    return Case(op, inputs, {**attributes, "group": group}, opset=11, may_be_constant=("w", "b"), constants=("w", "b") if r.chance(0.6) else ())


@generator("ConvTranspose")
def conv_transpose(r, op):
    rank = r.pick((1, 2, 2, 3))
    kernel, attributes, size = window(r, rank)
    group = r.pick((1, 1, 2, 3))
    c, o = group * r.integer(1, 6), group * r.integer(1, 6)
    attributes.pop("auto_pad", None)
    attributes["pads"] = [r.integer(0, max(0, (k - 1) // 2)) for k in kernel] * 2
    if r.chance(0.4):
        attributes["output_padding"] = [r.integer(0, s - 1) for s in attributes["strides"]]
    inputs = {"x": r.array((r.integer(1, 2), c, *size), np.float32), "w": r.array((c, o // group, *kernel), np.float32)}
    if r.chance(0.5):
        inputs["b"] = r.array((o,), np.float32)
    return Case(op, inputs, {**attributes, "group": group}, opset=11, constants=("w", "b") if r.chance(0.6) else ())


@generator("MaxPool", "AveragePool", "LpPool")
def pool(r, op):
    rank = r.pick((1, 2, 2, 3))
    kernel, attributes, size = window(r, rank, True)
    dtype = np.float32
    if op != "MaxPool":
        attributes.pop("dilations")
        size = [k + r.integer(0, 9) for k in kernel]
    if op == "AveragePool":
        attributes["count_include_pad"] = flag(r)
    if op == "LpPool":
        attributes["p"] = r.integer(1, 3)
    if op == "MaxPool" and r.chance(0.2):
        dtype = r.pick((np.int8, np.uint8))
    if op != "LpPool":
        attributes["ceil_mode"] = flag(r, 0.3)
    x = r.array((r.integer(1, 2), r.integer(1, 9), *size), dtype)
    outputs = ("y", "i") if op == "MaxPool" and r.chance(0.3) else ("y",)
    return Case(op, {"x": x}, attributes, outputs, opset=11 if op == "LpPool" else 12 if op == "MaxPool" else 11)


@generator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(r, op):
    return Case(op, {"x": r.array(r.shape(3, 5, 0), np.float32)}, opset=13)


@generator("MatMul")
def matmul(r, op):
    m, n, k, batch, dtype = r.size(0), r.size(0), r.size(0.03), r.shape(0, 2, 0), r.pick((np.float32, np.float32, np.float64, np.int32, np.int64))
    a, b = ((*batch, m, k), (*r.part(batch), k, n)) if r.chance(0.8) else ((k,), (*batch, k, n))
    return Case(op, {"a": r.array(a, dtype), "b": r.array(b, dtype)}, opset=13, may_be_constant=("b",))


@generator("Gemm")
def gemm(r, op):
    m, n, k = r.size(0), r.size(0), r.size(0)
    ta, tb = flag(r), flag(r)
    inputs = {"a": r.array((k, m) if ta else (m, k), np.float32), "b": r.array((n, k) if tb else (k, n), np.float32)}
    if r.chance(0.6):
        inputs["c"] = r.array(r.part((m, n)), np.float32)
    return Case(op, inputs, {"transA": ta, "transB": tb, "alpha": r.pick((1.0, 0.5)), "beta": r.pick((1.0, 2.0, 0.0))}, opset=13, may_be_constant=("b", "c"))


@generator("Einsum")
def einsum(r, op):
    size = {c: r.size(0) for c in "ijklb"}
    a, b, y = r.pick((("ij", "jk", "ik"), ("bij", "bjk", "bik"), ("ij", "ij", ""), ("i", "j", "ij"), ("bij", "jk", "bki"), ("ijk", "jk", "i"), ("bijk", "bikl", "bijl")))
    shapes = [tuple(size[c] for c in s) for s in (a, b)]
    return Case(op, {"a": r.array(shapes[0], np.float32), "b": r.array(shapes[1], np.float32)}, {"equation": f"{a},{b}->{y}"}, opset=12)


@generator("BatchNormalization")
def batch_norm(r, op):
    shape = r.shape(2, 4, 0)
    c = shape[1]
    inputs = {"x": r.array(shape, np.float32), **{n: r.array((c,), np.float32) for n in ("scale", "bias", "mean")}, "var": r.array((c,), np.float32, low=0.1, high=2)}
    return Case(op, inputs, {"epsilon": r.pick((1e-5, 1e-2))}, opset=15, may_be_constant=("scale", "bias", "mean", "var"))


@generator("InstanceNormalization")
def instance_norm(r, op):
    shape = r.shape(3, 4, 0)
    return Case(op, {"x": r.array(shape, np.float32), "s": r.array((shape[1],), np.float32), "b": r.array((shape[1],), np.float32)}, opset=6, tolerance=2e-4)


@generator("LayerNormalization")
def layer_norm(r, op):
    shape = r.shape(1, 4, 0)
    axis = r.axis(len(shape))
    inner = shape[axis:]
    inputs = {"x": r.array(shape, np.float32), "s": r.array(inner, np.float32)}
    if r.chance(0.6):
        inputs["b"] = r.array(inner, np.float32)
    return Case(op, inputs, {"axis": axis}, opset=17, tolerance=2e-4)


@generator("LpNormalization")
def lp_norm(r, op):
    shape = r.shape(1, 4, 0)
    return Case(op, {"x": r.array(shape, np.float32, low=0.1, high=1)}, {"axis": r.axis(len(shape)), "p": r.pick((1, 2))}, opset=13)


@generator("LRN")
def lrn(r, op):
    return Case(op, {"x": r.array(r.shape(4, 4, 0), np.float32)}, {"size": r.pick((1, 3, 5)), "alpha": 0.01, "bias": r.pick((1.0, 2.0))}, opset=13)


@generator("Resize")
def resize(r, op):
    shape = (r.integer(1, 2), r.integer(1, 3), r.integer(1, 9), r.integer(1, 9))
    mode = r.pick(("nearest", "linear", "cubic"))
    coordinates = r.pick(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = r.pick(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    sizes = [*shape[:2], r.integer(1, 20), r.integer(1, 20)]
    if r.chance(0.5):
        return Case(op, {"x": r.array(shape, np.float32), "sizes": np.array(sizes, np.int64)}, attributes, opset=13, order=["x", "", "", "sizes"], may_be_constant=("sizes",), tolerance=1e-4)
    scales = [1, 1, r.pick((0.5, 1.5, 2.0, 3.0, 0.7)), r.pick((0.5, 1.5, 2.0, 3.0, 0.7))]
    return Case(op, {"x": r.array(shape, np.float32), "scales": np.array(scales, np.float32)}, attributes, opset=13, order=["x", "", "scales"], may_be_constant=("scales",), tolerance=1e-4)


@generator("OneHot")
def one_hot(r, op):
    depth = r.integer(1, 6)
    index = r.array(r.shape(0, 3), r.pick((np.int64, np.int32)), low=-depth - 1, high=depth + 1)
    return Case(op, {"i": index, "depth": np.array(depth, np.int64), "values": r.array((2,), np.float32)}, {"axis": r.axis(index.ndim + 1)}, opset=11, may_be_constant=("depth",))


@generator("Trilu")
def trilu(r, op):
    shape = r.shape(2, 4)
    return Case(op, {"x": r.array(shape, r.pick((np.float32, np.int64))), "k": np.array(r.integer(-6, 6), np.int64)}, {"upper": flag(r)}, opset=14, may_be_constant=("k",))


@generator("NonZero", "IsInf", "Shape", "Size", "Not", "Identity", "Flatten")
def simple(r, op):
    shape = r.shape(1 if op == "NonZero" else 0)
    dtype = bool if op == "Not" else np.float32
    return Case(op, {"x": np.round(r.array(shape, dtype, 0.3)) if dtype != bool else r.array(shape, bool)}, {"axis": r.integer(-len(shape), len(shape)) if op == "Flatten" else None}, opset=13 if op != "IsInf" else 10)


@generator("Compress")
def compress(r, op):
    shape = r.shape(1, 3, 0)
    axis = r.axis(len(shape)) if r.chance(0.7) else None
    limit = shape[axis] if axis is not None else int(np.prod(shape))
    return Case(op, {"x": r.array(shape, np.float32), "c": r.array((r.integer(0, limit),), bool)}, {"axis": axis}, opset=11)


@generator("Unique")
def unique(r, op):
    shape = r.shape(1, 3, 0)
    axis = r.axis(len(shape)) if r.chance(0.4) else None
    return Case(op, {"x": r.array(shape, r.pick((np.int64, np.float32)), low=0, high=4).round()}, {"axis": axis, "sorted": 1}, ("y", "first", "inverse", "counts"), opset=11)


@generator("Cast")
def cast(r, op):
    import onnx
    source, to = r.pick(FLOATS + INTS + (bool,)), np.dtype(r.pick(FLOATS + INTS + (bool,)))
    x = r.array(r.shape(), source)
    if np.dtype(source).kind == "f" and to.kind in "iu":
        x = np.clip(x, 0, 100).astype(source)
    return Case(op, {"x": x}, {"to": onnx.helper.np_dtype_to_tensor_dtype(to)}, opset=13)


@generator("QuantizeLinear")
def quantize(r, op):
    shape = r.shape(1, 4)
    dtype = r.pick((np.int8, np.uint8))
    axis = r.axis(len(shape)) if r.chance(0.5) else None
    sizes = () if axis is None else (shape[axis],)
    return Case(op, {"x": r.array(shape, np.float32), "s": r.array(sizes, np.float32, low=0.01, high=0.2), "z": r.array(sizes, dtype)}, {"axis": axis}, opset=13, may_be_constant=("s", "z"), steps=1)


@generator("DequantizeLinear")
def dequantize(r, op):
    shape = r.shape(1, 4)
    dtype = r.pick((np.int8, np.uint8))
    axis = r.axis(len(shape)) if r.chance(0.5) else None
    sizes = () if axis is None else (shape[axis],)
    return Case(op, {"x": r.array(shape, dtype, 0.3), "s": r.array(sizes, np.float32, low=0.01, high=0.2), "z": r.array(sizes, dtype)}, {"axis": axis}, opset=13, may_be_constant=("x", "s", "z"))


@generator("DynamicQuantizeLinear")
def dynamic_quantize(r, op):
    return Case(op, {"x": r.array(r.shape(0, 4, 0), np.float32)}, {}, ("y", "s", "z"), opset=11, steps=1)


@generator("MatMulInteger")
def matmul_integer(r, op):
    m, n, k = r.size(0), r.size(0), r.size(0)
    a, b = r.array((m, k), r.pick((np.int8, np.uint8)), 0.5), r.array((k, n), r.pick((np.int8, np.uint8)), 0.5)
    inputs = {"a": a, "b": b}
    if r.chance(0.6):
        inputs["az"] = r.array((), a.dtype)
        inputs["bz"] = r.array((), b.dtype)
    return Case(op, inputs, opset=10, may_be_constant=("b",))


@generator("ConvInteger")
def conv_integer(r, op):
    kernel, attributes, size = window(r, 2)
    c, o = r.integer(1, 6), r.integer(1, 6)
    x, w = r.array((1, c, *size), np.uint8, 0.5), r.array((o, c, *kernel), np.uint8, 0.5)
    inputs = {"x": x, "w": w}
    if r.chance(0.6):
        inputs["xz"] = r.array((), np.uint8)
        inputs["wz"] = r.array((), np.uint8)
    return Case(op, inputs, attributes, opset=10)


@generator("LSTM", "GRU", "RNN")
def recurrent(r, op):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    steps, batch, inputs_, hidden = r.integer(1, 5), r.integer(1, 3), r.integer(1, 9), r.integer(1, 9)
    direction = r.pick(("forward", "reverse", "bidirectional"))
    d = 2 if direction == "bidirectional" else 1
    inputs = {"x": r.array((steps, batch, inputs_), np.float32), "w": r.array((d, gates * hidden, inputs_), np.float32), "r": r.array((d, gates * hidden, hidden), np.float32)}
    order = ["x", "w", "r"]
    for name, p, make in (("b", 0.7, lambda: r.array((d, 2 * gates * hidden), np.float32)),
                          ("lengths", 0.3, lambda: r.array((batch,), np.int32, low=1, high=steps)),
                          ("h", 0.5, lambda: r.array((d, batch, hidden), np.float32))):
        if r.chance(p):
            inputs[name] = make()
            order.append(name)
        else:
            order.append("")
    outputs = ("y", "yh")
    if op == "LSTM":
        outputs += ("yc",)
        if r.chance(0.5):
            inputs["c"] = r.array((d, batch, hidden), np.float32)
            order.append("c")
    attributes = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        attributes["linear_before_reset"] = flag(r)
    return Case(op, inputs, attributes, outputs, opset=14, constants=("w", "r", "b") if r.chance(0.7) else (), order=order)
