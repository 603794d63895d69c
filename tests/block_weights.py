#!/usr/bin/env python3
"""Models with weights of 4 bits in blocks (com.microsoft MatMulNBits) through the command and through ONNX Runtime: the
same answers, a message and exit code 2 for a damaged model, and memory for the packed weights only.

  .venv/bin/python tests/block_weights.py build/release/treadle

Exit code 77 where Python has no onnxruntime."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)


def quantised(w, block, symmetric):
    """Weights [K, N] as B [N, blocks, block / 2], scales [N, blocks], zero points [N, ⌈blocks / 2⌉] or None."""
    k, n = w.shape
    blocks = -(-k // block)
    padded = np.zeros((n, blocks * block), np.float32)
    padded[:, :k] = w.T
    padded = padded.reshape(n, blocks, block)
    if symmetric:
        scales = np.maximum(np.abs(padded).max(2), 1e-6) / 7
        zeros = np.full((n, blocks), 8)
    else:
        low, high = np.minimum(padded.min(2), 0), np.maximum(padded.max(2), 0)
        scales = np.maximum(high - low, 1e-6) / 15
        zeros = np.clip(np.round(-low / scales), 0, 15).astype(int)
    numbers = np.clip(np.round(padded / scales[:, :, None]) + zeros[:, :, None], 0, 15).astype(np.uint8)
    packed = numbers[:, :, 0::2] | numbers[:, :, 1::2] << 4
    if symmetric:
        return packed, scales.astype(np.float32), None
    zeros = np.concatenate([zeros, np.zeros((n, blocks % 2), int)], 1).astype(np.uint8)
    return packed, scales.astype(np.float32), zeros[:, 0::2] | zeros[:, 1::2] << 4


def layers(g, sizes, block, dtype=np.float32):
    """A model of a product for each pair of sizes, with Relu between them and zero points and a bias in every other."""
    nodes, constants, value = [], [], "x"
    for i, (k, n) in enumerate(zip(sizes, sizes[1:])):
        w = g.standard_normal((k, n)).astype(np.float32) / np.sqrt(k)
        packed, scales, zeros = quantised(w, block, i % 2 == 0)
        given = {f"B{i}": packed, f"s{i}": scales.astype(dtype)}
        inputs = [value, f"B{i}", f"s{i}"]
        if zeros is not None:
            given[f"z{i}"], given[f"b{i}"] = zeros, g.standard_normal(n).astype(dtype)
            inputs += [f"z{i}", "", f"b{i}"]
        constants += [numpy_helper.from_array(a, name) for name, a in given.items()]
        nodes.append(helper.make_node("MatMulNBits", inputs, [f"p{i}"], f"product{i}", domain="com.microsoft", K=k, N=n, bits=4, block_size=block))
        value = f"p{i}"
        if i + 2 < len(sizes):
            nodes.append(helper.make_node("Relu", [value], [f"r{i}"], f"relu{i}"))
            value = f"r{i}"
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, ["n", sizes[0]])], [helper.make_tensor_value_info(value, kind, ["n", sizes[-1]])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def compare(treadle, folder, g, sizes, block, dtype, tolerance):
    model = layers(g, sizes, block, dtype)
    path = folder / "model.onnx"
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for rows in (1, 2, 7, 9, 40):
        x = g.standard_normal((rows, sizes[0])).astype(dtype)
        np.save(folder / "x.npy", x)
        want = session.run(None, {"x": x})[0].astype(np.float64)
        for extra in ([], ["--threads", "2"], ["--target", "sim"]):
            subprocess.run([treadle, "run", path, "--input", f"x={folder / 'x.npy'}", "--output", folder / "y.npz", *extra], check=True, stdout=subprocess.DEVNULL)
            (got,) = np.load(folder / "y.npz").values()
            error = np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
            if not error <= tolerance:
                sys.exit(f"sizes {sizes} blocks of {block} {np.dtype(dtype)} rows {rows} {extra}: relative error {error:.2g}, allowed {tolerance:.2g}")


def refused(treadle, folder, g):
    """Each change of the second product's attributes is an error that names the node, the operator and what is wrong."""
    changes = {"block_size": (0, 3, 1 << 40), "bits": (3,), "K": (0, 51), "N": (0, 31)}
    for name, values in changes.items():
        for value in values:
            model = layers(g, [40, 50, 30], 32)
            node = model.graph.node[2]
            next(a for a in node.attribute if a.name == name).i = value
            onnx.save(model, folder / "bad.onnx")
            done = subprocess.run([treadle, "run", folder / "bad.onnx", "--set", "n=1"], capture_output=True, text=True)
            parts = ("product1", "MatMulNBits", "expected")
            if done.returncode != 2 or not all(p in done.stderr for p in parts):
                sys.exit(f"{name} = {value}: exit code {done.returncode}, expected 2; {done.stderr}")


def memory(treadle, folder, g):
    """Weights of 2048 · 4096 · 2 numbers: 8 MB of them and 2 MB of scales; 64 MB as f32."""
    onnx.save(layers(g, [2048, 4096, 2048], 32), folder / "large.onnx")
    done = subprocess.run([treadle, "bench", folder / "large.onnx", "--set", "n=1", "--time", "0.01", "--json"], check=True, capture_output=True, text=True)
    ready = json.loads(done.stdout)["rss_ready_mb"]
    if ready > 10.5 + 12:
        sys.exit(f"{ready} MB at ready, expected 10 MB of weights and 12 MB at most beside them")


def main():
    treadle = sys.argv[1]
    g = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compare(treadle, folder, g, [96, 128, 64], 32, np.float32, 1e-5)
        compare(treadle, folder, g, [75, 301, 77, 1], 16, np.float32, 1e-5)
        compare(treadle, folder, g, [301, 40, 130], 256, np.float32, 1e-5)
        compare(treadle, folder, g, [96, 130, 64], 32, np.float16, 4e-3)
        refused(treadle, folder, g)
        memory(treadle, folder, g)
    print("block weights: right")


main()
