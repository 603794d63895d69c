#!/usr/bin/env python3
"""Load time over the size of the graph: generated chains, fan-outs, shape arithmetic and dead branches of
5,000 and 50,000 nodes. Prints milliseconds until ready (import, simplify, lower) and the ratio, which is
about 10 when loading is linear. Usage: bench_load.py TREADLE [FOLDER]"""
import json
import pathlib
import subprocess
import sys

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np


def chain(n):
    """x + c, relu, x * c, … one after the other."""
    nodes, value = [], "x"
    for i in range(n):
        out = f"v{i}"
        nodes.append(helper.make_node(["Add", "Relu", "Mul"][i % 3], [value, "c"] if i % 3 != 1 else [value], [out]))
        value = out
    return nodes, value


def fan_out(n):
    """One value read by half of the nodes, whose results are summed in one chain."""
    nodes, total = [helper.make_node("Exp", ["x"], ["root"])], "root"
    for i in range(n // 2):
        nodes.append(helper.make_node("Sigmoid" if i % 2 else "Tanh", ["root"], [f"f{i}"]))
        nodes.append(helper.make_node("Add", [total, f"f{i}"], [f"s{i}"]))
        total = f"s{i}"
    return nodes, total


def shape_arithmetic(n):
    """Shape, Gather, Unsqueeze, Concat, Reshape, again and again."""
    nodes, value = [], "x"
    for i in range(n // 6):
        nodes += [
            helper.make_node("Shape", [value], [f"shape{i}"]),
            helper.make_node("Gather", [f"shape{i}", "zero"], [f"n{i}"]),
            helper.make_node("Unsqueeze", [f"n{i}", "axis0"], [f"u{i}"]),
            helper.make_node("Concat", [f"u{i}", "rest"], [f"target{i}"], axis=0),
            helper.make_node("Reshape", [value, f"target{i}"], [f"r{i}"]),
            helper.make_node("Relu", [f"r{i}"], [f"v{i}"]),
        ]
        value = f"v{i}"
    return nodes, value


def dead_branches(n):
    """Nine of ten nodes lead nowhere."""
    nodes, value = [], "x"
    for i in range(n // 10):
        nodes.append(helper.make_node("Relu", [value], [f"v{i}"]))
        value = f"v{i}"
        dead = value
        for k in range(9):
            nodes.append(helper.make_node("Sqrt", [dead], [f"d{i}_{k}"]))
            dead = f"d{i}_{k}"
    return nodes, value


def write(path, make, n):
    nodes, last = make(n)
    constants = [
        numpy_helper.from_array(np.full((1, 8), 0.5, np.float32), "c"),
        numpy_helper.from_array(np.array(0, np.int64), "zero"),
        numpy_helper.from_array(np.array([0], np.int64), "axis0"),
        numpy_helper.from_array(np.array([8], np.int64), "rest"),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def ready_ms(treadle, path):
    best = None
    for _ in range(3):
        out = subprocess.run([treadle, "bench", str(path), "--json", "--runs", "1", "--set", "batch=1"],
                             capture_output=True, text=True, check=True).stdout
        ms = json.loads(out)["ready_ms"]
        best = ms if best is None else min(best, ms)
    return best


def main():
    treadle = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "build/bench")
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    print(f"{'graph':18} {'5,000 nodes':>12} {'50,000 nodes':>13} {'ratio':>6}   (ms until ready)")
    for make in (chain, fan_out, shape_arithmetic, dead_branches):
        ms = []
        for n in (5000, 50000):
            path = folder / f"{make.__name__}_{n}.onnx"
            write(path, make, n)
            ms.append(ready_ms(treadle, path))
        failed |= ms[0] > 500 or ms[1] > 5000
        print(f"{make.__name__:18} {ms[0]:12.1f} {ms[1]:13.1f} {ms[1] / ms[0]:6.1f}")
    print("limits: 500 ms and 5,000 ms:", "exceeded" if failed else "kept")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
