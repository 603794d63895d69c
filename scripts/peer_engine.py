#!/usr/bin/env python3
"""One measurement of one engine in this process; scripts/bench_peers.py starts it.

  peer_engine.py '{"engine": …, "model": …, "inputs": FILE.npz, "threads": 1, "seconds": 1}'

Writes one JSON object. With "outputs": FILE.npz it runs once and writes what came out instead, by
position. Arrays of the inputs are in the order of the model's, named as they are. With "version" alone
beside "engine" it says the engine's version."""
import importlib.metadata
import json
import pathlib
import sys
import time

import numpy as np


def memory_mb(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {key} in /proc/self/status")


class OnnxRuntime:
    def __init__(self):
        import onnxruntime
        self.ort = onnxruntime

    def load(self, spec, inputs):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = spec["threads"], 1
        self.session = self.ort.InferenceSession(spec["model"], options, providers=["CPUExecutionProvider"])
        self.feed = inputs

    def run(self):
        return self.session.run(None, self.feed)

    def arrays(self, outputs):
        return outputs


class OpenVino:
    def __init__(self):
        import openvino
        self.ov = openvino

    def load(self, spec, inputs):
        core = self.ov.Core()
        start = time.perf_counter()
        model = core.read_model(spec["model"])
        # By name: its inputs need not be in the file's order.
        model.reshape({name: list(value.shape) for name, value in inputs.items()})
        self.load_ms = (time.perf_counter() - start) * 1e3
        # Its default may be bfloat16 where the processor has it.
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": spec["threads"], "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"})
        self.request, self.feed, self.outputs = compiled.create_infer_request(), inputs, compiled.outputs

    def run(self):
        return self.request.infer(self.feed, share_inputs=True, share_outputs=True)

    def arrays(self, outputs):
        return [np.array(outputs[o]) for o in self.outputs]


class Ncnn:
    """What pnnx made of the model: MODEL.ncnn.param and .bin, with blobs in0, in1, … and out0, …"""

    def __init__(self):
        import ncnn
        self.ncnn = ncnn

    def load(self, spec, inputs):
        self.net = self.ncnn.Net()
        options = self.net.opt
        options.num_threads = spec["threads"]
        options.use_vulkan_compute = False
        # Float32 as the others.
        for name in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage", "bf16_packed"):
            setattr(options, "use_" + name, False)
        for read, end in ((self.net.load_param, "param"), (self.net.load_model, "bin")):
            if read(f"{spec['ncnn']}.ncnn.{end}"):
                raise RuntimeError(f"ncnn refuses the .{end} that pnnx wrote")
        self.names = list(self.net.output_names())
        self.names.sort(key=lambda name: int(name.removeprefix("out")))
        if list(self.net.input_names()) and len(self.net.input_names()) != len(inputs):
            raise RuntimeError(f"pnnx kept {len(self.net.input_names())} of {len(inputs)} inputs")
        self.feed = [self.ncnn.Mat(np.ascontiguousarray(v), batch_index=0).clone() for v in inputs.values()]

    def run(self):
        outputs = []
        with self.net.create_extractor() as extractor:
            for i, value in enumerate(self.feed):
                if extractor.input(f"in{i}", value):
                    raise RuntimeError(f"ncnn takes no input in{i}")
            for name in self.names:
                failed, value = extractor.extract(name)
                if failed:
                    raise RuntimeError(f"ncnn cannot compute {name}")
                outputs.append(value)
        return outputs

    def arrays(self, outputs):
        return [np.array(v.numpy(batch_index=0)) for v in outputs]


class Tract:
    def __init__(self):
        import tract
        self.tract = tract

    def load(self, spec, inputs):
        if spec["threads"] != 1:
            raise RuntimeError("the wheel runs on one thread")
        start = time.perf_counter()
        model = self.tract.onnx().load(spec["model"])
        self.load_ms = (time.perf_counter() - start) * 1e3
        names = [model.input_name(i) for i in range(model.input_count())]
        if sorted(names) != sorted(inputs):
            raise RuntimeError(f"expected inputs {list(inputs)}, tract has {names}")
        for i, name in enumerate(names):
            value = inputs[name]
            fact = [str(n) for n in value.shape] + [{"f": "f", "i": "i", "u": "u"}[value.dtype.kind] + str(value.dtype.itemsize * 8)]
            model.set_input_fact(i, ",".join(fact))
        self.runnable = model.into_model().into_runnable()
        self.feed = [self.tract.Tensor.from_numpy(inputs[name]) for name in names]

    def run(self):
        return self.runnable.run(self.feed)

    def arrays(self, outputs):
        return [v.to_numpy() for v in outputs]


# Class and the distribution whose version is recorded.
ENGINES = {"onnxruntime": (OnnxRuntime, "onnxruntime"), "openvino": (OpenVino, "openvino"),
           "ncnn": (Ncnn, "ncnn"), "tract": (Tract, "tract")}


def timed(engine):
    start = time.perf_counter()
    engine.run()
    return (time.perf_counter() - start) * 1e3


def warm_up(engine, seconds):
    """As `treadle bench`: until two runs differ by less than 5 %, or a tenth of the time is spent."""
    end, last = time.perf_counter() + seconds / 10, 0
    for i in range(1000):
        now = timed(engine)
        if time.perf_counter() > end or (i >= 3 and abs(now - last) < 0.05 * now):
            return
        last = now


def measure(engine, spec, inputs, before_mb):
    start = time.perf_counter()
    engine.load(spec, inputs)
    ready = (time.perf_counter() - start) * 1e3
    rss_ready = memory_mb("VmRSS")
    first = timed(engine)
    warm_up(engine, spec["seconds"])
    samples, end = [], time.perf_counter() + spec["seconds"]
    while len(samples) < 5 or (time.perf_counter() < end and len(samples) < 100_000):
        samples.append(timed(engine))
    return {"load_ms": getattr(engine, "load_ms", None), "ready_ms": ready, "first_ms": first, "eval_ms": samples,
            "rss_before_mb": before_mb, "rss_ready_mb": rss_ready - before_mb,
            "rss_peak_mb": memory_mb("VmHWM") - before_mb}


def main():
    spec = json.loads(sys.argv[1])
    kind, package = ENGINES[spec["engine"]]
    if spec.get("version"):
        kind()
        print(json.dumps({"version": importlib.metadata.version(package)}))
        return
    with np.load(spec["inputs"]) as file:
        inputs = {name: file[name] for name in file.files}
    before = memory_mb("VmRSS")
    engine = kind()
    if "outputs" not in spec:
        print(json.dumps(measure(engine, spec, inputs, before)))
        return
    engine.load(spec, inputs)
    np.savez(spec["outputs"], **{str(i): v for i, v in enumerate(engine.arrays(engine.run()))})
    print("{}")


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # the last line of stderr is the record's error
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])
