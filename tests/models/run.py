#!/usr/bin/env python3
"""Compares models with their reference outputs: those beside this file and, where they are there,
those of $TREADLE_MODELS (default: ../shared/models).

Usage: run.py --treadle PROGRAM [--committed-only]
"""
import argparse
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import models_report as report  # noqa: E402  pylint: disable=wrong-import-position


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--committed-only", action="store_true")
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    models = list(report.find_models(HERE))
    committed = {(group, name) for group, name, _, _ in models}
    extra = pathlib.Path(os.environ.get("TREADLE_MODELS", ROOT.parent / "shared" / "models"))
    note = ""
    if args.committed_only:
        note = "; only those of the repository"
    elif extra.is_dir():
        models += [m for m in report.find_models(extra) if m[:2] not in committed]
    else:
        note = f"; {extra} is not there: only those of the repository"
    ran, wrong = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for group, name, file, folder in models:
            got = report.compare(args.treadle, report.unpacked(file, scratch), folder, args.timeout)
            ran += 1
            if not got["ok"]:
                wrong.append(f"{group}/{name}")
            print("  ".join(map(str, report.row(group, name, got))), flush=True)
    print(f"models: {ran} ran, {ran - len(wrong)} agree{note}")
    if wrong:
        print("models that differ: " + ", ".join(wrong))
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
