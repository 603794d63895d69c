#!/usr/bin/env python3
"""Writes cases.npz: small models with operators of ai.onnx.ml, inputs, and the outputs that ONNX Runtime gives.

Usage: make_cases.py [FOLDER]
(needs onnxruntime, scikit-learn, skl2onnx, lightgbm, xgboost, onnxmltools; made with 1.32.0, 1.9.1, 1.20.0, 4.7.0, 3.2.0, 1.16.0)
Arrays are named CASE|graph (the bytes of the model), CASE|in|NAME and CASE|out|NAME. Trained models, whose answers are
compared with what trained them too, and random one-operator models of fuzz_diff/generators_ml.py."""
import pathlib
import sys
import warnings

import lightgbm
import numpy as np
import onnx
import onnxruntime
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn import ensemble, linear_model, multiclass, neighbors, pipeline, preprocessing, svm, tree
from sklearn.impute import SimpleImputer
from skl2onnx import to_onnx

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "fuzz_diff"))
import generators_ml  # noqa: E402,F401  pylint: disable=unused-import,wrong-import-position
from case import GENERATORS, as_model  # noqa: E402  pylint: disable=wrong-import-position
from values import Random  # noqa: E402  pylint: disable=wrong-import-position

warnings.filterwarnings("ignore")
arrays = {}
random = np.random.default_rng(7)


def plain_ints(make):
    """skl2onnx passes bools and numpy integers, which newer onnx refuses."""
    def wrapped(key, value, *rest, **named):
        if isinstance(value, list) and value and all(isinstance(v, (bool, int, np.integer, np.bool_)) for v in value):
            value = [int(v) for v in value]
        return make(key, value, *rest, **named)
    return wrapped


onnx.helper.make_attribute = plain_ints(onnx.helper.make_attribute)


def as_array(value):
    """An output; the maps of ZipMap as rows in the order of their labels."""
    if isinstance(value, list):
        return np.array([[*row.values()] for row in value], np.float32)
    value = np.asarray(value)
    return value.astype("U") if value.dtype.kind == "O" else value


def store(name, model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    outputs = {o.name: as_array(v) for o, v in zip(session.get_outputs(), session.run(None, inputs))}
    arrays[name + "|graph"] = np.frombuffer(model.SerializeToString(), np.uint8)
    for key, value in inputs.items():
        arrays[f"{name}|in|{key}"] = value.astype("U") if value.dtype.kind == "O" else value
    for key, value in outputs.items():
        arrays[f"{name}|out|{key}"] = value
    return [*outputs.values()]


def trained(name, estimator, x, y, **options):
    estimator.fit(x, y)
    model = to_onnx(estimator, x[:1], target_opset={"": 18, "ai.onnx.ml": 3}, **options)
    x = x[:8]
    outputs = store(name, model, {model.graph.input[0].name: x})
    # An outlier of IsolationForest lies within rounding of its threshold now and then.
    if hasattr(estimator, "predict") and outputs[0].dtype.kind != "f":
        assert (outputs[0].ravel() == estimator.predict(x)).all(), name
    if hasattr(estimator, "predict_proba"):
        assert np.allclose(outputs[1], estimator.predict_proba(x), atol=2e-5), name


def boosted(name, estimator, convert, x, y, **options):
    estimator.fit(x, y)
    model = convert(estimator, initial_types=[("X", FloatTensorType([None, x.shape[1]]))], target_opset=15, **options)
    outputs = store(name, model, {"X": x[:8]})
    if hasattr(estimator, "predict_proba"):
        assert np.allclose(outputs[1], estimator.predict_proba(x[:8]), atol=2e-5), name
    else:
        assert np.allclose(outputs[0].ravel(), estimator.predict(x[:8]), atol=2e-4), name


def trained_models():
    x = random.standard_normal((80, 4)).astype(np.float32)
    two = (x[:, 0] + 0.3 * x[:, 1] > 0).astype(int)
    three = np.digitize(x[:, 0] + 0.2 * x[:, 2], [-0.5, 0.5])
    names = np.array(["low", "mid", "high"])[three]
    value = x @ np.array([1, 2, 0.5, 0], np.float32)
    holes = x.copy()
    holes[random.random(x.shape) < 0.1] = np.nan
    seed = {"random_state": 0}
    for label, y in (("2", two), ("3", three), ("names", names)):
        trained("forest_" + label, ensemble.RandomForestClassifier(3, max_depth=3, **seed), x, y)
        trained("boosting_" + label, ensemble.GradientBoostingClassifier(n_estimators=2, max_depth=2, **seed), x, y)
        trained("logistic_" + label, linear_model.LogisticRegression(), x, y, options={"zipmap": False})
        trained("svc_" + label, svm.SVC(), x[:40], y[:40], options={"zipmap": False})
        trained("svc_probability_" + label, svm.SVC(kernel="poly", probability=True, **seed), x[:40], y[:40])
    trained("tree_3", tree.DecisionTreeClassifier(max_depth=3), x, three)
    trained("svc_sigmoid", svm.SVC(kernel="sigmoid", probability=True, **seed), x[:40], three[:40])
    trained("svc_linear", svm.NuSVC(nu=0.2, kernel="linear"), x[:40], names[:40])
    trained("ridge_wrong_shape", linear_model.RidgeClassifier(), x, two)
    trained("one_vs_rest", multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), x, three)
    trained("nearest", neighbors.KNeighborsClassifier(3), x[:20], names[:20])
    prepared = pipeline.make_pipeline(SimpleImputer(), preprocessing.StandardScaler(), preprocessing.Normalizer(), linear_model.LogisticRegression())
    trained("prepared", prepared, holes, names)
    digits, words = random.integers(0, 4, (40, 3)), np.array(["a", "b", "c"])[random.integers(0, 3, (40, 2))].astype(object)
    encoder = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    trained("one_hot", pipeline.make_pipeline(encoder, linear_model.LogisticRegression()), digits, (digits[:, 0] > 1).astype(int))
    trained("one_hot_words", preprocessing.OneHotEncoder(sparse_output=False), words, None)
    trained("ordinal_words", preprocessing.OrdinalEncoder(), words, None)
    trained("forest_value", ensemble.RandomForestRegressor(2, max_depth=3, **seed), x, value)
    trained("linear_values", linear_model.LinearRegression(), x, np.stack([value, 1 - value], 1))
    trained("svr", svm.SVR(), x[:30], value[:30])
    trained("svr_poly", svm.NuSVR(kernel="poly"), x[:30], value[:30])
    trained("one_class", svm.OneClassSVM(), x[:30], None)
    boosted("lightgbm_2", lightgbm.LGBMClassifier(n_estimators=2, num_leaves=5, verbose=-1), convert_lightgbm, holes, two)
    boosted("lightgbm_3", lightgbm.LGBMClassifier(n_estimators=2, num_leaves=5, verbose=-1), convert_lightgbm, holes, three, zipmap=False)
    boosted("xgboost_2", xgboost.XGBClassifier(n_estimators=2, max_depth=2), convert_xgboost, holes, two)
    boosted("xgboost_3", xgboost.XGBClassifier(n_estimators=2, max_depth=2), convert_xgboost, holes, three)
    boosted("xgboost_value", xgboost.XGBRegressor(n_estimators=2, max_depth=2), convert_xgboost, holes, value)


def random_models(each):
    for op, generate in sorted(GENERATORS.items()):
        number, made = 0, 0
        while made < each:
            number += 1
            r = Random([7, number])
            case = generate(r)
            inputs = {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in case.inputs.items()}
            try:
                store(f"{case.op}_{made}", as_model(r, case), inputs)
            except Exception:  # pylint: disable=broad-except
                continue  # ONNX Runtime refuses it
            made += 1


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    trained_models()
    random_models(8)
    np.savez_compressed(folder / "cases.npz", **arrays)
    print(len([k for k in arrays if k.endswith("|graph")]), "cases,", (folder / "cases.npz").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
