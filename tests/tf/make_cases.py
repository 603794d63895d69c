#!/usr/bin/env python3
"""Writes cases.npz: small TensorFlow graphs with inputs, and the outputs that TensorFlow gives; two SavedModels.

Usage: make_cases.py [FOLDER]     (needs tensorflow-cpu; made with 2.21.0)
Arrays are named CASE|graph (the bytes of the GraphDef), CASE|in|NAME and CASE|out|NODE.
"""
import os
import pathlib
import shutil
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

v1 = tf.compat.v1
raw = tf.raw_ops
arrays = {}
random = np.random.RandomState(7)


def normal(*shape):
    return random.randn(*shape).astype(np.float32)


def store(name, graph_def, inputs, outputs):
    for n in graph_def.node:
        for key in ("_output_shapes", "_class"):
            n.attr.pop(key, None)
    graph_def.ClearField("versions")
    arrays[name + "|graph"] = np.frombuffer(graph_def.SerializeToString(deterministic=True), np.uint8)
    for key, value in inputs.items():
        arrays[f"{name}|in|{key}"] = np.asarray(value)
    for key, value in outputs.items():
        arrays[f"{name}|out|{key}"] = np.asarray(value)


def case(name, inputs, build, control_v2=False, shapes=None):
    """`build` makes a tensor, or several, from placeholders for the inputs (in a TensorFlow 1 graph). `shapes`: what the
    file declares in place of the inputs' own."""
    with tf.Graph().as_default() as graph:
        (v1.enable_control_flow_v2 if control_v2 else v1.disable_control_flow_v2)()
        shapes = {k: np.asarray(v).shape for k, v in inputs.items()} | (shapes or {})
        feed = {k: v1.placeholder(np.asarray(v).dtype, shapes[k], name=k) for k, v in inputs.items()}
        made = build(**feed)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        outs = [tf.identity(t, name=f"out{i}") for i, t in enumerate(made)]
        with v1.Session(graph=graph) as session:
            values = session.run(outs, {feed[k]: v for k, v in inputs.items()})
        keep = v1.graph_util.extract_sub_graph(graph.as_graph_def(), [t.op.name for t in outs])
        keep.library.CopyFrom(graph.as_graph_def().library)
        store(name, keep, inputs, {t.op.name: v for t, v in zip(outs, values)})


def function_case(name, inputs, function):
    """A TensorFlow 2 function, frozen with its functional control flow."""
    specs = [tf.TensorSpec(np.asarray(v).shape, np.asarray(v).dtype, name=k) for k, v in inputs.items()]
    concrete = tf.function(function).get_concrete_function(*specs)
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    values = frozen(*[tf.constant(v) for v in inputs.values()])
    values = values if isinstance(values, (list, tuple)) else [values]
    outs = {t.op.name: v.numpy() for t, v in zip(frozen.outputs, values)}
    store(name, frozen.graph.as_graph_def(), {t.op.name: v for t, v in zip(frozen.inputs, inputs.values())}, outs)


def control_flow():
    x = normal(5, 2, 3)

    def scan(x):
        def body(i, total, out):
            total = total + x[i]
            return i + 1, total, out.write(i, tf.tanh(total))

        out = tf.TensorArray(tf.float32, size=5, clear_after_read=False)
        _, total, out = v1.while_loop(lambda i, *_: i < 5, body, (0, tf.zeros([2, 3]), out))
        return total, out.stack()

    case("while_scan", {"x": x}, scan)
    case("while_scan_functional", {"x": x}, scan, control_v2=True)
    case("while_data_dependent", {"x": np.float32(1.5)},
         lambda x: v1.while_loop(lambda i, v: v < 100.0, lambda i, v: (i + 1, v * x), (0, x)))
    case("while_no_turn", {"x": np.float32(1.5)},
         lambda x: v1.while_loop(lambda i, v: v > 100.0, lambda i, v: (i + 1, v * x), (0, x)))

    def nested(x):
        def inner(i, v):
            return v1.while_loop(lambda j, w: j < i, lambda j, w: (j + 1, w + x), (0, v))[1]

        return v1.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, inner(i, v) * 2.0), (0, tf.zeros([3])))[1]

    case("while_nested", {"x": normal(3)}, nested)
    case("while_nested_functional", {"x": normal(3)}, nested, control_v2=True)

    def growing(x):
        out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        _, out = v1.while_loop(lambda i, o: i < 5, lambda i, o: (i + 1, o.write(i, x[i] * 2.0)), (0, out))
        return out.stack()

    case("array_growing", {"x": x}, growing)

    def reversed_writes(x):
        out = tf.TensorArray(tf.float32, size=5, clear_after_read=False)
        _, out = v1.while_loop(lambda i, o: i < 5, lambda i, o: (i + 1, o.write(4 - i, x[i])), (0, out))
        return out.stack(), out.gather([3, 0])

    case("array_any_order", {"x": x}, reversed_writes)

    def unstack_concat(x):
        a = tf.TensorArray(tf.float32, size=5, clear_after_read=False).unstack(x)
        b = tf.TensorArray(tf.float32, size=3, clear_after_read=False).split(tf.reshape(x, [15, 2]), [5, 5, 5])
        return a.read(2), a.concat(), a.size(), b.stack(), b.concat()

    case("array_operators", {"x": x}, unstack_concat)

    def read_back(x):
        out = tf.TensorArray(tf.float32, size=6, element_shape=[2, 3], clear_after_read=False).write(0, x[0])
        _, out = v1.while_loop(lambda i, o: i < 6, lambda i, o: (i + 1, o.write(i, o.read(i - 1) * 2.0)), (1, out))
        return out.stack()

    case("array_read_in_loop", {"x": x}, read_back)

    def cond(x, p):
        a, b = v1.cond(p, lambda: (x * 2.0, x + 1.0), lambda: (x - 3.0, tf.zeros([2, 3])))
        return a, b, v1.cond(tf.reduce_sum(a) > 0.0, lambda: a + b, lambda: a * b)

    for p in (False, True):
        case(f"cond_{p}", {"x": normal(2, 3), "p": p}, cond)
        case(f"cond_functional_{p}", {"x": normal(2, 3), "p": p}, cond, control_v2=True)

    def nested_cond(x, p, q):
        return v1.cond(p, lambda: v1.cond(q, lambda: x + 1.0, lambda: x * 3.0) * 2.0,
                       lambda: v1.cond(q, lambda: -x, lambda: tf.exp(x)))

    for p in (False, True):
        for q in (False, True):
            case(f"cond_nested_{p}_{q}", {"x": normal(3), "p": p, "q": q}, nested_cond)

    def cond_in_loop(x):
        def body(i, v):
            return i + 1, v1.cond(tf.equal(i % 2, 0), lambda: v + x, lambda: v * x)

        return v1.while_loop(lambda i, v: i < 5, body, (0, tf.ones([3])))[1]

    def loop_in_cond(x, p):
        loop = lambda: v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), (0, x))[1]
        return v1.cond(p, loop, lambda: -x)

    case("cond_in_loop", {"x": normal(3)}, cond_in_loop)
    case("cond_constant", {"x": normal(3)},
         lambda x: v1.cond(tf.constant(True), lambda: x + 1.0, lambda: x - 1.0))
    for p in (False, True):
        case(f"loop_in_cond_{p}", {"x": normal(3), "p": p}, loop_in_cond)

    def many(x):
        for k in range(6):
            x = v1.cond(tf.reduce_sum(x) > float(k), lambda: x * 0.5, lambda: x + 1.0)
        return x

    case("cond_chain", {"x": normal(3)}, many)

    lstm = tf.keras.layers.LSTM(4, return_sequences=True)
    gru = tf.keras.layers.GRU(3, return_sequences=True, go_backwards=True)
    sequence = normal(2, 5, 3)
    function_case("keras_lstm", {"x": sequence}, lambda x: lstm(x))
    function_case("keras_gru", {"x": sequence}, lambda x: gru(x))

    @tf.function
    def called(a, b):
        return a * 2.0 + b, a - b

    def calls(x):
        a, b = called(x, x + 1.0)
        return called(b, a)[0]

    function_case("calls", {"x": normal(3)}, calls)

    def autograph(x):
        total = tf.zeros([3])
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(4):
            if x[i, 0] > 0.0:
                total += x[i]
            else:
                total -= x[i]
            rows = rows.write(i, total)
        return rows.stack()

    function_case("autograph", {"x": normal(4, 3)}, autograph)


def audio():
    wav = raw.EncodeWav(audio=tf.constant(normal(400, 2) / 4), sample_rate=8000)
    decoded = tf.audio.decode_wav(wav)
    samples = decoded.audio.numpy()
    for squared in (False, True):
        case(f"spectrogram_{squared}", {"x": samples},
             lambda x, s=squared: raw.AudioSpectrogram(input=x, window_size=100, stride=60, magnitude_squared=s))
    case("mfcc", {"x": samples}, lambda x: raw.Mfcc(
        spectrogram=raw.AudioSpectrogram(input=x, window_size=128, stride=64, magnitude_squared=True),
        sample_rate=8000, upper_frequency_limit=3000, lower_frequency_limit=50, filterbank_channel_count=20,
        dct_coefficient_count=8))
    for channels, count in ((-1, -1), (1, 300), (3, 500)):
        case(f"decode_wav_{channels}_{count}", {},
             lambda c=channels, n=count: list(raw.DecodeWav(contents=wav.numpy(), desired_channels=c, desired_samples=n)))


def detection():
    boxes = np.sort(random.rand(30, 2, 2).astype(np.float32), axis=1).reshape(30, 4)
    scores = random.rand(30).astype(np.float32)
    feed = {"boxes": boxes, "scores": scores}
    case("nms", feed, lambda boxes, scores: raw.NonMaxSuppression(
        boxes=boxes, scores=scores, max_output_size=8, iou_threshold=0.4))
    case("nms_v2", feed, lambda boxes, scores: raw.NonMaxSuppressionV2(
        boxes=boxes, scores=scores, max_output_size=8, iou_threshold=0.3))
    case("nms_v3", feed, lambda boxes, scores: raw.NonMaxSuppressionV3(
        boxes=boxes, scores=scores, max_output_size=20, iou_threshold=0.5, score_threshold=0.4))
    for pad in (False, True):
        case(f"nms_v4_{pad}", feed, lambda boxes, scores, p=pad: list(raw.NonMaxSuppressionV4(
            boxes=boxes, scores=scores, max_output_size=25, iou_threshold=0.5, score_threshold=0.4,
            pad_to_max_output_size=p)))
        case(f"nms_v5_{pad}", feed, lambda boxes, scores, p=pad: list(raw.NonMaxSuppressionV5(
            boxes=boxes, scores=scores, max_output_size=25, iou_threshold=0.5, score_threshold=0.4,
            soft_nms_sigma=0.0, pad_to_max_output_size=p)))
    image = normal(2, 6, 7, 2)
    rois = (random.rand(3, 4) * 1.4 - 0.2).astype(np.float32)
    for method in ("bilinear", "nearest"):
        for size in ([3, 4], [1, 1]):
            case(f"crop_{method}_{size[0]}", {"x": image, "boxes": rois}, lambda x, boxes, m=method, s=size: raw.CropAndResize(
                image=x, boxes=boxes, box_ind=[0, 1, 1], crop_size=s, method=m, extrapolation_value=-3.0))


def images():
    x = normal(1, 4, 5, 2)
    for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"):
        for corners, half in ((False, False), (True, False), (False, True)):
            for size in ([7, 9], [3, 2], [8, 10], [1, 1]):
                case(f"{op}_{corners}_{half}_{size[0]}", {"x": x}, lambda x, o=op, c=corners, h=half, s=size:
                     getattr(raw, o)(images=x, size=s, align_corners=c, half_pixel_centers=h))
    case("resize_runtime_size", {"x": x, "k": np.int32(3)}, lambda x, k: raw.ResizeNearestNeighbor(
        images=x, size=tf.stack([k * 2, k + 4])))


def layers():
    x = normal(1, 8, 9, 4)
    for padding in ("SAME", "VALID"):
        for stride, dilation in ((1, 1), (2, 1), (1, 2)):
            case(f"conv2d_{padding}_{stride}_{dilation}", {"x": x}, lambda x, p=padding, s=stride, d=dilation:
                 raw.Conv2D(input=x, filter=normal(3, 2, 4, 3), strides=[1, s, s, 1], padding=p, dilations=[1, d, d, 1]))
        case(f"depthwise_{padding}", {"x": x}, lambda x, p=padding: raw.DepthwiseConv2dNative(
            input=x, filter=normal(3, 3, 4, 2), strides=[1, 2, 2, 1], padding=p))
        case(f"conv3d_{padding}", {"x": normal(1, 4, 5, 6, 2)}, lambda x, p=padding: raw.Conv3D(
            input=x, filter=normal(2, 3, 2, 2, 3), strides=[1, 1, 2, 1, 1], padding=p))
        case(f"conv_transpose_{padding}", {"x": normal(1, 3, 4, 2)}, lambda x, p=padding: tf.nn.conv2d_transpose(
            x, normal(3, 3, 3, 2), [1, 6, 8, 3] if p == "SAME" else [1, 7, 9, 3], 2, p))
        for op in ("MaxPool", "AvgPool"):
            case(f"{op}_{padding}", {"x": x}, lambda x, o=op, p=padding: getattr(raw, o)(
                **{"input" if o == "MaxPool" else "value": x}, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding=p))
    case("conv2d_explicit", {"x": x}, lambda x: raw.Conv2D(
        input=x, filter=normal(3, 3, 4, 2), strides=[1, 2, 1, 1], padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 2, 0, 3, 0, 0]))
    case("conv2d_grouped", {"x": x}, lambda x: raw.Conv2D(
        input=x, filter=normal(3, 3, 2, 6), strides=[1, 1, 1, 1], padding="SAME"))
    for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        case(op, {"x": x}, lambda x, o=op: getattr(raw, o)(
            x=x, scale=normal(4), offset=normal(4), mean=normal(4), variance=np.abs(normal(4)), epsilon=0.01,
            is_training=False).y)
    case("lrn", {"x": x}, lambda x: raw.LRN(input=x, depth_radius=1, bias=1.5, alpha=0.3, beta=0.6))
    case("space_to_batch", {"x": x}, lambda x: raw.SpaceToBatchND(input=x, block_shape=[2, 3], paddings=[[1, 1], [0, 3]]))
    case("batch_to_space", {"x": normal(6, 2, 3, 2)}, lambda x: raw.BatchToSpaceND(
        input=x, block_shape=[2, 3], crops=[[1, 0], [2, 1]]))
    case("space_to_depth", {"x": normal(1, 4, 6, 2)}, lambda x: raw.SpaceToDepth(input=x, block_size=2))
    case("depth_to_space", {"x": normal(1, 2, 3, 8)}, lambda x: raw.DepthToSpace(input=x, block_size=2))
    wide = normal(4, 6) * 4
    for bits, narrow in ((8, False), (8, True), (4, False)):
        case(f"fake_quant_args_{bits}_{narrow}", {"x": wide}, lambda x, b=bits, n=narrow: raw.FakeQuantWithMinMaxArgs(
            inputs=x, min=-1.3, max=5.1, num_bits=b, narrow_range=n))
        case(f"fake_quant_vars_{bits}_{narrow}", {"x": wide}, lambda x, b=bits, n=narrow: raw.FakeQuantWithMinMaxVars(
            inputs=x, min=-2.7, max=3.3, num_bits=b, narrow_range=n))
        case(f"fake_quant_channels_{bits}_{narrow}", {"x": wide},
             lambda x, b=bits, n=narrow: raw.FakeQuantWithMinMaxVarsPerChannel(
                 inputs=x, min=[-1., -.5, -3, 0, -2, -6], max=[1., 2, 3, 4, 0, 6], num_bits=b, narrow_range=n))
    h = normal(2, 3)
    weights = {"w": normal(7, 12), "wci": normal(3), "wcf": normal(3), "wco": normal(3), "b": normal(12)}
    for peephole in (False, True):
        case(f"lstm_cell_{peephole}", {"x": normal(2, 4), "h": h}, lambda x, h, p=peephole: list(raw.LSTMBlockCell(
            x=x, cs_prev=h * 0.5, h_prev=h, **weights, forget_bias=0.7, cell_clip=0.8, use_peephole=p)))
        case(f"block_lstm_{peephole}", {"x": normal(5, 2, 4), "h": h}, lambda x, h, p=peephole: list(raw.BlockLSTM(
            seq_len_max=np.int64(5), x=x, cs_prev=h * 0.5, h_prev=h, **weights, use_peephole=p)))
        case(f"block_lstm_v2_{peephole}", {"x": normal(5, 2, 4), "h": h}, lambda x, h, p=peephole: list(raw.BlockLSTMV2(
            seq_len_max=np.int64(5), x=x, cs_prev=h * 0.5, h_prev=h, **weights, use_peephole=p)))
    case("gru_cell", {"x": normal(2, 4), "h": h}, lambda x, h: list(raw.GRUBlockCell(
        x=x, h_prev=h, w_ru=normal(7, 6), w_c=normal(7, 3), b_ru=normal(6), b_c=normal(3))))


def moves():
    x = normal(3, 4, 5)
    case("gather_nd", {"x": x}, lambda x: raw.GatherNd(params=x, indices=[[0, 1], [2, 3]]))
    case("gather_axis", {"x": x}, lambda x: tf.gather(x, [[3, 0], [1, 1]], axis=1))
    case("gather_batch", {"x": x, "i": np.int32([[4, 0], [1, 1], [2, 3]])}, lambda x, i: tf.gather(x, i, axis=2, batch_dims=1))
    case("gather_batch_2", {"x": normal(2, 3, 4, 5), "i": np.int32(random.randint(0, 4, (2, 3, 2, 2)))},
         lambda x, i: tf.gather(x, i, axis=2, batch_dims=2))
    case("top_k", {"x": x}, lambda x: list(tf.math.top_k(x, 3)))
    case("where", {"x": np.float32([[0, 1, 2], [3, 0, 0]])}, lambda x: tf.where(tf.not_equal(x, 0.0)))
    for exclusive in (False, True):
        for back in (False, True):
            case(f"cumsum_{exclusive}_{back}", {"x": x}, lambda x, e=exclusive, b=back: tf.cumsum(x, 1, e, b))
    case("cumprod", {"x": x}, lambda x: tf.math.cumprod(x, -1))
    case("scatter_nd", {"x": normal(4, 2)}, lambda x: tf.scatter_nd([[3], [0], [3], [1]], x, [5, 2]))
    for op in ("Update", "Add", "Sub", "Max", "Min"):
        case(f"tensor_scatter_{op}", {"x": normal(4, 3), "u": normal(2, 3)}, lambda x, u, o=op: getattr(
            raw, "TensorScatter" + o)(tensor=x, indices=[[2], [0]], updates=u))
    case("unravel_index", {"i": np.int32([0, 22, 59])}, lambda i: tf.unravel_index(i, [3, 4, 5]))
    case("reverse_sequence", {"x": x}, lambda x: tf.reverse_sequence(x, [1, 3, 4], seq_axis=1, batch_axis=0))
    case("unique", {"x": np.int32([5, 2, 5, 9, 2])}, lambda x: list(tf.unique_with_counts(x)))
    for lower, upper in ((0, -1), (-1, 0), (1, 1), (-1, 2), (0, 0)):
        case(f"band_part_{lower}_{upper}", {"x": x}, lambda x, l=lower, u=upper: tf.linalg.band_part(x, l, u))
    case("roll", {"x": x}, lambda x: tf.roll(x, [2, -7], [0, 2]))
    case("broadcast_to", {"x": normal(4, 1)}, lambda x: tf.broadcast_to(x, [2, 4, 3]))
    case("mirror_pad_reflect", {"x": x}, lambda x: tf.pad(x, [[1, 2], [0, 3], [2, 0]], "REFLECT"))
    case("mirror_pad_symmetric", {"x": x}, lambda x: tf.pad(x, [[1, 3], [0, 3], [2, 0]], "SYMMETRIC"))
    case("one_hot", {"i": np.int32([[0, 2], [5, -1]])}, lambda i: tf.one_hot(i, 4, 2.0, -1.0, axis=1))
    case("segment", {"x": normal(6, 2)}, lambda x: [f(x, [0, 0, 1, 3, 3, 3]) for f in (tf.math.segment_sum, tf.math.segment_mean)]
         + [f(x, [0, 0, 1, 2, 2, 2]) for f in (tf.math.segment_max, tf.math.segment_min, tf.math.segment_prod)])
    case("unsorted_segment", {"x": normal(5, 2), "i": np.int32([3, 0, 3, 1, 0])}, lambda x, i: [
        f(x, i, 5) for f in (tf.math.unsorted_segment_sum, tf.math.unsorted_segment_prod, tf.math.unsorted_segment_max,
                             tf.math.unsorted_segment_min)])
    k = {"x": x, "k": np.int32(2)}
    case("slice_at_run_time", k, lambda x, k: [x[k], x[:, k:], x[k - 1:k + 1, ..., ::-2], x[:, -k:, 1], x[..., k]])
    case("slice_op_at_run_time", k, lambda x, k: [tf.slice(x, tf.stack([k, 0, 1]), [1, -1, 2]),
                                                  tf.slice(x, [1, 1, 1], tf.stack([-1, k, -1]))])
    case("tile_at_run_time", k, lambda x, k: tf.tile(x, tf.stack([1, k, k])))
    case("fill_at_run_time", k, lambda x, k: [tf.fill(tf.stack([k, 3]), 7.0), tf.broadcast_to(x, tf.stack([k, 3, 4, 5]))])
    case("reshape_at_run_time", k, lambda x, k: tf.reshape(x, tf.stack([k * 3, -1])))


def maths():
    a, b = normal(3, 4), normal(3, 4)
    b[0] = 0
    two = {"a": a, "b": b}
    for op in ("Xdivy", "DivNoNan", "MulNoNan", "Atan2", "SquaredDifference", "FloorDiv", "FloorMod", "TruncateMod"):
        values = two if op.endswith("NoNan") or op in ("Atan2", "SquaredDifference") else {"a": a, "b": b + 0.7}
        case(op, values, lambda a, b, o=op: getattr(raw, o)(x=a, y=b))
    case("Xlogy", {"a": a * (np.abs(a) > 0.4), "b": np.abs(b) + 0.1}, lambda a, b: raw.Xlogy(x=a, y=b))
    i, j = random.randint(-20, 20, (4, 5)).astype(np.int32), random.randint(1, 9, (4, 5)).astype(np.int32)
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift", "FloorDiv", "FloorMod", "TruncateDiv",
               "TruncateMod"):
        case(op + "_i32", {"a": i, "b": j}, lambda a, b, o=op: getattr(raw, o)(x=a, y=b))
    case("invert", {"a": i}, lambda a: raw.Invert(x=a))
    odd = np.float32([1, np.nan, np.inf, -np.inf, 0])
    case("finite", {"a": odd}, lambda a: [tf.math.is_finite(a), tf.math.is_inf(a), tf.math.is_nan(a)])
    case("unary", {"a": a}, lambda a: [tf.math.erfc(a), tf.math.softplus(a), tf.nn.softsign(a), tf.nn.selu(a), tf.nn.elu(a),
                                       tf.nn.relu6(a * 4), tf.nn.leaky_relu(a, 0.3), tf.round(a * 4), tf.math.rint(a * 4),
                                       tf.math.log1p(tf.abs(a)), tf.math.expm1(a), tf.math.rsqrt(tf.abs(a)), tf.sign(a)])
    case("l2_loss", {"a": a}, lambda a: tf.nn.l2_loss(a))
    case("lin_space", {"a": a}, lambda a: a[0, 0] + raw.LinSpace(start=1.0, stop=4.0, num=5))
    case("norms", {"a": a}, lambda a: [raw.EuclideanNorm(input=a, axis=1), tf.reduce_all(a > -9.0, 0), tf.reduce_any(a > 1.0, 1)])
    for equation, shapes in (("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
                             ("abc,cde->abde", [(2, 3, 4), (4, 2, 3)]), ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
                             ("ij->ji", [(2, 3)]), ("ii->i", [(3, 3)]), ("aecd,abcd->acbe", [(2, 3, 2, 4), (2, 5, 2, 4)])):
        feed = {f"x{k}": normal(*s) for k, s in enumerate(shapes)}
        case("einsum_" + equation.replace("->", "_to_").replace(",", "_").replace("...", "E"), feed,
             lambda e=equation, **x: tf.einsum(e, *x.values()))
    for version in ("BatchMatMul", "BatchMatMulV2"):
        case(version, {"a": normal(2, 3, 4), "b": normal(2, 5, 4)}, lambda a, b, o=version: getattr(raw, o)(x=a, y=b, adj_y=True))
    case("batch_matmul_v3", {"a": normal(2, 3, 4), "b": normal(1, 4, 5)}, lambda a, b: raw.BatchMatMulV3(x=a, y=b, Tout=tf.float32))
    case("select", {"a": a, "b": b}, lambda a, b: [raw.Select(condition=[True, False, True], x=a, y=b),
                                                   raw.SelectV2(condition=a > b, t=a, e=0.0)])


def saved_models(folder):
    """A SavedModel whose weights are constants, and the same with variables."""
    own = np.random.RandomState(8)  # whatever cases there are
    weights = own.randn(3, 2).astype(np.float32)
    for name, held in (("frozen", tf.constant(weights)), ("variables", tf.Variable(weights))):
        module = tf.Module()
        module.held = held  # saved below, before the next one takes its place
        module.run = tf.function(lambda x: {"b": tf.matmul(x, module.held), "a": tf.reduce_sum(x, 1)},
                                 input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")])
        tf.saved_model.save(module, str(folder / name), signatures=module.run)
        for extra in ("fingerprint.pb", "variables", "assets"):
            shutil.rmtree(folder / name / extra, ignore_errors=True)
            (folder / name / extra).unlink(missing_ok=True)
    x = own.randn(2, 3).astype(np.float32)
    np.savez(folder / "frozen" / "io.npz", x=x, a=x.sum(1), b=x @ weights)


def digits():
    """Functions made to keep the digits that 1 + x, exp(x) - 1 and 1 - erf(x) lose: relative to their size."""
    small = np.array([1e-30, -1e-12, 1e-8, -1e-6, 1e-4, -0.01, 0.1, -0.4, 0.49, 0.51, -0.7, 1, 3, 20], np.float32)
    edges = np.array([0, -1, np.inf, np.nan, 1e30], np.float32)
    for name, function in (("Log1p", tf.math.log1p), ("Expm1", tf.math.expm1)):
        case(name + "_digits", {"x": small}, lambda x: function(x) / x)
        case(name + "_edges", {"x": edges}, function)
    tail = np.array([-3, -0.2, 0, 0.3, 0.49, 0.51, 1, 2, 3, 4, 5, 7, 9], np.float32)
    case("Erfc_digits", {"x": tail}, lambda x: tf.math.erfc(x) * tf.exp(tf.maximum(x, 0.0) ** 2))
    case("Erfc_f64", {"x": tail.astype(np.float64)}, tf.math.erfc)
    case("Erfc_edges", {"x": np.array([np.inf, -np.inf, np.nan, 30], np.float32)}, tf.math.erfc)


def without_shapes():
    """The file does not say how many axes an input has."""
    unknown = {"x": None}
    case("unsized_matmul", {"x": normal(4, 3)}, lambda x: [tf.nn.softmax(tf.matmul(x, normal(3, 2))), tf.shape(x), x > 0.0],
         shapes=unknown)
    case("unsized_one_of_two", {"a": normal(2, 1), "x": normal(3)}, lambda a, x: a + x, shapes=unknown)
    case("unsized_conv", {"x": normal(1, 6, 5, 2)}, lambda x: tf.nn.conv2d(x, normal(3, 3, 2, 4), 2, "SAME"), shapes=unknown)
    case("unsized_rank_decides", {"x": normal(2, 3, 4)}, lambda x: tf.reshape(x, [-1, tf.rank(x)]), shapes=unknown)
    case("unsized_condition", {"x": normal(3, 2), "p": np.bool_(True)},
         lambda x, p: v1.cond(p, lambda: x * 2.0, lambda: x - 1.0), shapes=unknown)


def found_by_fuzzing():
    """What tests/fuzz_tf found."""
    # Backwards from before the first element: empty, where ONNX takes the first.
    for name, shape in (("", (3, 5)), ("_symbolic", (3, None))):
        case("StridedSlice_before_start" + name, {"x": normal(3, 5)}, lambda x: [x[:, -9:-8:-1], x[:, -9::-1], x[:, -4:-8:-1], x[:, -1::-2]], shapes={"x": shape})
    # Rows of negative segments are dropped, whatever the number.
    ids = np.array([2, -1, 0, -7, 2, 4], np.int32)
    for op in ("Sum", "Prod", "Max", "Min"):
        case(f"UnsortedSegment{op}_negative", {"x": normal(6, 3), "ids": ids},
             lambda x, ids: getattr(raw, "UnsortedSegment" + op)(data=x, segment_ids=ids, num_segments=5))
    nan, inf = np.nan, np.inf
    rows = np.float32([[nan, 1, 2], [2, nan, 1], [nan, nan, nan], [-inf, nan, -inf], [inf, nan, inf], [3, 3, nan]])
    for op in ("ArgMax", "ArgMin"):
        for dtype in (np.float32, np.float64):
            case(f"{op}_nan_{np.dtype(dtype).name}", {"x": rows.astype(dtype)}, lambda x, f=getattr(raw, op): f(input=x, dimension=1))
    # Windows of 3-D pools with SAME padding and a stride above the kernel start inside the image.
    for op in ("MaxPool3D", "AvgPool3D"):
        for n in (5, 6, 7, 8):
            case(f"{op}_gaps_{n}", {"x": normal(1, n, 9, 7, 2)}, lambda x, f=getattr(raw, op): f(
                input=x, ksize=[1, 1, 2, 1, 1], strides=[1, 3, 4, 2, 1], padding="SAME"))
    bounds = {"b": np.int32([-9]), "e": np.int32([-12])}
    case("StridedSlice_before_start_of_the_run", {"x": normal(3, 5), "c": np.int32([-4]), **bounds}, lambda x, b, e, c: [
        raw.StridedSlice(input=x, begin=low, end=high, strides=[-1], end_mask=mask) for low in (b, c, [-2]) for high, mask in ((e, 0), ([0], 1))])
    case("fake_quant_of_the_run", {"x": 4 * normal(3, 4), "low": np.float32([-1, -2, 0, 0]), "high": np.float32([3, 0.5, 1, 0])}, lambda x, low, high: [
        raw.FakeQuantWithMinMaxVarsPerChannel(inputs=x, min=low, max=high),
        raw.FakeQuantWithMinMaxVars(inputs=x, min=tf.reduce_min(x), max=tf.reduce_max(x), num_bits=4)])
    for index in (0, 1, 2, 3, 7, -1):
        case(f"case_{index}", {"x": normal(4), "i": np.int32(index)}, lambda x, i: tf.switch_case(i, [
            lambda: x * 2.0, lambda: x - 1.0, lambda: -x]), control_v2=True)
    case("case_known", {"x": normal(4)}, lambda x: tf.switch_case(tf.constant(1), [lambda: x * 2.0, lambda: x - 1.0]), control_v2=True)
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        for dtype in (np.float32, np.float64, np.int32):
            case(f"Segment{op}_without_rows_{np.dtype(dtype).name}", {"x": (4 * normal(5, 3)).astype(dtype)}, lambda x, f=getattr(raw, "Segment" + op): f(
                data=x, segment_ids=np.int32([1, 1, 3, 4, 4])))
    corners = np.sort(random.rand(12, 2, 2).astype(np.float32), 1).reshape(12, 4)
    for sigma in (0.0, 0.1, 0.5):
        case(f"soft_nms_{sigma}", {"b": corners, "s": random.rand(12).astype(np.float32), "sigma": np.float32(sigma)}, lambda b, s, sigma: list(
            raw.NonMaxSuppressionV5(boxes=b, scores=s, max_output_size=np.int32(7), iou_threshold=np.float32(0.4), score_threshold=np.float32(0.1),
                                    soft_nms_sigma=sigma, pad_to_max_output_size=True)))
    weights = {"w": normal(5, 12), "wci": normal(3), "wcf": normal(3), "wco": normal(3), "b": normal(12)}
    for n in (0, 2, 4):
        case(f"block_lstm_short_{n}", {"x": normal(4, 2, 2), "n": np.int64(n)}, lambda x, n: [raw.BlockLSTM(
            seq_len_max=n, x=x, cs_prev=normal(2, 3), h_prev=normal(2, 3), **weights)[k] for k in (1, 6)])
    # Sizes that the file does not say, of which some decide how an operator is read.
    unknown = {"x": (None, None), "y": (None, None)}
    case("two_batches", {"x": normal(2, 3), "y": normal(4, 3)}, lambda x, y: [tf.concat([x, y], 0), tf.matmul(x, y, transpose_b=True)], shapes=unknown)
    case("add_n_of_unknown_sizes", {"x": normal(2, 3), "y": normal(2, 3)}, lambda x, y: raw.AddN(inputs=[x, y, normal(2, 3)]), shapes=unknown)
    case("unsized_squeeze_sizes", {"x": normal(1, 3)}, lambda x: tf.squeeze(x), shapes=unknown)
    case("unsized_split_sizes", {"x": normal(2, 6)}, lambda x: tf.split(x, [2, 4], 1) + tf.split(x, 3, 1) + tf.unstack(x, 2), shapes=unknown)
    sizes = {"x": (None,) * 4, "w": (None,) * 4}
    case("unsized_conv_sizes", {"x": normal(1, 5, 4, 6), "w": normal(2, 3, 3, 4)}, lambda x, w: raw.Conv2D(
        input=x, filter=w, strides=[1] * 4, padding="SAME"), shapes=sizes)
    case("unsized_depthwise_sizes", {"x": normal(1, 5, 4, 6), "w": normal(2, 3, 6, 2)}, lambda x, w: raw.DepthwiseConv2dNative(
        input=x, filter=w, strides=[1] * 4, padding="SAME"), shapes=sizes)
    case("unsized_scatter_sizes", {"x": np.int32([[0, 1], [1, 2]]), "y": normal(2, 3)}, lambda x, y: [
        tf.gather_nd(y, x), raw.TensorScatterAdd(tensor=y, indices=x, updates=np.float32([1, 2]))], shapes=unknown)
    case("unsized_block_lstm_sizes", {"x": normal(2, 2), "y": normal(2, 3)}, lambda x, y: raw.BlockLSTM(
        seq_len_max=np.int64(1), x=tf.expand_dims(x, 0), cs_prev=y, h_prev=y, **weights)[6], shapes=unknown)
    case("fake_quant_of_unknown_sizes", {"x": normal(2, 3), "y": normal(2, 3)}, lambda x, y: raw.FakeQuantWithMinMaxVarsPerChannel(
        inputs=x, min=-tf.abs(y[0]), max=tf.abs(y[1])), shapes=unknown)
    # Ranges beside 0, turned round, and of one number: NaN.
    ends = {"low": np.float32([1, -3, 3, 2]), "high": np.float32([3, -1, 1, 2])}
    case("fake_quant_any_range", {"x": 4 * normal(5, 4), **ends}, lambda x, low, high: [
        raw.FakeQuantWithMinMaxVarsPerChannel(inputs=x, min=low, max=high),
        raw.FakeQuantWithMinMaxVarsPerChannel(inputs=x, min=ends["low"], max=ends["high"]),
        raw.FakeQuantWithMinMaxVars(inputs=x, min=low[0], max=high[0], num_bits=4)])
    # The last branch stands for every index outside.
    for i in (-1, 0, 49, 50, 98, 100):
        case(f"case_100_{i}", {"x": normal(2), "i": np.int32(i)}, lambda x, i: tf.switch_case(
            i, [lambda k=k: x * float(k + 1) for k in range(100)]), control_v2=True)
    for op in ("MaxPool3D", "AvgPool3D"):
        case(f"{op}_of_nothing", {"x": normal(1, 5, 0, 4, 1)}, lambda x, f=getattr(raw, op): f(
            input=x, ksize=[1] * 5, strides=[1, 3, 3, 3, 1], padding="SAME"))
    rows = np.uint32([[1, 7], [2, 4000000000], [3, 5]])
    for op in ("Max", "Min"):
        case(f"Segment{op}_uint32", {"x": rows}, lambda x, f=getattr(raw, "Segment" + op): f(data=x, segment_ids=np.int32([0, 0, 2])))
        case(f"UnsortedSegment{op}_uint32", {"x": rows, "ids": np.int32([0, -1, 2])}, lambda x, ids, f=getattr(raw, "UnsortedSegment" + op): f(
            data=x, segment_ids=ids, num_segments=4))
    for op in ("Sum", "Prod", "Max", "Min"):
        f = getattr(raw, "UnsortedSegment" + op)
        case(f"UnsortedSegment{op}_dropped", {"x": normal(5, 2, 3), "ids": np.int32([2, -1, 0, 2, -7])}, lambda x, ids, f=f: [
            f(data=x, segment_ids=ids, num_segments=4), f(data=x, segment_ids=[-1] * 5, num_segments=0)])
    for n in (1, 4):
        def backwards(x):
            n = tf.shape(x)[0]
            return [x[-n - 1::-1], x[-n - 2:-n - 9:-1], x[-n::-1], x[-2 * n::-2], x[-n - 1::1]]
        case(f"backwards_from_before_{n}", {"x": normal(n)}, backwards, shapes={"x": (None,)})


def main():
    control_flow()
    audio()
    detection()
    images()
    layers()
    moves()
    maths()
    digits()
    without_shapes()
    found_by_fuzzing()
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    np.savez_compressed(folder / "cases.npz", **arrays)
    saved_models(folder)
    print(sum(key.endswith("|graph") for key in arrays), "cases")


if __name__ == "__main__":
    main()
