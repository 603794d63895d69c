"""Generators of recurrent layers, signals, sequences, control flow and what is left."""
import numpy as np
import onnx

from case import Case, flag, generator
from ort_types import any_dtype


@generator("LSTM", "GRU", "RNN")
def recurrent(r, op):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    steps, batch, inputs_, hidden = r.integer(1, 5), r.integer(1, 3), r.integer(1, 9), r.integer(1, 9)
    direction = r.pick(("forward", "reverse", "bidirectional"))
    d = 2 if direction == "bidirectional" else 1
    activations = None
    if r.chance(0.3):
        activations = [r.pick(("Sigmoid", "Tanh", "Relu", "HardSigmoid")) for _ in range({"LSTM": 3, "GRU": 2, "RNN": 1}[op] * d)]
    most = 4.0 if activations is None else 0.3  # Relu lets values grow with each step
    inputs = {"x": r.array((steps, batch, inputs_), np.float32), "w": r.array((d, gates * hidden, inputs_), np.float32, low=-most, high=most),
              "r": r.array((d, gates * hidden, hidden), np.float32, low=-most, high=most)}
    order = ["x", "w", "r"]
    for name, p, make in (("b", 0.7, lambda: r.array((d, 2 * gates * hidden), np.float32)),
                          ("lengths", 0.3, lambda: r.array((batch,), np.int32, low=1, high=steps)),
                          ("h", 0.5, lambda: r.array((d, batch, hidden), np.float32))):
        if r.chance(p):
            inputs[name] = make()
            order.append(name)
        else:
            order.append("")
    outputs = ("y", "yh")
    if op == "LSTM":
        outputs += ("yc",)
        if r.chance(0.5):
            inputs["c"] = r.array((d, batch, hidden), np.float32)
            order.append("c")
    attributes = {"hidden_size": hidden, "direction": direction, "activations": activations}
    if r.chance(0.2):
        attributes["clip"] = r.pick((0.5, 2.0))
    if op == "GRU":
        attributes["linear_before_reset"] = flag(r)
    return Case(op, inputs, attributes, outputs, opset=14, constants=("w", "r", "b") if r.chance(0.7) else (), order=order)


@generator("AffineGrid")
def affine_grid(r, op):
    n, rank = r.integer(1, 2), r.pick((2, 3))
    size = np.array([n, r.integer(1, 3), *(r.integer(1, 5) for _ in range(rank))], np.int64)
    return Case(op, {"theta": r.array((n, rank, rank + 1), any_dtype(r, op, 20, "T1")), "size": size}, {"align_corners": flag(r)}, opset=20, may_be_constant=("size",), fixed=("size", "theta"), tolerance=2e-5)


@generator("Col2Im")
def col2im(r, op):
    image, block = [r.integer(3, 8) for _ in range(2)], [r.integer(1, 3) for _ in range(2)]
    strides, dilations = [r.integer(1, 2) for _ in range(2)], [1, 1]
    pads = [r.integer(0, 1) for _ in range(4)]
    windows = [(image[d] + pads[d] + pads[d + 2] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(2)]
    x = r.array((r.integer(1, 2), r.integer(1, 3) * block[0] * block[1], windows[0] * windows[1]), np.float32)
    return Case(op, {"x": x, "image": np.array(image, np.int64), "block": np.array(block, np.int64)}, {"strides": strides, "pads": pads}, opset=18, constants=("image", "block"))


@generator("MaxUnpool")
def max_unpool(r, op):
    h, w, k = r.integer(1, 4), r.integer(1, 4), r.integer(1, 3)
    n, c = r.integer(1, 2), r.integer(1, 2)
    places = np.stack([r.g.permutation(h * k * w * k)[:h * w].reshape(h, w) for _ in range(n * c)]).reshape(n, c, h, w)
    base = np.arange(n * c).reshape(n, c, 1, 1) * (h * k * w * k)
    return Case(op, {"x": r.array((n, c, h, w), np.float32), "i": (places + base).astype(np.int64)}, {"kernel_shape": [k, k], "strides": [k, k]}, opset=11)


@generator("MeanVarianceNormalization")
def mean_variance(r, op):
    shape = r.shape(4, 4, 0)
    axes = None if r.chance(0.5) else r.pick(([0, 2, 3], [0, 1, 2, 3]))
    return Case(op, {"x": r.array(shape, np.float32, low=-3, high=3)}, {"axes": axes}, opset=13, tolerance=2e-3)


@generator("RMSNormalization")
def rms_norm(r, op):
    shape = r.shape(1, 4, 0)
    axis, dtype = r.axis(len(shape)), any_dtype(r, op, 23)
    return Case(op, {"x": r.array(shape, dtype), "s": r.array(shape[axis:], dtype)}, {"axis": axis, "epsilon": r.pick((1e-5, 1e-2))}, opset=23, may_be_constant=("s",))


@generator("GroupNormalization")
def group_norm(r, op):
    groups = r.integer(1, 4)
    c = groups * r.integer(1, 4)
    x = r.array((r.integer(1, 2), c, *r.shape(1, 2, 0)), np.float32)
    return Case(op, {"x": x, "s": r.array((c,), np.float32), "b": r.array((c,), np.float32)}, {"num_groups": groups}, opset=21, tolerance=2e-4)


@generator("Dropout")
def dropout(r, op):
    x = r.array(r.shape(), any_dtype(r, op, 13), 0.2)
    return Case(op, {"x": x, "ratio": np.array(r.pick((0.0, 0.5)), np.float32)}, {}, ("y", "mask") if r.chance(0.5) else ("y",), opset=13, may_be_constant=("ratio",))


@generator("HannWindow", "HammingWindow", "BlackmanWindow")
def window_function(r, op):
    to = r.pick((onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE))
    return Case(op, {"n": np.array(r.integer(2, 20), r.pick((np.int32, np.int64)))}, {"periodic": flag(r), "output_datatype": to}, opset=17, may_be_constant=("n",), tolerance=1e-6)


@generator("MelWeightMatrix")
def mel_weights(r, op):
    rate = r.pick((8000, 16000))
    values = {"bins": np.array(r.integer(1, 8), np.int64), "length": np.array(r.pick((16, 64)), np.int64), "rate": np.array(rate, np.int64),
              "low": np.array(r.pick((0.0, 100.0)), np.float32), "high": np.array(rate / 2, np.float32)}
    return Case(op, values, opset=17, may_be_constant=tuple(values), tolerance=1e-4)


@generator("DFT")
def dft(r, op):
    shape, inverse = (*r.shape(1, 3, 0), r.pick((1, 2))), flag(r)
    axis = r.integer(0, len(shape) - 2)
    onesided = flag(r) if shape[-1] == 1 and not inverse else 0
    x, length = r.array(shape, any_dtype(r, op, 20, "T1")), np.array(r.integer(1, 12), np.int64)
    inputs, order = {"x": x}, ["x"]
    if r.chance(0.4):
        inputs["n"] = length
        order.append("n")
    else:
        order.append("")
    if r.chance(0.5):
        return Case(op, inputs, {"axis": axis, "inverse": inverse, "onesided": onesided}, opset=17, order=order, constants=("n",), tolerance=1e-4)
    inputs["axis"] = np.array(axis - r.pick((0, len(shape))), np.int64)
    return Case(op, inputs, {"inverse": inverse, "onesided": onesided}, opset=20, order=[*order, "axis"], constants=("n", "axis"), tolerance=1e-4)


@generator("STFT")
def stft(r, op):
    frame, dtype = r.integer(2, 8), any_dtype(r, op, 17, "T1")
    signal = r.array((r.integer(1, 2), frame + r.integer(0, 12), 1), dtype)
    inputs = {"x": signal, "step": np.array(r.integer(1, 4), np.int64), "window": r.array((frame,), dtype), "frame": np.array(frame, np.int64)}
    return Case(op, inputs, {"onesided": flag(r)}, opset=17, constants=("step", "frame"), may_be_constant=("window",), tolerance=1e-4)


@generator("DeformConv")
def deform_conv(r, op):
    n, group, offset_groups = r.integer(1, 2), r.pick((1, 2)), r.pick((1, 2))
    c, o = 2 * r.integer(1, 2), 2 * r.integer(1, 2)
    kernel, size, pads, strides = [r.integer(1, 3) for _ in range(2)], [r.integer(3, 7) for _ in range(2)], [r.integer(0, 1) for _ in range(4)], [r.integer(1, 2) for _ in range(2)]
    out = [(size[d] + pads[d] + pads[d + 2] - kernel[d]) // strides[d] + 1 for d in range(2)]
    points = offset_groups * kernel[0] * kernel[1]
    inputs = {"x": r.array((n, c, *size), np.float32), "w": r.array((o, c // group, *kernel), np.float32), "offset": r.array((n, 2 * points, *out), np.float32, low=-1.5, high=1.5)}
    order = ["x", "w", "offset", ""]
    if r.chance(0.5):
        inputs["b"] = r.array((o,), np.float32)
        order[3] = "b"
    if r.chance(0.5):
        inputs["mask"] = r.array((n, points, *out), np.float32, low=0, high=1)
        order.append("mask")
    return Case(op, inputs, {"group": group, "offset_group": offset_groups, "pads": pads, "strides": strides, "kernel_shape": kernel}, opset=19, order=order, may_be_constant=("w", "b"), tolerance=1e-4)


@generator("Upsample")
def upsample(r, op):
    shape = (r.integer(1, 2), r.integer(1, 2), r.integer(1, 5), r.integer(1, 5))
    scales = np.array([1, 1, r.integer(1, 3), r.integer(1, 3)], np.float32)
    return Case(op, {"x": r.array(shape, np.float32), "scales": scales}, {"mode": r.pick(("nearest", "linear"))}, opset=9, constants=("scales",))


@generator("CumProd")
def cumprod(r, op):
    shape = r.shape(1, 4)
    return Case(op, {"x": r.array(shape, any_dtype(r, op, 26), low=-2, high=2), "axis": np.array(r.axis(len(shape)), np.int64)}, {"exclusive": flag(r), "reverse": flag(r)}, opset=26, may_be_constant=("axis",))


@generator("BitCast")
def bit_cast(r, op):
    source = r.pick(((np.float32, np.int32, np.uint32), (np.float64, np.int64, np.uint64), (np.float16, np.int16, np.uint16), (np.int8, np.uint8)))
    to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(r.pick(source)))
    return Case(op, {"x": r.array(r.shape(), r.pick(source), 0.2)}, {"to": to}, opset=26)


@generator("TensorScatter")
def tensor_scatter(r, op):
    b, h, s, d = r.integer(1, 2), r.integer(1, 2), r.integer(2, 6), r.integer(1, 3)
    n, dtype, mode = r.integer(1, 2), any_dtype(r, op, 24), r.pick(("linear", "circular"))
    at = r.array((b,), np.int64, low=0, high=s - n if mode == "linear" else s - 1)
    return Case(op, {"cache": r.array((b, h, s, d), dtype), "update": r.array((b, h, n, d), dtype), "at": at}, {"mode": mode, "axis": r.pick((None, 2, -2))}, opset=24)


@generator("RotaryEmbedding")
def rotary(r, op):
    b, h, s, d = r.integer(1, 2), r.integer(1, 3), r.integer(1, 5), r.pick((2, 4, 8))
    part = d if r.chance(0.6) else r.pick([p for p in (2, 4, 8) if p <= d])
    attributes = {"interleaved": flag(r), "rotary_embedding_dim": None if part == d else part}
    x = r.array((b, h, s, d), np.float32)
    if r.chance(0.4):
        x, attributes["num_heads"] = x.transpose(0, 2, 1, 3).reshape(b, s, h * d).copy(), h
    inputs = {"x": x}
    caches = (b, s, part // 2)
    if r.chance(0.5):
        longest = s + r.integer(0, 4)
        caches = (longest, part // 2)
        positions = r.array((b, s), np.int64, low=0, high=longest - 1)
    inputs.update(cos=r.array(caches, np.float32), sin=r.array(caches, np.float32))
    if len(caches) == 2:
        inputs["p"] = positions
    return Case(op, inputs, attributes, opset=23, may_be_constant=("cos", "sin"))


@generator("Attention")
def attention(r, op):
    b, groups, kv_heads, d, dv = r.integer(1, 2), r.integer(1, 2), r.integer(1, 3), r.pick((1, 4, 8)), r.pick((1, 4, 8))
    h, s, t = groups * kv_heads, r.integer(1, 5), r.integer(1, 6)
    inputs = {"q": r.array((b, h, s, d), np.float32), "k": r.array((b, kv_heads, t, d), np.float32), "v": r.array((b, kv_heads, t, dv), np.float32)}
    if r.chance(0.5):
        mask = r.part((b, h, s, t)) if r.chance(0.3) else (s, t)
        mask = mask if len(mask) >= 2 and mask[-1] == t else (s, t)
        inputs["m"] = r.array(mask, np.float32)
    attributes = {"is_causal": flag(r, 0.3), "scale": r.pick((None, 0.5)), "softcap": r.pick((None, 2.0))}
    return Case(op, inputs, attributes, opset=23, tolerance=1e-4)


@generator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(r, op):
    n, c, inner = r.integer(1, 4), r.integer(1, 5), r.shape(0, 2, 0)
    inputs = {"x": r.array((n, c, *inner), np.float32), "t": r.array((n, *inner), np.int64, low=0, high=c - 1)}
    if r.chance(0.5):
        inputs["w"] = r.array((c,), np.float32, low=0.1, high=2)
    return Case(op, inputs, {"reduction": r.pick(("none", "sum", "mean")), "ignore_index": r.pick((None, 0))}, opset=13, tolerance=1e-4)


@generator("CenterCropPad")
def center_crop_pad(r, op):
    shape = r.shape(1, 4, 0)
    axes = r.some(range(len(shape)), 1)
    target = np.array([r.integer(1, 9) for _ in axes], np.int64)
    return Case(op, {"x": r.array(shape, np.float32), "shape": target}, {"axes": axes}, opset=18, constants=("shape",))


@generator("TfIdfVectorizer")
def tfidf(r, op):
    shape = (r.integer(1, 9),) if r.chance(0.5) else (r.integer(1, 3), r.integer(1, 9))
    singles, pairs = r.integer(1, 4), r.integer(1, 4)
    pool = [int(i) for i in r.g.permutation(6)[:singles]]
    chosen = r.g.permutation(36)[:pairs]
    for pair in chosen:
        pool += [int(pair) // 6, int(pair) % 6]
    count = singles + pairs
    attributes = {"mode": r.pick(("TF", "IDF", "TFIDF")), "min_gram_length": r.integer(1, 2), "max_gram_length": 2, "max_skip_count": r.integer(0, 3),
                  "ngram_counts": [0, singles], "ngram_indexes": [int(i) for i in r.g.permutation(count)], "pool_int64s": pool}
    if r.chance(0.5):
        attributes["weights"] = [float(w) for w in r.g.integers(1, 5, count)]
    return Case(op, {"x": r.array(shape, r.pick((np.int32, np.int64)), low=0, high=5)}, attributes, opset=9)


@generator("CausalConvWithState")
def causal_conv(r, op):
    n, c, length, k = r.integer(1, 2), r.integer(1, 4), r.integer(1, 6), r.integer(1, 4)
    inputs, order = {"x": r.array((n, c, length), np.float32), "w": r.array((c, 1, k), np.float32)}, ["x", "w", ""]
    if r.chance(0.5):
        inputs["b"] = r.array((c,), np.float32)
        order[2] = "b"
    if r.chance(0.5):
        inputs["past"] = r.array((n, c, k - 1), np.float32)
        order.append("past")
    return Case(op, inputs, {"activation": r.pick(("none", "silu", "swish"))}, ("y", "present"), opset=27, order=order, may_be_constant=("w", "b"), fixed=("x", "w", "past"))


@generator("LinearAttention")
def linear_attention(r, op):
    b, t, kv, groups, dk, dv = r.integer(1, 2), r.integer(1, 4), r.integer(1, 2), r.integer(1, 2), r.integer(1, 4), r.integer(1, 4)
    rule = r.pick(("linear", "gated", "delta", "gated_delta"))
    inputs = {"q": r.array((b, t, kv * groups * dk), np.float32), "k": r.array((b, t, kv * dk), np.float32, low=-0.5, high=0.5), "v": r.array((b, t, kv * dv), np.float32)}
    order = ["q", "k", "v", "", "", ""]
    if r.chance(0.5):
        inputs["past"] = r.array((b, kv, dk, dv), np.float32)
        order[3] = "past"
    if rule.startswith("gated"):
        inputs["decay"] = r.array((b, t, kv * r.pick((1, dk))), np.float32, low=-1, high=0)
        order[4] = "decay"
    if rule.endswith("delta"):
        inputs["beta"] = r.array((b, t, kv), np.float32, low=0, high=1)
        order[5] = "beta"
    while not order[-1]:
        order.pop()
    return Case(op, inputs, {"kv_num_heads": kv, "q_num_heads": kv * groups, "update_rule": rule}, ("y", "present"), opset=27, order=order, fixed=tuple(inputs), tolerance=2e-4)
