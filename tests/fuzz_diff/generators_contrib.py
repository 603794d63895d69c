"""Operators of com.microsoft."""
import numpy as np
import onnx

from case import Case, generator

FLOAT = onnx.TensorProto.FLOAT


def contrib(*ops):
    """Registers a function from (Random, operator) to inputs (None for one that is left out), attributes and more of Case."""
    def add(function):
        @generator(*ops, domain="com.microsoft")
        def make(r, op):
            inputs, attributes, *more = function(r, op)
            order = [n if v is not None else "" for n, v in inputs.items()]
            while not order[-1]:
                order.pop()
            names = [n for n, v in inputs.items() if v is not None]
            more = {"types": (FLOAT,), "may_be_constant": tuple(names[1:]), "fixed": tuple(names[1:]), **(more[0] if more else {})}
            return Case(op, {n: inputs[n] for n in names}, attributes, order=order, domain="com.microsoft", **more)
        return make
    return add


def sizes(r):
    return r.integer(1, 5), r.integer(1, 39), r.integer(1, 19)


def integers(r, dtype, *shape):
    info = np.iinfo(dtype)
    return r.g.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def weights(r, dtype, *shape):
    # ONNX Runtime adds pairs of u8 · i8 products in saturating i16 where the processor has no VNNI:
    # with seven bits of weight nothing saturates.
    return integers(r, dtype, *shape) if dtype == np.uint8 else r.g.integers(-64, 64, shape).astype(dtype)


def scales(r, *shape):
    return r.g.uniform(0.001, 0.1, shape).astype(np.float32)


def normal(r, *shape):
    return np.asarray(r.g.standard_normal(shape), np.float32)


def maybe(r, value):
    return value if r.chance(0.5) else None


def batches(r):
    return r.pick([(), (2,), (2, 3)])


@contrib("QGemm")
def qgemm(r, _):
    m, k, n = sizes(r)
    at = r.pick((np.uint8, np.int8))
    bt = np.int8 if at == np.int8 else r.pick((np.uint8, np.int8))
    ta, tb, columns = int(r.chance(0.5)), int(r.chance(0.5)), (n,) if r.chance(0.4) else ()
    zero = r.g.integers(-3 if bt == np.int8 else 0, 4, columns).astype(bt)
    inputs = {"a": integers(r, at, *((k, m) if ta else (m, k))), "as": scales(r), "az": integers(r, at),
              "b": weights(r, bt, *((n, k) if tb else (k, n))), "bs": scales(r, *columns), "bz": np.asarray(zero),
              "c": maybe(r, r.g.integers(-3000, 3000, r.pick(((n,), (m, n), (1, n)))).astype(np.int32))}
    quantised = r.chance(0.7)
    if quantised:
        inputs |= {"ys": np.asarray(np.float32(r.g.uniform(0.05, 2))), "yz": integers(r, at)}
    out = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(at)) if quantised else FLOAT
    return inputs, {"transA": ta, "transB": tb, "alpha": r.pick((1.0, 0.5, 2.0))}, {"types": (out,), "steps": 1}


@contrib("MatMulIntegerToFloat")
def matmul_integer_to_float(r, _):
    m, k, n = sizes(r)
    # ONNX Runtime has no kernel for i8 by u8.
    a_type, b_type = r.pick([(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
    columns = r.pick([(n,), ()])
    return {"a": integers(r, a_type, *batches(r), m, k), "b": weights(r, b_type, k, n), "a_scale": scales(r), "b_scale": scales(r, *columns),
            "a_zp": maybe(r, integers(r, a_type)), "b_zp": maybe(r, integers(r, b_type, *columns)), "bias": maybe(r, normal(r, n))}, {}


@contrib("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(r, _):
    m, k, n = sizes(r)
    b_type, columns = r.pick([np.uint8, np.int8]), r.pick([(n,), ()])
    return {"a": normal(r, *batches(r), m, k), "b": weights(r, b_type, k, n), "b_scale": scales(r, *columns),
            "b_zp": maybe(r, integers(r, b_type, *columns)), "bias": maybe(r, normal(r, n))}, {}


@contrib("FusedMatMul", "TransposeMatMul")
def transpose_matmul(r, op):
    m, k, n = sizes(r)
    batch, ta, tb = batches(r), r.integer(0, 1), r.integer(0, 1)
    a, b = normal(r, *batch, *((k, m) if ta else (m, k))), normal(r, *batch, *((n, k) if tb else (k, n)))
    # A vector is not transposed. (Of a transposed matrix times a vector ONNX Runtime 1.32 takes the wrong elements.)
    if op == "FusedMatMul" and r.chance(0.3):
        pairs = [(normal(r, k), b), (normal(r, k), normal(r, k))]
        a, b = r.pick(pairs if ta else [*pairs, (a, normal(r, k))])
    return {"a": a, "b": b}, {"transA": ta, "transB": tb, "alpha": float(r.g.uniform(-2, 2))}


@contrib("FusedGemm")
def fused_gemm(r, _):
    m, k, n = sizes(r)
    ta, tb = r.integer(0, 1), r.integer(0, 1)
    given = {"LeakyRelu": ("alpha",), "Elu": ("alpha",), "ThresholdedRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Selu": ("alpha", "gamma")}
    activation = r.pick(("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", *given))
    attributes = {"transA": ta, "transB": tb, "alpha": float(r.g.uniform(-2, 2)), "beta": float(r.g.uniform(-2, 2)), "activation": activation}
    attributes |= {f"activation_{p}": float(r.g.uniform(0.1, 1.5)) for p in given.get(activation, ())}
    c = r.pick([None, normal(r, n), normal(r, m, 1), normal(r, m, n), normal(r)])
    return {"a": normal(r, *((k, m) if ta else (m, k))), "b": normal(r, *((n, k) if tb else (k, n))), "c": c}, attributes


@contrib("MatMulNBits")
def matmul_n_bits(r, _):
    m, k, n = r.integer(1, 12), r.integer(1, 299), r.integer(1, 150)
    bits, block = r.pick([2, 4, 8]), r.pick([16, 32, 64, 128, 256])
    dtype = r.pick([np.float32, np.float32, np.float16])
    blocks = -(-k // block)
    # ONNX Runtime has no kernel for 8 bits with zero points that are floats.
    kinds = [None, integers(r, np.uint8, n, -(-blocks * bits // 8)), normal(r, n, blocks).astype(dtype)]
    inputs = {"A": normal(r, *batches(r), m, k).astype(dtype), "B": integers(r, np.uint8, n, blocks, block * bits // 8), "scales": scales(r, n, blocks).astype(dtype),
              "zero_points": r.pick(kinds[:2 if bits == 8 else 3]), "g_idx": None, "bias": maybe(r, normal(r, n).astype(dtype))}
    return inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, {"types": (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),)}


@contrib("Trilu")
def trilu(r, _):
    return {"x": normal(r, *batches(r), r.integer(1, 8), r.integer(1, 8)), "k": np.array(r.integer(-9, 9), np.int64)}, {"upper": r.integer(0, 1)}


@contrib("Inverse")
def inverse(r, _):
    n = r.integer(1, 9)
    x = normal(r, *batches(r), n, n) + 3 * np.eye(n, dtype=np.float32) * n ** 0.5
    dtype = r.pick((np.float32, np.float64))
    return {"x": x.astype(dtype)}, {}, {"types": (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),)}


@contrib("NhwcMaxPool")
def nhwc_max_pool(r, _):
    rank = r.integer(1, 3)
    kernel = [r.integer(1, 3) for _ in range(rank)]
    dtype = r.pick((np.uint8, np.int8))
    x = integers(r, dtype, r.integer(1, 2), *(r.integer(5, 9) for _ in range(rank)), r.integer(1, 19))
    attributes = {"kernel_shape": kernel, "strides": [r.integer(1, 3) for _ in range(rank)], "dilations": [r.integer(1, 2) for _ in range(rank)]}
    if r.chance(0.5):
        attributes["pads"] = [r.integer(0, k - 1) for k in kernel * 2]
    return {"x": x}, attributes, {"types": (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),)}


@contrib("QLinearWhere")
def q_linear_where(r, _):
    shape, dtype = r.shape(1, 4, 0), r.pick((np.uint8, np.int8))  # ONNX Runtime crashes where something is empty
    inputs = {"c": r.array(r.part(shape), bool)}
    for name in "pq":
        inputs |= {name: integers(r, dtype, *r.part(shape)), f"{name}_scale": scales(r), f"{name}_zp": integers(r, dtype)}
    inputs |= {"z_scale": scales(r), "z_zp": integers(r, dtype)}
    # A quotient halfway between two integers may go either way.
    return inputs, {}, {"types": (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),), "steps": 1}


@contrib("GatherBlockQuantized")
def gather_block_quantized(r, _):
    rows, middle, block, bits = r.integer(1, 9), r.pick([(), (3,)]), r.pick([16, 32]), r.pick([2, 4, 8])
    blocks = r.integer(1, 5)
    columns = blocks * block - r.pick((0, 8))
    shape = (rows, *middle)
    zero_points = integers(r, np.uint8, *shape, -(-blocks * bits // 8))
    indices = r.g.integers(-rows, rows, r.pick([(), (4,), (2, 3)])).astype(r.pick((np.int64, np.int32)))
    if indices.ndim and r.chance(0.2):
        indices.flat[0] = r.pick((-rows - 1, rows, 1000))
    return {"data": integers(r, np.uint8, *shape, columns * bits // 8), "indices": np.asarray(indices), "scales": scales(r, *shape, blocks),
            "zero_points": maybe(r, zero_points)}, \
        {"gather_axis": 0, "quantize_axis": len(shape), "block_size": block, "bits": bits}, {"may_be_constant": ("data", "scales", "zero_points"), "fixed": ("data", "scales", "zero_points")}


@contrib("DynamicQuantizeLSTM")
def dynamic_quantize_lstm(r, _):
    steps, batch, size, hidden = r.integer(1, 5), r.integer(1, 3), r.integer(1, 9), r.integer(1, 9)
    directions = r.pick((1, 1, 2))
    dtype = r.pick((np.uint8, np.int8))
    # One zero point for all columns, and none for signed weights by column, is what ONNX Runtime takes.
    per_column = r.chance(0.5)
    columns = (4 * hidden,) if per_column else ()
    zero = np.full((directions, *columns), 0 if dtype == np.int8 and per_column else r.integer(0, 100), dtype)
    state = lambda: maybe(r, normal(r, directions, batch, hidden))
    inputs = {"x": normal(r, steps, batch, size), "w": weights(r, dtype, directions, size, 4 * hidden), "r": weights(r, dtype, directions, hidden, 4 * hidden),
              "b": maybe(r, normal(r, directions, 8 * hidden)), "lens": maybe(r, np.array([r.integer(1, steps) for _ in range(batch)], np.int32)),
              "h": state(), "c": state(), "p": maybe(r, normal(r, directions, 3 * hidden)),
              "w_scale": scales(r, directions, *columns) / 20, "w_zp": zero, "r_scale": scales(r, directions, *columns) / 20, "r_zp": zero}
    direction = "bidirectional" if directions == 2 else r.pick(("forward", "reverse"))
    # ONNX Runtime quantises what it multiplies the weights with.
    return inputs, {"hidden_size": hidden, "direction": direction}, {"outputs": ("y", "y_h", "y_c"), "types": (FLOAT,) * 3, "tolerance": 2e-2}


@contrib("Gelu", "FastGelu", "QuickGelu", "BiasGelu")
def gelu(r, op):
    x = r.array(r.shape(1, 4, 0), np.float32)
    bias = normal(r, x.shape[-1]) if op == "BiasGelu" or op == "FastGelu" and r.chance(0.5) else None
    attributes = {"alpha": r.pick((1.0, 1.702))} if op == "QuickGelu" else {}
    return {"x": x, "b": bias}, attributes, {"tolerance": 1e-4}


@contrib("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_layer_norm(r, op):
    b, s, width = r.integer(1, 3), r.integer(1, 5), r.pick((4, 7, 16, 33))
    inputs = {"x": normal(r, b, s, width), "skip": normal(r, b, s, width), "gamma": normal(r, width)}
    if op == "SkipLayerNormalization":
        inputs["beta"] = maybe(r, normal(r, width))
    inputs["bias"] = maybe(r, normal(r, width))
    return inputs, {"epsilon": r.pick((1e-5, 1e-2))}, {"tolerance": 2e-4}


def small_scale(r):
    return np.asarray(np.float32(r.g.uniform(0.02, 0.1)))


def one_quantised(r, name, dtype, *shape):
    """A tensor with its scale and zero point."""
    return {name: integers(r, dtype, *shape), name + "s": small_scale(r), name + "z": np.asarray(integers(r, dtype))}


def of_type(dtype, **more):
    return {"types": (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),), "steps": 1, **more}


@contrib("QLinearAdd", "QLinearMul")
def qlinear_binary(r, op):
    dtype, shape = r.pick((np.uint8, np.int8)), r.shape(1, 4, 0)
    return one_quantised(r, "a", dtype, *shape) | one_quantised(r, "b", dtype, *r.part(shape)) | {"ys": small_scale(r), "yz": np.asarray(integers(r, dtype))}, {}, of_type(dtype)


@contrib("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def qlinear_unary(r, op):
    dtype, shape = r.pick((np.uint8, np.int8)), r.shape(1, 4, 0)
    attributes = {"QLinearSigmoid": {}, "QLinearLeakyRelu": {"alpha": r.pick((0.01, 0.3))}, "QLinearSoftmax": {"axis": r.axis(len(shape)), "opset": r.pick((12, 13))}}[op]
    scale = np.asarray(np.float32(1 / 256)) if op == "QLinearSoftmax" else small_scale(r)
    zero = np.asarray(np.iinfo(dtype).min).astype(dtype) if op == "QLinearSoftmax" else np.asarray(integers(r, dtype))
    return one_quantised(r, "x", dtype, *shape) | {"ys": scale, "yz": zero}, attributes, of_type(dtype, constants=("xs", "xz", "ys", "yz"))


@contrib("QLinearAveragePool", "QLinearGlobalAveragePool")
def qlinear_pool(r, op):
    dtype, last = r.pick((np.uint8, np.int8)), int(r.chance(0.4))
    n, c, h, w = r.integer(1, 2), r.integer(1, 9), r.integer(3, 9), r.integer(3, 9)
    attributes = {"channels_last": last}
    if op == "QLinearAveragePool":
        kernel = [r.integer(1, 3), r.integer(1, 3)]
        attributes |= {"kernel_shape": kernel, "strides": [r.integer(1, 2), r.integer(1, 2)], "pads": [r.integer(0, k - 1) for k in kernel * 2], "count_include_pad": int(r.chance(0.5))}
    return one_quantised(r, "x", dtype, *((n, h, w, c) if last else (n, c, h, w))) | {"ys": small_scale(r), "yz": np.asarray(integers(r, dtype))}, attributes, of_type(dtype)


@contrib("QLinearConcat")
def qlinear_concat(r, _):
    dtype, shape = r.pick((np.uint8, np.int8)), r.shape(1, 4, 0)
    axis = r.axis(len(shape))
    inputs = {"ys": small_scale(r), "yz": np.asarray(integers(r, dtype))}
    for k in range(r.integer(1, 3)):
        part = list(shape)
        part[axis] = r.integer(1, 5)
        inputs |= one_quantised(r, f"x{k}_", dtype, *part)
    return inputs, {"axis": axis}, of_type(dtype, may_be_constant=("ys", "yz"))


@contrib("QuantizeLinear", "DequantizeLinear")
def quantise(r, op):
    shape, dtype = r.shape(1, 4, 0), r.pick((np.uint8, np.int8, np.uint16, np.int16))
    axis = r.axis(len(shape)) if r.chance(0.4) else None
    sizes = () if axis is None else (shape[axis],)
    scale = r.g.uniform(0.02, 0.1, sizes).astype(np.float32)
    inputs = {"x": integers(r, dtype, *shape) if op == "DequantizeLinear" else normal(r, *shape), "s": scale, "z": np.asarray(integers(r, dtype, *sizes))}
    attributes = {} if axis is None else {"axis": axis}
    return inputs, attributes, of_type(dtype) if op == "QuantizeLinear" else {}


@contrib("FusedConv")
def fused_conv(r, _):
    rank, group = r.pick((1, 2, 2)), r.pick((1, 1, 2))
    kernel = [r.integer(1, 3) for _ in range(rank)]
    c, o, size = group * r.integer(1, 5), group * r.integer(1, 5), [r.integer(3, 9) for _ in range(rank)]
    kind = r.pick(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"))
    parameters = {"LeakyRelu": [0.2], "Clip": [-0.5, 0.8], "HardSigmoid": [0.2, 0.5]}.get(kind)
    attributes = {"activation": kind, "kernel_shape": kernel, "group": group, "pads": [r.integer(0, k - 1) for k in kernel * 2]}
    if parameters:
        attributes["activation_params"] = parameters
    return {"x": normal(r, r.integer(1, 2), c, *size), "w": normal(r, o, c // group, *kernel), "b": maybe(r, normal(r, o))}, attributes


@contrib("RotaryEmbedding")
def rotary(r, _):
    b, s, heads, half, most = r.integer(1, 2), r.integer(1, 5), r.integer(1, 3), r.pick((2, 4, 8)), 12
    width = 2 * half
    angles = r.g.uniform(-3, 3, (most, half))
    x = normal(r, b, s, heads * width) if r.chance(0.5) else normal(r, b, heads, s, width)
    at = np.array([r.integer(0, most - s)], np.int64) if r.chance(0.5) else r.g.integers(0, most, (b, s))
    return {"x": x, "at": at, "cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}, {"interleaved": int(r.chance(0.5))}, {"may_be_constant": ("cos", "sin")}


@contrib("Attention")
def attention(r, _):
    b, s, heads, size, width = r.integer(1, 3), r.integer(1, 5), r.pick((1, 2, 4)), r.pick((2, 4, 8)), r.integer(1, 9)
    hidden = heads * size
    kind = r.pick(("none", "lengths", "mask"))
    mask = {"none": None, "lengths": r.g.integers(1, s, (b,), endpoint=True).astype(np.int32), "mask": (r.g.random((b, s)) < 0.7).astype(np.int32)}[kind]
    if kind == "mask":
        mask[:, 0] = 1  # a row that sees nothing is not defined
    causal = int(r.chance(0.4)) if kind == "none" else 0
    return {"x": normal(r, b, s, width), "w": normal(r, width, 3 * hidden), "b": normal(r, 3 * hidden), "mask": mask}, {"num_heads": heads, "unidirectional": causal}, {"may_be_constant": ("w", "b"), "tolerance": 2e-4}


@contrib("MultiHeadAttention")
def multi_head_attention(r, _):
    b, s, total, heads, size = r.integer(1, 2), r.integer(1, 5), r.integer(1, 7), r.pick((1, 2, 4)), r.pick((2, 4, 8))
    hidden = heads * size
    value = hidden if r.chance(0.7) else heads * 3
    inputs = {"q": normal(r, b, s, hidden), "k": normal(r, b, total, hidden), "v": normal(r, b, total, value),
              "bias": maybe(r, normal(r, 2 * hidden + value)), "mask": None, "add": maybe(r, normal(r, 1, heads, s, total))}
    if r.chance(0.3):
        mask = (r.g.random((b, total)) < 0.7).astype(np.int32)
        mask[:, 0] = 1
        inputs["mask"] = mask
    attributes = {"num_heads": heads}
    if r.chance(0.3):
        attributes["scale"] = 0.3
    return inputs, attributes, {"may_be_constant": ("bias",), "tolerance": 2e-4}


@contrib("GroupQueryAttention")
def group_query_attention(r, _):
    b, kv, group, size = r.integer(1, 2), r.pick((1, 2)), r.pick((1, 2, 3)), r.pick((8, 16))
    heads, past, s = kv * group, r.integer(0, 4), 1
    if past == 0:
        s = r.integer(1, 5)
    total = past + s
    inputs = {"q": normal(r, b, s, heads * size), "k": normal(r, b, s, kv * size), "v": normal(r, b, s, kv * size),
              "pk": normal(r, b, kv, past, size), "pv": normal(r, b, kv, past, size),
              "lengths": np.full((b,), total - 1, np.int32), "total": np.array(total, np.int32)}
    attributes = {"num_heads": heads, "kv_num_heads": kv}
    if size == 16 and r.chance(0.6):  # ONNX Runtime rotates multiples of 16
        angles = r.g.uniform(-3, 3, (16, size // 2))
        inputs |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(r.chance(0.5))}
    return inputs, attributes, {"outputs": ("y", "key", "value"), "types": (FLOAT,) * 3, "may_be_constant": (), "tolerance": 2e-4}


@contrib("EmbedLayerNormalization")
def embed(r, _):
    b, s, width, words, most = r.integer(1, 3), r.integer(1, 5), r.pick((4, 8, 16)), 9, 7
    segments = r.chance(0.5)
    inputs = {"ids": r.g.integers(0, words, (b, s)).astype(np.int32), "segments": r.g.integers(0, 2, (b, s)).astype(np.int32) if segments else None,
              "words": normal(r, words, width), "places": normal(r, most, width), "kinds": normal(r, 2, width) if segments else None,
              "gamma": normal(r, width), "beta": normal(r, width)}
    return inputs, {"epsilon": 1e-3}, {"outputs": ("y", "mask"), "types": (FLOAT, onnx.TensorProto.INT32), "may_be_constant": ("words", "places", "kinds"), "tolerance": 2e-4}
