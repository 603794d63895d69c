#!/usr/bin/env python3
"""Operators of com.microsoft on random shapes and inputs, against ONNX Runtime.

Usage: contrib_operators.py TREADLE [CASES] [SEED]     (exit status 77 without onnxruntime)
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)


def sizes(r):
    return int(r.randint(1, 6)), int(r.randint(1, 40)), int(r.randint(1, 20))


def integers(r, dtype, *shape):
    info = np.iinfo(dtype)
    return r.randint(info.min, info.max + 1, shape).astype(dtype)


def weights(r, dtype, *shape):
    # ONNX Runtime adds pairs of u8 · i8 products in saturating i16 where the processor has no VNNI:
    # with seven bits of weight nothing saturates.
    return integers(r, dtype, *shape) if dtype == np.uint8 else r.randint(-64, 64, shape).astype(dtype)


def scales(r, *shape):
    return r.uniform(0.001, 0.1, shape).astype(np.float32)


def batches(r):
    return [(), (2,), (2, 3)][r.randint(3)]


def matmul_integer_to_float(r):
    m, k, n = sizes(r)
    # ONNX Runtime has no kernel for i8 by u8.
    a_type, b_type = [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)][r.randint(3)]
    columns = (n,) if r.randint(2) else ()
    inputs = {"a": integers(r, a_type, *batches(r), m, k), "b": weights(r, b_type, k, n),
              "a_scale": scales(r), "b_scale": scales(r, *columns),
              "a_zp": integers(r, a_type) if r.randint(2) else None,
              "b_zp": integers(r, b_type, *columns) if r.randint(2) else None,
              "bias": r.randn(n).astype(np.float32) if r.randint(2) else None}
    return inputs, {}


def dynamic_quantize_matmul(r):
    m, k, n = sizes(r)
    b_type = [np.uint8, np.int8][r.randint(2)]
    columns = (n,) if r.randint(2) else ()
    inputs = {"a": r.randn(*batches(r), m, k).astype(np.float32), "b": weights(r, b_type, k, n),
              "b_scale": scales(r, *columns),
              "b_zp": integers(r, b_type, *columns) if r.randint(2) else None,
              "bias": r.randn(n).astype(np.float32) if r.randint(2) else None}
    return inputs, {}


def transpose_matmul(r):
    m, k, n = sizes(r)
    batch, ta, tb = batches(r), int(r.randint(2)), int(r.randint(2))
    inputs = {"a": r.randn(*batch, *((k, m) if ta else (m, k))).astype(np.float32),
              "b": r.randn(*batch, *((n, k) if tb else (k, n))).astype(np.float32)}
    return inputs, {"transA": ta, "transB": tb, "alpha": float(r.uniform(-2, 2))}


def matmul_n_bits(r):
    m, k, n = int(r.randint(1, 6)), int(r.randint(1, 100)), int(r.randint(1, 20))
    bits, block = [2, 4, 8][r.randint(3)], [16, 32, 64][r.randint(3)]
    blocks = -(-k // block)
    packed = -(-blocks * bits // 8)
    # ONNX Runtime has no kernel for 8 bits with zero points that are floats.
    kinds = [None, integers(r, np.uint8, n, packed), r.randn(n, blocks).astype(np.float32)]
    zero_points = kinds[r.randint(2 if bits == 8 else 3)]
    inputs = {"A": r.randn(*batches(r), m, k).astype(np.float32),
              "B": integers(r, np.uint8, n, blocks, block * bits // 8), "scales": scales(r, n, blocks),
              "zero_points": zero_points, "g_idx": None,
              "bias": r.randn(n).astype(np.float32) if r.randint(2) else None}
    return inputs, {"K": k, "N": n, "bits": bits, "block_size": block}


def trilu(r):
    inputs = {"x": r.randn(*batches(r), int(r.randint(1, 9)), int(r.randint(1, 9))).astype(np.float32),
              "k": np.array(r.randint(-9, 10), np.int64)}
    return inputs, {"upper": int(r.randint(2))}


GENERATORS = {"MatMulNBits": matmul_n_bits, "Trilu": trilu,
              "MatMulIntegerToFloat": matmul_integer_to_float,
              "DynamicQuantizeMatMul": dynamic_quantize_matmul,
              "TransposeMatMul": transpose_matmul}


def make_model(op, inputs, attributes, constant):
    """All inputs but the first are constants of the model where `constant`."""
    names = [n if v is not None else "" for n, v in inputs.items()]
    while not names[-1]:
        names.pop()
    node = onnx.helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    declared = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                for n, v in inputs.items() if v is not None]
    held = [onnx.numpy_helper.from_array(v, n) for n, v in list(inputs.items())[1:] if v is not None]
    if constant:
        declared = declared[:1]
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([node], op, declared, [y], held if constant else [])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(program, op, inputs, attributes, constant, folder):
    """A text, or None where both agree."""
    model = make_model(op, inputs, attributes, constant)
    given = {n: v for n, v in inputs.items() if v is not None}
    given = dict(list(given.items())[:1 if constant else None])
    want = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, given)[0]
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "in.npz", **given)
    done = subprocess.run([program, "run", folder / "m.onnx", "--input", folder / "in.npz", "--output",
                           folder / "out.npz"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return done.stderr.strip()
    with np.load(folder / "out.npz") as out:
        got = out["y"]
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    worst = float(np.abs(got - want).max())
    return None if worst <= 2e-5 * max(1.0, float(np.abs(want).max())) else f"differs by {worst}"


def main():
    program = sys.argv[1]
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for op, generate in GENERATORS.items():
            for i in range(cases):
                inputs, attributes = generate(np.random.RandomState(seed * 100003 + i))
                why = check(program, op, inputs, attributes, i % 2 == 1, pathlib.Path(folder))
                if why:
                    failed += 1
                    shapes = {n: (str(v.dtype), v.shape) for n, v in inputs.items() if v is not None}
                    print(f"{op} {i}: {why} ({shapes}, {attributes})")
    print(f"{len(GENERATORS) * cases} cases, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
