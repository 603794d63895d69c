#!/usr/bin/env python3
"""Memory at ready of each model beside the bytes of its weights; the acceptance is weights + 25 MB.

  scripts/bench_memory.py [--out bench/results/memory.md] [MODEL …]

Weights are the file's size, or for the light models, whose weights are ConstantOfShape, what those make.
Run with a Python that has onnx (scripts/setup.sh)."""
import argparse
import json
import pathlib
import subprocess
import sys

import onnx
from onnx import numpy_helper

from bench_models import MODELS, ROOT, SHAPES, TREADLE

LIMIT_MB = 25


def weight_bytes(path):
    if path.parent.parent.name != "light":
        return path.stat().st_size
    graph = onnx.load(path).graph
    values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    total = sum(v.nbytes for v in values.values())
    return total + sum(4 * int(values[n.input[0]].prod()) for n in graph.node
                       if n.op_type == "ConstantOfShape" and n.input[0] in values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--out")
    args = parser.parse_args()
    paths = [p for g in ("onnx/*/model.onnx", "light/*/model.onnx", "tf/*/*.pb") for p in sorted(MODELS.glob(g))]
    lines = ["# Memory at ready", "",
             f"Command: `scripts/bench_memory.py {' '.join(sys.argv[1:])}`. Models that need shapes or do not load are left out.", "",
             "| model | weights MB | RSS at ready MB | more than the weights MB | |", "|---|---|---|---|---|"]
    above = 0
    for path in paths:
        name = path.parent.name
        if args.models and name not in args.models:
            continue
        command = [str(TREADLE), "bench", str(path), "--json", "--runs", "1"]
        for input_name, shape in SHAPES.get(name, {}).items():
            command += ["--shape", f"{input_name}={shape}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            continue
        rss, weights = json.loads(done.stdout.splitlines()[-1])["rss_ready_mb"], weight_bytes(path) / 2**20
        over = rss - weights > LIMIT_MB
        above += over
        lines.append(f"| {name} | {weights:.1f} | {rss:.1f} | {rss - weights:.1f} | {'above' if over else ''} |")
        print(lines[-1], flush=True)
    if args.out:
        (ROOT / args.out).write_text("\n".join(lines) + "\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
