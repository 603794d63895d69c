#!/usr/bin/env python3
"""Random TensorFlow graphs through treadle and TensorFlow: the answers must agree.

  VENV/bin/python tests/fuzz_tf/run.py --runner build/release/tests/fuzz_diff_runner [--cases 3000] [--seed 1] [--op NAME] [--keep DIR]
  VENV/bin/python tests/fuzz_tf/run.py --list      operators, and those of the table without a generator

Needs Python with tensorflow, onnx and onnxruntime, in an environment of its own. A case is a frozen graph
of one to eight operators; case N of a seed is always the same: `--only N` runs it again and prints both answers. treadle
runs each case twice, as a session does and operator by operator. What TensorFlow refuses on the CPU is counted and not
judged, and so is what treadle says it does not support (`--unsupported` prints it), while it is rare. Exit status 1 on a
difference or a crash, 77 (skipped) without TensorFlow."""
import argparse
import collections
import dataclasses
import multiprocessing
import os
import pathlib
import queue
import re
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz_diff")]
try:
    import numpy as np
    import tensorflow as tf
    from engines import Treadle, difference
except ImportError as error:
    print(f"skipped: {error}; pip install tensorflow onnx onnxruntime")
    sys.exit(77)

from builder import GENERATORS, Builder, v1  # noqa: E402
from values import Random  # noqa: E402
import generators_math  # noqa: E402,F401  pylint: disable=unused-import
import generators_move  # noqa: E402,F401  pylint: disable=unused-import
import generators_nn  # noqa: E402,F401  pylint: disable=unused-import

PATHS = ("session", "reference")
TABLE = HERE.parent.parent / "src" / "formats" / "tf" / "table.inc"
MOST_UNSUPPORTED = 0.01  # of the cases; more is a fault: the generators make what treadle has
# Kernels that TensorFlow's CPU device takes from tables, in other orders or less exactly.
TOLERANCES = {"ResizeBicubic": 5e-3}


@dataclasses.dataclass
class Case:
    """What engines.difference reads of a case, and the graph."""
    ops: list
    graph: bytes = b""
    inputs: dict = dataclasses.field(default_factory=dict)
    outputs: tuple = ()
    made_by: dict = dataclasses.field(default_factory=dict)  # output → operator
    want: list | str = ""                                    # or why TensorFlow refused
    sums: bool = True
    steps: int = 0
    tolerance: float = 0


@dataclasses.dataclass
class Verdict:
    number: int
    ops: list
    kind: str                         # agree, refused, unsupported, differ, error, crash
    text: str = ""


def forget_shapes(r, graph_def):
    """Some sizes, or all, that the file does not say."""
    unknown = r.pick((0, 0, 0, 0, 0.3, 1, -1))
    for n in graph_def.node:
        for key in ("_output_shapes", "_class"):
            n.attr.pop(key, None)
        if n.op != "Placeholder" or not unknown:
            continue
        shape = n.attr["shape"].shape
        if unknown < 0 and r.chance(0.7):
            shape.Clear()
            shape.unknown_rank = True
        for d in shape.dim:
            if r.chance(abs(unknown)):
                d.size = -1


def as_written():
    """Sessions that run the operators of the graph: the optimiser changes answers (it takes Floor away before ArgMax)."""
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def make_case(number, seed, ops, most=8):
    """Of at most so many operators."""
    r = Random([seed, number])
    names = [ops[number % len(ops)]]
    names += [r.pick(ops) for _ in range(r.pick((0, 0, 1, 2, 3, 5, 7)))]
    r.g.shuffle(names)
    names = names[:most]
    case = Case(names)
    (v1.enable_control_flow_v2 if r.chance(0.5) else v1.disable_control_flow_v2)()
    with tf.Graph().as_default() as graph:
        b = Builder(r)
        try:
            for name in names:
                b.add(name)
            every = r.chance(0.5)
            made = [v for v in b.values if v.tensor.op.type != "Placeholder"]
            outs = [v.tensor for v in made if every or id(v) not in b.used] or [made[-1].tensor]
            named = [tf.identity(t, name=f"out{i}") for i, t in enumerate(outs)]
            case.outputs = tuple(t.op.name for t in named)
            case.made_by = {t.op.name: o.op.type for t, o in zip(named, outs)}
            with v1.Session(graph=graph, config=as_written()) as session:
                case.want = session.run(named, b.feeds)
        except (tf.errors.OpError, ValueError, TypeError) as e:
            case.want = f"{type(e).__name__}: {e}"
            return case
    case.tolerance = max((TOLERANCES.get(n, 0) for n in names), default=0)
    case.inputs = {t.op.name: np.asarray(a) for t, a in b.feeds.items()}
    whole = graph.as_graph_def()
    keep = v1.graph_util.extract_sub_graph(whole, list(case.outputs))
    keep.library.CopyFrom(whole.library)
    keep.ClearField("versions")
    forget_shapes(r, keep)
    case.graph = keep.SerializeToString(deterministic=True)
    case.inputs = {n.name: case.inputs[n.name] for n in keep.node if n.op == "Placeholder"}
    return case


class TfTreadle(Treadle):
    def prepare(self, model, case):
        # The program knows a model's format by its bytes.
        (self.folder / "model.onnx").write_bytes(model)
        np.savez(self.folder / "in.npz", **case.inputs)


def show(case, answers):
    graph_def = v1.GraphDef.FromString(case.graph)
    print(graph_def)
    for name, value in case.inputs.items():
        print(name, value.dtype, value.shape, value.tolist() if value.size < 200 else "…")
    for path, (_, text, got) in answers.items():
        for k, name in enumerate(case.outputs):
            print(name, case.made_by[name], "TensorFlow:", np.asarray(case.want[k]).tolist())
            print(f"treadle, {path}:", text or got[k].tolist())


def judge(treadle, number, case):
    """The verdict on a case, and treadle's answers by path."""
    if isinstance(case.want, str):
        return Verdict(number, case.ops, "refused", case.want), {}
    treadle.prepare(case.graph, case)
    answers = {path: treadle.run(case, path) for path in PATHS}
    for path, (kind, text, got) in answers.items():
        if kind == "crash":
            return Verdict(number, case.ops, "crash", f"{path}: {text}"), answers
        if kind == "unsupported":
            return Verdict(number, case.ops, "unsupported", text), answers
        wrong = f"{kind}: {text}" if kind else difference(got, case.want, case)
        if wrong:
            made = "" if kind else f" ({case.made_by[re.split('[:[]', wrong)[0]]})"
            return Verdict(number, case.ops, "error" if kind else "differ", f"{path}: {wrong}{made}"), answers
    return Verdict(number, case.ops, "agree"), answers


def work(args, ops, numbers, verdicts):
    with tempfile.TemporaryDirectory() as folder:
        treadle = TfTreadle(args.runner, folder, args.timeout)
        for number in numbers:
            case = make_case(number, args.seed, ops)
            verdict, answers = judge(treadle, number, case)
            if args.only is not None and answers:
                show(case, answers)
            if args.keep and verdict.kind in ("differ", "error", "crash"):
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{number}.pb").write_bytes(case.graph)
                np.savez(args.keep / f"{number}.npz", **case.inputs)
            verdicts.put(verdict)
        treadle.stop()
    verdicts.put(None)


def next_verdict(args, verdicts, workers):
    """Ends the program when a worker has ended without its last word, as where TensorFlow crashes."""
    while True:
        ended = [w.exitcode for w in workers if w.exitcode]
        try:
            return verdicts.get(timeout=5)
        except queue.Empty:
            if ended:
                sys.exit(f"fuzz-tf: a process ended with {ended[0]} at a case of seed {args.seed}")


def report(args, ops, verdicts, workers):
    counts, refused, unsupported = collections.Counter(), collections.Counter(), collections.Counter()
    running = args.jobs
    while running:
        v = next_verdict(args, verdicts, workers)
        if v is None:
            running -= 1
            continue
        counts[v.kind] += 1
        if v.kind == "refused":
            refused[re.sub(r"\d+", "N", v.text.split("\n")[0])[:110]] += 1
        elif v.kind == "unsupported":
            unsupported[re.sub(r"\d+", "N", v.text.rsplit("node '", 1)[-1])[:140]] += 1
        elif v.kind != "agree":
            only = "".join(f" --op {o}" for o in args.op or ())
            print(f"{v.kind} --seed {args.seed} --only {v.number}{only} ({' '.join(v.ops)})", v.text[:400], flush=True)
    for title, texts, shown in (("refused by TensorFlow", refused, args.refusals), ("not supported by treadle", unsupported, args.unsupported)):
        for text, count in texts.most_common() if shown else ():
            print(f"{title}, {count} times: {text}")
    print(f"fuzz-tf: seed {args.seed}, {sum(counts.values())} cases of {len(ops)} operators: " + ", ".join(f"{n} {k}" for k, n in sorted(counts.items())))
    few = counts["unsupported"] <= MOST_UNSUPPORTED * sum(counts.values())
    if not few:
        print(f"fuzz-tf: more than {MOST_UNSUPPORTED:.0%} are not supported")
    return 1 if counts["crash"] + counts["differ"] + counts["error"] or not few else 0


def print_list():
    table = set(re.findall(r"^TREADLE_TF\w*\((\w+), ", TABLE.read_text(), re.M))
    print("operators:", ", ".join(sorted(GENERATORS)))
    print("of the table without a generator:", ", ".join(sorted(table - set(GENERATORS))))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", help="the program fuzz_diff_runner")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="this case, with its answers")
    parser.add_argument("--op", action="append", help="this operator; several times for several")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=20, help="seconds for a run")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for graphs that differ")
    parser.add_argument("--refusals", action="store_true", help="print what TensorFlow refuses")
    parser.add_argument("--unsupported", action="store_true", help="print what treadle does not support")
    parser.add_argument("--list", action="store_true", help="what is covered, and what not")
    args = parser.parse_args()
    if args.list:
        return print_list()
    if not args.runner:
        parser.error("--runner is needed")
    print(f"fuzz-tf: seed {args.seed}, TensorFlow {tf.__version__}", flush=True)
    args.jobs = 1 if args.only is not None else args.jobs
    ops = args.op or sorted(GENERATORS)
    numbers = [args.only] if args.only is not None else range(args.first, args.first + args.cases)
    context = multiprocessing.get_context("spawn")
    verdicts = context.Queue()
    workers = [context.Process(target=work, args=(args, ops, numbers[k::args.jobs], verdicts), daemon=True) for k in range(args.jobs)]
    for w in workers:
        w.start()
    return report(args, ops, verdicts, workers)


if __name__ == "__main__":
    sys.exit(main())
