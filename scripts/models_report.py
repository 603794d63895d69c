#!/usr/bin/env python3
"""Runs `treadle compare` on every model of the models folder and writes docs/models.md.

Usage: models_report.py [--models DIR] [--treadle PROGRAM] [--output FILE]
The exit code is 1 when a model does not agree. Standard library only.
"""
import argparse
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

def find_models(root):
    """(group, name, model file, reference folder), in a stable order."""
    for group in ("onnx", "light", "tf"):
        for folder in sorted((root / group).glob("*/")):
            files = sorted(folder.glob("*.onnx")) + sorted(folder.glob("*.pb"))
            files = files or sorted(folder.glob("*.pb.xz"))
            if files:
                yield group, folder.name, files[0], folder


def unpacked(file, scratch):
    if file.suffix != ".xz":
        return file
    target = pathlib.Path(scratch) / file.stem
    with lzma.open(file) as packed, open(target, "wb") as out:
        while chunk := packed.read(1 << 20):
            out.write(chunk)
    return target


def compare(program, file, folder, timeout):
    command = [program, "compare", str(file), "--io", str(folder), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"ok": False, "error": f"no answer within {timeout} s"}
    try:
        report = json.loads(done.stdout)
        if "error" in report:
            report["error"] = report["error"].removeprefix(f"{file}: ")
        return report
    except json.JSONDecodeError:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"ok": False, "error": lines[0].removeprefix("error: ")}


def syncs(program, file):
    """Device-to-host syncs of a run on a device, as text; empty where the model does not load without sizes."""
    done = subprocess.run([program, "dump", str(file), "--stage", "lowered", "--target", "sim", "--json"],
                          capture_output=True, text=True)
    return str(json.loads(done.stdout)["totals"]["syncs"]) if done.returncode == 0 else ""


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def row(group, name, report):
    if "error" in report:
        return [f"{group}/{name}", "error", "", "", "", report["error"]]
    cases = sorted({f["where"] for f in report["findings"]})
    first = report.get("first_mismatch")
    note = ""
    if first:
        note = f"{first['where']}: {first['value']} {first.get('note', '')}".strip()
    state = "agrees" if report["ok"] else "differs"
    return [f"{group}/{name}", state, ", ".join(cases), f"{report['max_abs']:.2g}",
            f"{report['max_rel']:.2g}", note]


def write(rows, output, info):
    lines = [
        "# Models", "",
        "Every model of the models folder against its reference outputs, made by `make models`.",
        "A float output agrees when no element is further than 1e-4 + 1e-4 of the output's largest",
        "magnitude from the reference; integers are equal.", "",
        f"Built from {info['commit']} with {info['compiler']}, instruction set {info['isa_used']}.",
        "",
        "Syncs: how often a run with a device target waits for the device. Above 1 some operators stay on the",
        "CPU between others; `treadle run MODEL --target cuda --explain` names them and says why.", "",
        "| model | result | cases | max abs | max rel | syncs | note |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(map(cell, r)) + " |" for r in rows]
    good = sum(r[1] == "agrees" for r in rows)
    lines += ["", f"{good} of {len(rows)} agree."]
    output.parent.mkdir(exist_ok=True)
    output.write_text("\n".join(lines) + "\n")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("TREADLE_MODELS", str(ROOT.parent / "shared" / "models"))
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path(default))
    parser.add_argument("--treadle", default=str(ROOT / "build" / "release" / "treadle"))
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "models.md")
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    if not args.models.is_dir():
        print(f"{args.models}: no models there; set TREADLE_MODELS", file=sys.stderr)
        return 2
    info = json.loads(subprocess.run([args.treadle, "info", "--json"], check=True,
                                     capture_output=True, text=True).stdout)
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for group, name, file, folder in find_models(args.models):
            unpacked_file = unpacked(file, scratch)
            report = compare(args.treadle, unpacked_file, folder, args.timeout)
            rows.append(row(group, name, report))
            rows[-1].insert(5, syncs(args.treadle, unpacked_file))
            wrong += not report["ok"]
            print("  ".join(rows[-1][i] for i in (0, 1, 3, 5, 6)), flush=True)
    good = write(rows, args.output, info)
    print(f"{good} of {len(rows)} agree; {args.output}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
