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
    m, k, n = r.integer(1, 5), r.integer(1, 99), r.integer(1, 19)
    bits, block = r.pick([2, 4, 8]), r.pick([16, 32, 64])
    blocks = -(-k // block)
    # ONNX Runtime has no kernel for 8 bits with zero points that are floats.
    kinds = [None, integers(r, np.uint8, n, -(-blocks * bits // 8)), normal(r, n, blocks)]
    return {"A": normal(r, *batches(r), m, k), "B": integers(r, np.uint8, n, blocks, block * bits // 8), "scales": scales(r, n, blocks),
            "zero_points": r.pick(kinds[:2 if bits == 8 else 3]), "g_idx": None, "bias": maybe(r, normal(r, n))}, {"K": k, "N": n, "bits": bits, "block_size": block}


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
