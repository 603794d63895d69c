"""Graphs of two to six nodes, so that what treadle fuses and simplifies is run: elementwise operators, those that
move elements, reductions, products, convolutions; some inner values are outputs too."""
import numpy as np
import onnx

from case import Case, generator

OPSET = 18
UNARY = ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Erf", "Identity", "HardSwish", "Mish", "Softsign", "Exp", "Sqrt", "Clip", "Cast")
BINARY = ("Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min", "PRelu", "Where")
MOVES = ("Transpose", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Pad", "Concat", "Gather", "Expand", "Tile", "Split")
REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare", "Softmax", "LayerNormalization", "CumSum")
PRODUCTS = ("MatMul", "MatMul", "Gemm")
IMAGES = ("Conv", "Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization", "MaxPool", "AveragePool", "GlobalAveragePool", "Resize", "DepthToSpace")


class Builder:
    """The graph so far: values by name with the array that stands for their shape."""

    def __init__(self, r):
        self.r, self.nodes, self.inputs, self.constants, self.values = r, [], {}, [], {}

    def input(self, shape):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.r.array(shape, np.float32)
        self.values[name] = tuple(shape)
        return name

    def constant(self, array):
        name = f"c{len(self.inputs)}"
        self.inputs[name] = np.asarray(array)
        self.constants.append(name)
        return name

    def floats(self, shape, low=None, high=None):
        return self.constant(self.r.array(tuple(shape), np.float32, low=low, high=high))

    def ints(self, values):
        return self.constant(np.array(values, np.int64))

    def node(self, op, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(op, inputs, [name], **attributes))
        self.values[name] = tuple(shape)
        return name

    def operand(self, shape):
        """An input, a constant or an inner value that broadcasts to the shape without making it larger."""
        fits = [v for v, s in self.values.items() if len(s) <= len(shape) and all(a in (1, b) for a, b in zip(s[::-1], shape[::-1]))]
        if fits and self.r.chance(0.4):
            return self.r.pick(fits)
        return self.floats(self.r.part(shape)) if self.r.chance(0.7) else self.input(self.r.part(shape))


def unary(b, v, shape):
    op = b.r.pick(UNARY)
    if op == "Exp":  # of what is bounded
        v = b.node("Tanh", [v], shape)
    if op == "Sqrt":
        v = b.node("Abs", [v], shape)
    if op == "Clip":
        return b.node(op, [v, b.constant(np.float32(-0.5)), b.constant(np.float32(b.r.pick((0.5, 6.0))))], shape)
    return b.node(op, [v], shape, **({"to": onnx.TensorProto.FLOAT} if op == "Cast" else {}))


def binary(b, v, shape):
    op = b.r.pick(BINARY)
    if op == "Where":
        return b.node(op, [b.constant(b.r.array(b.r.part(shape), bool)), v, b.operand(shape)], shape)
    if op == "Div":
        return b.node(op, [v, b.floats(b.r.part(shape), 0.5, 2)], shape)
    if op == "PRelu":
        return b.node(op, [v, b.floats(b.r.part(shape))], shape)
    pair = [v, b.operand(shape)]
    return b.node(op, pair[::-1] if b.r.chance(0.4) else pair, shape)


def move(b, v, shape):
    r, rank, op = b.r, len(shape), b.r.pick(MOVES)
    if op == "Reshape" and r.chance(0.4) and rank and 0 not in shape:  # to sizes that the graph computes
        sizes = b.node("Shape", [v], (rank,))
        b.values.pop(sizes)
        kept = b.node("Gather", [sizes, b.ints([0])], (1,))
        b.values.pop(kept)
        target = b.node("Concat", [kept, b.ints([-1])], (2,), axis=0)
        b.values.pop(target)
        return b.node(op, [v, target], (shape[0], int(np.prod(shape[1:]))))
    if op == "Reshape" and 0 not in shape:
        flat = [int(np.prod(shape[:2])), *shape[2:]] if rank > 1 and r.chance(0.5) else [*shape, 1]
        target = list(flat)
        if r.chance(0.5):
            target[r.integer(0, len(flat) - 1)] = -1
        return b.node(op, [v, b.ints(target)], flat)
    if op in ("Unsqueeze", "Reshape") or rank == 0:
        a = r.integer(0, rank)
        return b.node("Unsqueeze", [v, b.ints([a])], (*shape[:a], 1, *shape[a:]))
    a = r.integer(0, rank - 1)
    if op == "Transpose":
        perm = [int(i) for i in r.g.permutation(rank)]
        return b.node(op, [v], [shape[p] for p in perm], perm=perm)
    if op == "Flatten":
        return b.node(op, [v], (int(np.prod(shape[:a])), int(np.prod(shape[a:]))), axis=a)
    if op == "Squeeze":
        ones = [i for i, s in enumerate(shape) if s == 1]
        return b.node(op, [v, b.ints(ones)], [s for s in shape if s != 1]) if ones else v
    if op == "Slice":
        start, end, step = r.integer(-4, 4), r.pick((r.integer(-4, 9), 100)), r.pick((1, 1, 2, -1))
        size = len(range(shape[a])[start:end:step])
        return b.node(op, [v, b.ints([start]), b.ints([end]), b.ints([a]), b.ints([step])], (*shape[:a], size, *shape[a + 1:]))
    if op == "Pad":
        pads = [r.integer(0, 2) if r.chance(0.5) else 0 for _ in range(2 * rank)]
        return b.node(op, [v, b.ints(pads)], [s + pads[i] + pads[rank + i] for i, s in enumerate(shape)])
    if op == "Concat":
        other = [w for w, s in b.values.items() if len(s) == rank and all(i == a or s[i] == shape[i] for i in range(rank))]
        w = r.pick(other)
        joined = (*shape[:a], shape[a] + b.values[w][a], *shape[a + 1:])
        return b.node(op, [v, w] if r.chance(0.5) else [w, v], joined, axis=a)
    if op == "Gather":
        if shape[a] == 0:
            return v
        index = r.array(r.shape(0, 1, 0), np.int64, low=-shape[a], high=shape[a] - 1)
        return b.node(op, [v, b.constant(index)], (*shape[:a], *index.shape, *shape[a + 1:]), axis=a)
    if op == "Split":
        first = r.integer(0, shape[a])
        kept = b.node(op, [v, b.ints([first, shape[a] - first])], (*shape[:a], first, *shape[a + 1:]), axis=a)
        rest = f"{kept}_rest"
        b.nodes[-1].output.append(rest)
        b.values[rest] = (*shape[:a], shape[a] - first, *shape[a + 1:])
        return kept
    if op == "Expand":
        wide = [r.integer(2, 3) if s == 1 else s for s in shape]
        return b.node(op, [v, b.ints(wide)], wide)
    repeats = [r.integer(1, 2) for _ in shape]
    return b.node("Tile", [v, b.ints(repeats)], [s * n for s, n in zip(shape, repeats)])


def reduction(b, v, shape):
    r, rank, op = b.r, len(shape), b.r.pick(REDUCTIONS)
    if rank == 0 or 0 in shape:
        return v
    if op == "Softmax":
        return b.node(op, [v], shape, axis=r.axis(rank))
    if op == "CumSum":
        return b.node(op, [v, b.constant(np.int64(r.axis(rank)))], shape)
    if op == "LayerNormalization":
        a = r.integer(0, rank - 1)
        if np.prod(shape[a:]) < 3:  # a variance of next to nothing turns rounding into signal
            return v
        return b.node(op, [v, b.floats(shape[a:]), b.floats(shape[a:])], shape, axis=a, epsilon=1e-2)
    axes, keep = r.some(range(rank), 1), int(r.chance(0.6))
    kept = [1 if i in axes else s for i, s in enumerate(shape) if keep or i not in axes]
    return b.node(op, [v, b.ints(axes)], kept, keepdims=keep)


def product(b, v, shape):
    r, op = b.r, b.r.pick(PRODUCTS)
    if not shape or 0 in shape:
        return v
    n = r.size(0)
    if op == "Gemm" and len(shape) == 2:
        b_shape, transposed = ((n, shape[1]), 1) if r.chance(0.5) else ((shape[1], n), 0)
        return b.node(op, [v, b.floats(b_shape), b.floats(r.part((shape[0], n)))], (shape[0], n), transB=transposed, alpha=r.pick((1.0, 0.5)))
    if r.chance(0.2) and len(shape) >= 2:
        return b.node("MatMul", [b.floats((n, shape[-2])), v], (*shape[:-2], n, shape[-1]))
    return b.node("MatMul", [v, b.floats((shape[-1], n))], (*shape[:-1], n))


def image(b, v, shape):
    r, op = b.r, b.r.pick(IMAGES)
    if len(shape) != 4 or 0 in shape:
        return unary(b, v, shape)
    n, c, h, w = shape
    if op == "Conv":
        k, o = r.pick((1, 3)), r.size(0)
        group = c if r.chance(0.3) else 1
        o = c if group == c else o
        bias = [b.floats((o,))] if r.chance(0.6) else []
        return b.node(op, [v, b.floats((o, c // group, k, k)), *bias], (n, o, h, w), kernel_shape=[k, k], pads=[k // 2] * 4, group=group)
    if op == "ConvTranspose":
        o = r.size(0)
        return b.node(op, [v, b.floats((c, o, 2, 2))], (n, o, 2 * h, 2 * w), strides=[2, 2])
    if op == "BatchNormalization":
        return b.node(op, [v, *(b.floats((c,)) for _ in range(3)), b.floats((c,), 0.2, 2)], shape)
    if op == "InstanceNormalization" and h * w > 2:
        return b.node(op, [v, b.floats((c,)), b.floats((c,))], shape, epsilon=1e-2)
    if op in ("MaxPool", "AveragePool"):
        return b.node(op, [v], shape, kernel_shape=[3, 3], pads=[1] * 4)
    if op == "Resize":
        return b.node(op, [v, "", b.constant(np.array([1, 1, 2, 2], np.float32))], (n, c, 2 * h, 2 * w), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    if op == "DepthToSpace" and c % 4 == 0:
        return b.node(op, [v], (n, c // 4, 2 * h, 2 * w), blocksize=2)
    return b.node("GlobalAveragePool", [v], (n, c, 1, 1))


@generator("chain of elementwise", "chain of moves", "chain of reductions", "chain of products", "chain of images")
def chain(r, kind):
    first = {"chain of elementwise": (unary, binary), "chain of moves": (move, move, move, unary), "chain of reductions": (reduction, unary, binary, move),
             "chain of products": (product, unary, binary, move), "chain of images": (image, image, image, unary, binary, move)}[kind]
    b = Builder(r)
    if kind == "chain of images":
        shape = (r.integer(1, 2), r.pick((1, 2, 3, 4, 8, 16, 17)), r.integer(1, 9), r.integer(1, 9))
    else:
        shape = r.shape(0, 4)
    v = b.input(shape)
    for _ in range(r.integer(2, 5)):
        if np.prod(b.values[v]) > 20000:
            break
        v = r.pick(first)(b, v, b.values[v])
    if not b.nodes:
        v = unary(b, v, b.values[v])
    outputs = [v] + [o for o in b.values if o != v and o not in b.inputs and r.chance(0.15)]
    return Case(kind, b.inputs, outputs=tuple(outputs), opset=OPSET, nodes=tuple(b.nodes), constants=tuple(b.constants), fixed=(), tolerance=2e-4)
