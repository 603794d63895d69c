"""Images, layers, detection, recurrent cells, control flow."""
import numpy as np
import tensorflow as tf

from builder import computed, generator, moved, raw, v1

F32 = np.dtype(np.float32)


def image(b, spatial=2, dtypes=(np.float32,), channels=8):
    """[N, spatial…, C] of sizes that are worth sliding over."""
    make = lambda: (b.r.pick((1, 1, 2)), *(b.r.integer(1, 11) for _ in range(spatial)), b.r.integer(1, channels))
    return b.take(dtypes, spatial + 2, spatial + 2, where=lambda s: 0 not in s and s[-1] <= 40, make=make)


def tame_image(b, spatial=2, **options):
    return b.tame(image(b, spatial, **options))


def along(values, spatial_first=False):
    return [1, 1, *values] if spatial_first else [1, *values, 1]


def window(b, sizes, op="conv"):
    """Strides or dilations, padding with its explicit sizes, as attributes."""
    strides = [b.r.pick((1, 1, 2, 3)) for _ in sizes]
    if b.r.chance(0.6):
        strides = strides[:1] * len(sizes)
    dilations = [1] * len(sizes)
    if op == "conv" and b.r.chance(0.3):
        strides, dilations = [1] * len(sizes), [b.r.integer(1, 3) for _ in sizes]
    padding = b.r.pick(("SAME", "VALID", "SAME", "VALID", "EXPLICIT"))
    explicit = [[b.r.integer(0, 2), b.r.integer(0, 2)] for _ in sizes] if padding == "EXPLICIT" else None
    return strides, dilations, padding, explicit


def more_padding(explicit):
    return {} if explicit is None else {"explicit_paddings": [0, 0, *np.ravel(explicit).tolist(), 0, 0]}


@generator("Conv2D", "DepthwiseConv2dNative")
def conv(b, op):
    x = tame_image(b)
    channels = x.shape[-1]
    strides, dilations, padding, explicit = window(b, x.shape[1:3])
    kernel = [b.r.integer(1, 4), b.r.integer(1, 4)]
    if op == "Conv2D":
        group = b.r.pick([g for g in range(1, channels + 1) if channels % g == 0])
        out = group * b.r.integer(1, 4)
        w = b.tame(b.like((*kernel, channels // group, out), F32, constant=0.7))
    else:
        strides[1] = strides[0]
        w = b.tame(b.like((*kernel, channels, b.r.integer(1, 3)), F32, constant=0.7))
    name = "input"
    return computed(getattr(raw, op)(**{name: x.tensor}, filter=w.tensor, strides=along(strides), dilations=along(dilations), padding=padding,
                                     **more_padding(explicit)))


@generator("Conv3D")
def conv3d(b, _):
    x = tame_image(b, 3)
    w = b.tame(b.like((*(b.r.integer(1, 3) for _ in range(3)), x.shape[-1], b.r.integer(1, 4)), F32, constant=0.7))
    strides = [b.r.integer(1, 2) for _ in range(3)]
    return computed(raw.Conv3D(input=x.tensor, filter=w.tensor, strides=along(strides), padding=b.r.pick(("SAME", "VALID"))))


@generator("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def conv_transpose(b, op):
    spatial = 2 if op == "Conv2DBackpropInput" else 3
    n, channels = b.r.integer(1, 2), b.r.integer(1, 4)
    sizes = [b.r.integer(1, 9) for _ in range(spatial)]
    strides, kernel = [b.r.integer(1, 3) for _ in sizes], [b.r.integer(1, 4) for _ in sizes]
    padding = b.r.pick(("SAME", "VALID"))
    small = [-(-s // k) if padding == "SAME" else (s - w) // k + 1 for s, k, w in zip(sizes, strides, kernel)]
    if min(small) < 1:
        sizes = [s + 4 for s in sizes]
        small = [-(-s // k) if padding == "SAME" else (s - w) // k + 1 for s, k, w in zip(sizes, strides, kernel)]
    out = b.r.integer(1, 4)
    x = b.tame(b.like((n, *small, out), F32))
    w = b.tame(b.like((*kernel, channels, out), F32, constant=0.7))
    full = np.array([n, *sizes, channels], np.int32)
    key = "input_sizes"
    return computed(getattr(raw, op)(**{key: full}, filter=w.tensor, out_backprop=x.tensor, strides=along(strides), padding=padding))


@generator("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D")
def pool(b, op):
    spatial = 3 if op.endswith("3D") else 2
    x = tame_image(b, spatial)
    strides, _, padding, explicit = window(b, x.shape[1:-1], "pool")
    if op != "MaxPool" and padding == "EXPLICIT":
        padding, explicit = "SAME", None
    kernel = [b.r.integer(1, 4) for _ in strides]
    if explicit:
        explicit = [[min(p, k - 1) for p in pair] for pair, k in zip(explicit, kernel)]
    key = "value" if op == "AvgPool" else "input"
    made = getattr(raw, op)(**{key: x.tensor}, ksize=along(kernel), strides=along(strides), padding=padding, **more_padding(explicit))
    return computed(made) if op.startswith("Avg") else moved(made)


@generator("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def batch_norm(b, op):
    x = tame_image(b)
    c = x.shape[-1]
    scale, offset, mean = (b.tame(b.like((c,), F32, constant=0.7)).tensor for _ in range(3))
    variance = b.fresh((c,), np.float32, low=0.01, high=2, edges=0, constant=0.7).tensor
    return computed(getattr(raw, op)(x=x.tensor, scale=scale, offset=offset, mean=mean, variance=variance, is_training=False,
                                     epsilon=b.r.pick((1e-3, 1e-4)))[0])


@generator("LRN")
def lrn(b, _):
    return computed(raw.LRN(input=tame_image(b).tensor, depth_radius=b.r.integer(0, 6), bias=b.r.pick((1.0, 2.0)), alpha=b.r.pick((0.1, 1.0)),
                            beta=b.r.pick((0.5, 0.75, 1.0))))


@generator("SpaceToBatchND", "BatchToSpaceND")
def space_to_batch(b, op):
    block = [b.r.integer(1, 3) for _ in range(b.r.integer(1, 2))]
    kind = b.r.pick((np.int32, np.int64))
    x = b.take((np.float32, np.int32), len(block) + 1, 4, where=lambda s: 0 not in s)
    if op == "SpaceToBatchND":
        pads = [[p := b.r.integer(0, 2), (-(s + p)) % f] for s, f in zip(x.shape[1:], block)]
        return moved(raw.SpaceToBatchND(input=x.tensor, block_shape=np.array(block, kind), paddings=np.array(pads, kind)))
    x = b.like((x.shape[0] * int(np.prod(block)), *x.shape[1:]), x.dtype)
    crops = []
    for s, f in zip(x.shape[1:], block):
        first = b.r.integer(0, min(2, s * f - 1))
        crops.append([first, b.r.integer(0, min(2, s * f - 1 - first))])
    return moved(raw.BatchToSpaceND(input=x.tensor, block_shape=np.array(block, kind), crops=np.array(crops, kind)))


@generator("SpaceToDepth", "DepthToSpace")
def space_to_depth(b, op):
    block = b.r.integer(2, 3)
    n, h, w, c = b.r.integer(1, 2), b.r.integer(1, 4), b.r.integer(1, 4), b.r.integer(1, 3)
    shape = (n, h * block, w * block, c) if op == "SpaceToDepth" else (n, h, w, c * block * block)
    return moved(getattr(raw, op)(input=b.like(shape, F32).tensor, block_size=block))


@generator("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
def resize(b, op):
    x = image(b, dtypes=(np.float32, np.float32, np.uint8))
    x = x if op == "ResizeNearestNeighbor" else b.tame(x)
    corners, half = b.r.pick(((False, False), (True, False), (False, True)))
    size = np.int32([b.r.integer(1, 14), b.r.integer(1, 14)])
    size = b.fresh_of(size) if b.r.chance(b.dynamic) else size
    made = getattr(raw, op)(images=x.tensor, size=size, align_corners=corners, half_pixel_centers=half)
    return moved(made) if op == "ResizeNearestNeighbor" else computed(made)


@generator("CropAndResize")
def crop_and_resize(b, _):
    x = image(b)
    count = b.r.integer(1, 4)
    boxes = b.fresh((count, 4), np.float32, low=-0.3, high=1.3, edges=0)
    at = b.fresh((count,), np.int32, low=0, high=x.shape[0] - 1, edges=0)
    # "nearest" rounds: not of coordinates that are computed in another order.
    return computed(raw.CropAndResize(image=x.tensor, boxes=boxes.tensor, box_ind=at.tensor, crop_size=np.int32([b.r.integer(1, 5), b.r.integer(1, 5)]),
                                      method="bilinear", extrapolation_value=b.r.pick((0.0, 3.0))))


@generator("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5")
def non_max_suppression(b, op):
    n = b.r.integer(0 if b.r.chance(0.1) else 1, 12)
    boxes = b.fresh((n, 4), np.float32, low=0, high=1, edges=0, constant=0).tensor
    scores = b.fresh((n,), np.float32, low=0, high=1, edges=0, constant=0).tensor
    common = {"boxes": boxes, "scores": scores, "max_output_size": np.int32(b.r.integer(0, 8))}
    iou, score = np.float32(b.r.g.random()), np.float32(b.r.pick((0.0, 0.3, 0.6)))
    if op == "NonMaxSuppression":
        return moved(raw.NonMaxSuppression(**common, iou_threshold=float(iou)))
    if op == "NonMaxSuppressionV2":
        return moved(raw.NonMaxSuppressionV2(**common, iou_threshold=iou))
    if op == "NonMaxSuppressionV3":
        return moved(raw.NonMaxSuppressionV3(**common, iou_threshold=iou, score_threshold=score))
    padded = b.r.chance(0.5)
    if op == "NonMaxSuppressionV4":
        return moved(list(raw.NonMaxSuppressionV4(**common, iou_threshold=iou, score_threshold=score, pad_to_max_output_size=padded)))
    sigma = np.float32(b.r.pick((0.0, 0.0, 0.3, 1.0)))
    return computed(list(raw.NonMaxSuppressionV5(**common, iou_threshold=iou, score_threshold=score, soft_nms_sigma=sigma, pad_to_max_output_size=padded)))


@generator("LSTMBlockCell", "BlockLSTM", "BlockLSTMV2")
def lstm(b, op):
    n, inputs, cells, time = b.r.integer(1, 3), b.r.integer(1, 4), b.r.integer(1, 4), b.r.integer(1, 5)
    new = lambda *shape: b.fresh(shape, np.float32, edges=0, constant=0.7).tensor
    common = {"cs_prev": new(n, cells), "h_prev": new(n, cells), "w": new(inputs + cells, 4 * cells), "wci": new(cells), "wcf": new(cells), "wco": new(cells),
              "b": new(4 * cells), "use_peephole": b.r.chance(0.5), "cell_clip": b.r.pick((0.0, 0.5, 3.0))}
    if op != "BlockLSTMV2":
        common["forget_bias"] = b.r.pick((0.0, 1.0))
    if op == "LSTMBlockCell":
        return computed(list(raw.LSTMBlockCell(x=b.like((n, inputs), F32).tensor, **common)))
    steps = np.int64(time if b.r.chance(0.6) else b.r.integer(0, time))
    length = b.fresh_of(steps) if b.r.chance(0.2) else steps
    made = list(getattr(raw, op)(seq_len_max=length, x=b.like((time, n, inputs), F32).tensor, **common))
    # Of the steps after the last one TensorFlow writes cs and h alone.
    return computed(made if steps == time else [made[1], made[6]])


@generator("GRUBlockCell")
def gru(b, _):
    n, inputs, cells = b.r.integer(1, 3), b.r.integer(1, 4), b.r.integer(1, 4)
    new = lambda *shape: b.fresh(shape, np.float32, edges=0, constant=0.7).tensor
    return computed(list(raw.GRUBlockCell(x=b.like((n, inputs), F32).tensor, h_prev=new(n, cells), w_ru=new(inputs + cells, 2 * cells), w_c=new(inputs + cells, cells),
                                          b_ru=new(2 * cells), b_c=new(cells))))


@generator("cond", "case")
def condition(b, op):
    """TensorFlow 1's (Switch and Merge) or 2's (If, Case), as the run has chosen."""
    x = b.take((np.float32,))
    branches = [lambda: tf.nn.relu(x.tensor) * 2.0, lambda: x.tensor - 1.0, lambda: tf.negative(x.tensor), lambda: tf.zeros_like(x.tensor)]
    if op == "cond":
        flag = b.fresh((), np.bool_, edges=0)
        return computed(v1.cond(flag.tensor, *branches[:2]))
    at = b.fresh((), np.int32, low=-1, high=4, edges=0)
    return computed(tf.switch_case(at.tensor, branches[:b.r.integer(1, 4)]))


@generator("while_loop")
def loop(b, _):
    x = b.take((np.float32,), where=lambda s: np.prod(s) < 200)
    turns = b.fresh((), np.int32, low=0, high=5, edges=0)
    step = b.fresh((), np.float32, low=-1, high=1, edges=0).tensor
    if b.r.chance(0.5):
        return computed(v1.while_loop(lambda i, v: i < turns.tensor, lambda i, v: (i + 1, tf.tanh(v) + step), (0, x.tensor))[1])
    array = tf.TensorArray(tf.float32, size=turns.tensor, element_shape=x.shape)
    _, v, array = v1.while_loop(lambda i, *_: i < turns.tensor, lambda i, v, a: (i + 1, v * 0.5 + step, a.write(i, v)), (0, x.tensor, array))
    return computed([v, array.stack()])
