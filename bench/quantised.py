#!/usr/bin/env python3
"""Models that ONNX Runtime's static quantiser makes of those in TREADLE_MODELS (default ../shared/models)/onnx: answers
beside ONNX Runtime's, and times of treadle in f32, treadle quantised and ONNX Runtime quantised, interleaved.

  bench/quantised.py [--treadle build/release/treadle] [--rounds 4] [--core 1] MODEL …

Each tensor between the layers is compared; named are the operators behind the first that differ on each way."""
import argparse
import json
import logging
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = pathlib.Path(os.environ.get("TREADLE_MODELS", ROOT / "../shared/models")) / "onnx"
KINDS = {f"{name} a {'channel' if channel else 'tensor'}": (weights, channel)
         for name, weights in (("u8s8", QuantType.QInt8), ("u8u8", QuantType.QUInt8)) for channel in (False, True)}
SECONDS = 0.6
CHILD = """
import sys, time, numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
feed = {session.get_inputs()[0].name: np.load(sys.argv[2])}
for _ in range(3): session.run(None, feed)
times, end = [], time.perf_counter() + float(sys.argv[3])
while time.perf_counter() < end:
    start = time.perf_counter(); session.run(None, feed); times.append(1e3 * (time.perf_counter() - start))
print(min(times), sorted(times)[len(times) // 2])
"""


class Readings(CalibrationDataReader):
    def __init__(self, readings):
        self.left = list(readings)

    def get_next(self):
        return self.left.pop() if self.left else None


def prepare(name, folder):
    """The float model with the input's sizes, opset 13, batch norms folded; the input's file."""
    model = onnx.load(MODELS / name / "model.onnx")
    x = np.load(MODELS / name / "real_input_0.npy")
    held = {t.name for t in model.graph.initializer}
    (port,) = [i for i in model.graph.input if i.name not in held]
    del model.graph.input[:], model.graph.value_info[:]
    model.graph.input.append(onnx.helper.make_tensor_value_info(port.name, onnx.TensorProto.FLOAT, x.shape))
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    model.ir_version = max(model.ir_version, 7)
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 13)
    onnx.save(model, folder / "plain.onnx")
    np.save(folder / "in.npy", x)
    quant_pre_process(folder / "plain.onnx", folder / "f32.onnx", skip_symbolic_shape=True)
    noise = np.random.default_rng(1)
    readings = [x] + [(x + 0.1 * x.std() * noise.standard_normal(x.shape)).astype(np.float32) for _ in range(3)]
    for kind, (weights, channel) in KINDS.items():
        quantize_static(folder / "f32.onnx", folder / f"{kind}.onnx", Readings([{port.name: r} for r in readings]), per_channel=channel,
                        activation_type=QuantType.QUInt8, weight_type=weights)
    return port.name


def behind(made, value):
    """Operators from the value back to the quantised ones, and the names of these."""
    ops, sources, left = [], [], list(made[value].input[:1])
    while left:
        name = left.pop()
        if name not in made:
            continue
        if made[name].op_type == "QuantizeLinear":
            sources.append(name)
            continue
        ops.append(made[name].op_type)
        left += made[name].input
    return [o for o in ops if o != "DequantizeLinear"], sources


def compare(args, folder, kind, port):
    model = onnx.load(folder / f"{kind}.onnx")
    made = {o: n for n in model.graph.node for o in n.output}
    types = {t.name: t.data_type for t in model.graph.initializer}
    inner = [n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"]
    for value in inner:
        model.graph.output.append(onnx.helper.make_tensor_value_info(value, types[made[value].input[2]], None))
    onnx.save(model, folder / "all.onnx")
    options = ort.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = ort.InferenceSession(folder / "all.onnx", options, providers=["CPUExecutionProvider"])
    want = dict(zip([o.name for o in session.get_outputs()], session.run(None, {port: np.load(folder / "in.npy")})))
    subprocess.run([args.treadle, "run", folder / "all.onnx", "--input", f"{port}={folder / 'in.npy'}", "--output", folder / "out.npz"], check=True, capture_output=True)
    with np.load(folder / "out.npz") as got:
        wrong = {v: int((got[v] != want[v]).sum()) for v in inner}
        step = max(int(np.abs(got[v].astype(int) - want[v].astype(int)).max()) for v in inner)
    first = {v: behind(made, v) for v in inner if wrong[v]}
    named = [f"{' '.join(ops)} ({wrong[v]} of {want[v].size})" for v, (ops, sources) in first.items() if not any(wrong.get(s) for s in sources)]
    print(f"  {kind}: {len(first)} of {len(inner)} tensors differ, by at most {step}; first {', '.join(named) or '-'}", flush=True)


def times(args, folder, name):
    pinned = ["taskset", "-c", str(args.core)]

    def treadle(kind):
        command = [*pinned, args.treadle, "bench", folder / f"{kind}.onnx", "--input", folder / "in.npy", "--time", str(SECONDS), "--json"]
        took = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["eval_ms"]
        return took["min"], took["median"]

    def runtime(kind):
        command = [*pinned, sys.executable, "-c", CHILD, folder / f"{kind}.onnx", folder / "in.npy", str(SECONDS)]
        return tuple(map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()))

    wanted = [(engine, kind) for kind in ("f32", "u8s8 a tensor", "u8s8 a channel") for engine in (treadle, runtime)]
    took = {w: [] for w in wanted}
    for turn in range(args.rounds):
        for engine, kind in wanted[::-1] if turn % 2 else wanted:
            took[engine, kind].append(engine(kind))
    cells = [f"{min(t[0] for t in took[w]):.3f}, {statistics.median(t[1] for t in took[w]):.3f}" for w in wanted]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--treadle", default=ROOT / "build/release/treadle")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--core", type=int, default=1)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    ort.set_default_logger_severity(4)
    for name in args.models:
        with tempfile.TemporaryDirectory() as path:
            port = prepare(name, pathlib.Path(path))
            print(name)
            for kind in KINDS:
                compare(args, pathlib.Path(path), kind, port)
            times(args, pathlib.Path(path), name)


if __name__ == "__main__":
    main()
