#!/usr/bin/env python3
"""That fuzz_tf catches faults: on cases that agree, faults are planted in treadle's answer and in the graph that it is
given, and each must be reported.

  VENV/bin/python tests/fuzz_tf/self_test.py --runner build/release/tests/fuzz_diff_runner [--cases 150] [--seed 1]

Exit status 1 when a fault goes unnoticed, 77 (skipped) without TensorFlow."""
import argparse
import collections
import sys
import tempfile

import run
from run import GENERATORS, TfTreadle, np, tf, v1

from engines import difference
from faults import ANSWERS, Faults, faults_of

# What treadle is given in place of what TensorFlow is.
SWAPPED = {"Add": "Sub", "AddV2": "Sub", "Sub": "Mul", "Mul": "Sub", "Maximum": "Minimum", "Minimum": "Maximum", "Sum": "Mean", "Mean": "Sum", "Max": "Min",
           "Min": "Max", "Less": "Greater", "Greater": "Less", "Relu": "Abs", "Abs": "Neg", "Neg": "Abs", "Sin": "Cos", "Cos": "Sin", "Ceil": "Floor",
           "Floor": "Ceil", "Tanh": "Sigmoid", "Sigmoid": "Tanh", "LogicalAnd": "LogicalOr", "LogicalOr": "LogicalAnd", "ArgMax": "ArgMin", "ArgMin": "ArgMax",
           "MaxPool3D": "AvgPool3D", "SegmentSum": "SegmentMean", "TensorScatterAdd": "TensorScatterSub"}


class Faulty(Faults, TfTreadle):
    """treadle with a fault planted in its answers."""


def wrong(graph):
    """The graph with another operator in it; None where it has none to swap."""
    other = v1.GraphDef.FromString(graph)
    for node in other.node:
        if node.op in SWAPPED:
            node.op = SWAPPED[node.op]
            return other.SerializeToString(deterministic=True)
    return None


def wrong_graph_matters(graph, case):
    """Whether the other operator is one that TensorFlow runs, with another answer."""
    try:
        with tf.Graph().as_default() as g:
            tf.import_graph_def(v1.GraphDef.FromString(graph), name="")
            with v1.Session(graph=g, config=run.as_written()) as session:
                outputs = session.run([f"{o}:0" for o in case.outputs], {f"{k}:0": a for k, a in case.inputs.items()})
    except Exception:  # pylint: disable=broad-except
        return False
    return difference([np.asarray(y) for y in outputs], case.want, case) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ops = sorted(GENERATORS)
    ops += [op for op in ops if op in SWAPPED] * 4
    caught, missed = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        treadle, faulty = (kind(args.runner, folder, 20) for kind in (TfTreadle, Faulty))
        for number in range(args.cases):
            case = run.make_case(number, args.seed, ops)
            verdict, answers = run.judge(treadle, number, case)
            if verdict.kind != "agree" or not any(y.size for y in answers["session"][2]):
                continue
            for fault in faults_of(answers["session"][2]):
                faulty.fault = fault
                found, _ = run.judge(faulty, number, case)
                caught[fault] += found.kind in ("differ", "error")
                if found.kind not in ("differ", "error"):
                    missed += 1
                    print(f"missed: {fault} in case {number} ({' '.join(case.ops)}): {found.kind} {found.text}")
            graph = wrong(case.graph)
            if graph is None or not wrong_graph_matters(graph, case):
                continue
            case.graph = graph
            found, _ = run.judge(treadle, number, case)
            caught["graph"] += found.kind in ("differ", "error")
            if found.kind not in ("differ", "error"):
                missed += 1
                print(f"missed: another operator in case {number} ({' '.join(case.ops)}): {found.kind} {found.text}")
        for engine in (treadle, faulty):
            engine.stop()
    print("caught:", ", ".join(f"{n} {fault}" for fault, n in sorted(caught.items())), f"; missed: {missed}")
    return 1 if missed or set(caught) != set(ANSWERS) | {"error", "graph"} else 0


if __name__ == "__main__":
    sys.exit(main())
