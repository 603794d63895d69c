"""Arithmetic, reductions and matrix products."""
import numpy as np
import tensorflow as tf

from builder import FLOATS, INTS, NUMBERS, Value, computed, generator, moved, raw

SIGNED = FLOATS + (np.int32, np.int64, np.int8, np.int16)


@generator("Abs", "Neg", "Square", "Sign", "Relu", "Relu6")
def exact_unary(b, op):
    x = b.take(FLOATS if op.startswith("Relu") or b.r.chance(0.5) else (np.int32, np.int64), edges=0.3)
    made = getattr(raw, op)(**{"features" if op.startswith("Relu") else "x": x.tensor})
    return moved(made) if op != "Square" else computed(made)


@generator("Floor", "Ceil", "Round", "Rint", "IsNan", "IsInf", "IsFinite")
def jumping_unary(b, op):
    return moved(getattr(raw, op)(x=b.take(exact=True, edges=0.3).tensor))


@generator("Sqrt", "Exp", "Erf", "Sin", "Cos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Sigmoid", "Erfc", "Expm1")
def smooth_unary(b, op):
    x = b.take(exact=True, edges=0.3)
    # TensorFlow's Erf of infinity is NaN.
    return computed(getattr(raw, op)(x=(b.tame(x) if op == "Erf" else x).tensor))


@generator("Softplus", "Softsign", "Elu", "Selu", "LeakyRelu")
def activation(b, op):
    more = {"alpha": b.r.pick((0.0, 0.2, 1.5, -0.5))} if op == "LeakyRelu" else {}
    return computed(getattr(raw, op)(features=b.take(edges=0.3).tensor, **more))


# Where small errors of an element become large ones.
@generator("Log", "Log1p", "Rsqrt", "Reciprocal", "Inv", "Tan", "Asin", "Acos", "Acosh", "Atanh")
def steep_unary(b, op):
    x = b.take(exact=True, edges=0.3)
    return computed(getattr(raw, op)(x=(b.nonzero(x) if op in ("Rsqrt", "Reciprocal", "Inv") else x).tensor))


@generator("Invert")
def invert(b, _):
    return moved(raw.Invert(x=b.take(INTS, edges=0.3).tensor))


@generator("LogicalNot")
def logical_not(b, _):
    return moved(raw.LogicalNot(x=b.take((np.bool_,)).tensor))


def pair(b, dtypes, exact=False, **options):
    """Two values that broadcast against each other."""
    x = b.take(dtypes, exact=exact, **options)
    y = b.like(b.r.part(x.shape), x.dtype, exact=exact, **options)
    return (x.tensor, y.tensor) if b.r.chance(0.7) else (y.tensor, x.tensor)


@generator("Add", "AddV2", "Sub", "Mul", "SquaredDifference")
def arithmetic(b, op):
    x, y = pair(b, NUMBERS if op not in ("SquaredDifference",) else FLOATS + (np.int32, np.int64), edges=0.15)
    return computed(getattr(raw, op)(x=x, y=y))


@generator("Maximum", "Minimum")
def larger(b, op):
    x, y = pair(b, FLOATS + (np.int32, np.int64, np.uint8, np.int16), edges=0.2)
    return moved(getattr(raw, op)(x=x, y=y))


@generator("RealDiv", "Xdivy", "DivNoNan", "MulNoNan", "Xlogy", "Atan2", "Pow")
def division(b, op):
    x, y = pair(b, FLOATS, exact=True, edges=0.2)
    if op in ("RealDiv", "Xdivy", "Atan2", "Pow"):
        y = b.nonzero(Value(y, True)).tensor
    if op in ("Atan2", "Pow"):
        x = b.nonzero(Value(x, True)).tensor
    return computed(getattr(raw, op)(x=x, y=y))


@generator("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod", "Div")
def integer_division(b, op):
    """By zero TensorFlow refuses."""
    dtypes = {"Div": INTS, "FloorDiv": FLOATS + INTS, "TruncateDiv": INTS, "FloorMod": FLOATS + (np.int32, np.int64),
              "TruncateMod": FLOATS + (np.int32, np.int64), "Mod": FLOATS + (np.int32, np.int64)}[op]
    x = b.take(dtypes, exact=True, edges=0.1)
    y = b.fresh(b.r.part(x.shape), x.dtype, low=1, high=7, edges=0)
    y = y.tensor if x.dtype.kind == "u" or b.r.chance(0.5) else tf.negative(y.tensor)
    return computed(getattr(raw, op)(x=x.tensor, y=y))


@generator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(b, op):
    x, y = pair(b, INTS)
    return moved(getattr(raw, op)(x=x, y=y))


@generator("LeftShift", "RightShift")
def shift(b, op):
    x = b.take(INTS)
    y = b.fresh(b.r.part(x.shape), x.dtype, low=0, high=7, edges=0)
    return moved(getattr(raw, op)(x=x.tensor, y=y.tensor))


@generator("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual")
def comparison(b, op):
    x, y = pair(b, NUMBERS if op not in ("Equal", "NotEqual") else NUMBERS + (np.bool_,), exact=True, edges=0.3)
    return moved(getattr(raw, op)(x=x, y=y))


@generator("LogicalAnd", "LogicalOr")
def logical(b, op):
    x, y = pair(b, (np.bool_,))
    return moved(getattr(raw, op)(x=x, y=y))


@generator("AddN")
def add_n(b, _):
    x = b.take(FLOATS + (np.int32, np.int64))
    return computed(raw.AddN(inputs=[x.tensor] + [b.like(x.shape, x.dtype).tensor for _ in range(b.r.integer(0, 3))]))


@generator("BiasAdd", "BiasAddV1")
def bias_add(b, op):
    x = b.take(FLOATS, 2, 5)
    first = op == "BiasAdd" and x.rank > 2 and b.r.chance(0.4)
    bias = b.like((x.shape[1 if first else -1],), x.dtype).tensor
    return computed(raw.BiasAdd(value=x.tensor, bias=bias, data_format="NCHW" if first else "NHWC") if op == "BiasAdd"
                    else raw.BiasAddV1(value=x.tensor, bias=bias))


@generator("MatMul")
def matmul(b, _):
    x = b.tame(b.take(FLOATS + (np.int32,), 2, 2))
    ta, tb = b.r.chance(0.3), b.r.chance(0.3)
    inner, n = x.shape[0 if ta else 1], b.r.size(0.02)
    y = b.tame(b.like((n, inner) if tb else (inner, n), x.dtype))
    return computed(raw.MatMul(a=x.tensor, b=y.tensor, transpose_a=ta, transpose_b=tb))


@generator("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(b, op):
    x = b.tame(b.take(FLOATS + (np.int32,), 2, 4))
    ta, tb = b.r.chance(0.3), b.r.chance(0.3)
    inner, n = x.shape[-2 if ta else -1], b.r.size(0.02)
    batch = x.shape[:-2] if op == "BatchMatMul" else b.r.part(x.shape[:-2])
    y = b.tame(b.like(batch + ((n, inner) if tb else (inner, n)), x.dtype))
    more = {"Tout": x.dtype} if op == "BatchMatMulV3" else {}
    return computed(getattr(raw, op)(x=x.tensor, y=y.tensor, adj_x=ta, adj_y=tb, **more))


@generator("Einsum")
def einsum(b, _):
    letters = "abcdef"
    sizes = {c: b.r.pick((1, 2, 3, 4)) for c in letters}
    left = "".join(b.r.g.permutation(list(letters))[:b.r.integer(1, 3)])
    right = "".join(b.r.g.permutation(list(letters))[:b.r.integer(1, 3)])
    every = sorted(set(left + right))
    out = "".join(b.r.g.permutation(every)[:b.r.integer(0, len(every))])
    inputs = [b.tame(b.like([sizes[c] for c in s], np.dtype(np.float32))).tensor for s in (left, right)]
    if b.r.chance(0.2):
        out = "".join(b.r.g.permutation(list(left))[:b.r.integer(0, len(left))])
        return computed(raw.Einsum(inputs=inputs[:1], equation=f"{left}->{out}"))
    return computed(raw.Einsum(inputs=inputs, equation=f"{left},{right}->{out}"))


@generator("Softmax", "LogSoftmax")
def softmax(b, op):
    return computed(getattr(raw, op)(logits=b.take(FLOATS, 1, 4, edges=0.05).tensor))


def axes_of(b, x):
    axes = b.r.some(range(x.rank))
    axes = [a - x.rank if b.r.chance(0.3) else a for a in axes]
    if len(axes) == 1 and b.r.chance(0.4):
        return np.int32(axes[0])
    return np.array(axes, b.r.pick((np.int32, np.int64)))


@generator("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm", "All", "Any")
def reduction(b, op):
    if op in ("All", "Any"):
        x = b.take((np.bool_,))
    elif op in ("Max", "Min"):
        x = b.take(FLOATS + INTS, edges=0.2)
    else:
        x = b.take(FLOATS if op != "Sum" else FLOATS + (np.int32, np.int64), edges=0.05)
        x = b.tame(x) if op in ("EuclideanNorm", "Mean") else x
    made = getattr(raw, op)(input=x.tensor, axis=axes_of(b, x), keep_dims=b.r.chance(0.4))
    return moved(made) if op in ("Max", "Min", "All", "Any") else computed(made)


@generator("ArgMax", "ArgMin")
def arg_reduction(b, op):
    x = b.take(FLOATS + INTS, 1, 4, exact=True, where=lambda s: 0 not in s, edges=0.3)
    kind = b.r.pick((np.int32, np.int64))
    return moved(getattr(raw, op)(input=x.tensor, dimension=b.r.pick((np.int32, np.int64))(b.r.axis(x.rank)), output_type=kind))


@generator("Select", "SelectV2")
def select(b, op):
    x = b.take(NUMBERS + (np.bool_,), edges=0.2)
    if op == "SelectV2":
        condition = b.like(b.r.part(x.shape), np.dtype(bool)).tensor
        return moved(raw.SelectV2(condition=condition, t=x.tensor, e=b.like(b.r.part(x.shape), x.dtype).tensor))
    rows = x.rank > 0 and b.r.chance(0.4)
    condition = b.like(x.shape[:1] if rows else x.shape, np.dtype(bool)).tensor
    return moved(raw.Select(condition=condition, x=x.tensor, y=b.like(x.shape, x.dtype).tensor))


@generator("ClipByValue")
def clip(b, _):
    x = b.take(FLOATS + (np.int32, np.int64), edges=0.2)
    low, high = (b.fresh((), x.dtype, low=l, high=h, edges=0).tensor for l, h in ((-3, 0), (0, 3)))
    return moved(raw.ClipByValue(t=x.tensor, clip_value_min=low, clip_value_max=high))


@generator("Cumsum", "Cumprod")
def cumulative(b, op):
    x = b.take(FLOATS + (np.int32, np.int64), 1, 4)
    axis = b.r.pick((np.int32, np.int64))(b.r.axis(x.rank))
    return computed(getattr(raw, op)(x=x.tensor, axis=axis, exclusive=b.r.chance(0.5), reverse=b.r.chance(0.5)))


@generator("L2Loss")
def l2_loss(b, _):
    return computed(raw.L2Loss(t=b.take(FLOATS).tensor))


@generator("LinSpace")
def lin_space(b, _):
    dtype = b.r.pick(FLOATS)
    start, stop = (dtype(v) for v in b.r.array((2,), dtype))
    return computed(raw.LinSpace(start=start, stop=stop, num=np.int32(b.r.integer(1, 9))))


@generator("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant(b, op):
    x = b.take((np.float32,), 1, 4, exact=True, edges=0.1)
    more = {"num_bits": b.r.integer(2, 16), "narrow_range": b.r.chance(0.5)}
    if op.endswith("Args"):
        return moved(raw.FakeQuantWithMinMaxArgs(inputs=x.tensor, min=-float(b.r.g.random()) * 5, max=float(b.r.g.random()) * 5 + 0.1, **more))
    shape = x.shape[-1:] if op.endswith("Channel") else ()
    low, high = (b.fresh(shape, np.float32, low=l, high=h, edges=0, constant=0.6).tensor for l, h in ((-6, 0), (0.1, 6)))
    return moved(getattr(raw, op)(inputs=x.tensor, min=low, max=high, **more))
