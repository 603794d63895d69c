"""Generators of convolutions, pools, products, norms, resizes, quantisation and recurrent layers."""
import numpy as np
import onnx

from case import Case, flag, generator
from ort_types import any_dtype, dtypes


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
    if attributes.get("auto_pad") not in ("SAME_UPPER", "SAME_LOWER"):
        attributes.pop("auto_pad", None)
        attributes["pads"] = [r.integer(0, max(0, (k - 1) // 2)) for k in kernel] * 2
    elif r.chance(0.5):
        attributes["output_shape"] = [n * s + r.integer(0, s - 1) for n, s in zip(size, attributes["strides"])]
    if r.chance(0.4) and "output_shape" not in attributes:
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
    opset = {"MaxPool": 12, "AveragePool": r.pick((11, 19)), "LpPool": 11}[op]
    if op == "LpPool" or opset == 11:
        attributes.pop("dilations")
        size = [k + r.integer(0, 9) for k in kernel]
    if op == "AveragePool":
        attributes["count_include_pad"] = flag(r)
    if op == "LpPool":
        attributes["p"] = r.integer(1, 3)
    if op == "MaxPool":
        dtype = any_dtype(r, op, 12)
    if op != "LpPool":
        attributes["ceil_mode"] = flag(r, 0.3)
    x = r.array((r.integer(1, 2), r.integer(1, 9), *size), dtype)
    outputs = ("y", "i") if op == "MaxPool" and r.chance(0.3) else ("y",)
    if outputs == ("y", "i") and r.chance(0.3):
        attributes["storage_order"] = 1
    return Case(op, {"x": x}, attributes, outputs, opset=opset)


@generator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(r, op):
    return Case(op, {"x": r.array(r.shape(3, 5, 0), np.float32)}, opset=13)


@generator("MatMul")
def matmul(r, op):
    m, n, k, batch, dtype = r.size(0), r.size(0), r.size(0.03), r.shape(0, 2, 0), any_dtype(r, op, 13)
    a, b = ((*batch, m, k), (*r.part(batch), k, n)) if r.chance(0.8) else ((k,), (*batch, k, n))
    return Case(op, {"a": r.array(a, dtype), "b": r.array(b, dtype)}, opset=13, may_be_constant=("b",))


@generator("Gemm")
def gemm(r, op):
    m, n, k = r.size(0), r.size(0), r.size(0)
    ta, tb, dtype = flag(r), flag(r), any_dtype(r, op, 13)
    inputs = {"a": r.array((k, m) if ta else (m, k), dtype), "b": r.array((n, k) if tb else (k, n), dtype)}
    if r.chance(0.6):
        inputs["c"] = r.array(r.part((m, n)), dtype)
    return Case(op, inputs, {"transA": ta, "transB": tb, "alpha": r.pick((1.0, 0.5)), "beta": r.pick((1.0, 2.0, 0.0))}, opset=13, may_be_constant=("b", "c"))


@generator("Einsum")
def einsum(r, op):
    size = {c: r.size(0) for c in "ijklb"}
    a, b, y = r.pick((("ij", "jk", "ik"), ("bij", "bjk", "bik"), ("ij", "ij", ""), ("i", "j", "ij"), ("bij", "jk", "bki"), ("ijk", "jk", "i"), ("bijk", "bikl", "bijl")))
    shapes = [tuple(size[c] for c in s) for s in (a, b)]
    dtype = any_dtype(r, op, 12)
    return Case(op, {"a": r.array(shapes[0], dtype), "b": r.array(shapes[1], dtype)}, {"equation": f"{a},{b}->{y}"}, opset=12)


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
    rank = r.pick((1, 2, 2, 2, 3))
    shape = (r.integer(1, 2), r.integer(1, 3), *(r.integer(1, 9) for _ in range(rank)))
    mode = r.pick(("nearest", "linear", "cubic") if rank == 2 else ("nearest", "linear"))
    opset = r.pick((13, 18, 19))
    coordinates = r.pick(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric" if opset == 19 else "half_pixel"))
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = r.pick(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    elif opset >= 18 and r.chance(0.3) and rank == 2:
        attributes["antialias"] = 1
    if mode == "cubic" and r.chance(0.5):
        attributes.update(cubic_coeff_a=r.pick((-0.5, -0.75)), exclude_outside=flag(r))
    x = r.array(shape, r.pick((np.float32, np.float32, np.float32, np.uint8, np.int8, np.int32)) if mode != "cubic" and "antialias" not in attributes else np.float32)
    if r.chance(0.5):
        sizes = [*shape[:2], *(r.integer(1, 20) for _ in range(rank))]
        return Case(op, {"x": x, "sizes": np.array(sizes, np.int64)}, attributes, opset=opset, order=["x", "", "", "sizes"], may_be_constant=("sizes",), tolerance=1e-4, steps=1)
    scale = [1, 1, *(r.pick((0.5, 1.5, 2.0, 3.0, 0.7)) for _ in range(rank))]
    return Case(op, {"x": x, "scales": np.array(scale, np.float32)}, attributes, opset=opset, order=["x", "", "scales"], may_be_constant=("scales",), tolerance=1e-4, steps=1)


@generator("OneHot")
def one_hot(r, op):
    depth = r.integer(1, 6)
    # ONNX Runtime has kernels for certain triples of types.
    index, depths, out = r.pick(((np.int64, np.int64, np.int64), (np.int64, np.int64, np.float32), (np.int32, np.int32, np.float32), (np.float32, np.float32, np.float32)))
    index = np.round(r.array(r.shape(1, 3), index, low=-depth - 1, high=depth + 1))
    return Case(op, {"i": index, "depth": np.array(depth, depths), "values": r.array((2,), out)}, {"axis": r.axis(index.ndim + 1)}, opset=11, may_be_constant=("depth",))


@generator("Trilu")
def trilu(r, op):
    shape = r.shape(2, 4)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 14)), "k": np.array(r.integer(-6, 6), np.int64)}, {"upper": flag(r)}, opset=14, may_be_constant=("k",))


@generator("NonZero", "IsInf", "Shape", "Size", "Not", "Identity", "Flatten")
def simple(r, op):
    shape = r.shape(1 if op == "NonZero" else 0)
    opset = {"IsInf": 10, "Not": 1}.get(op, r.pick((13, 15)))
    letter = {"IsInf": "T1", "Identity": "T" if opset == 13 else "V"}.get(op, "T")
    attributes = {}
    if op == "Flatten":
        attributes["axis"] = r.integer(-len(shape), len(shape))
    if op == "IsInf":
        attributes.update(detect_negative=flag(r), detect_positive=flag(r))
    if op == "Shape" and opset == 15 and r.chance(0.6):
        attributes.update(start=r.integer(-5, 5), end=r.pick((None, r.integer(-5, 5))))
    x = r.array(shape, any_dtype(r, op, opset, letter), 0.3)
    return Case(op, {"x": np.round(x) if op == "NonZero" and x.dtype.kind == "f" else x}, attributes, opset=opset)


@generator("Compress")
def compress(r, op):
    shape = r.shape(1, 3, 0)
    axis = r.axis(len(shape)) if r.chance(0.7) else None
    limit = shape[axis] if axis is not None else int(np.prod(shape))
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 11)), "c": r.array((r.integer(0, limit),), bool)}, {"axis": axis}, opset=11)


@generator("Unique")
def unique(r, op):
    shape = r.shape(1, 3, 0)
    axis = r.axis(len(shape)) if r.chance(0.4) else None
    return Case(op, {"x": r.array(shape, r.pick((np.int64, np.float32)), low=0, high=4).round()}, {"axis": axis, "sorted": 1}, ("y", "first", "inverse", "counts"), opset=11)


@generator("Cast", "CastLike")
def cast(r, op):
    source, to = r.pick(dtypes("Cast", 13, "T1")), r.pick(dtypes("Cast", 13, "T2"))
    x = r.array(r.shape(), source, 0.2)
    if source.kind == "f" and to.kind in "iu":  # what is out of range is not defined
        x = np.clip(np.nan_to_num(x), 0, 100).astype(source)
    if op == "CastLike":
        return Case(op, {"x": x, "like": r.array((1,), to)}, opset=15)
    return Case(op, {"x": x}, {"to": onnx.helper.np_dtype_to_tensor_dtype(to)}, opset=13)


def quantisation(r, shape):
    """axis and the sizes of scale and zero point."""
    axis = r.axis(len(shape)) if r.chance(0.5) else None
    return axis, () if axis is None else (shape[axis],)


def scales(r, sizes, low=0.01, high=0.2):
    return (low + (high - low) * r.g.random(sizes)).astype(np.float32)


@generator("QuantizeLinear")
def quantize(r, op):
    shape, opset = r.shape(1, 4), r.pick((13, 19, 21))
    axis, sizes = quantisation(r, shape)
    inputs = {"x": r.array(shape, np.float32, 0.1), "s": scales(r, sizes)}
    inputs["x"] = np.nan_to_num(inputs["x"], nan=0.5)  # an integer for NaN is not defined
    if r.chance(0.8):
        inputs["z"] = r.array(sizes, r.pick((np.int8, np.uint8) if opset < 21 else (np.int8, np.uint8, np.int16, np.uint16)))
    return Case(op, inputs, {"axis": axis}, opset=opset, may_be_constant=("s", "z"), steps=1)


@generator("DequantizeLinear")
def dequantize(r, op):
    shape, opset = r.shape(1, 4), r.pick((13, 19, 21))
    dtype = r.pick((np.int8, np.uint8, np.int32) if opset < 21 else (np.int8, np.uint8, np.int32, np.int16, np.uint16))
    axis, sizes = quantisation(r, shape)
    inputs = {"x": r.array(shape, dtype, 0.3), "s": scales(r, sizes)}
    if opset >= 19 and r.chance(0.2):
        inputs["s"] = inputs["s"].astype(np.float16)
    block = None
    if opset == 21 and axis is not None and r.chance(0.4):
        block = r.integer(1, max(1, shape[axis]))
        sizes = tuple(-(-s // block) if i == axis % len(shape) else s for i, s in enumerate(shape))
        inputs["s"] = scales(r, sizes)
    if r.chance(0.8):
        inputs["z"] = r.array(sizes, dtype) if dtype != np.int32 else np.zeros(sizes, dtype)
    return Case(op, inputs, {"axis": axis, "block_size": block}, opset=opset, may_be_constant=("x", "s", "z"))


@generator("DynamicQuantizeLinear")
def dynamic_quantize(r, op):
    return Case(op, {"x": r.array(r.shape(0, 4, 0), np.float32)}, {}, ("y", "s", "z"), opset=11, steps=1)


@generator("QLinearConv")
def qlinear_conv(r, op):
    kernel, attributes, size = window(r, r.pick((1, 2, 2)))
    group = r.pick((1, 1, 2))
    c, o = group * r.integer(1, 4), group * r.integer(1, 4)
    xt = r.pick((np.uint8, np.int8))
    wt = np.int8 if xt == np.int8 else r.pick((np.uint8, np.int8))
    channels = (o,) if r.chance(0.4) else ()
    inputs = {"x": r.array((1, c, *size), xt, 0.5), "xs": scales(r, ()), "xz": r.array((), xt),
              "w": r.array((o, c // group, *kernel), wt, 0.5), "ws": scales(r, channels), "wz": np.zeros(channels, wt) if channels else r.array((), wt),
              "ys": scales(r, (), 0.05, 0.5), "yz": r.array((), xt)}
    if r.chance(0.5):
        inputs["b"] = r.array((o,), np.int32, low=-300, high=300)
    return Case(op, inputs, {**attributes, "group": group}, opset=10, constants=tuple(k for k in inputs if k != "x"), steps=1)


@generator("QLinearMatMul")
def qlinear_matmul(r, op):
    m, n, k, batch, opset = r.size(0), r.size(0), r.size(0), r.shape(0, 1, 0), r.pick((10, 21))
    at = r.pick((np.uint8, np.int8))
    bt = np.int8 if at == np.int8 else r.pick((np.uint8, np.int8))
    inputs = {"a": r.array((*batch, m, k), at, 0.5), "as": scales(r, ()), "az": r.array((), at),
              "b": r.array((*batch, k, n), bt, 0.5), "bs": scales(r, ()), "bz": r.array((), bt), "ys": scales(r, (), 0.05, 0.5), "yz": r.array((), at)}
    return Case(op, inputs, opset=opset, may_be_constant=("b", "bs", "bz"), steps=1)


def small_weights(r, shape, dtype):
    """Not so large that two products of i8 weights with u8 overflow 16 bits, as they do in ONNX Runtime on some machines."""
    return r.array(shape, dtype, low=-63 if dtype == np.int8 else 0, high=63) if r.chance(0.5) else r.array(shape, dtype, 0.5)


@generator("MatMulInteger")
def matmul_integer(r, op):
    m, n, k, batch = r.size(0), r.size(0), r.size(0), r.shape(0, 2, 0)
    at, bt = r.pick((np.int8, np.uint8)), r.pick((np.int8, np.uint8))
    a, b = r.array((*batch, m, k), at, 0.5), small_weights(r, (*(batch if r.chance(0.4) else ()), k, n), bt)
    inputs = {"a": a, "b": b}
    if r.chance(0.6):
        inputs["az"] = r.array((), a.dtype)
        inputs["bz"] = r.array((n,) if b.ndim == 2 and r.chance(0.4) else (), b.dtype)
    return Case(op, inputs, opset=10, may_be_constant=("b", "bz"))


@generator("ConvInteger")
def conv_integer(r, op):
    kernel, attributes, size = window(r, r.pick((1, 2, 2, 3)))
    group = r.pick((1, 1, 2, 5))
    c, o = group * r.integer(1, 6), group * r.integer(1, 6)
    wt = r.pick((np.uint8, np.int8))
    x, w = r.array((r.integer(1, 2), c, *size), np.uint8, 0.5), small_weights(r, (o, c // group, *kernel), wt)
    inputs = {"x": x, "w": w}
    if r.chance(0.6):
        inputs["xz"] = r.array((), np.uint8)
        inputs["wz"] = r.array((), wt)
    return Case(op, inputs, {**attributes, "group": group}, opset=10, may_be_constant=("w", "wz"))
