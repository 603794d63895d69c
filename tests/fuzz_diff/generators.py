"""Elementwise operators, reductions, and those that move elements."""
import numpy as np
import onnx

from case import Case, flag, generator
from ort_types import any_dtype


@generator("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid",
           "LeakyRelu", "Log", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
           "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu", "Celu", "IsNaN", "Shrink", "Gelu", "BitwiseNot")
def unary(r, op):
    opset = {"Gelu": 20, "BitwiseNot": 18}.get(op, r.pick((13, 17, 22)))
    attributes = {}
    if op in ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu") and r.chance(0.6):
        attributes["alpha"] = r.pick((0.1, 1.5, 2.0))
    if op == "HardSigmoid" and r.chance(0.5):
        attributes.update(alpha=0.3, beta=0.4)
    if op == "Shrink":
        attributes.update(bias=r.pick((0.0, 0.5)), lambd=r.pick((0.5, 1.0)))
    if op == "Gelu":
        attributes["approximate"] = r.pick(("none", "tanh"))
    dtype = any_dtype(r, op, opset, "T1" if op == "IsNaN" else "T")
    edges = 0 if op == "Shrink" and dtype.kind in "iu" else 0.3  # a float bias takes the extremes out of range, which is not defined
    return Case(op, {"x": r.array(r.shape(), dtype, edges)}, attributes, opset=opset)


@generator("HardSwish", "Mish")
def made_of_others(r, op):
    """Operators that ONNX Runtime has no kernel for, but runs by what the standard says they consist of."""
    return Case(op, {"x": r.array(r.shape(), np.float32, 0.3)}, opset={"HardSwish": 14, "Mish": 18}[op])


@generator("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
def binary(r, op):
    dtype = any_dtype(r, op, 13)
    shape = r.shape()
    a, b = (shape, r.part(shape)) if r.chance(0.5) else (r.part(shape), shape)
    b = r.array(b, dtype, 0.2)
    if op == "Div" and np.issubdtype(dtype, np.integer):
        b = np.where((b == 0) | (b == -1), np.array(3, dtype), b)
    return Case(op, {"a": r.array(a, dtype, 0.2), "b": b}, opset=r.pick((13, 19)) if op == "Equal" else r.pick((13, 16)), may_be_constant=("a", "b"))


@generator("And", "Or", "Xor")
def logical(r, op):
    shape = r.shape()
    return Case(op, {"a": r.array(shape, bool), "b": r.array(r.part(shape), bool)}, may_be_constant=("b",))


@generator("Pow")
def power(r, op):
    shape, base, exponent = r.shape(), any_dtype(r, op, 15), any_dtype(r, op, 15, "T1")
    if base.kind == "f":
        a, b = r.array(shape, base, low=0.1, high=4), r.array(r.part(shape), exponent, low=-3, high=3)
    else:
        a, b = r.array(shape, base, low=-6, high=6), r.array(r.part(shape), exponent, low=0, high=4)
        b = np.round(b).astype(exponent)
    return Case(op, {"a": a, "b": b}, opset=15, may_be_constant=("b",), tolerance=1e-4)


@generator("Mod")
def mod(r, op):
    shape = r.shape()
    dtype = any_dtype(r, op, 13)
    b = r.array(r.part(shape), dtype, low=1, high=7)
    if np.dtype(dtype).kind != "u" and r.chance(0.5):
        b = (-b).astype(dtype)
    return Case(op, {"a": r.array(shape, dtype), "b": b}, {"fmod": 1 if np.dtype(dtype).kind == "f" else flag(r)}, opset=13)


@generator("BitShift")
def bit_shift(r, op):
    shape, dtype = r.shape(), any_dtype(r, op, 11)
    return Case(op, {"a": r.array(shape, dtype, low=0, high=200), "b": r.array(shape, dtype, low=0, high=7)}, {"direction": r.pick(("LEFT", "RIGHT"))})


@generator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(r, op):
    shape, dtype = r.shape(), any_dtype(r, op, 18)
    return Case(op, {"a": r.array(shape, dtype, 0.3), "b": r.array(r.part(shape), dtype, 0.3)}, opset=18)


@generator("Clip")
def clip(r, op):
    inputs = {"x": r.array(r.shape(), any_dtype(r, op, 13), 0.2)}
    dtype, order = inputs["x"].dtype, ["x", "", ""]
    for i, name in ((1, "low"), (2, "high")):
        if r.chance(0.7):
            inputs[name] = r.array((), dtype)
            order[i] = name
    return Case(op, inputs, order=order, opset=13, may_be_constant=("low", "high"))


@generator("Where")
def where(r, op):
    shape, dtype = r.shape(), any_dtype(r, op, 16)
    return Case(op, {"c": r.array(r.part(shape), bool), "a": r.array(shape, dtype, 0.2), "b": r.array(r.part(shape), dtype)})


@generator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
           "ReduceSumSquare")
def reduce(r, op):
    shape = r.shape(0, 4, 0 if op in ("ReduceMax", "ReduceMin", "ReduceMean") else 0.03)
    opset = r.pick((13, 18, 20)) if op in ("ReduceMax", "ReduceMin") else r.pick((13, 18))
    dtype = any_dtype(r, op, opset)
    low, high = (0.1, 2) if op in ("ReduceLogSum", "ReduceProd") and dtype.kind == "f" else (1, 2) if dtype.kind in "iu" and op != "ReduceMax" else (None, None)
    x = r.array(shape, dtype, 0.1 if op in ("ReduceMax", "ReduceMin") else 0, low=low, high=high)
    axes = r.some(range(len(shape)))
    axes = [a - len(shape) if r.chance(0.3) else a for a in axes]
    attributes = {"keepdims": r.pick((0, 1, None))}
    if opset < 18 and op != "ReduceSum":
        return Case(op, {"x": x}, {**attributes, "axes": axes or None}, opset=opset)
    if r.chance(0.2):
        return Case(op, {"x": x}, {**attributes, "noop_with_empty_axes": flag(r)}, opset=opset)
    return Case(op, {"x": x, "axes": np.array(axes, np.int64)}, {**attributes, "noop_with_empty_axes": flag(r)}, opset=opset, constants=("axes",))


@generator("ArgMax", "ArgMin")
def arg_reduce(r, op):
    shape = r.shape(1, 4, 0)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13))}, {"axis": r.axis(len(shape)), "keepdims": flag(r), "select_last_index": flag(r)}, opset=13)


@generator("Softmax", "LogSoftmax", "Hardmax")
def softmax(r, op):
    shape = r.shape(1, 4, 0)
    opset = r.pick((11, 13))
    return Case(op, {"x": r.array(shape, any_dtype(r, op, opset))}, {"axis": r.axis(len(shape))}, opset=opset)


@generator("CumSum")
def cumsum(r, op):
    shape = r.shape(1, 4)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 14)), "axis": np.array(r.axis(len(shape)), r.pick((np.int32, np.int64)))}, {"exclusive": flag(r), "reverse": flag(r)}, may_be_constant=("axis",), opset=14)


@generator("TopK")
def topk(r, op):
    shape = r.shape(1, 3, 0)
    axis = r.axis(len(shape))
    x = r.g.permutation(int(np.prod(shape))).reshape(shape).astype(r.pick((np.float32, np.float64, np.int64, np.int32)))
    return Case(op, {"x": x, "k": np.array([r.integer(0, shape[axis])], np.int64)}, {"axis": axis, "largest": flag(r), "sorted": 1}, ("y", "i"), opset=11, may_be_constant=("k",))


@generator("Transpose")
def transpose(r, op):
    shape = r.shape(0, 5)
    perm = None if not shape or r.chance(0.2) else [int(i) for i in r.g.permutation(len(shape))]
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13))}, {"perm": perm}, opset=r.pick((13, 21)))


@generator("Reshape")
def reshape(r, op):
    shape = r.shape(1, 4)
    target = list(r.g.permutation(shape))
    if r.chance(0.5) and len(target) > 1:
        target = [target[0] * target[1]] + target[2:]
    zero = 0 in shape
    if r.chance(0.5) and not zero:
        target[r.integer(0, len(target) - 1)] = -1
    return Case(op, {"x": r.array(shape, np.float32), "shape": np.array(target, np.int64)}, {"allowzero": 1 if zero else 0}, opset=14, may_be_constant=("shape",))


@generator("Expand")
def expand(r, op):
    shape = r.shape(0, 4)
    return Case(op, {"x": r.array(r.part(shape), any_dtype(r, op, 13)), "shape": np.array(shape, np.int64)}, opset=13, may_be_constant=("shape",))


@generator("Tile")
def tile(r, op):
    shape = r.shape(1, 4)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13)), "repeats": np.array([r.integer(0, 3) for _ in shape], np.int64)}, opset=13, may_be_constant=("repeats",))


@generator("Concat")
def concat(r, op):
    shape = r.shape(1, 4)
    axis, dtype = r.axis(len(shape)), any_dtype(r, op, 13)
    inputs = {}
    for i in range(r.integer(1, 4)):
        s = list(shape)
        s[axis] = r.size(0.1)
        inputs[f"x{i}"] = r.array(s, dtype)
    return Case(op, inputs, {"axis": axis}, opset=13, may_be_constant=("x1",))


@generator("Split")
def split(r, op):
    shape = list(r.shape(1, 4, 0))
    axis, count = r.axis(len(shape)), r.integer(1, 4)
    x = lambda: r.array(shape, any_dtype(r, op, 18))
    if r.chance(0.3):  # equal parts, the last one smaller
        shape[axis] = r.integer(count, 17)
        size = -(-shape[axis] // count)
        count = -(-shape[axis] // size)
        return Case(op, {"x": x()}, {"axis": axis, "num_outputs": count}, tuple(f"y{i}" for i in range(count)), opset=18)
    parts = [r.size(0.1) for _ in range(count)]
    shape[axis] = sum(parts)
    return Case(op, {"x": x(), "split": np.array(parts, np.int64)}, {"axis": axis}, tuple(f"y{i}" for i in range(count)), opset=13, constants=("split",))


@generator("Slice")
def cut(r, op):
    shape = r.shape(1, 4)
    axes = r.some(range(len(shape)), 1)
    far = (2**31 - 1, -(2**31) + 1, 2**63 - 1, -(2**63))
    starts = [r.pick((0, 1, -1, r.integer(-20, 20), r.pick(far))) for _ in axes]
    ends = [r.pick((0, 1, -1, r.integer(-20, 20), r.pick(far))) for _ in axes]
    steps = [r.pick((1, 1, 2, -1, -2, 5, -7)) for _ in axes]
    axes = [a - len(shape) if r.chance(0.3) else a for a in axes]
    names = ("starts", "ends", "axes", "steps")
    arrays = {n: np.array(v, np.int64) for n, v in zip(names, (starts, ends, axes, steps))}
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13)), **arrays}, opset=13, constants=names if r.chance(0.7) else ("axes",))


@generator("Gather")
def gather(r, op):
    shape = r.shape(1, 4, 0)
    axis = r.axis(len(shape))
    index = r.array(r.shape(0, 3), r.pick((np.int32, np.int64)), low=-shape[axis], high=shape[axis] - 1)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13)), "i": index}, {"axis": axis}, opset=13, may_be_constant=("i", "x"))


@generator("GatherElements")
def gather_elements(r, op):
    shape = r.shape(1, 4, 0)
    axis = r.axis(len(shape))
    sizes = list(shape)
    sizes[axis] = r.size()
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13)), "i": r.array(sizes, r.pick((np.int32, np.int64)), low=-shape[axis], high=shape[axis] - 1)}, {"axis": axis}, opset=13)


@generator("GatherND")
def gather_nd(r, op):
    shape = r.shape(1, 4, 0)
    batch = r.integer(0, len(shape) - 1)
    k = r.integer(1, len(shape) - batch)
    outer = shape[:batch] + r.shape(0 if batch else 1, 2, 0)
    index = np.stack([r.array(outer, np.int64, low=-shape[batch + j], high=shape[batch + j] - 1) for j in range(k)], -1)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13)), "i": index}, {"batch_dims": batch}, opset=13, fixed=("i",))


@generator("Scatter", "ScatterElements")
def scatter_elements(r, op):
    shape = r.shape(1, 3, 0)
    axis = r.axis(len(shape))
    sizes = [r.integer(1, s) for s in shape]
    reduction = None if op == "Scatter" else r.pick(("none", "add", "mul", "max", "min"))
    dtype = any_dtype(r, op, 9 if op == "Scatter" else 18, without="b")
    i = r.array(sizes, np.int64, low=-shape[axis], high=shape[axis] - 1)
    if reduction in ("none", None):  # the last of several is not defined
        i = np.argsort(r.g.random(sizes), axis=axis).astype(np.int64)
    return Case(op, {"x": r.array(shape, dtype), "i": i, "u": r.array(sizes, dtype)}, {"axis": axis, "reduction": reduction}, opset=9 if op == "Scatter" else 18)


@generator("ScatterND")
def scatter_nd(r, op):
    shape = r.shape(1, 3, 0)
    k = r.integer(1, len(shape))
    all_places = np.stack(np.meshgrid(*(np.arange(s) for s in shape[:k]), indexing="ij"), -1).reshape(-1, k)
    chosen = all_places[r.g.permutation(len(all_places))[:r.integer(1, len(all_places))]].astype(np.int64)
    chosen = np.where(r.g.random(chosen.shape) < 0.2, chosen - np.array(shape[:k]), chosen)
    dtype = any_dtype(r, op, 18, without="b")
    reduction = r.pick(("none", "add", "mul", "min", "max"))
    return Case(op, {"x": r.array(shape, dtype), "i": chosen, "u": r.array((len(chosen),) + shape[k:], dtype)}, {"reduction": reduction}, opset=18, fixed=("i",))


@generator("Pad")
def pad(r, op):
    mode = r.pick(("constant", "edge", "reflect", "wrap"))
    shape = r.shape(1, 4, 0.04 if mode == "constant" else 0)
    opset = 19 if mode == "wrap" else r.pick((13, 18, 21))
    most = [s - 1 if mode == "reflect" else s if mode == "wrap" else 4 for s in shape]
    pads = [r.integer(0, m) for m in most] + [r.integer(0, m) for m in most]
    if r.chance(0.3) and mode != "wrap" and 0 not in shape:
        a = r.integer(0, len(shape) - 1)
        pads[a] = -r.integer(0, shape[a] - 1)
        if mode != "constant":  # what is cut off is no longer there to repeat
            pads[len(shape) + a] = min(pads[len(shape) + a], max(0, shape[a] + pads[a] - 1))
    inputs, order = {"x": r.array(shape, any_dtype(r, op, 13)), "pads": np.array(pads, np.int64)}, ["x", "pads", ""]
    if mode == "constant" and r.chance(0.5):
        inputs["value"] = r.array((), inputs["x"].dtype)
        order[2] = "value"
    if opset >= 18 and r.chance(0.4):
        axes = r.some(range(len(shape)), 1)
        inputs["pads"] = np.array([pads[a] for a in axes] + [pads[a + len(shape)] for a in axes], np.int64)
        inputs["axes"] = np.array([a - len(shape) if r.chance(0.3) else a for a in axes], np.int64)
        order.append("axes")
    return Case(op, inputs, {"mode": mode}, opset=opset, order=order, may_be_constant=("pads", "value"), constants=("axes",))


@generator("DepthToSpace", "SpaceToDepth")
def depth_space(r, op):
    b = r.pick((1, 2, 3))
    n, c, h, w = r.integer(1, 2), r.integer(1, 3), r.integer(1, 4), r.integer(1, 4)
    shape = (n, c * b * b, h, w) if op == "DepthToSpace" else (n, c, h * b, w * b)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 13))}, {"blocksize": b, "mode": r.pick(("DCR", "CRD")) if op == "DepthToSpace" else None}, opset=13)


@generator("Range")
def span(r, op):
    dtype = any_dtype(r, op, 11)
    return Case(op, {"a": np.array(r.integer(-5, 5), dtype), "b": np.array(r.integer(-20, 20), dtype), "s": np.array(r.pick((1, 2, 3, -1, -2)), dtype)}, opset=11, may_be_constant=("a", "s"))


@generator("ReverseSequence")
def reverse_sequence(r, op):
    shape = r.shape(2, 4, 0)
    time = r.integer(0, 1)
    lengths = r.array((shape[1 - time],), np.int64, low=1, high=shape[time])
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 10)), "n": lengths}, {"time_axis": time, "batch_axis": 1 - time}, opset=10)


@generator("GridSample")
def grid_sample(r, op):
    opset, n, c = r.pick((16, 20)), r.integer(1, 2), r.integer(1, 3)
    mode = r.pick(("linear", "nearest", "cubic"))
    rank = 3 if opset == 20 and mode != "cubic" and r.chance(0.3) else 2
    x = r.array((n, c, *(r.integer(1, 7) for _ in range(rank))), np.float32)
    grid = r.array((n, *(r.integer(1, 5) for _ in range(rank)), rank), np.float32, low=-1.5, high=1.5)
    if opset < 20 and mode != "nearest":
        mode = f"bi{mode}"
    attributes = {"mode": mode, "padding_mode": r.pick(("zeros", "border", "reflection")), "align_corners": flag(r)}
    return Case(op, {"x": x, "grid": grid}, attributes, opset=opset, tolerance=1e-4)


@generator("RoiAlign")
def roi_align(r, op):
    n, rois = r.integer(1, 2), r.integer(0, 4)
    x = r.array((n, r.integer(1, 3), r.integer(2, 9), r.integer(2, 9)), np.float32)
    # No whole numbers: a sample on the very border counts or not by a rounding error.
    box = np.sort(8 * r.g.random((rois, 2, 2)), 1).reshape(rois, 4).astype(np.float32)
    attributes = {"output_height": r.integer(1, 4), "output_width": r.integer(1, 4), "sampling_ratio": r.integer(0, 3), "spatial_scale": r.pick((1.0, 0.5)), "mode": r.pick(("avg", "max")), "coordinate_transformation_mode": r.pick(("half_pixel", "output_half_pixel"))}
    return Case(op, {"x": x, "rois": box, "b": r.array((rois,), np.int64, low=0, high=n - 1)}, attributes, opset=16, tolerance=1e-4)


@generator("MaxRoiPool")
def max_roi_pool(r, op):
    n, rois = r.integer(1, 2), r.integer(1, 4)
    x = r.array((n, r.integer(1, 3), r.integer(2, 12), r.integer(2, 12)), np.float32)
    box = np.sort(r.array((rois, 2, 2), np.float32, low=-2, high=14), 1).reshape(rois, 4)
    at = r.g.integers(0, n, (rois, 1)).astype(np.float32)
    attributes = {"pooled_shape": [r.integer(1, 4), r.integer(1, 4)], "spatial_scale": r.pick((1.0, 0.5, 0.75))}
    return Case(op, {"x": x, "rois": np.concatenate([at, box], 1)}, attributes, opset=1)


@generator("NonMaxSuppression")
def nms(r, op):
    n, boxes, classes = r.integer(1, 2), r.integer(1, 12), r.integer(1, 3)
    box = np.sort(r.array((n, boxes, 2, 2), np.float32, low=0, high=10), 2).reshape(n, boxes, 4)
    scores = (r.g.permutation(n * classes * boxes).reshape(n, classes, boxes) / (n * classes * boxes)).astype(np.float32)
    return Case(op, {"boxes": box, "scores": scores, "max": np.array([r.integer(0, 8)], np.int64), "iou": np.array([r.pick((0.0, 0.3, 0.5, 1.0))], np.float32), "score": np.array([r.pick((0.0, 0.3))], np.float32)}, opset=11, may_be_constant=("max", "iou", "score"))


@generator("EyeLike", "ConstantOfShape")
def filled(r, op):
    if op == "EyeLike":
        dtype = r.pick((None, np.float32, np.float64, np.int64, np.int32))
        to = dtype and onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return Case(op, {"x": r.array(r.shape(2, 2), any_dtype(r, op, 9, "T1"))}, {"k": r.integer(-4, 4), "dtype": to}, opset=9)
    value = None if r.chance(0.3) else onnx.numpy_helper.from_array(np.asarray(r.array((1,), any_dtype(r, op, 9, "T2"), 0.3)), "value")
    return Case(op, {"x": np.array(r.shape(0, 4), np.int64)}, {"value": value}, opset=9, may_be_constant=("x",), fixed=("x",))


@generator("Squeeze", "Unsqueeze")
def squeeze(r, op):
    shape = list(r.shape(1, 3))
    if op == "Squeeze":
        axes = r.some(range(len(shape)), 1)
        for a in axes:
            shape[a] = 1
        rank = len(shape)
    else:
        rank = len(shape) + r.integer(1, 2)
        axes = r.some(range(rank), rank - len(shape))[: rank - len(shape)]
    axes = [a - rank if r.chance(0.3) else a for a in axes]
    x = r.array(shape, any_dtype(r, op, 13))
    if op == "Squeeze" and r.chance(0.2):
        return Case(op, {"x": x}, opset=13, fixed=("x",))
    return Case(op, {"x": x, "axes": np.array(axes, np.int64)}, opset=13, may_be_constant=("axes",))


@generator("Sum", "Mean")
def variadic(r, op):
    shape, dtype = r.shape(), any_dtype(r, op, 13)
    return Case(op, {f"x{i}": r.array(shape if i == 0 else r.part(shape), dtype) for i in range(r.integer(1, 4))}, opset=13)


@generator("PRelu")
def prelu(r, op):
    shape = r.shape(1, 4)
    dtype = any_dtype(r, op, 16)
    return Case(op, {"x": r.array(shape, dtype), "s": r.array(r.part(shape), dtype)}, opset=16, may_be_constant=("s",))


@generator("Det")
def det(r, op):
    n = r.integer(1, 4)
    return Case(op, {"x": r.array((*r.shape(0, 2, 0), n, n), np.float32)}, opset=11, tolerance=1e-4)
