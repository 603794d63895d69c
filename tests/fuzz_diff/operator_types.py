#!/usr/bin/env python3
"""Writes docs/operator_types_onnx.tsv: for each ONNX operator its versions, the element types that treadle takes and those
for which kernels do all of the work on a third of its random cases (others are simplified away, or have parameters that
only the run knows).

  .venv/bin/python tests/fuzz_diff/operator_types.py --runner build/release/tests/fuzz_diff_runner --treadle build/release/treadle
      [--backend build/release/onnx_backend/data]

An element type is that of the first input (of the output, without inputs). It is taken when a case of it runs, or when
`treadle check` accepts the model with all inputs of that type variable turned into it; single-node backend tests that
pass count too. scripts/operators_doc.py puts the file into docs/operators.md."""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import run
from case import GENERATORS, as_model, types_of
from coverage import ROOT, treadle_operators
from engines import Treadle
from values import Random

import onnx

OUT = ROOT / "docs" / "operator_types_onnx.tsv"
NAMES = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "string": "string", "bool": "bool", "complex64": "c64", "complex128": "c128"}


def short(kind):
    """f32 for FLOAT, f8e4m3fn for FLOAT8E4M3FN."""
    name = onnx.TensorProto.DataType.Name(kind).lower()
    return NAMES.get(name) or name.replace("float", "f").replace("uint", "u").replace("int", "i")


def versions(domain, op):
    return sorted({s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == domain})


def schema_types(schema, letter):
    found = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == letter), [letter])
    kinds = [t[7:-1] for t in found if t.startswith("tensor(")]
    return [onnx.TensorProto.DataType.Value(k.upper()) for k in kinds]


def variants(model):
    """The model with the inputs of the first one's type variable of each other element type, and that type."""
    node = model.graph.node[0]
    schema = onnx.defs.get_schema(node.op_type, next(o.version for o in model.opset_import if o.domain == node.domain), node.domain)
    if not schema.inputs or len(model.graph.node) > 1:
        return
    formal = lambda i: schema.inputs[min(i, len(schema.inputs) - 1)].type_str
    same = {name for i, name in enumerate(node.input) if name and formal(i) == formal(0)}
    for kind in schema_types(schema, formal(0)):
        other = onnx.ModelProto()
        other.CopyFrom(model)
        for value in other.graph.input:
            if value.name in same:
                value.type.tensor_type.elem_type = kind
        for constant in [c for c in other.graph.initializer if c.name in same]:
            other.graph.initializer.remove(constant)
            other.graph.input.append(onnx.helper.make_tensor_value_info(constant.name, kind, list(constant.dims)))
        for output in other.graph.output:
            output.type.tensor_type.ClearField("shape")
        try:
            yield kind, onnx.shape_inference.infer_shapes(other)
        except Exception:  # pylint: disable=broad-except
            continue


def accepts(args, folder, model):
    path = pathlib.Path(folder) / "variant.onnx"
    # Types of outputs are what the node makes of its inputs'.
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in model.graph.node[0].output if o)
    path.write_bytes(model.SerializeToString())
    return subprocess.run([args.treadle, "check", str(path)], capture_output=True, check=False).returncode == 0


def backend_types(args):
    """Operator → element types of single-node backend tests that pass; and operator → the first of its tests."""
    found, models = collections.defaultdict(set), {}
    skipped = {line.split("\t")[0] for line in (ROOT / "tests/onnx_backend/expected.tsv").read_text().splitlines()}
    for path in pathlib.Path(args.backend).rglob("model.onnx") if args.backend else ():
        model = onnx.load(path)
        if len(model.graph.node) != 1:
            continue
        key = model.graph.node[0].domain, model.graph.node[0].op_type
        models.setdefault(key, model)
        value = (*model.graph.input, *model.graph.output)[0].type
        while value.WhichOneof("value") in ("sequence_type", "optional_type"):
            value = getattr(value, value.WhichOneof("value")).elem_type
        if path.parent.name not in skipped and value.tensor_type.elem_type:
            found[key].add(value.tensor_type.elem_type)
    return found, models


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--backend")
    parser.add_argument("--cases", type=int, default=120, help="an operator")
    args = parser.parse_args()
    (taken, models), fast = backend_types(args), collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        treadle = Treadle(args.runner, folder, 20)
        for name in sorted(GENERATORS):
            steps, tried = collections.defaultdict(collections.Counter), False
            for number in range(args.cases):
                r = Random([1, number])
                case = GENERATORS[name](r)
                if case.nodes:
                    break
                model = as_model(r, case)
                kind = types_of(next(iter(case.inputs.values()))) if case.inputs else model.graph.output[0].type.tensor_type.elem_type
                key = (case.domain, case.op)
                treadle.prepare(model, case)
                if treadle.run(case, "session")[0]:
                    continue
                taken[key].add(kind)
                if all(a.size for a in case.inputs.values()):
                    steps[kind][treadle.steps] += 1
                if not tried and case.domain != "com.microsoft":
                    tried = True
                    taken[key] |= {k for k, other in variants(model) if accepts(args, folder, other)}
            if not case.nodes:
                fast[key] = {k for k, n in steps.items() if 3 * (n["kernels"] + n["nothing"]) >= max(n.total(), 4)}
        treadle.stop()
        for key in [k for k in models if not taken[k]]:  # without generators
            taken[key] = {k for k, other in variants(models[key]) if accepts(args, folder, other)}
    lines = []
    for domain, op in sorted(treadle_operators(None)):
        known = [str(v) for v in versions(domain, op)]
        lines.append("\t".join([domain, op, " ".join(known), " ".join(map(short, sorted(taken[domain, op]))), " ".join(map(short, sorted(fast[domain, op])))]))
    OUT.write_text("# Written by tests/fuzz_diff/operator_types.py: domain, operator, versions, element types taken, those with kernels.\n" + "\n".join(lines) + "\n")
    print(f"{len(lines)} operators, {sum(not line.split(chr(9))[3] for line in lines)} without a type")
    return 0


if __name__ == "__main__":
    sys.exit(main())
