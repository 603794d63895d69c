#!/usr/bin/env python3
"""That fuzz-diff catches faults: on cases that agree, faults are planted in treadle's answer and in the graph that it is
given, and each must be reported.

  tests/fuzz_diff/self_test.py --runner build/release/tests/fuzz_diff_runner [--cases 300] [--seed 1]

Exit status 1 when a fault goes unnoticed, 77 (skipped) without ONNX Runtime."""
import argparse
import collections
import sys
import tempfile

import run
from case import GENERATORS, as_model
from engines import Treadle, difference, run_ort
from faults import ANSWERS, Faults, faults_of

import numpy as np
import onnx
import onnxruntime as ort

# What treadle is given in place of what ONNX Runtime is.
SWAPPED = {"Add": "Sub", "Sub": "Add", "Mul": "Add", "Div": "Mul", "Max": "Min", "Min": "Max", "And": "Or", "Or": "Xor", "Less": "Greater", "Greater": "Less",
           "Relu": "Abs", "Abs": "Neg", "Neg": "Abs", "Sin": "Cos", "Cos": "Sin", "Ceil": "Floor", "Floor": "Ceil", "Exp": "Neg", "Tanh": "Sigmoid",
           "ReduceMax": "ReduceMin", "ReduceMin": "ReduceMax", "ReduceSum": "ReduceMean", "ReduceMean": "ReduceSum", "ArgMax": "ArgMin", "ArgMin": "ArgMax"}


class Faulty(Faults, Treadle):
    """treadle with a fault planted in its answers."""


class WrongGraph(Treadle):
    """treadle that is given the model with another operator in it."""

    def prepare(self, model, case):
        super().prepare(wrong(model), case)


def wrong(model):
    other = onnx.ModelProto()
    other.CopyFrom(model)
    node = next(n for n in other.graph.node if n.op_type in SWAPPED)
    node.op_type = SWAPPED[node.op_type]
    return other


def wrong_graph_matters(model, case, want):
    """Whether the other operator is one that ONNX Runtime runs, with another answer."""
    try:
        return difference([np.asarray(y) for y in run_ort(wrong(model), case)], want, case) is not None
    except Exception:  # pylint: disable=broad-except
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ort.set_default_logger_severity(4)
    # ONNX Runtime ends some cases of com.microsoft by a signal, which would end this process too.
    ops = sorted(op for op in GENERATORS if not op.startswith("com.microsoft"))
    ops += [op for op in ops if op in SWAPPED] * 4
    caught, missed = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        treadle, faulty, confused = (kind(args.runner, folder, 20) for kind in (Treadle, Faulty, WrongGraph))
        for number in range(args.cases):
            r, case = run.make_case(number, args.seed, ops)
            model = as_model(r, case)
            verdict, want, answers = run.compare(treadle, number, model, case)
            outputs = answers["session"][2]
            if verdict.kind != "agree" or not any(y.size for y in outputs):
                continue
            trials = [(f, faulty) for f in faults_of(outputs)]
            if any(n.op_type in SWAPPED for n in model.graph.node) and wrong_graph_matters(model, case, want):
                trials.append(("graph", confused))
            for fault, engine in trials:
                faulty.fault = fault
                found, _, _ = run.compare(engine, number, model, case)
                caught[fault] += found.kind in ("differ", "error")
                if found.kind not in ("differ", "error"):
                    missed += 1
                    print(f"missed: {fault} in case {number} ({case.op}): {found.kind} {found.text}")
        for engine in (treadle, faulty, confused):
            engine.stop()
    print("caught:", ", ".join(f"{n} {fault}" for fault, n in sorted(caught.items())), f"; missed: {missed}")
    every = set(ANSWERS) | {"error", "graph"}
    return 1 if missed or set(caught) != every else 0


if __name__ == "__main__":
    sys.exit(main())
