#!/usr/bin/env python3
"""Random one-operator models through treadle and ONNX Runtime: the answers must agree.

  tests/fuzz_diff/run.py --treadle build/release/treadle [--cases 20000] [--seed 1] [--op NAME] [--keep DIR]

Each case has a number; `--only N` runs that one again and prints both answers. What ONNX Runtime refuses
is counted, not judged, unless treadle crashes over it. `EXPLAINED` below names differences that are the other side's
fault, or where the standard leaves the answer open, each with its reason. Exit status 1 on a difference
that is not explained, 77 (skipped) without ONNX Runtime."""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from explained import explained  # noqa: E402
import generators_nn  # noqa: E402,F401  pylint: disable=unused-import
from generators import GENERATORS  # noqa: E402
from values import Random  # noqa: E402


def make_case(number, seed, ops):
    r = Random([seed, number])
    name = ops[number % len(ops)]
    return name, r, GENERATORS[name](r)


def as_model(r, case):
    """The case as a model; some inputs constants, some sizes symbols."""
    inputs, constants = [], []
    symbolic = r.chance(0.3)
    for name, value in case.inputs.items():
        if name in case.constants or (name in case.may_be_constant and r.chance(0.5)):
            constants.append(onnx.numpy_helper.from_array(value, name))
            continue
        shape = [f"{name}_{i}" if symbolic and name not in case.fixed and r.chance(0.5) else s for i, s in enumerate(value.shape)]
        inputs.append(onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    outputs = [onnx.ValueInfoProto(name=o) for o in case.outputs]
    node = onnx.helper.make_node(case.op, case.order, [*case.outputs], **case.attributes)
    graph = onnx.helper.make_graph([node], "fuzz", inputs, outputs, constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", case.opset)])
    model.ir_version = min(model.ir_version, 10)
    # ONNX Runtime wants the types of outputs, which inference finds.
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=False)
    return inferred


def run_ort(model, case):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in case.inputs.items() if k in names})


def run_treadle(program, model, case, folder, timeout):
    path = folder / "model.onnx"
    onnx.save(model, path)
    names = {i.name for i in model.graph.input}
    np.savez(folder / "in.npz", **{k: v for k, v in case.inputs.items() if k in names})
    command = [program, "run", str(path), "--output", str(folder / "out.npz"), "--max-tensor-bytes", "1000000000"]
    if names:
        command += ["--input", str(folder / "in.npz")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return -99, "no answer in time", None
    if done.returncode:
        return done.returncode, done.stderr.strip(), None
    with np.load(folder / "out.npz") as out:
        return 0, "", [out[o] for o in case.outputs]


def difference(got, want, case):
    """A text, or None where they agree."""
    for name, a, b in zip(case.outputs, got, want):
        b = np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{name}: {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        if b.dtype.kind not in "f":
            if not np.array_equal(a, b):
                if case.steps and b.dtype.kind in "iu" and np.abs(a.astype(np.int64) - b.astype(np.int64)).max() <= case.steps:
                    continue
                i = np.argwhere(np.atleast_1d(a != b))[0]
                return f"{name}{i.tolist()}: {np.atleast_1d(a)[tuple(i)]}, expected {np.atleast_1d(b)[tuple(i)]}"
            continue
        tolerance = case.tolerance or {2: 4e-3, 4: 2e-5, 8: 1e-6}[b.dtype.itemsize]
        finite = np.abs(b[np.isfinite(b)])
        scale = float(finite.max()) if finite.size else 0.0
        with np.errstate(all="ignore"):
            close = (a == b) | (np.isnan(a) & np.isnan(b)) | (
                np.abs(a.astype(np.float64) - b.astype(np.float64)) <= tolerance * max(1.0, min(scale, 1e6)) + 10 * tolerance * np.abs(b.astype(np.float64)))
        close |= np.isfinite(a) != np.isfinite(b) if case.overflows else False
        if not close.all():
            i = np.argwhere(~np.atleast_1d(close))[0]
            return f"{name}{i.tolist()}: {np.atleast_1d(a)[tuple(i)]}, expected {np.atleast_1d(b)[tuple(i)]}"
    return None


def judge(args, number, ops, folder):
    """Kind, operator and text of one case."""
    name, r, case = make_case(number, args.seed, ops)
    model = as_model(r, case)
    try:
        want, refusal = run_ort(model, case), None
    except Exception as error:  # pylint: disable=broad-except
        want, refusal = None, str(error)
    code, error, got = run_treadle(args.treadle, model, case, folder, args.timeout)
    if args.only is not None:
        print(onnx.printer.to_text(model))
        for k, v in case.inputs.items():
            print(k, v.dtype, v.shape, v.tolist() if v.size < 200 else "…")
        print("ONNX Runtime:", refusal or [np.asarray(w).tolist() for w in want])
        print("treadle:", error or [g.tolist() for g in got])
    if code < 0 or code not in (0, 2, 3):
        return "crash", name, f"exit code {code}: {error}"
    if want is None:
        return "refused", name, refusal
    text = error if code else difference(got, want, case)
    if text is None:
        return "agree", name, ""
    why = explained(name, case, got, want)
    if why:
        return "explained", name, why
    return ("error" if code else "differ"), name, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--op", action="append")
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for models that differ")
    args = parser.parse_args()
    ort.set_default_logger_severity(4)
    ops = args.op or sorted(GENERATORS)
    numbers = [args.only] if args.only is not None else range(args.first, args.first + args.cases)
    counts, reasons, refused = collections.Counter(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for number in numbers:
            kind, op, text = judge(args, number, ops, folder)
            counts[kind] += 1
            if kind == "explained":
                reasons[f"{op}: {text}"] += 1
            elif kind == "refused":
                refused[op] += 1
            elif kind != "agree":
                print(f"{kind} --only {number} --op {op}" if args.op else f"{kind} --only {number} ({op})", text[:300], flush=True)
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    for f in ("model.onnx", "in.npz"):
                        (args.keep / f"{number}_{op}_{f}").write_bytes((folder / f).read_bytes())
    for reason, count in sorted(reasons.items()):
        print(f"explained {count} times: {reason}")
    print("refused by ONNX Runtime:", ", ".join(f"{op} {n}" for op, n in refused.most_common(12)))
    print(f"fuzz-diff: {sum(counts.values())} cases of {len(ops)} operators: " + ", ".join(f"{n} {k}" for k, n in sorted(counts.items())))
    return 1 if counts["crash"] + counts["differ"] + counts["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
