"""Movement of elements, indices, shapes."""
import numpy as np
import tensorflow as tf

from builder import FLOATS, INTS, NUMBERS, computed, generator, moved, raw

ANY = NUMBERS + (np.bool_,)


def index_type(b):
    return b.r.pick((np.int32, np.int64))


def held(b, value, dtype=None):
    """A constant, or a value that only the run knows."""
    return b.fresh_of(np.asarray(value, dtype)) if b.r.chance(b.dynamic) else tf.constant(np.asarray(value, dtype))


@generator("Identity", "StopGradient", "PreventGradient", "Snapshot", "ZerosLike", "OnesLike", "EnsureShape", "IdentityN", "PlaceholderWithDefault")
def same(b, op):
    x = b.take(ANY)
    if op == "IdentityN":
        return x.exact, raw.IdentityN(input=[x.tensor, b.take(ANY).tensor])
    if op == "EnsureShape":
        return x.exact, raw.EnsureShape(input=x.tensor, shape=[s if b.r.chance(0.5) else None for s in x.shape])
    if op == "PlaceholderWithDefault":
        return x.exact, raw.PlaceholderWithDefault(input=x.tensor, shape=x.shape)
    if op in ("ZerosLike", "OnesLike"):
        return True, getattr(raw, op)(x=x.tensor)
    return x.exact, getattr(raw, op)(input=x.tensor)


@generator("Cast")
def cast(b, _):
    to = b.r.pick(ANY + (np.float16,))
    x = b.take(ANY, exact=np.dtype(to).kind != "f", low=0, edges=0.0)
    if x.dtype.kind in "fi" and np.dtype(to).kind == "u" or x.dtype.kind == "f" and np.dtype(to).kind == "i":
        # An integer for what is out of its range is not defined.
        x = b.use(b.fresh(b.shape(), x.dtype, low=0, high=100, edges=0))
    y = raw.Cast(x=x.tensor, DstT=to)
    return (True, y) if to is not np.float16 else (False, raw.Cast(x=y, DstT=np.float32))


@generator("Shape", "Size", "Rank", "ShapeN")
def shape_of(b, op):
    x = b.take(ANY)
    if op == "Rank":
        return moved(raw.Rank(input=x.tensor))
    if op == "ShapeN":
        return moved(raw.ShapeN(input=[x.tensor, b.take(ANY).tensor], out_type=index_type(b)))
    return moved(getattr(raw, op)(input=x.tensor, out_type=index_type(b)))


@generator("Fill", "BroadcastTo")
def fill(b, op):
    if op == "Fill":
        value = b.fresh((), b.r.pick(ANY))
        return moved(raw.Fill(dims=held(b, b.shape(), index_type(b)), value=value.tensor))
    x = b.take(FLOATS + (np.int32, np.int64), where=lambda s: 0 not in s)
    shape = list(b.shape(0, 2)) if x.rank < 3 else []
    return moved(raw.BroadcastTo(input=x.tensor, shape=held(b, shape + [b.r.integer(1, 3) if s == 1 else s for s in x.shape], index_type(b))))


@generator("Range")
def range_(b, _):
    dtype = b.r.pick((np.int32, np.int64, np.float32))
    start, step = b.r.integer(-5, 5), b.r.pick((1, 2, 3, -1, -2))
    return moved(raw.Range(start=held(b, start, dtype), limit=held(b, start + step * b.r.integer(0, 6), dtype), delta=held(b, step, dtype)))


@generator("Reshape")
def reshape(b, _):
    x = b.take(ANY)
    sizes, count = [], int(np.prod(x.shape))
    left = count
    while left > 1 and len(sizes) < 4:
        f = b.r.pick([d for d in range(1, left + 1) if left % d == 0])
        sizes.append(f)
        left //= f
    if left > 1 or (count == 0):
        sizes.append(left)
    if sizes and count and b.r.chance(0.4):
        sizes[b.r.integer(0, len(sizes) - 1)] = -1
    return moved(raw.Reshape(tensor=x.tensor, shape=held(b, sizes, index_type(b))))


@generator("ExpandDims", "Squeeze")
def axes(b, op):
    if op == "ExpandDims":
        x = b.take(ANY, 0, 4)
        return moved(raw.ExpandDims(input=x.tensor, axis=index_type(b)(b.r.integer(-x.rank - 1, x.rank))))
    x = b.take(ANY, 0, 5)
    ones = [a for a, s in enumerate(x.shape) if s == 1]
    picked = [a - x.rank if b.r.chance(0.3) else a for a in b.r.some(ones)]
    return moved(raw.Squeeze(input=x.tensor, axis=picked))


@generator("Transpose")
def transpose(b, _):
    x = b.take(ANY, 0, 5)
    perm = [int(p) - x.rank if b.r.chance(0.1) else int(p) for p in b.r.g.permutation(x.rank)]
    return moved(raw.Transpose(x=x.tensor, perm=np.array(perm, index_type(b))))


def same_but(b, x, axis):
    shape = list(x.shape)
    shape[axis] = b.r.size()
    return b.like(shape, x.dtype).tensor


@generator("Concat", "ConcatV2")
def concat(b, op):
    x = b.take(ANY, 1, 4)
    axis = b.r.axis(x.rank)
    values = [x.tensor] + [same_but(b, x, axis) for _ in range(b.r.integer(1, 3))]
    if op == "Concat":
        return moved(raw.Concat(concat_dim=np.int32(axis % x.rank), values=values))
    return moved(raw.ConcatV2(values=values, axis=index_type(b)(axis)))


@generator("Pack", "Unpack")
def pack(b, op):
    if op == "Pack":
        x = b.take(ANY, 0, 4)
        return moved(raw.Pack(values=[x.tensor] + [b.like(x.shape, x.dtype).tensor for _ in range(b.r.integer(0, 3))], axis=b.r.integer(-x.rank - 1, x.rank)))
    x = b.take(ANY, 1, 4, where=lambda s: s and max(s) < 9)
    axis = b.r.axis(x.rank)
    return moved(raw.Unpack(value=x.tensor, num=x.shape[axis], axis=axis))


@generator("Split", "SplitV")
def split(b, op):
    x = b.take(ANY, 1, 4)
    axis = b.r.axis(x.rank)
    n = x.shape[axis]
    if op == "Split":
        parts = b.r.pick([d for d in range(1, max(n, 1) + 1) if n % d == 0 and d < 6])
        return moved(raw.Split(axis=np.int32(axis), value=x.tensor, num_split=parts))
    cuts = sorted(b.r.integer(0, n) for _ in range(b.r.integer(0, 3)))
    sizes = [int(s) for s in np.diff([0, *cuts, n])]
    if b.r.chance(0.3):
        sizes[b.r.integer(0, len(sizes) - 1)] = -1
    return moved(raw.SplitV(value=x.tensor, size_splits=np.array(sizes, index_type(b)), axis=np.int32(axis), num_split=len(sizes)))


@generator("Slice")
def slice_(b, _):
    x = b.take(ANY, 1, 4)
    begin = [b.r.integer(0, s) for s in x.shape]
    size = [-1 if b.r.chance(0.3) else b.r.integer(0, s - at) for s, at in zip(x.shape, begin)]
    kind = index_type(b)
    return moved(raw.Slice(input=x.tensor, begin=held(b, begin, kind), size=held(b, size, kind)))


@generator("StridedSlice")
def strided_slice(b, _):
    x = b.take(ANY, 0, 4)
    begin, end, strides = [], [], []
    masks = {m: 0 for m in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")}
    sizes, entry, ellipsis = list(x.shape), 0, False
    while sizes or b.r.chance(0.3):
        if len(begin) > 6 or b.r.chance(0.1):
            break
        n = sizes[0] if sizes else 0
        kind = b.r.g.random()
        first, last, step = b.r.integer(-n - 2, n + 2), b.r.integer(-n - 2, n + 2), b.r.pick((1, 1, 1, 2, 3, -1, -2))
        if kind < 0.1 or not sizes:
            masks["new_axis_mask"] |= 1 << entry
        elif kind < 0.2 and not ellipsis:
            masks["ellipsis_mask"] |= 1 << entry
            ellipsis = True
            del sizes[:b.r.integer(0, len(sizes))]
        else:
            if kind < 0.35 and n > 0:
                masks["shrink_axis_mask"] |= 1 << entry
                first, step = b.r.integer(-n, n - 1), 1
                last = first + 1
            for mask in ("begin_mask", "end_mask"):
                if b.r.chance(0.25):
                    masks[mask] |= 1 << entry
            del sizes[0]
        begin.append(first), end.append(last), strides.append(step)
        entry += 1
    kind = index_type(b)
    return moved(raw.StridedSlice(input=x.tensor, begin=held(b, begin, kind), end=held(b, end, kind), strides=np.array(strides, kind), **masks))


@generator("Pad", "PadV2", "MirrorPad")
def pad(b, op):
    x = b.take(FLOATS + (np.int32, np.int64, np.uint8, np.bool_) if op != "MirrorPad" else FLOATS + (np.int32,), 1, 4, where=lambda s: 0 not in s)
    mode = b.r.pick(("REFLECT", "SYMMETRIC"))
    most = lambda s: 3 if op != "MirrorPad" else min(3, s - (mode == "REFLECT"))
    pads = np.array([[b.r.integer(0, most(s)), b.r.integer(0, most(s))] for s in x.shape], index_type(b))
    if op == "PadV2":
        return moved(raw.PadV2(input=x.tensor, paddings=pads, constant_values=b.fresh((), x.dtype).tensor))
    return moved(raw.Pad(input=x.tensor, paddings=pads) if op == "Pad" else raw.MirrorPad(input=x.tensor, paddings=pads, mode=mode))


@generator("Gather", "GatherV2", "GatherNd")
def gather(b, op):
    x = b.take(ANY, 1, 4, where=lambda s: 0 not in s)
    kind = index_type(b)
    if op == "Gather":
        return moved(raw.Gather(params=x.tensor, indices=b.fresh(b.shape(0, 2), kind, low=0, high=x.shape[0] - 1, edges=0).tensor))
    if op == "GatherNd":
        depth = b.r.integer(0, x.rank)
        batch = b.shape(1, 2)
        columns = [b.r.array(batch + (1,), kind, low=0, high=s - 1) for s in x.shape[:depth]]
        return moved(raw.GatherNd(params=x.tensor, indices=held(b, np.concatenate(columns, -1) if depth else np.zeros(batch + (0,)), kind)))
    axis = b.r.axis(x.rank)
    positive = axis % x.rank
    batch = b.r.integer(0, positive) if b.r.chance(0.4) else 0
    indices = b.fresh(x.shape[:batch] + b.shape(0, 2), kind, low=0, high=x.shape[axis] - 1, edges=0).tensor
    return moved(raw.GatherV2(params=x.tensor, indices=indices, axis=kind(axis), batch_dims=batch))


@generator("Tile", "ReverseV2", "Roll")
def tile(b, op):
    if op == "Tile":
        x = b.take(ANY, 0, 4, where=lambda s: np.prod(s) < 500)
        return moved(raw.Tile(input=x.tensor, multiples=held(b, [b.r.integer(0 if b.r.chance(0.1) else 1, 3) for _ in x.shape], index_type(b))))
    x = b.take(FLOATS + (np.int32, np.bool_), 1, 4, where=lambda s: 0 not in s)
    axes_ = np.array([a - x.rank if b.r.chance(0.3) else a for a in b.r.some(range(x.rank))], index_type(b))
    if op == "ReverseV2":
        return moved(raw.ReverseV2(tensor=x.tensor, axis=axes_))
    return moved(raw.Roll(input=x.tensor, shift=np.array([b.r.integer(-9, 9) for _ in axes_], np.int32), axis=axes_))


@generator("OneHot")
def one_hot(b, _):
    indices = b.fresh(b.shape(0, 3), b.r.pick((np.int32, np.int64, np.uint8)), low=-2 if b.r.chance(0.3) else 0, high=6, edges=0) if b.r.chance(0.8) else b.fresh((3,), np.uint8, low=0, high=5)
    on, off = (b.fresh((), np.float32).tensor for _ in range(2))
    return moved(raw.OneHot(indices=indices.tensor, depth=np.int32(b.r.integer(0, 6)), on_value=on, off_value=off, axis=b.r.integer(-1, indices.rank)))


@generator("TopKV2")
def top_k(b, _):
    x = b.tame(b.take(FLOATS + (np.int32, np.uint8), 1, 3, exact=True, where=lambda s: 0 not in s, edges=0))
    k = b.r.integer(0, x.shape[-1])
    return moved(list(raw.TopKV2(input=x.tensor, k=np.int32(k))))


@generator("Where", "Unique", "UniqueWithCounts")
def dynamic(b, op):
    if op == "Where":
        return moved(raw.Where(condition=b.take((np.bool_, np.float32, np.int32), 1, 4, exact=True).tensor))
    x = b.tame(b.take((np.int32, np.int64, np.float32), 1, 1, exact=True, edges=0))
    return moved(list(getattr(raw, op)(x=x.tensor, out_idx=index_type(b))))


@generator("ScatterNd", "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin")
def scatter(b, op):
    kind = index_type(b)
    x = b.take(FLOATS + (np.int32,), 1, 4, where=lambda s: 0 not in s)
    depth = b.r.integer(1, x.rank)
    rows = int(np.prod(x.shape[:depth]))
    # Of updates that meet, which one stays is not said.
    count = min(rows, b.r.integer(1, 5))
    flat = b.r.g.choice(rows, count, replace=op not in ("TensorScatterUpdate",))
    indices = np.stack(np.unravel_index(flat, x.shape[:depth]), -1).astype(kind)
    updates = b.like((count,) + x.shape[depth:], x.dtype)
    if op in ("TensorScatterMax", "TensorScatterMin"):
        x, updates = b.tame(x), b.tame(updates)
    updates = updates.tensor
    if op == "ScatterNd":
        return computed(raw.ScatterNd(indices=held(b, indices), updates=updates, shape=np.array(x.shape, kind)))
    return computed(getattr(raw, op)(tensor=x.tensor, indices=held(b, indices), updates=updates))


@generator("UnravelIndex")
def unravel(b, _):
    dims = [b.r.integer(1, 6) for _ in range(b.r.integer(1, 4))]
    kind = index_type(b)
    return moved(raw.UnravelIndex(indices=b.fresh(b.shape(1, 1), kind, low=0, high=int(np.prod(dims)) - 1, edges=0).tensor, dims=np.array(dims, kind)))


@generator("ReverseSequence")
def reverse_sequence(b, _):
    x = b.take(FLOATS + (np.int32,), 2, 4, where=lambda s: 0 not in s)
    batch, along = (int(a) for a in b.r.g.permutation(x.rank)[:2])
    lengths = b.fresh((x.shape[batch],), index_type(b), low=0, high=x.shape[along], edges=0)
    return moved(raw.ReverseSequence(input=x.tensor, seq_lengths=lengths.tensor, seq_dim=along, batch_dim=batch))


@generator("MatrixBandPart")
def band_part(b, _):
    x = b.take(FLOATS + (np.int32, np.bool_), 2, 4, where=lambda s: 0 not in s)
    kind = index_type(b)
    lower, upper = b.r.integer(-1, x.shape[-2]), b.r.integer(-1, x.shape[-1])
    return moved(raw.MatrixBandPart(input=x.tensor, num_lower=kind(lower), num_upper=kind(upper)))


@generator("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin", "SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax",
           "SegmentMin")
def segment(b, op):
    large = op.endswith(("Max", "Min"))
    x = b.take(FLOATS + (np.int32, np.uint8) if large else (np.float32,), 1, 3, where=lambda s: s and s[0] > 0)
    x = b.tame(x) if large else x
    kind = index_type(b)
    rows = x.shape[0]
    if op.startswith("Unsorted"):
        ids = b.fresh((rows,), kind, low=-1 if b.r.chance(0.2) else 0, high=4, edges=0)
        return computed(getattr(raw, op)(data=x.tensor, segment_ids=ids.tensor, num_segments=np.int32(5)))
    steps = b.r.array((rows,), kind, low=0, high=b.r.pick((1, 1, 2)))
    return computed(getattr(raw, op)(data=x.tensor, segment_ids=np.cumsum(steps).astype(kind)))
