#!/usr/bin/env python3
"""Whole vision models on the simulated device: every convolution, pool and resize on it, one
device-to-host sync a run, the answers of the CPU. Models come from tests/models and, where it is there,
$TREADLE_MODELS (default: ../shared/models); the others are skipped and counted.

Usage: run.py --treadle PROGRAM
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

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
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600)
    expect(done.returncode == 0, f"{' '.join(map(str, command[1:]))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return done.stdout


def check(program, file, shape, least, tolerance, scratch):
    inputs = ["--input", "random:7"]
    if shape:
        name = json.loads(call(program, "dump", file, "--json"))["inputs"][0]["name"]
        inputs += ["--shape", f"{name}={shape}"]
    result = pathlib.Path(scratch) / "sim.npz"
    ran = json.loads(call(program, "run", file, *inputs, "--target", "sim", "--explain", "--json", "--output", result))
    steps = {}  # by operator, without what is fused into it
    for step in ran["explain"]:
        steps.setdefault(step["op"].split()[0], []).append(step)
    for op, count in least.items():
        found = steps.get(op, [])
        expect(len(found) >= count, f"{len(found)} steps {op}, expected {count} or more")
        elsewhere = [f"{s['node']} ({s['why_not']})" for s in found if s["device"] != "sim"]
        expect(not elsewhere, f"some of {op} do not run on the device: " + ", ".join(elsewhere))
    expect(ran["syncs"] == 1, f"{ran['syncs']} syncs a run, expected 1")
    to_host = len(steps["CopyToHost"])
    expect(to_host == len(ran["outputs"]), f"{to_host} copies to the host for {len(ran['outputs'])} outputs")
    compared = json.loads(call(program, "compare", file, *inputs, "--against", result, "--atol", tolerance, "--rtol", "0", "--json"))
    expect(compared["ok"], f"differs from the CPU: {compared}")
    if "Pool" in least:
        pools = len(steps["Pool"])
        lowered = json.loads(call(program, "dump", file, *inputs[2:], "--stage", "lowered", "--target", "sim",
                                  "--keep-on-cpu", "Pool", "--json"))
        copies = sum(n["op"] == "CopyToHost" for n in lowered["nodes"])
        expect(to_host < copies <= to_host + pools, f"pools on the CPU: {copies} copies to the host, with {pools} pools")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treadle", required=True)
    program = parser.parse_args().treadle
    found, wrong, skipped = folders(), [], []
    with tempfile.TemporaryDirectory() as scratch:
        for name, shape, least, tolerance in MODELS:
            if name not in found:
                skipped.append(name)
                continue
            try:
                check(program, report.unpacked(found[name], scratch), shape, least, tolerance, scratch)
                print(f"{name}: on the device", flush=True)
            except Failure as failure:
                print(f"{name}: {failure}", flush=True)
                wrong.append(name)
    print(f"models on the device: {len(MODELS) - len(skipped)} ran, {len(wrong)} wrong, {len(skipped)} skipped"
          + (f" ({', '.join(skipped)})" if skipped else ""))
    return 1 if wrong or len(skipped) == len(MODELS) else 0


if __name__ == "__main__":
    sys.exit(main())
