"""Compares treadle's outputs for a generated model with those of the engine its format comes from."""
import pathlib
import subprocess
import tempfile

import numpy as np

# Sizes for symbols: two calls where a model has caches, of which one is empty.
SIZES = {"frames": [264], "batch": [1], "seq": [16, 1], "past": [0, 5]}
# Absolute, and relative to the largest value of an output. In 8 bits a value between two steps may round
# either way: 5 of a million do in the first layer of Inception v1, a tenth in its last, by one step of 255; of the voice
# commands 3 of 32,000 in the fourth layer.
TOLERANCE = 1e-4
RELATIVE = {"inception_v1_quant.onnx": 0.1, "voice_command_fq.pb": 0.01}


def random_input(random, dtype, shape):
    if np.issubdtype(dtype, np.integer):
        return random.integers(0, 1000, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def onnx_cases(path, random):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    symbols = {d for i in session.get_inputs() for d in i.shape if isinstance(d, str)}
    for at in range(2 if "past" in symbols else 1):
        sizes = {s: SIZES[s][min(at, len(SIZES[s]) - 1)] for s in symbols}
        inputs = {i.name: random_input(random, types[i.type], [sizes.get(d, d) for d in i.shape])
                  for i in session.get_inputs()}
        yield inputs, dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def tensorflow_cases(path, random):
    import tensorflow as tf

    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(path.read_bytes())
    with tf.Graph().as_default() as g, tf.compat.v1.Session() as session:
        tf.import_graph_def(graph, name="")
        source = next(n.name for n in graph.node if n.op == "Placeholder")
        shape = g.get_tensor_by_name(source + ":0").shape.as_list()
        inputs = {source: random_input(random, np.float32, shape)}
        output = graph.node[-1].name
        yield inputs, {output: session.run(output + ":0", {source + ":0": inputs[source]})}


def worst(expected, got, relative):
    """The largest difference as a part of what is allowed."""
    if expected.shape != got.shape:
        return float("inf")
    allowed = TOLERANCE + relative * np.abs(expected).max()
    return float(np.abs(expected.astype(np.float64) - got).max() / allowed)


def run_treadle(treadle, path, inputs, folder):
    command = [treadle, "run", path, "--output", folder / "out.npz"]
    for at, (name, value) in enumerate(inputs.items()):
        np.save(folder / f"{at}.npy", value)
        command += ["--input", f"{name}={folder / f'{at}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"treadle: {done.stderr.strip()}")
    return dict(np.load(folder / "out.npz"))


def compare(treadle, path):
    """Whether all outputs agree (None: not compared), and a sentence."""
    cases = onnx_cases if path.suffix == ".onnx" else tensorflow_cases
    relative = RELATIVE.get(path.name, TOLERANCE)
    random, most, calls = np.random.default_rng(7), 0.0, 0
    try:
        for inputs, expected in cases(path, random):
            with tempfile.TemporaryDirectory() as folder:
                got = run_treadle(treadle, path, inputs, pathlib.Path(folder))
            most = max(most, *(worst(v, got[n], relative) for n, v in expected.items()))
            calls += 1
    except ImportError as e:
        return None, f"not compared: no {e.name}"
    except RuntimeError as e:
        return False, str(e)
    right = most <= 1
    return right, f"{'agrees' if right else 'DIFFERS'} in {calls} call(s): {most:.1e} of the tolerance"
