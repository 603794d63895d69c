"""Operators of ai.onnx.ml. Left out is what the standard does not say and ONNX Runtime leaves to chance: PROBIT (it
approximates the quantile function, and leaves a column uninitialised), SOFTMAX_ZERO of zeros alone, the transform of a
single target, and which of two classes wins when both are voted for."""
import collections

import numpy as np

from case import Case, generator

POSTS = ("NONE", "SOFTMAX", "LOGISTIC")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def floats(r, n, positive=False):
    x = r.g.standard_normal(n)
    return [float(v) for v in (np.abs(x) if positive else x)]


def feature_rows(r, features, dtypes=("float32",)):
    n = r.pick((0, 1, 2, 5, 9))
    shape = (features,) if r.chance(0.1) else (n, features)
    x = r.g.standard_normal(shape) * 2
    if r.chance(0.3):
        x = np.round(x)
    return x.astype(r.pick(dtypes))


def ml(op):
    """Registers a function from Random to attributes, inputs and the element types of the outputs by name."""
    def add(function):
        @generator(op, domain="ai.onnx.ml")
        def make(r, name):
            attributes, inputs, outputs = function(r)
            attributes = {k: v for k, v in attributes.items() if not isinstance(v, list) or v}
            return Case(name, inputs, attributes, outputs=tuple(outputs), types=tuple(outputs.values()), domain="ai.onnx.ml", version=3, fixed=())
        return make
    return add


def labels(r, n, ints):
    """Attributes, and the element type of the labels."""
    if r.chance(0.5):
        return {ints: sorted(int(v) for v in r.g.choice(100, n, replace=False))}, 7
    return {"classlabels_strings": [f"c{i}" for i in range(n)]}, 8


@ml("LinearClassifier")
def linear_classifier(r):
    n, f = r.integer(2, 5), r.integer(1, 6)
    rows = 1 if n == 2 and r.chance(0.6) else n
    attributes, kind = labels(r, n, "classlabels_ints")
    attributes |= {"coefficients": floats(r, rows * f), "intercepts": floats(r, rows), "post_transform": r.pick(POSTS),
                   "multi_class": r.integer(0, 1)}
    return attributes, {"X": feature_rows(r, f, ("float32", "float64", "int64", "int32"))}, {"Y": kind, "Z": 1}


@ml("LinearRegressor")
def linear_regressor(r):
    n, f = r.integer(1, 4), r.integer(1, 6)
    attributes = {"coefficients": floats(r, n * f), "targets": n, "post_transform": r.pick(POSTS if n > 1 else ("NONE",))}
    if r.chance(0.8):
        attributes["intercepts"] = floats(r, n)
    return attributes, {"X": feature_rows(r, f)}, {"Y": 1}


def svm_parts(r, f, vectors):
    return {"support_vectors": floats(r, vectors * f), "kernel_type": r.pick(KERNELS), "post_transform": r.pick(POSTS),
            "kernel_params": [abs(floats(r, 1)[0]) + 0.05, floats(r, 1)[0], float(r.integer(1, 4))]}


@ml("SVMClassifier")
def svm_classifier(r):
    n, f = r.integer(2, 5), r.integer(1, 6)
    counts = [r.integer(1, 4) for _ in range(n)]
    attributes, kind = labels(r, n, "classlabels_ints")
    pairs = n * (n - 1) // 2
    attributes |= svm_parts(r, f, sum(counts))
    attributes |= {"vectors_per_class": counts, "coefficients": floats(r, sum(counts) * (n - 1)), "rho": floats(r, pairs)}
    if r.chance(0.5):
        attributes |= {"prob_a": [-v for v in floats(r, pairs, True)], "prob_b": floats(r, pairs)}
    return attributes, {"X": feature_rows(r, f, ("float32", "float64", "int64", "int32"))}, {"Y": kind, "Z": 1}


@ml("SVMRegressor")
def svm_regressor(r):
    f, vectors = r.integer(1, 6), r.integer(1, 7)
    attributes = svm_parts(r, f, vectors)
    attributes |= {"n_supports": vectors, "coefficients": floats(r, vectors), "rho": floats(r, 1), "post_transform": "NONE"}
    if r.chance(0.2):
        attributes = {"coefficients": floats(r, f), "rho": floats(r, 1), "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 3.0]}
    if r.chance(0.3):
        attributes["one_class"] = 1
    return attributes, {"X": feature_rows(r, f)}, {"Y": 1}


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
                           ("values", 0.0 if leaf else round(floats(r, 1)[0], 1)), ("modes", mode), ("truenodeids", 0),
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
                for key, value in (("treeids", number), ("nodeids", me), ("ids", k), ("weights", floats(r, 1, positive)[0])):
                    nodes[f"{prefix}_{key}"].append(value)

    for number in range(r.integer(1, 4)):
        tree(r, features, number, nodes, add_leaf)
    del nodes["mixed"]
    return dict(nodes)


@ml("TreeEnsembleClassifier")
def tree_classifier(r):
    n, f = r.pick((2, 2, 3, 4)), r.integer(1, 5)
    one = n == 2 and r.chance(0.8)
    n = n if one else max(n, 3)
    attributes, kind = labels(r, n, "classlabels_int64s")
    voted = [r.integer(0, 1)] if one else list(range(n))
    attributes |= forest(r, f, "class", voted, r.chance(0.5), one or r.chance(0.7)) | {"post_transform": r.pick(POSTS)}
    if n > 2 and r.chance(0.4):
        attributes["base_values"] = floats(r, n)
    if one and voted == [0] and r.chance(0.5):
        attributes["base_values"] = floats(r, 1)
    x = feature_rows(r, f, ("float32", "float64", "int64", "int32"))
    if x.dtype == np.float32 and x.size and r.chance(0.2):
        x.flat[0] = np.nan
    return attributes, {"X": x}, {"Y": kind, "Z": 1}


@ml("TreeEnsembleRegressor")
def tree_regressor(r):
    n, f = r.integer(1, 3), r.integer(1, 5)
    attributes = forest(r, f, "target", list(range(n)), False) | {"n_targets": n, "post_transform": r.pick(POSTS if n > 1 else ("NONE",)),
                                                                  "aggregate_function": r.pick(("SUM", "AVERAGE", "MIN", "MAX"))}
    if r.chance(0.4):
        attributes["base_values"] = floats(r, n)
    x = feature_rows(r, f)
    return attributes, {"X": x.reshape(-1, f)}, {"Y": 1}


@ml("Scaler")
def scaler(r):
    f = r.integer(1, 6)
    n = 1 if r.chance(0.3) else f
    return {"scale": floats(r, n), "offset": floats(r, n)}, {"X": feature_rows(r, f, ("float32", "float64", "int64", "int32"))}, {"Y": 1}


@ml("Normalizer")
def normalizer(r):
    x = feature_rows(r, r.integer(1, 6), ("float32", "float64", "int64", "int32"))
    return {"norm": r.pick(("MAX", "L1", "L2"))}, {"X": x}, {"Y": 1}


@ml("Imputer")
def imputer(r):
    f = r.integer(1, 5)
    n = 1 if r.chance(0.3) else f
    if r.chance(0.5):
        x = np.round(feature_rows(r, f, ("int64",)))
        return {"imputed_value_int64s": [r.integer(-9, 9) for _ in range(n)], "replaced_value_int64": r.integer(-1, 1)}, {"X": x}, {"Y": 7}
    x = np.round(feature_rows(r, f))
    if x.size and r.chance(0.5):
        x.flat[0] = np.nan
    return {"imputed_value_floats": floats(r, n), "replaced_value_float": r.pick((0.0, 1.0, float("nan")))}, {"X": x}, {"Y": 1}


@ml("OneHotEncoder")
def one_hot(r):
    shape = tuple(r.integer(0, 4) for _ in range(r.integer(0, 3)))
    zeros = r.integer(0, 1) if r.chance(0.3) else 1
    if r.chance(0.4):
        x = np.asarray(r.g.choice(["a", "b", "c", "d"], shape))
        return {"cats_strings": r.pick((["a", "b", "c"], ["d", "a", "b", "c"], ["a", "b", "a"])), "zeros": zeros}, {"X": x}, {"Y": 1}
    x = np.asarray(r.g.standard_normal(shape) * 3).astype(r.pick(("float32", "float64", "int64", "int32")))
    return {"cats_int64s": [int(v) for v in r.g.integers(-4, 4, r.integer(1, 6))], "zeros": zeros}, {"X": x}, {"Y": 1}


@ml("CategoryMapper")
def category_mapper(r):
    n, shape = r.integer(1, 5), tuple(r.integer(0, 4) for _ in range(r.integer(0, 3)))
    ints, texts = [int(v) for v in r.g.integers(0, 5, n)], [r.pick("abcdé") for _ in range(n)]
    attributes = {"cats_int64s": ints, "cats_strings": texts}
    if r.chance(0.5):
        attributes |= {"default_int64": r.integer(-5, 5), "default_string": "none"}
    if r.chance(0.5):
        return attributes, {"X": np.asarray(r.g.choice(list("abcdéf"), shape))}, {"Y": 7}
    return attributes, {"X": np.asarray(r.g.integers(0, 7, shape)).astype(np.int64)}, {"Y": 8}


@ml("FeatureVectorizer")
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
