"""Differences from ONNX Runtime that are no fault of treadle, each with what says so.

A rule names its operators, tests for the very circumstance, and cites. It holds only where something else than treadle
gives treadle's answer: the reference implementation in the onnx package, or what the rule computes itself."""
import dataclasses
import math
from typing import Callable

import numpy as np

from engines import model_of_node, run_ort, run_reference

RULES = []


@dataclasses.dataclass
class Rule:
    ops: tuple
    reason: str
    applies: Callable                 # of the case
    expected: Callable                # of the case and ONNX Runtime's answer: the outputs; None: the reference implementation's


def rule(*ops, reason, expected=None):
    def add(function):
        RULES.append(Rule(ops, reason, function, expected))
        return function
    return add


@rule("Clip", reason="an infinity with no bound on its side becomes the largest finite number; in the function body of Clip in the ONNX standard "
                     "only the bounds that are there are compared with, and the reference implementation does the same")
def clip_without_bound(case):
    x = case.inputs["x"]
    if x.dtype.kind != "f":
        return False
    return bool(("low" not in case.inputs and np.isneginf(x).any()) or ("high" not in case.inputs and np.isposinf(x).any()))


def sliced_by_the_standard(case, _):
    """By the text of the standard. (The reference implementation is numpy's slicing, which clamps the start to -1, the standard to 0.)"""
    x = case.inputs["x"]
    for axis, start, end, step in zip(*(case.inputs[n].tolist() for n in ("axes", "starts", "ends", "steps"))):
        size = x.shape[axis]
        start, end = (v + size if v < 0 else v for v in (start, end))
        low, high = (0, size) if step > 0 else (-1, size - 1)
        start, end = max(0, min(start, high)), max(low, min(end, high))
        x = np.take(x, np.arange(start, end, step) if size else np.arange(0), axis)
    return [x]


@rule("Slice", expected=sliced_by_the_standard, reason="a negative step with an end of INT_MAX; the standard: for negative stepping the end 'is clamped to [-1, dims[axes[i]]-1]', "
                      "so nothing is left")
def slice_backward_to_the_end(case):
    return any(step < 0 and end >= 2**31 - 1 for step, end in zip(case.inputs["steps"], case.inputs["ends"]))


@rule("ReduceMax", "ReduceMin", reason="NaN and an infinity; the reference implementation is numpy.maximum.reduce, which lets NaN through, as "
                                       "ONNX Runtime's own Max does")
def reduce_with_nan(case):
    return case.inputs["x"].dtype.kind == "f" and bool(np.isnan(case.inputs["x"]).any())


@rule("Sign", reason="the sign of a NaN of 16 bits is 0 in ONNX Runtime (of 32 bits it is NaN); the reference implementation is numpy.sign, which gives NaN")
def sign_of_nan(case):
    return case.inputs["x"].dtype == np.float16 and bool(np.isnan(case.inputs["x"]).any())


@rule("ReduceProd", reason="an integer product that overflows: ONNX Runtime saturates; the reference implementation wraps around, as all "
                           "integer arithmetic in the standard's numpy does")
def product_overflows(case):
    x = case.inputs["x"]
    return x.dtype.kind in "iu" and x.size > 0 and float(np.log2(np.maximum(np.abs(x.astype(np.float64)), 1)).sum()) >= 31


def log_sum_exp_of_integers(case, _):
    """By the function body of ReduceLogSumExp: cast to double, and back to the type of x at the end."""
    x = case.inputs["x"].astype(np.float64)
    axes = case.inputs["axes"].tolist() if "axes" in case.inputs else list(case.attribute("axes", ()))
    if not axes and case.attribute("noop_with_empty_axes", 0):
        total = np.exp(x)
    else:
        total = np.exp(x).sum(axis=tuple(axes) if axes else None, keepdims=bool(case.attribute("keepdims", 1)))
    return [np.log(total).astype(case.inputs["x"].dtype)]


@rule("ReduceLogSumExp", reason="integers: ONNX Runtime rounds each exponential down; the function body of ReduceLogSumExp in the ONNX standard casts to "
                                "double first", expected=log_sum_exp_of_integers)
def log_sum_exp_integer(case):
    return case.inputs["x"].dtype.kind in "iu"


@rule("MeanVarianceNormalization", reason="no variance: ONNX Runtime divides by 0; the function body of MeanVarianceNormalization in the ONNX standard "
                                          "adds 1e-9 to the deviation")
def no_variance(case):
    x = case.inputs["x"].astype(np.float64)
    return bool((x.var(axis=tuple(case.attribute("axes", (0, 2, 3)))) < 1e-12).any())


def in_double(case, _):
    """The reference implementation's answer in the type of theta: it answers in float32 alone."""
    return [y.astype(case.inputs["theta"].dtype) for y in run_reference(model_of_node(case), case)]


@rule("AffineGrid", expected=in_double, reason="align_corners with an axis of one element: ONNX Runtime puts it at 1, the reference implementation at -1 "
                           "(onnx/reference/ops/op_affine_grid.py: 'start = -1')")
def affine_grid_of_one(case):
    return case.attribute("align_corners") == 1 and 1 in case.inputs["size"][2:]


def named_since_opset_20(case, _):
    """The reference implementation's answer, which knows the names of the modes since opset 20 alone."""
    case = dataclasses.replace(case, attributes={**case.attributes, "mode": "cubic"}, opset=20)
    return run_reference(model_of_node(case), case)


@rule("GridSample", expected=named_since_opset_20, reason="cubic with border padding: ONNX Runtime does not move points beyond the border; the reference implementation does "
                           "(onnx/reference/ops/op_grid_sample.py: 'x[i] = self._clamp(v, 0, dims[i] - 1)')")
def cubic_beyond_the_border(case):
    return case.attribute("mode") in ("bicubic", "cubic") and case.attribute("padding_mode") == "border" and bool((np.abs(case.inputs["grid"]) > 1).any())


@rule("MatMulInteger", "QLinearMatMul", "QLinearConv", reason="uint8 by int8: sums of two products saturate at 16 bits on machines with AVX2 and no VNNI, as ONNX Runtime's documentation "
                                                "(docs/performance/model-optimizations/quantization.md) says of U8S8 ('This instruction might suffer from saturation issues')")
def products_saturate(case):
    a, b = ("x", "w") if case.op == "QLinearConv" else ("a", "b")
    return case.inputs[a].dtype == np.uint8 and case.inputs[b].dtype == np.int8


@rule("TfIdfVectorizer", reason="ONNX Runtime finds the weight of an n-gram by its place in the output; the standard: 'The i-th element in weights is the weight "
                                "of the i-th n-gram in pool'")
def weights_by_output(case):
    indexes = case.attribute("ngram_indexes")
    return case.attribute("mode") != "TF" and case.attribute("weights") is not None and indexes != sorted(indexes)


def reach(case, axis):
    return (case.attribute("kernel_shape")[axis] - 1) * case.attribute("dilations", [1] * 8)[axis] + 1


def same(case):
    return case.attribute("auto_pad", "").startswith("SAME")


def is_crossed(case, axis):
    """Whether windows leave cells out, so that SAME would have to pad by less than nothing."""
    return case.attribute("strides")[axis] > reach(case, axis)


def pool_with_explicit_pads(case, _):
    """ONNX Runtime's answer for the pads that SAME comes to, none below 0."""
    attributes = {k: v for k, v in case.attributes.items() if k != "auto_pad"}
    before, after = [], []
    for axis, size in enumerate(case.inputs["x"].shape[2:]):
        stride = case.attribute("strides")[axis]
        total = max(0, (math.ceil(size / stride) - 1) * stride + reach(case, axis) - size)
        less, more = total // 2, total - total // 2
        upper = case.attribute("auto_pad") == "SAME_UPPER"
        before.append(less if upper else more)
        after.append(more if upper else less)
    attributes.update(pads=before + after, ceil_mode=None)
    case = dataclasses.replace(case, attributes=attributes)
    return run_ort(model_of_node(case), case)


@rule("MaxPool", "AveragePool", "LpPool", expected=pool_with_explicit_pads,
      reason="SAME with a stride above the kernel: ONNX Runtime cuts off elements in front for some sizes, for others not, and as MaxPool mostly refuses ('padding values "
             "must be non-negative'); the standard: SAME means 'pad the input', and its Conv pads by nothing there, on both sides")
def same_pool_with_gaps(case):
    return same(case) and any(is_crossed(case, a) for a in range(len(case.attribute("strides"))))


def transposed_with_zeros(case, want):
    """ONNX Runtime's answer with zeros behind it up to the size that the standard names."""
    y = want[0]
    sizes = [n * s for n, s in zip(case.inputs["x"].shape[2:], case.attribute("strides"))]
    if any(have > size for have, size in zip(y.shape[2:], sizes)):
        return [np.zeros(0, y.dtype)]
    grown = np.zeros((*y.shape[:2], *sizes), y.dtype)
    if "b" in case.inputs:
        grown += case.inputs["b"].reshape(-1, *[1] * len(sizes))
    grown[tuple(slice(0, n) for n in y.shape)] = y
    return [grown]


@rule("ConvTranspose", expected=transposed_with_zeros,
      reason="SAME with a stride above the kernel: ONNX Runtime's output is smaller than the standard says: 'output_shape[i] = input_shape[i] * strides[i]'")
def same_transposed_with_gaps(case):
    return same(case) and "output_shape" not in case.attributes and any(is_crossed(case, a) for a in range(len(case.attribute("strides"))))


@rule("Resize", reason="nearest: a coordinate next to a tie; ONNX Runtime computes coordinates in f32, the reference implementation in f64")
def next_to_a_tie(case):
    return case.attribute("mode", "nearest") in ("nearest", b"nearest")


def explained(case, want, reference, agrees):
    """The reason, or None. `want` is ONNX Runtime's answer, `reference()` the reference implementation's, `agrees(outputs)` says whether treadle's is that."""
    for r in RULES:
        if case.op not in r.ops or case.nodes or case.domain or not r.applies(case):
            continue
        try:
            expected = r.expected(case, want) if r.expected else reference()
        except Exception:  # pylint: disable=broad-except
            continue  # the reference implementation cannot run it: not explained
        if agrees(expected):
            return r.reason
    return None
