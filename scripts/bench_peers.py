#!/usr/bin/env python3
"""treadle beside other engines, model by model, as records of `treadle bench suite` and as tables.

  scripts/bench_peers.py [--engines treadle,onnxruntime] [--rounds 6] [--out FILE.jsonl] [MODEL …]
  scripts/bench_peers.py --table FILE.jsonl …

MODEL is the name of a folder below TREADLE_MODELS (default ../shared/models) onnx/ or light/; default all.
`make bench-peers` runs it with the pinned engines; docs/benchmarking.md says how it measures."""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import peer_probe
import peer_table
from bench_models import MODELS, ROOT, SHAPES, SYMBOLS, TREADLE

ENGINES = ("treadle", "onnxruntime", "openvino", "ncnn", "tract")
CHILD = pathlib.Path(__file__).resolve().parent / "peer_engine.py"
TIMEOUT = 120
REPEATS = 2  # of a disturbed measurement
FIRST_PROBES = 3
TOLERANCE = 1e-3  # relative, to an element or to the largest of the output
INT8 = {"qlstm", "qtdnn"}


class Failed(Exception):
    pass


def call(command, cores, threads):
    """Its output, from a process pinned to the cores."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=TIMEOUT,
                              env=environment, preexec_fn=lambda: os.sched_setaffinity(0, cores))
    except subprocess.TimeoutExpired:
        raise Failed(f"no answer within {TIMEOUT} s")
    if done.returncode:
        how = f"killed by signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        said = [l for l in (done.stderr.strip() or done.stdout.strip()).splitlines() if not l.startswith("hint:")]
        raise Failed(f"{how}: {said[-1][:500]}" if said else how)
    return done.stdout


class Model:
    """A model with its inputs, what ncnn has made of it, and the outputs to compare with."""

    def __init__(self, path, work, program):
        self.path, self.name, self.work = path, path.parent.name, work / path.parent.name
        self.work.mkdir()
        listed = path.parent / "io.json"
        sets = json.loads(listed.read_text()).get("sets") if listed.exists() else None
        if sets:
            inputs, outputs = sets[0]["inputs"], sets[0]["outputs"]
        else:
            sizes = [a for name, n in SYMBOLS.get(self.name, {}).items() for a in ("--set", f"{name}={n}")]
            described = json.loads(call([program, "dump", path, "--json", *sizes], os.sched_getaffinity(0), 1))
            inputs, outputs = described["inputs"], described["outputs"]
        self.outputs = [o["name"] for o in outputs]
        self.inputs = self.make_inputs(inputs)
        np.savez(self.work / "inputs.npz", **self.inputs)
        for i, value in enumerate(self.inputs.values()):
            np.save(self.work / f"{i}.npy", value)
        self.not_converted = None
        self.reference, self.wrong = None, {}

    def make_inputs(self, inputs):
        """Those of io.json; where it has no files, or SHAPES has the model, random ones of seed 0."""
        if self.name not in SHAPES and all("file" in i for i in inputs):
            return {i["name"]: np.load(self.path.parent / i["file"]) for i in inputs}
        rng, shapes, out = np.random.default_rng(0), SHAPES.get(self.name, {}), {}
        for i in inputs:
            shape = [int(n) for n in shapes[i["name"]].split(",")] if i["name"] in shapes else i["shape"]
            dtype = np.dtype({"f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}.get(i["dtype"], i["dtype"]))
            if not all(isinstance(n, int) for n in shape):
                raise Failed(f"input {i['name']} has the shape {shape}: scripts/bench_models.py gives no size")
            out[i["name"]] = rng.random(shape, np.float32) if dtype == np.float32 else np.ones(shape, dtype)
        return out

    def convert(self):
        """For ncnn; not part of what is measured."""
        import importlib.util
        import onnx
        pnnx = pathlib.Path(importlib.util.find_spec("pnnx").origin).parent / "pnnx"  # importing it asks for torch
        # Old files list their weights among the inputs, for which pnnx then wants shapes.
        network = onnx.load(self.path)
        weights = {w.name for w in network.graph.initializer}
        inputs = [i for i in network.graph.input if i.name not in weights]
        del network.graph.input[:]
        network.graph.input.extend(inputs)
        onnx.save(network, self.work / "net.onnx")
        letter = {"f": "f", "i": "i", "u": "u"}
        shapes = ",".join(f"[{','.join(map(str, v.shape))}]{letter[v.dtype.kind]}{v.dtype.itemsize * 8}" for v in self.inputs.values())
        try:
            call([pnnx, self.work / "net.onnx", f"inputshape={shapes}", "fp16=0"], os.sched_getaffinity(0), 1)
            if not (self.work / "net.ncnn.param").exists():
                raise Failed("it wrote no net.ncnn.param")
        except Failed as why:
            self.not_converted = f"pnnx cannot convert the model: {why}"

    def treadle(self, program, command, threads):
        args = [program, command, self.path, "--threads", threads]
        for i, name in enumerate(self.inputs):
            args += ["--input", f"{name}={self.work / f'{i}.npy'}"]
        return args

    def spec(self, engine, threads, **more):
        if engine == "ncnn" and self.not_converted:
            raise Failed(self.not_converted)
        spec = {"engine": engine, "model": str(self.path), "inputs": str(self.work / "inputs.npz"), "threads": threads,
                "ncnn": str(self.work / "net"), **more}
        return [sys.executable, CHILD, json.dumps(spec)]

    def run(self, program, engine, threads, cores):
        """The outputs, in the model's order."""
        file = self.work / f"{engine}-{threads}.npz"
        if engine == "treadle":
            call(self.treadle(program, "run", threads) + ["--output", file], cores, threads)
        else:
            call(self.spec(engine, threads, outputs=str(file)), cores, threads)
        with np.load(file) as found:
            keys = self.outputs if engine == "treadle" else [str(i) for i in range(len(found.files))]
            return [found[k] for k in keys]

    def measure(self, program, engine, threads, cores, seconds):
        if engine != "treadle":
            return json.loads(call(self.spec(engine, threads, seconds=seconds), cores, threads))
        args = self.treadle(program, "bench", threads) + ["--json", "--time", seconds]
        r = json.loads(call(args, cores, threads).splitlines()[-1])
        return {**r, "eval_ms": r["samples"]["eval_ms"], "median": r["eval_ms"]["median"], "min": r["eval_ms"]["min"]}


def difference(found, expected):
    """What is wrong with the outputs, or None."""
    if len(found) != len(expected):
        return f"expected {len(expected)} outputs, got {len(found)}"
    for i, (f, e) in enumerate(zip(found, expected)):
        # ncnn has no batch axis, and leaves out others of one.
        if [n for n in f.shape if n != 1] != [n for n in e.shape if n != 1]:
            return f"output {i}: expected shape {list(e.shape)}, got {list(f.shape)}"
        if e.dtype.kind not in "fiub" or f.dtype.kind not in "fiub":
            if not np.array_equal(f.reshape(e.shape), e):
                return f"output {i}: differs"
            continue
        f, e = f.reshape(e.shape).astype(np.float64), e.astype(np.float64)
        largest = np.max(np.abs(e), where=np.isfinite(e), initial=0)
        if not np.allclose(f, e, rtol=TOLERANCE, atol=TOLERANCE * largest, equal_nan=True):
            return f"output {i}: differs by up to {np.max(np.abs(f - e)):.3g}, of at most {np.max(np.abs(e)):.3g}"
    return None


class Bench:
    def __init__(self, args):
        self.args, self.judge, self.records = args, peer_probe.Disturbance(), []
        self.cores = sorted(os.sched_getaffinity(0))
        self.info = json.loads(subprocess.run([args.program, "info", "--json"], capture_output=True, check=True).stdout)
        self.versions = {e: self.version(e) for e in args.engines}
        now = datetime.datetime.now(datetime.timezone.utc)
        self.run_name = f"{now:%Y%m%dT%H%M%SZ}-{os.getpid()}"

    def version(self, engine):
        if engine == "treadle":
            return self.info["version"]
        try:
            return json.loads(call([sys.executable, CHILD, json.dumps({"engine": engine, "version": True})], self.cores, 1))["version"]
        except Failed as why:
            raise SystemExit(f"{engine}: {why}\n`make .venv-peers/.ready` installs the engines; --engines takes some of them")

    def wrong(self, model, engine, threads, cores):
        """Compared once for each; the first engine that runs the model, ONNX Runtime if it does, is the reference."""
        if (engine, threads) not in model.wrong:
            try:
                found = model.run(self.args.program, engine, threads, cores)
                why = difference(found, model.reference) if model.reference else None
                model.wrong[engine, threads] = f"outputs are not the reference's: {why}" if why else None
            except Failed as failure:
                model.wrong[engine, threads] = str(failure)
        return model.wrong[engine, threads]

    def find_reference(self, model):
        for engine in sorted(self.args.engines, key=lambda e: (e != "onnxruntime", e != "treadle")):
            try:
                model.reference = model.run(self.args.program, engine, 1, self.cores)
                return
            except Failed:
                pass  # becomes its record

    def turn(self, model, engine, threads, number):
        cores = self.cores[-threads:]
        for _ in range(1 + REPEATS):
            error, result = self.wrong(model, engine, threads, cores), {}
            while self.judge.seen(threads) < FIRST_PROBES:
                self.judge.saw(threads, peer_probe.rate(cores))
            time = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
            before = peer_probe.rate(cores)
            if not error:
                try:
                    result = model.measure(self.args.program, engine, threads, cores, self.args.time)
                except Failed as why:
                    error = str(why)
            after = peer_probe.rate(cores)
            disturbed = self.judge.disturbed(threads, before, after) and not error
            self.write(self.record(model.name, engine, threads, number, time, (before, after), disturbed, error, result))
            if not disturbed:
                return

    def record(self, name, engine, threads, number, time, probe, disturbed, error, r):
        own = engine == "treadle"
        precision = "int8" if name in INT8 else "f32"
        samples = r.get("eval_ms", [])
        metrics = {k: r.get(k) for k in ("load_ms", "ready_ms", "first_ms", "rss_ready_mb", "rss_peak_mb")}
        metrics["eval_ms"] = r.get("median", statistics.median(samples) if samples else None)
        metrics["eval_min_ms"] = r.get("min", min(samples, default=None))
        metrics["binary_mb"] = os.path.getsize(self.args.program) / 2**20 if own else None
        return {
            "schema": 1, "run": self.run_name, "time": time, "engine": engine, "engine_version": self.versions[engine],
            **{key: self.info[key] if own else None for key in ("commit", "compiler", "flags")},
            "isa": self.info["isa_used"] if own else None,
            "machine": {"cpu": self.info["cpu"], "cores": self.info["processors"], "gpu": None,
                        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20},
            "suite": "peers", "entry": f"{name}/cpu-{threads}" + ("-int8" if precision == "int8" else ""), "model": name,
            "target": "cpu", "threads": threads, "precision": precision, "round": number,
            "probe": {"before": round(probe[0], 3), "after": round(probe[1], 3), "unit": peer_probe.UNIT},
            "disturbed": disturbed, "ok": not error, "error": error, "metrics": metrics,
            "samples": {"eval_ms": [samples[i * len(samples) // 200] for i in range(200)] if len(samples) > 200 else samples}}

    def write(self, record):
        self.records.append(record)
        with open(self.args.out, "a") as file:
            file.write(json.dumps(record) + "\n")

    def refuse(self, name, why):
        time = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
        for threads in self.args.threads:
            for engine in self.args.engines:
                self.write(self.record(name, engine, threads, 0, time, (0, 0), False, why, {}))

    def measure(self, paths, work):
        models = []
        for path in paths:
            print(path.parent.name, "…", file=sys.stderr, flush=True)
            try:
                model = Model(path, work, self.args.program)
            except Failed as why:
                self.refuse(path.parent.name, f"no inputs for it: {why}")
                continue
            if "ncnn" in self.args.engines:
                model.convert()
            self.find_reference(model)
            models.append(model)
        for number in range(self.args.rounds):
            print("round", number + 1, "of", self.args.rounds, file=sys.stderr, flush=True)
            for model in models:
                for threads in self.args.threads:
                    for engine in self.args.engines if number % 2 == 0 else reversed(self.args.engines):
                        self.turn(model, engine, threads, number)


def names(text):
    chosen = text.split(",")
    if unknown := set(chosen) - set(ENGINES):
        raise argparse.ArgumentTypeError(f"no engines: {', '.join(sorted(unknown))}; there are {', '.join(ENGINES)}")
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--engines", type=names, default=list(ENGINES))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--time", type=float, default=0.5, help="seconds of runs in a measurement")
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--program", default=TREADLE)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench/peers.jsonl")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="only write the tables of these records")
    args = parser.parse_args()
    if args.table:
        print(peer_table.markdown(peer_table.read(args.table)))
        return 0
    if max(args.threads) > len(os.sched_getaffinity(0)):
        parser.error(f"--threads: there are {len(os.sched_getaffinity(0))} processors")
    paths = sorted(MODELS.glob("onnx/*/model.onnx")) + sorted(MODELS.glob("light/*/model.onnx"))
    if missing := set(args.models) - {p.parent.name for p in paths}:
        parser.error(f"{MODELS} has no model {', '.join(sorted(missing))}")
    paths = [p for p in paths if not args.models or p.parent.name in args.models]
    if not paths:
        parser.error(f"{MODELS} has no models")
    bench = Bench(args)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("")
    with tempfile.TemporaryDirectory() as work:
        bench.measure(paths, pathlib.Path(work))
    print(peer_table.markdown(bench.records))
    return 1 if any(r["engine"] == "treadle" and not r["ok"] for r in bench.records) else 0


if __name__ == "__main__":
    sys.exit(main())
