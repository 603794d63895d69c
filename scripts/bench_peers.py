#!/usr/bin/env python3
"""treadle beside ONNX Runtime, model by model: separate processes, A B B A …, pinned to one core, one
thread. Writes a Markdown table with minimum and median of each.

  scripts/bench_peers.py [--rounds 4] [--time 0.5] [--out bench/results/cpu.md] [MODEL …]

MODEL is the name of a folder below TREADLE_MODELS (default ../shared/models) onnx/ or light/; default all."""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = pathlib.Path(os.environ.get("TREADLE_MODELS", ROOT.parent / "shared/models"))
TREADLE = ROOT / "build/release/treadle"

# Sizes for models whose inputs are symbolic.
SHAPES = {
    "yunet_n_dynamic": {"input": "1,3,320,320"},
    "ppocr_v2_cls": {"x": "1,3,48,192"},
    "ppocr_v4_det": {"x": "1,3,320,320"},
    "basic_pitch": {"serving_default_input_2:0": "1,43844,1"},
    "oww_embedding": {"input_1": "1,76,32,1"},
    "oww_melspectrogram": {"input": "1,32000"},
    "magika_v3_3": {"bytes": "1,2048"},
    "byte_sb_bidi_lstm": {"input": "1,64"},
}

ORT_CHILD = r"""
import json, sys, time
import numpy as np, onnxruntime as ort
spec = json.loads(sys.argv[1])
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
t = time.perf_counter()
session = ort.InferenceSession(spec["model"], options, providers=["CPUExecutionProvider"])
load = (time.perf_counter() - t) * 1e3
rng, feed = np.random.default_rng(0), {}
types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8}
for i in session.get_inputs():
    shape = [int(s) for s in spec["shapes"][i.name].split(",")] if i.name in spec["shapes"] else [
        d if isinstance(d, int) and d > 0 else 1 for d in i.shape]
    dtype = types[i.type]
    feed[i.name] = rng.random(shape, np.float32) if dtype == np.float32 else np.ones(shape, dtype)
for _ in range(3):
    session.run(None, feed)
samples, end = [], time.perf_counter() + spec["time"]
while len(samples) < 3 or time.perf_counter() < end:
    t = time.perf_counter()
    session.run(None, feed)
    samples.append((time.perf_counter() - t) * 1e3)
print(json.dumps({"load": load, "eval": samples}))
"""


def run_ort(model, shapes, seconds):
    spec = json.dumps({"model": str(model), "shapes": shapes, "time": seconds})
    done = subprocess.run(["taskset", "-c", "1", sys.executable, "-c", ORT_CHILD, spec], capture_output=True, text=True, timeout=300)
    if done.returncode:
        return None
    r = json.loads(done.stdout)
    return {"load": r["load"], "min": min(r["eval"]), "median": statistics.median(r["eval"])}


def run_treadle(model, shapes, seconds):
    command = ["taskset", "-c", "1", str(TREADLE), "bench", str(model), "--json", "--time", str(seconds)]
    for name, shape in shapes.items():
        command += ["--shape", f"{name}={shape}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return None
    r = json.loads(done.stdout.splitlines()[-1])
    return {"load": r["ready_ms"], "min": r["eval_ms"]["min"], "median": r["eval_ms"]["median"], "rss": r["rss_ready_mb"],
            "allocs": r["allocs_per_run"]}


def best(rounds, key):
    return min(r[key] for r in rounds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--time", type=float, default=0.5)
    parser.add_argument("--out")
    args = parser.parse_args()
    paths = sorted(MODELS.glob("onnx/*/model.onnx")) + sorted(MODELS.glob("light/*/model.onnx"))
    if args.models:
        paths = [p for p in paths if p.parent.name in args.models]
    lines = ["| model | treadle ms (min, median) | ORT ms (min, median) | ratio of minima | ready ms | ORT session ms | RSS at ready MB | allocations a run |",
             "|---|---|---|---|---|---|---|---|"]
    for path in paths:
        shapes = SHAPES.get(path.parent.name, {})
        ours, theirs = [], []
        for i in range(args.rounds):
            order = [(run_treadle, ours), (run_ort, theirs)]
            for run, results in order if i % 2 == 0 else reversed(order):
                result = run(path, shapes, args.time)
                if result:
                    results.append(result)
        if not ours:
            lines.append(f"| {path.parent.name} | did not run | | | | | | |")
            continue
        text = f"| {path.parent.name} | {best(ours, 'min'):.3f}, {statistics.median(r['median'] for r in ours):.3f} | "
        if theirs:
            text += (f"{best(theirs, 'min'):.3f}, {statistics.median(r['median'] for r in theirs):.3f} | "
                     f"{best(ours, 'min') / best(theirs, 'min'):.2f} | {best(ours, 'load'):.1f} | {best(theirs, 'load'):.1f} | ")
        else:
            text += f"refuses the inputs | | {best(ours, 'load'):.1f} | | "
        text += f"{ours[0]['rss']:.1f} | {ours[0]['allocs']:g} |"
        lines.append(text)
        print(text, flush=True)
    if args.out:
        import onnxruntime
        cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
        commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
        head = [f"# treadle {commit} beside ONNX Runtime {onnxruntime.__version__}, CPU, one thread", "",
                f"{cpu}; load average at the end {os.getloadavg()[0]:.1f}; {args.rounds} interleaved rounds of {args.time} s, separate processes pinned to core 1.",
                f"Command: `scripts/bench_peers.py {' '.join(sys.argv[1:])}`", "",
                "Ready is load + simplify + lower + bind; the session is ORT's InferenceSession. Inputs are random.", ""]
        out = pathlib.Path(args.out)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text("\n".join(head + lines) + "\n")


if __name__ == "__main__":
    main()
