#!/usr/bin/env python3
"""Whole vision models on the simulated device, or another: every convolution, pool and resize on it, one
device-to-host sync a run, the answers of the CPU; converted to f16, as near to the f32 answers as ONNX
Runtime's f16, or, for graphs of TensorFlow, as rounding explains. Small graphs with attention: all of
them on the device, one sync, the answers of ONNX Runtime. Models come from tests/models and, where it is
there, $TREADLE_MODELS (default: ../shared/models); the others are skipped and counted.

Usage: run.py --treadle PROGRAM [--target sim] [--skip MODEL]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    import onnxruntime
    from attention_graph import GRAPHS
    from half_graph import rewritten
    from onnxruntime.transformers.float16 import convert_float_to_float16
except ImportError:  # without the environment of scripts/setup.sh
    onnxruntime, GRAPHS = None, {}

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import models_report as report  # noqa: E402  pylint: disable=wrong-import-position

# Name, shape of the input, what of an operator there must be at least, largest absolute difference.
# Sizes below the models' own where theirs take minutes.
MODELS = [
    ("inception_v3", None, {"Conv": 94, "Pool": 13}, 1e-6),
    ("mobilenet_v2", None, {"Conv": 52}, 1e-6),
    ("u2netp_synthetic", "1,3,64,64", {"Conv": 119, "Pool": 33, "Resize": 30}, 1e-5),
    ("light_squeezenet", None, {"Conv": 26, "Pool": 3}, 1e-5),
    ("yunet_n_dynamic", "1,3,96,128", {"Conv": 40, "Pool": 3}, 1e-5),
]


# Converted to f16: name, shape of the input, operators all of whose nodes must be on the device.
HALF = [
    ("ppocr_v2_cls", "1,3,48,192", ("Conv", "Pool", "Reduce", "Softmax")),
    ("yunet_n_dynamic", "1,3,96,128", ("Conv", "Pool", "Resize")),
    ("u2netp_synthetic", "1,3,64,64", ("Conv", "Pool", "Resize")),
]
# The same of TensorFlow's graphs, with the window of the last pool for that shape.
HALF_TF = [
    ("inception_v3", "1,107,107,3", 2, ("Conv", "Pool", "Softmax")),
    ("mobilenet_v2", "1,96,96,3", 3, ("Conv", "Pool", "Softmax")),
]
# Of the largest value: a hundred roundings to 11 bits, which go both ways.
HALF_TF_TOLERANCE = 5e-3


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def folders():
    roots = [ROOT / "tests" / "models", pathlib.Path(os.environ.get("TREADLE_MODELS", ROOT.parent / "shared" / "models"))]
    found = {}
    for root in roots:
        for _, name, file, _ in report.find_models(root):
            found.setdefault(name, file)
    return found


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=1200)
    expect(done.returncode == 0, f"{' '.join(map(str, command[1:]))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return done.stdout


def check(program, target, file, shape, least, tolerance, scratch):
    inputs = ["--input", "random:7"]
    if shape:
        name = json.loads(call(program, "dump", file, "--json"))["inputs"][0]["name"]
        inputs += ["--shape", f"{name}={shape}"]
    result = pathlib.Path(scratch) / "device.npz"
    ran = json.loads(call(program, "run", file, *inputs, "--target", target, "--explain", "--json", "--output", result))
    steps = {}  # by operator, without what is fused into it
    for step in ran["explain"]:
        steps.setdefault(step["op"].split()[0], []).append(step)
    for op, count in least.items():
        found = steps.get(op, [])
        expect(len(found) >= count, f"{len(found)} steps {op}, expected {count} or more")
        elsewhere = [f"{s['node']} ({s['why_not']})" for s in found if s["device"] != target]
        expect(not elsewhere, f"some of {op} do not run on the device: " + ", ".join(elsewhere))
    expect(ran["syncs"] == 1, f"{ran['syncs']} syncs a run, expected 1")
    to_host = len(steps["CopyToHost"])
    expect(to_host == len(ran["outputs"]), f"{to_host} copies to the host for {len(ran['outputs'])} outputs")
    compared = json.loads(call(program, "compare", file, *inputs, "--against", result, "--atol", tolerance, "--rtol", "0", "--json"))
    expect(compared["ok"], f"differs from the CPU: {compared}")
    if "Pool" in least:
        pools = len(steps["Pool"])
        lowered = json.loads(call(program, "dump", file, *inputs[2:], "--stage", "lowered", "--target", target,
                                  "--keep-on-cpu", "Pool", "--json"))
        copies = sum(n["op"] == "CopyToHost" for n in lowered["nodes"])
        expect(to_host < copies <= to_host + pools, f"pools on the CPU: {copies} copies to the host, with {pools} pools")


def input_of(folder, name, x):
    """The options that give the input `name` the value and the shape of x."""
    file = pathlib.Path(folder) / f"{x.dtype}.npy"
    numpy.save(file, x)
    return ["--input", f"{name}={file}", "--shape", f"{name}={','.join(map(str, x.shape))}"]


def run_half(program, target, model, name, x, ops, scratch):
    """The outputs of the f16 model on the device, where all of `ops` must run, with one sync."""
    result = pathlib.Path(scratch) / "half.npz"
    ran = json.loads(call(program, "run", model, *input_of(scratch, name, x), "--target", target, "--explain", "--json",
                          "--output", result))
    for op in ops:
        steps = [s for s in ran["explain"] if s["op"].split()[0] == op]
        expect(steps, f"no step {op}")
        for step in steps:
            expect(step["device"] == target, f"{step['node']} ({step['op']}) is not on the device: {step['why_not']}")
    expect(ran["syncs"] == 1, f"{ran['syncs']} syncs a run, expected 1")
    return dict(numpy.load(result))


def expect_near(output, got, want, allowed):
    distance = abs(got.astype(numpy.float64) - want).max() / abs(want).max()
    expect(distance <= allowed, f"{output}: {distance:.2g} of the largest value away from f32, allowed {allowed:.2g}")


def random_input(shape):
    return numpy.random.default_rng(7).standard_normal([int(d) for d in shape.split(",")]).astype(numpy.float16)


def check_half(program, target, file, shape, ops, scratch):
    x = random_input(shape)
    model = onnx.load(file)
    constant = {i.name for i in model.graph.initializer}
    source = next(i for i in model.graph.input if i.name not in constant)
    for dim, size in zip(source.type.tensor_type.shape.dim, x.shape):
        dim.dim_value = size
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1

    def answers(of, value):
        session = onnxruntime.InferenceSession(of.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(None, {source.name: value})
        return {o.name: y.astype(numpy.float64) for o, y in zip(session.get_outputs(), results)}

    exact = answers(model, x.astype(numpy.float32))
    half = convert_float_to_float16(model, keep_io_types=False)
    peer = answers(half, x)
    file = pathlib.Path(scratch) / "half.onnx"
    onnx.save(half, file)
    ours = run_half(program, target, file, source.name, x, ops, scratch)
    for output, want in exact.items():
        expect_near(output, ours[output], want, 2 * abs(peer[output] - want).max() / abs(want).max() + 1e-3)


def check_half_tf(program, target, file, shape, window, ops, scratch):
    x, folder = random_input(shape), pathlib.Path(scratch)
    graph = file.read_bytes()
    (folder / "f32.pb").write_bytes(rewritten(graph, window))
    (folder / "half.pb").write_bytes(rewritten(graph, window, half=True))
    name = json.loads(call(program, "dump", file, "--json"))["inputs"][0]["name"]
    exact = input_of(folder, name, x.astype(numpy.float32))
    call(program, "run", folder / "f32.pb", *exact, "--output", folder / "f32.npz")
    ours = run_half(program, target, folder / "half.pb", name, x, ops, scratch)
    for output, want in numpy.load(folder / "f32.npz").items():
        expect_near(output, ours[output], want.astype(numpy.float64), HALF_TF_TOLERANCE)


def check_attention(program, target, file, feeds, scratch):
    """All of the graph on the device, with one sync, and the answers of ONNX Runtime."""
    inputs = []
    for name, x in feeds.items():
        inputs += ["--input", f"{name}={pathlib.Path(scratch) / name}.npy"]
        numpy.save(inputs[-1].partition("=")[2], x)
    result = pathlib.Path(scratch) / "attention.npz"
    ran = json.loads(call(program, "run", file, *inputs, "--target", target, "--explain", "--json", "--output", result))
    expect(any(s["op"] == "Attention" for s in ran["explain"]), "no step Attention")
    elsewhere = [f"{s['node']} ({s['why_not']})" for s in ran["explain"] if s["device"] != target and s["op"] != "Copy"]
    expect(not elsewhere, "not on the device: " + ", ".join(elsewhere))
    expect(ran["syncs"] == 1, f"{ran['syncs']} syncs a run, expected 1")
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    ours = numpy.load(result)
    for output, want in zip(session.get_outputs(), session.run(None, feeds)):
        expect_near(output.name, ours[output.name], want.astype(numpy.float64), 2e-3 if want.itemsize == 2 else 1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--target", default="sim")
    parser.add_argument("--skip", action="append", default=[], help="a model that would take too long")
    arguments = parser.parse_args()
    program, target = arguments.treadle, arguments.target
    found, wrong, skipped = folders(), [], []
    cases = [(name, name, check, what) for name, *what in MODELS]
    for run, models in ((check_half, HALF), (check_half_tf, HALF_TF)):
        cases += [(name, f"{name} in f16", run, what) for name, *what in models]
    with tempfile.TemporaryDirectory() as scratch:
        for name, make in GRAPHS.items():
            model, feeds = make(numpy.random.default_rng(7))
            found[name] = pathlib.Path(scratch) / f"{name}.onnx"
            onnx.save(model, found[name])
            cases.append((name, name, check_attention, (feeds,)))
        for name, label, run, what in cases:
            if name not in found or name in arguments.skip or (run is not check and onnxruntime is None):
                skipped.append(label)
                continue
            try:
                run(program, target, report.unpacked(found[name], scratch), *what, scratch)
                print(f"{label}: on the device", flush=True)
            except Failure as failure:
                print(f"{label}: {failure}", flush=True)
                wrong.append(label)
    print(f"models on the device: {len(cases) - len(skipped)} ran, {len(wrong)} wrong, {len(skipped)} skipped"
          + (f" ({', '.join(skipped)})" if skipped else ""))
    return 1 if wrong or len(skipped) == len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
