#!/usr/bin/env python3
"""Writes docs/operator_types_tf.tsv: for each TensorFlow operator of the table the element types of its attribute T (or the
like) that its random cases run with, and those for which kernels do all of the work on a third of the cases.

  .venv-tf/bin/python tests/fuzz_tf/operator_types.py --runner build/release/tests/fuzz_diff_runner

scripts/operators_doc.py puts the file into docs/operators.md."""
import argparse
import collections
import re
import sys
import tempfile

import run
from run import GENERATORS, TABLE, TfTreadle, tf, v1

OUT = TABLE.parents[3] / "docs" / "operator_types_tf.tsv"
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}


def short(dtype):
    return NAMES.get(dtype.name) or dtype.name.replace("uint", "u").replace("int", "i")


def kinds_of(case, op):
    """The element types that the graph's nodes of this operator name; of its first input where they name none."""
    kinds = set()
    for node in v1.GraphDef.FromString(case.graph).node:
        if node.op == op:
            named = [node.attr[k].type for k in ("T", "SrcT", "dtype", "Tparams", "type", "output_type") if k in node.attr and node.attr[k].type]
            if named or case.inputs:
                kinds.add(short(tf.dtypes.as_dtype(named[0] if named else next(iter(case.inputs.values())).dtype)))
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--cases", type=int, default=40, help="an operator")
    args = parser.parse_args()
    table = sorted(set(re.findall(r"^TREADLE_TF\w*\((\w+), ", TABLE.read_text(), re.M)))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        treadle = TfTreadle(args.runner, folder, 20)
        for op in table:
            steps = collections.defaultdict(collections.Counter)
            for number in range(args.cases if op in GENERATORS else 0):
                case = run.make_case(number, 1, [op], 1)
                if isinstance(case.want, str):
                    continue
                treadle.prepare(case.graph, case)
                if treadle.run(case, "session")[0]:
                    continue
                for kind in kinds_of(case, op):
                    steps[kind][treadle.steps] += 1
            fast = [k for k, n in steps.items() if 3 * (n["kernels"] + n["nothing"]) >= max(n.total(), 4)]
            lines.append("\t".join([op, " ".join(sorted(steps)), " ".join(sorted(fast))]))
        treadle.stop()
    OUT.write_text("# Written by tests/fuzz_tf/operator_types.py: operator, element types taken, those with kernels.\n" + "\n".join(lines) + "\n")
    print(f"{len(lines)} operators, {sum(not line.split(chr(9))[1] for line in lines)} without a type")
    return 0


if __name__ == "__main__":
    sys.exit(main())
