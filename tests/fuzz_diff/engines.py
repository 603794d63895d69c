"""The engines that a model is run on, and how their answers are compared."""
import pathlib
import resource
import select
import subprocess

import numpy as np
import onnx
import onnx.reference
import onnxruntime as ort

from case import one_node, types_of

MEMORY = 8 << 30


def fed(model, case):
    names = {i.name for i in model.graph.input}
    return {k: v for k, v in case.inputs.items() if k in names}


def run_ort(model, case):
    """Its outputs. All optimisations off, unless the case wants them: the operators as they are."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if case.optimised else level.ORT_DISABLE_ALL
    # Without VNNI its products of u8 and s8 would saturate at 16 bits.
    options.add_session_config_entry("session.x64quantprecision", "1")
    # Of two pairs of QuantizeLinear and DequantizeLinear it would make one with a scale of neither.
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=["DoubleQDQPairsRemover"])
    return session.run(None, fed(model, case))


def model_of_node(case):
    """One node, all its inputs from outside."""
    outputs = [onnx.ValueInfoProto(name=o) for o in case.outputs]
    inputs = [onnx.helper.make_tensor_value_info(k, types_of(v), v.shape) for k, v in case.inputs.items()]
    model = onnx.helper.make_model(onnx.helper.make_graph([one_node(case)], "one", inputs, outputs), opset_imports=[onnx.helper.make_opsetid("", case.opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def run_reference(model, case):
    """The reference implementation in the onnx package."""
    with np.errstate(all="ignore"):
        return onnx.reference.ReferenceEvaluator(model).run(None, fed(model, case))


class Treadle:
    """fuzz_diff_runner, started again after a crash."""

    def __init__(self, program, folder, timeout):
        self.program, self.folder, self.timeout = program, pathlib.Path(folder), timeout
        self.process = None
        self.steps = ""               # what ran last: "kernels", "reference" (of some) or "nothing"

    def start(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        self.process = subprocess.Popen([self.program, str(self.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, bufsize=1, preexec_fn=limit)

    def stop(self):
        """How the process ended."""
        if self.process is None:
            return None
        self.process.stdin.close()
        code = self.process.wait()
        self.process = None
        return code

    def prepare(self, model, case):
        (self.folder / "model.onnx").write_bytes(model.SerializeToString())
        np.savez(self.folder / "in.npz", **fed(model, case))

    def run(self, case, path):
        """Kind of failure ("" for none), its text, outputs. A crash and no answer in time are of the kind "crash"."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(path + "\n")
            ready, _, _ = select.select([self.process.stdout], [], [], self.timeout)
            if not ready:
                self.process.kill()
                self.stop()
                return "crash", f"no answer in {self.timeout} s", None
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return "crash", f"ended with {self.stop()}", None
        self.steps = line[3:-1] if line.startswith("ok ") else ""
        if not self.steps:
            kind, text = line.rstrip("\n").split(" ", 1)
            return kind, text, None
        with np.load(self.folder / "out.npz") as out:
            return "", "", [out[o] for o in case.outputs]


# Of floats, by their size in bytes: absolute, and ten times as much relative to the element; for sums also relative to
# what the output's elements are like.
TOLERANCE = {2: 4e-3, 4: 2e-5, 8: 1e-6}


def element_text(name, got, want, wrong):
    i = tuple(np.argwhere(np.atleast_1d(wrong))[0])
    return f"{name}{[int(k) for k in i]}: {np.atleast_1d(got)[i]}, expected {np.atleast_1d(want)[i]}"


def difference(got, want, case):
    """A text, or None where the outputs agree."""
    for name, a, b in zip(case.outputs, got, want):
        b = np.asarray(b)
        if b.dtype.kind == "O":  # texts
            a, b = a.astype(object), b
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{name}: {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        if case.optimised:
            same = (a == b) | ((a != a) & (b != b))
        elif b.dtype.kind != "f":
            same = a == b
            if case.steps and b.dtype.kind in "iu":
                same |= np.abs(a.astype(np.int64) - b.astype(np.int64)) <= case.steps
        else:
            tolerance = case.tolerance or TOLERANCE[b.dtype.itemsize]
            finite = np.isfinite(b)
            typical = 4 * float(np.median(np.abs(b[finite].astype(np.float64)))) if case.sums and finite.any() else 0.0
            with np.errstate(all="ignore"):
                allowed = tolerance * max(1.0, min(typical, 1e6)) + 10 * tolerance * np.abs(b.astype(np.float64))
                close = finite & (np.abs(a.astype(np.float64) - b.astype(np.float64)) <= allowed)
                same = (a == b) | (np.isnan(a) & np.isnan(b)) | close
        if not np.all(same):
            return element_text(name, a, b, ~np.asarray(same))
    return None
