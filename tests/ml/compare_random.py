#!/usr/bin/env python3
"""Random one-operator models of ai.onnx.ml through treadle and ONNX Runtime: the answers must agree.

  tests/ml/compare_random.py --treadle build/release/treadle [--cases 2000] [--seed 1] [--op NAME] [--only N]

Run by hand. What ONNX Runtime refuses is counted; treadle must then answer or refuse, not crash. `known` names
where the two differ on purpose. Exit status 1 on another difference, 77 (skipped) without ONNX Runtime."""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz_diff"))
import values  # noqa: E402  pylint: disable=wrong-import-position


class Random(values.Random):
    def floats(self, n, positive=False):
        x = self.g.standard_normal(n)
        return [float(v) for v in (np.abs(x) if positive else x)]

    def rows(self, features, dtypes=("float32",)):
        n = self.pick((0, 1, 2, 5, 9))
        shape = (features,) if self.chance(0.1) else (n, features)
        x = self.g.standard_normal(shape) * 2
        if self.chance(0.3):
            x = np.round(x)
        return x.astype(self.pick(dtypes))


def labels(r, n, ints):
    """Attributes, and the element type of the labels."""
    if r.chance(0.5):
        return {ints: sorted(int(v) for v in r.g.choice(100, n, replace=False))}, 7
    return {"classlabels_strings": [f"c{i}" for i in range(n)]}, 8


def linear_classifier(r):
    n, f = r.integer(2, 5), r.integer(1, 6)
    rows = 1 if n == 2 and r.chance(0.6) else n
    attributes, kind = labels(r, n, "classlabels_ints")
    attributes |= {"coefficients": r.floats(rows * f), "intercepts": r.floats(rows), "post_transform": r.pick(POSTS),
                   "multi_class": r.integer(0, 1)}
    return attributes, {"X": r.rows(f, ("float32", "float64", "int64", "int32"))}, {"Y": kind, "Z": 1}


def linear_regressor(r):
    n, f = r.integer(1, 4), r.integer(1, 6)
    attributes = {"coefficients": r.floats(n * f), "targets": n, "post_transform": r.pick(POSTS)}
    if r.chance(0.8):
        attributes["intercepts"] = r.floats(n)
    return attributes, {"X": r.rows(f)}, {"Y": 1}


def svm_parts(r, f, vectors):
    return {"support_vectors": r.floats(vectors * f), "kernel_type": r.pick(KERNELS), "post_transform": r.pick(POSTS),
            "kernel_params": [abs(r.floats(1)[0]) + 0.05, r.floats(1)[0], float(r.integer(1, 4))]}


def svm_classifier(r):
    n, f = r.integer(2, 5), r.integer(1, 6)
    counts = [r.integer(1, 4) for _ in range(n)]
    attributes, kind = labels(r, n, "classlabels_ints")
    pairs = n * (n - 1) // 2
    attributes |= svm_parts(r, f, sum(counts))
    attributes |= {"vectors_per_class": counts, "coefficients": r.floats(sum(counts) * (n - 1)), "rho": r.floats(pairs)}
    if r.chance(0.5):
        attributes |= {"prob_a": [-v for v in r.floats(pairs, True)], "prob_b": r.floats(pairs)}
    return attributes, {"X": r.rows(f, ("float32", "float64", "int64", "int32"))}, {"Y": kind, "Z": 1}


def svm_regressor(r):
    f, vectors = r.integer(1, 6), r.integer(1, 7)
    attributes = svm_parts(r, f, vectors)
    attributes |= {"n_supports": vectors, "coefficients": r.floats(vectors), "rho": r.floats(1), "post_transform": "NONE"}
    if r.chance(0.2):
        attributes = {"coefficients": r.floats(f), "rho": r.floats(1), "kernel_type": "LINEAR"}
    if r.chance(0.3):
        attributes["one_class"] = 1
    return attributes, {"X": r.rows(f)}, {"Y": 1}


def tree(r, features, number, nodes, add_leaf):
    """Appends a random tree; add_leaf(tree, node) gives a leaf its votes."""
    count = 0

    def grow(depth):
        nonlocal count
        me, count = count, count + 1
        at = len(nodes["nodes_nodeids"])
        leaf = depth == 0 or (depth < 3 and r.chance(0.2))
        mode = "LEAF" if leaf else r.pick(("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")) \
            if nodes["mixed"] else "BRANCH_LEQ"
        for key, value in (("treeids", number), ("nodeids", me), ("featureids", 0 if leaf else r.integer(0, features - 1)),
                           ("values", 0.0 if leaf else round(r.floats(1)[0], 1)), ("modes", mode), ("truenodeids", 0),
                           ("falsenodeids", 0), ("missing_value_tracks_true", int(not leaf and r.chance(0.5)))):
            nodes[f"nodes_{key}"].append(value)
        if leaf:
            add_leaf(number, me)
        else:
            nodes["nodes_truenodeids"][at] = grow(depth - 1)
            nodes["nodes_falsenodeids"][at] = grow(depth - 1)
        return me

    grow(3)


def forest(r, features, prefix, targets, positive, every=True):
    nodes = collections.defaultdict(list)
    nodes["mixed"] = r.chance(0.5)

    def add_leaf(number, me):
        for k in targets:
            if every or r.chance(0.7) or k == targets[-1]:
                for key, value in (("treeids", number), ("nodeids", me), ("ids", k), ("weights", r.floats(1, positive)[0])):
                    nodes[f"{prefix}_{key}"].append(value)

    for number in range(r.integer(1, 4)):
        tree(r, features, number, nodes, add_leaf)
    del nodes["mixed"]
    return dict(nodes)


def tree_classifier(r):
    n, f = r.pick((2, 2, 3, 4)), r.integer(1, 5)
    attributes, kind = labels(r, n, "classlabels_int64s")
    one = n == 2 and r.chance(0.8)
    voted = [r.integer(0, 1)] if one else list(range(n))
    attributes |= forest(r, f, "class", voted, r.chance(0.5), one or r.chance(0.7)) | {"post_transform": r.pick(POSTS)}
    if n > 2 and r.chance(0.4):
        attributes["base_values"] = r.floats(n)
    if one and voted == [0] and r.chance(0.5):
        attributes["base_values"] = r.floats(1)
    x = r.rows(f, ("float32", "float64", "int64", "int32"))
    if x.dtype == np.float32 and x.size and r.chance(0.2):
        x.flat[0] = np.nan
    return attributes, {"X": x}, {"Y": kind, "Z": 1}


def tree_regressor(r):
    n, f = r.integer(1, 3), r.integer(1, 5)
    attributes = forest(r, f, "target", list(range(n)), False) | {"n_targets": n, "post_transform": r.pick(POSTS if n > 1 else ("NONE",)),
                                                                  "aggregate_function": r.pick(("SUM", "AVERAGE", "MIN", "MAX"))}
    if r.chance(0.4):
        attributes["base_values"] = r.floats(n)
    x = r.rows(f)
    return attributes, {"X": x.reshape(-1, f)}, {"Y": 1}


def scaler(r):
    f = r.integer(1, 6)
    n = 1 if r.chance(0.3) else f
    return {"scale": r.floats(n), "offset": r.floats(n)}, {"X": r.rows(f, ("float32", "float64", "int64", "int32"))}, {"Y": 1}


def normalizer(r):
    x = r.rows(r.integer(1, 6), ("float32", "float64", "int64", "int32"))
    return {"norm": r.pick(("MAX", "L1", "L2"))}, {"X": x}, {"Y": 1}


def imputer(r):
    f = r.integer(1, 5)
    n = 1 if r.chance(0.3) else f
    if r.chance(0.5):
        x = np.round(r.rows(f, ("int64",)))
        return {"imputed_value_int64s": [r.integer(-9, 9) for _ in range(n)], "replaced_value_int64": r.integer(-1, 1)}, {"X": x}, {"Y": 7}
    x = np.round(r.rows(f))
    if x.size and r.chance(0.5):
        x.flat[0] = np.nan
    return {"imputed_value_floats": r.floats(n), "replaced_value_float": r.pick((0.0, 1.0, float("nan")))}, {"X": x}, {"Y": 1}


def one_hot(r):
    shape = tuple(r.integer(0, 4) for _ in range(r.integer(0, 3)))
    zeros = r.integer(0, 1) if r.chance(0.3) else 1
    if r.chance(0.4):
        x = np.asarray(r.g.choice(["a", "b", "c", "d"], shape))
        return {"cats_strings": r.pick((["a", "b", "c"], ["d", "a", "b", "c"], ["a", "b", "a"])), "zeros": zeros}, {"X": x}, {"Y": 1}
    x = np.asarray(r.g.standard_normal(shape) * 3).astype(r.pick(("float32", "float64", "int64", "int32")))
    return {"cats_int64s": [int(v) for v in r.g.integers(-4, 4, r.integer(1, 6))], "zeros": zeros}, {"X": x}, {"Y": 1}


def category_mapper(r):
    n, shape = r.integer(1, 5), tuple(r.integer(0, 4) for _ in range(r.integer(0, 3)))
    ints, texts = [int(v) for v in r.g.integers(0, 5, n)], [r.pick("abcdé") for _ in range(n)]
    attributes = {"cats_int64s": ints, "cats_strings": texts}
    if r.chance(0.5):
        attributes |= {"default_int64": r.integer(-5, 5), "default_string": "none"}
    if r.chance(0.5):
        return attributes, {"X": np.asarray(r.g.choice(list("abcdéf"), shape))}, {"Y": 7}
    return attributes, {"X": np.asarray(r.g.integers(0, 7, shape)).astype(np.int64)}, {"Y": 8}


def feature_vectorizer(r):
    # ONNX Runtime aborts where something is empty.
    n, dtype = r.pick((1, 2, 4)), r.pick(("float32", "float64", "int64", "int32"))
    inputs, sizes = {}, []
    for i in range(r.integer(1, 4)):
        shape = (n, r.integer(1, 4)) if r.chance(0.8) else (n, 2, r.integer(1, 2))
        inputs[f"X{i}"] = (r.g.standard_normal(shape) * 5).astype(dtype)
        width = int(np.prod(shape[1:]))
        sizes.append(width if r.chance(0.7) else r.integer(1, 5))
    return {"inputdimensions": sizes}, inputs, {"Y": 1}


GENERATORS = {
    "LinearClassifier": linear_classifier, "LinearRegressor": linear_regressor, "SVMClassifier": svm_classifier, "SVMRegressor": svm_regressor,
    "TreeEnsembleClassifier": tree_classifier, "TreeEnsembleRegressor": tree_regressor, "Scaler": scaler, "Normalizer": normalizer,
    "Imputer": imputer, "OneHotEncoder": one_hot, "CategoryMapper": category_mapper, "FeatureVectorizer": feature_vectorizer}


def two_from_one(op, attributes):
    if op == "TreeEnsembleClassifier":
        return set(attributes["class_ids"]) == {0}
    return len(attributes.get("intercepts", attributes.get("rho", ()))) == 1 and "prob_a" not in attributes


def known(op, attributes, inputs):
    """Why the answers may differ, or None."""
    post = attributes.get("post_transform")
    if post == "PROBIT" and op.endswith("Classifier") and two_from_one(op, attributes):
        return "of one score for two classes ONNX Runtime leaves the second column to chance"
    if post == "SOFTMAX_ZERO":
        return "of zeros alone ONNX Runtime makes NaN; they stay"
    if op == "LinearRegressor" and attributes["targets"] == 1 and post != "NONE":
        return "ONNX Runtime does not transform a single target"
    if op == "TreeEnsembleClassifier":
        ids = set(attributes["class_ids"])
        classes = len(attributes.get("classlabels_int64s", attributes.get("classlabels_strings")))
        if classes == 2 and len(ids) == 2:
            return "of two classes with votes for both ONNX Runtime gives not the top one, as the standard says"
    if any(np.isnan(x).any() for x in inputs.values() if x.dtype.kind == "f"):
        return "NaN" if op in ("Normalizer",) else None
    return None


def as_model(r, op, attributes, inputs, outputs):
    infos = []
    # Columns that are cut or filled up must be known.
    whole = all(w == np.prod(x.shape[1:]) for w, x in zip(attributes.get("inputdimensions", ()), inputs.values()))
    symbolic = whole and r.chance(0.4)
    for name, x in inputs.items():
        kind = 8 if x.dtype.kind == "U" else onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
        infos.append(onnx.helper.make_tensor_value_info(name, kind, [None if symbolic else s for s in x.shape]))
    node = onnx.helper.make_node(op, [*inputs], [*outputs], domain="ai.onnx.ml", **attributes)
    graph = onnx.helper.make_graph([node], "random", infos, [onnx.helper.make_tensor_value_info(o, k, None) for o, k in outputs.items()])
    return onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)])


def run_ort(model, inputs):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)


def run_treadle(program, model, inputs, outputs, folder):
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "in.npz", **inputs)
    command = [program, "run", str(folder / "model.onnx"), "--input", str(folder / "in.npz"), "--output", str(folder / "out.npz")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return done.returncode, done.stderr.strip(), None
    with np.load(folder / "out.npz") as out:
        return 0, "", [out[o] for o in outputs]


def difference(got, want, outputs, probit):
    # ONNX Runtime approximates the quantile function, and is -inf where a small probability became 0.
    tolerance, limit = (2e-2, 4) if probit else (1e-4, np.inf)
    for name, a, b in zip(outputs, got, want):
        b = np.asarray(b)
        b = b.astype("U") if b.dtype.kind == "O" else b
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            return f"{name}: {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        if b.dtype.kind != "f":
            if not np.array_equal(a, b):
                return f"{name}: {a.tolist()}, expected {b.tolist()}"
        elif not np.allclose(np.clip(a, -limit, limit), np.clip(b, -limit, limit), rtol=tolerance, atol=tolerance / 5, equal_nan=True):
            return f"{name}: {a.tolist()}, expected {b.tolist()}"
    return None


def judge(args, number, ops, folder):
    op = ops[number % len(ops)]
    r = Random([args.seed, number])
    attributes, inputs, outputs = GENERATORS[op](r)
    attributes = {k: v for k, v in attributes.items() if not isinstance(v, list) or v}
    model = as_model(r, op, attributes, inputs, outputs)
    try:
        want, refusal = run_ort(model, inputs), None
    except Exception as error:  # pylint: disable=broad-except
        want, refusal = None, str(error)
    code, error, got = run_treadle(args.treadle, model, inputs, outputs, folder)
    if args.only is not None:
        print(op, attributes, inputs, "\nONNX Runtime:", refusal or want, "\ntreadle:", error or got)
    if code not in (0, 2, 3):
        return op, "crash", f"exit code {code}: {error}"
    if want is None:
        return op, "refused by ONNX Runtime", refusal
    text = error if code else difference(got, want, outputs, attributes.get("post_transform") == "PROBIT")
    if text is None:
        return op, "agree", ""
    why = known(op, attributes, inputs)
    return (op, "known", why) if why and not code else (op, "differ", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--op", action="append")
    args = parser.parse_args()
    ops = args.op or sorted(GENERATORS)
    counts = collections.defaultdict(collections.Counter)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.cases) if args.only is None else [args.only]:
            op, kind, text = judge(args, number, ops, pathlib.Path(folder))
            counts[op][kind] += 1
            if kind in ("differ", "crash"):
                failed += 1
                print(f"case {number}: {op}: {kind}: {text[:600]}", flush=True)
    for op in sorted(counts):
        print(f"{op:24}", ", ".join(f"{n} {kind}" for kind, n in sorted(counts[op].items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
