#!/usr/bin/env python3
"""Random graphs through treadle and ONNX Runtime: the answers must agree.

  tests/fuzz_diff/run.py --runner build/release/tests/fuzz_diff_runner [--cases 20000] [--seed 1] [--op NAME] [--keep DIR]
  tests/fuzz_diff/run.py --list      operators and what is not covered, with the reason

Case N of a seed is always the same: `--only N` runs it again and prints both answers. treadle runs each case
twice, as a session does and operator by operator; graphs of ONNX Runtime's static quantiser, which that then
optimises, only as a session does. What ONNX Runtime refuses is counted and not judged, unless treadle crashes
over it. explained.py names the differences that are not treadle's fault. Exit status 1 on a difference that is
not explained, 77 (skipped) without ONNX Runtime."""
import argparse
import collections
import dataclasses
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print(f"skipped: {error}; `make setup` installs it")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from case import GENERATORS, as_model  # noqa: E402
from coverage import print_coverage, without_reason  # noqa: E402
from engines import Treadle, difference, run_ort, run_reference  # noqa: E402
from explained import explained  # noqa: E402
from values import Random  # noqa: E402
import generators  # noqa: E402,F401  pylint: disable=unused-import
import generators_chain  # noqa: E402,F401  pylint: disable=unused-import
import generators_contrib  # noqa: E402,F401  pylint: disable=unused-import
import generators_control  # noqa: E402,F401  pylint: disable=unused-import
import generators_ml  # noqa: E402,F401  pylint: disable=unused-import
import generators_nn  # noqa: E402,F401  pylint: disable=unused-import
import generators_quantised  # noqa: E402,F401  pylint: disable=unused-import
import generators_static  # noqa: E402,F401  pylint: disable=unused-import
import generators_other  # noqa: E402,F401  pylint: disable=unused-import

PATHS = ("session", "reference")


@dataclasses.dataclass
class Verdict:
    number: int
    op: str
    kind: str                         # agree, explained, refused, differ, error, crash
    text: str = ""


def make_case(number, seed, ops):
    r = Random([seed, number])
    op = ops[number % len(ops)]
    return r, GENERATORS[op](r)


def show(model, case, want, answers):
    print(onnx.printer.to_text(model))
    for name, value in case.inputs.items():
        print(name, value.dtype, value.shape, value.tolist() if value.size < 200 else "…")
    print("ONNX Runtime:", want if isinstance(want, str) else [np.asarray(w).tolist() for w in want])
    for path, (_, text, got) in answers.items():
        print(f"treadle, {path}:", text or [g.tolist() for g in got])
    try:
        print("onnx.reference:", [np.asarray(w).tolist() for w in run_reference(model, case)])
    except Exception as e:  # pylint: disable=broad-except
        print("onnx.reference:", repr(e))


def compare(treadle, number, model, case):
    """The verdict on a case, what ONNX Runtime said, and treadle's answers by path."""
    treadle.prepare(model, case)
    try:
        want = run_ort(model, case)
    except Exception as e:  # pylint: disable=broad-except
        want = str(e)
    answers = {path: treadle.run(case, path) for path in (PATHS[:1] if case.optimised else PATHS)}
    verdict = Verdict(number, case.op, "agree")
    for path, (kind, text, got) in answers.items():
        if kind == "crash":
            verdict = Verdict(number, case.op, "crash", f"{path}: {text}")
            break
        if isinstance(want, str):
            verdict = Verdict(number, case.op, "refused", want)
            continue
        wrong = f"{kind}: {text}" if kind else difference(got, want, case)
        if wrong is None:
            continue

        agrees = lambda expected, got=got: got is not None and difference(got, expected, case) is None
        why = explained(case, want, lambda: run_reference(model, case), agrees)
        verdict = Verdict(number, case.op, "explained", why) if why else Verdict(number, case.op, "error" if kind else "differ", f"{path}: {wrong}")
        if not why:
            break
    return verdict, want, answers


def work(args, ops, numbers, verdicts):
    """Judges the cases, one verdict after the other into the pipe."""
    ort.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        treadle = Treadle(args.runner, folder, args.timeout)
        for number in numbers:
            r, case = make_case(number, args.seed, ops)
            model = as_model(r, case)
            verdict, want, answers = compare(treadle, number, model, case)
            if args.only is not None:
                show(model, case, want, answers)
            if args.keep and verdict.kind in ("differ", "error", "crash"):
                args.keep.mkdir(parents=True, exist_ok=True)
                for name in ("model.onnx", "in.npz"):
                    (args.keep / f"{number}_{case.op}_{name}").write_bytes((pathlib.Path(folder) / name).read_bytes())
            verdicts.send(verdict)
        treadle.stop()


class Worker:
    """A process for some of the cases. One that a signal ends (ONNX Runtime crashes within it) goes on with the case after."""

    def __init__(self, args, ops, numbers):
        self.args, self.ops, self.numbers, self.done = args, ops, numbers, 0
        self.start()

    def start(self):
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(self.args, self.ops, self.numbers[self.done:], theirs))
        self.process.start()
        theirs.close()

    def verdict(self):
        """The next one, or None when all are done."""
        try:
            found = self.pipe.recv()
        except EOFError:
            self.process.join()
            if self.done == len(self.numbers):
                return None
            if self.process.exitcode >= 0:
                sys.exit(f"fuzz-diff: case {self.numbers[self.done]} of seed {self.args.seed} cannot be made or judged")
            number = self.numbers[self.done]
            found = Verdict(number, self.ops[number % len(self.ops)], "refused", f"ONNX Runtime ended with {self.process.exitcode}")
            self.done += 1
            self.start()
            return found
        self.done += 1
        return found


class Report:
    """Counts verdicts and prints those that count against treadle."""

    def __init__(self):
        self.counts, self.explained, self.refused = collections.Counter(), collections.Counter(), collections.Counter()

    def add(self, v, args):
        self.counts[v.kind] += 1
        if v.kind == "explained":
            self.explained[f"{v.op}: {v.text}"] += 1
        elif v.kind == "refused":
            self.refused[v.op] += 1
            if args.refusals:
                print(f"refused --only {v.number} ({v.op})", v.text[:300], flush=True)
        elif v.kind != "agree":
            ops = "".join(f" --op {o}" for o in args.op or ())
            print(f"{v.kind} --seed {args.seed} --only {v.number}{ops} ({v.op})", v.text[:400], flush=True)

    def finish(self, args, ops):
        for reason, count in sorted(self.explained.items()):
            print(f"explained {count} times: {reason}")
        if self.refused:
            print("refused by ONNX Runtime:", ", ".join(f"{op} {n}" for op, n in self.refused.most_common()))
        print(f"fuzz-diff: seed {args.seed}, {sum(self.counts.values())} cases of {len(ops)} operators: " + ", ".join(f"{n} {k}" for k, n in sorted(self.counts.items())))
        return 1 if self.counts["crash"] + self.counts["differ"] + self.counts["error"] else 0


def run(args, ops):
    numbers = [args.only] if args.only is not None else range(args.first, args.first + args.cases)
    report = Report()
    workers = [Worker(args, ops, numbers[k::args.jobs]) for k in range(args.jobs)]
    while workers:
        ready = multiprocessing.connection.wait([w.pipe for w in workers])
        for worker in [w for w in workers if w.pipe in ready]:
            verdict = worker.verdict()
            if verdict is None:
                workers.remove(worker)
            else:
                report.add(verdict, args)
    return report.finish(args, ops)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", help="the program fuzz_diff_runner")
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="this case, with its answers")
    parser.add_argument("--op", action="append", help="this operator; several times for several")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=20, help="seconds for a run")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for models that differ")
    parser.add_argument("--refusals", action="store_true", help="print what ONNX Runtime refuses")
    parser.add_argument("--list", action="store_true", help="what is covered, and what not and why")
    args = parser.parse_args()
    if args.list:
        return print_coverage(sorted(GENERATORS))
    if lacking := without_reason(GENERATORS):
        sys.exit(f"fuzz-diff: no generator for {', '.join(lacking)}: write one, or say in coverage.py why not")
    if not args.runner:
        parser.error("--runner is needed")
    print(f"fuzz-diff: seed {args.seed}, ONNX Runtime {ort.__version__}, onnx {onnx.__version__}", flush=True)
    args.jobs = 1 if args.only is not None else args.jobs
    return run(args, args.op or sorted(GENERATORS))


if __name__ == "__main__":
    sys.exit(main())
