"""Generators of control flow, sequences and optionals: small graphs around the operator whose name they bear."""
import numpy as np
import onnx

from case import Case, generator

FLOAT = onnx.TensorProto.FLOAT
node = onnx.helper.make_node


def port(name, kind=FLOAT, shape=None):
    return onnx.helper.make_tensor_value_info(name, kind, shape)


def some_node(r, source, target):
    """A node from one float tensor to another of the same shape."""
    op = r.pick(("Relu", "Neg", "Tanh", "Identity", "Abs"))
    return node(op, [source], [target])


@generator("If")
def branch(r, op):
    branches = {}
    for name in ("then_branch", "else_branch"):
        nodes = [some_node(r, "x", f"{name}_a"), node("Add", [f"{name}_a", "b"], [f"{name}_y"])]
        if r.chance(0.3):  # branches of other shapes
            nodes.append(node("Concat", [f"{name}_y", "x"], [f"{name}_z"], axis=0))
        branches[name] = onnx.helper.make_graph(nodes, name, [], [port(nodes[-1].output[0])])
    shape = r.shape(1, 3)
    inputs = {"c": np.array(r.chance(0.5)), "x": r.array(shape, np.float32), "b": r.array(r.part(shape)[-1:], np.float32)}
    nodes = [node("If", ["c"], ["v"], **branches), some_node(r, "v", "y")]
    return Case(op, inputs, nodes=tuple(nodes), opset=r.pick((13, 19)), may_be_constant=("c", "b"), fixed=("c", "x", "b"))


@generator("Loop")
def loop(r, op):
    shape = r.shape(1, 3)
    body = [some_node(r, "carried", "a"), node("Add", ["a", "b"], ["next"]), node("ReduceSum", ["next"], ["sum"], keepdims=0),
            node("Less", ["sum", "limit"], ["small"]), node("Identity", ["next"], ["turn"])]
    body = onnx.helper.make_graph(body, "body", [port("i", onnx.TensorProto.INT64, []), port("before", onnx.TensorProto.BOOL, []), port("carried")],
                                  [port("small", onnx.TensorProto.BOOL, []), port("next", shape=shape), port("turn", shape=shape)])
    inputs = {"m": np.array(r.integer(0, 5), np.int64), "c": np.array(r.chance(0.8)), "x": r.array(shape, np.float32),
              "b": r.array(r.part(shape)[-1:], np.float32), "limit": np.array(r.pick((1e9, 5.0)), np.float32)}
    nodes = [node("Loop", ["m", r.pick(("c", "")), "x"], ["y", "turns"], body=body)]
    return Case(op, inputs, outputs=("y", "turns"), nodes=tuple(nodes), opset=r.pick((13, 19)), may_be_constant=("m", "c", "limit", "b"), fixed=("x", "b"), tolerance=1e-4)


@generator("Scan")
def scan(r, op):
    turns, shape = r.integer(1, 5), r.shape(1, 2, 0)
    body = [some_node(r, "s", "a"), node("Add", ["a", "t"], ["next"]), node("Mul", ["next", "b"], ["out"])]
    body = onnx.helper.make_graph(body, "body", [port("s", shape=shape), port("t", shape=shape)], [port("next", shape=shape), port("out", shape=shape)])
    axis = r.integer(0, len(shape))
    inputs = {"s0": r.array(shape, np.float32), "x": np.moveaxis(r.array((turns, *shape), np.float32), 0, axis).copy(), "b": r.array(shape[-1:], np.float32)}
    attributes = {"scan_input_axes": [axis], "scan_output_axes": [r.integer(0, len(shape))], "scan_input_directions": [r.integer(0, 1)], "scan_output_directions": [r.integer(0, 1)]}
    nodes = [node("Scan", ["s0", "x"], ["y", "outs"], body=body, num_scan_inputs=1, **attributes)]
    return Case(op, inputs, outputs=("y", "outs"), nodes=tuple(nodes), opset=r.pick((13, 19)), may_be_constant=("b",), fixed=("s0", "x", "b"), tolerance=1e-4)


def position(r, length, one_more=0):
    return np.array(r.integer(-length, length - 1 + one_more), r.pick((np.int32, np.int64)))


@generator("SequenceConstruct", "SequenceEmpty", "SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength", "ConcatFromSequence")
def sequence(r, op):
    shape, count = r.shape(1, 3), r.integer(1, 4)
    inputs = {f"x{i}": r.array(shape, np.float32) for i in range(count)}
    if op == "SequenceEmpty":
        nodes = [node(op, [], ["s0"])] + [node("SequenceInsert", [f"s{i}", f"x{i}"], [f"s{i + 1}"]) for i in range(count)]
        last = f"s{count}"
    else:
        nodes, last = [node("SequenceConstruct", list(inputs), ["s"])], "s"
    if op == "SequenceInsert":
        inputs["new"], inputs["at"] = r.array(shape, np.float32), position(r, count, 1)
        nodes.append(node(op, [last, "new", "at"], ["t"]))
        last, count = "t", count + 1
    if op == "SequenceErase" and count > 1:
        inputs["at"] = position(r, count)
        nodes.append(node(op, [last, "at"] if r.chance(0.7) else [last], ["t"]))
        last, count = "t", count - 1
    outputs = ("y", "n")
    if op == "SequenceAt" or r.chance(0.2):
        inputs["which"] = position(r, count)
        nodes.append(node("SequenceAt", [last, "which"], ["y"]))
    else:
        new = r.integer(0, 1)
        nodes.append(node("ConcatFromSequence", [last], ["y"], axis=r.axis(len(shape) + new), new_axis=new))
    nodes.append(node("SequenceLength", [last], ["n"]))
    return Case(op, inputs, outputs=outputs, nodes=tuple(nodes), opset=13, may_be_constant=("x0", "at", "which"), constants=("at", "which") if r.chance(0.5) else (), fixed=tuple(inputs))


@generator("SequenceMap")
def sequence_map(r, op):
    shape, count, two = r.shape(1, 3, 0), r.integer(1, 4), r.chance(0.5)
    inputs = {f"x{i}": r.array(shape, np.float32) for i in range(count)} | {"b": r.array(r.part(shape)[-1:], np.float32)}
    nodes = [node("SequenceConstruct", [f"x{i}" for i in range(count)], ["s"])]
    body = [some_node(r, "e", "a"), node("Add", ["a", "b"], ["out"])]
    arguments, ports = ["s"], [port("e", shape=shape)]
    if two:  # another sequence, or one tensor for all
        arguments.append(r.pick(("s", "x0")))
        ports.append(port("other", shape=shape))
        body.append(node("Mul", ["other", "out"], ["product"]))
    body = onnx.helper.make_graph(body, "body", ports, [port("out", shape=shape)] + ([port("product", shape=shape)] if two else []))
    nodes.append(node(op, arguments, ["t", "u"][:len(body.output)], body=body))
    nodes += [node("ConcatFromSequence", [last], [y], axis=0, new_axis=1) for last, y in zip("tu"[:len(body.output)], ("y", "z"))]
    return Case(op, inputs, outputs=("y", "z")[:len(body.output)], nodes=tuple(nodes), opset=r.pick((17, 19)), may_be_constant=("x0", "b"), fixed=tuple(inputs))


@generator("SplitToSequence")
def split_to_sequence(r, op):
    shape = list(r.shape(1, 3, 0))
    axis, parts = r.integer(0, len(shape) - 1), [r.integer(1, 4) for _ in range(r.integer(1, 4))]
    shape[axis] = sum(parts)
    inputs, arguments, keep = {"x": r.array(shape, np.float32)}, ["x"], 1
    if r.chance(0.4):
        inputs["split"], count = np.array(parts, np.int64), len(parts)
    elif r.chance(0.5):
        inputs["split"] = np.array(r.integer(1, 4), np.int64)
        count = -(-shape[axis] // int(inputs["split"]))
    else:
        keep, count = r.integer(0, 1), shape[axis]
    if "split" in inputs:
        arguments.append("split")
    inputs["which"] = position(r, count)
    nodes = [node(op, arguments, ["s"], axis=axis, keepdims=keep), node("SequenceAt", ["s", "which"], ["y"]), node("SequenceLength", ["s"], ["n"])]
    return Case(op, inputs, outputs=("y", "n"), nodes=tuple(nodes), opset=r.pick((13, 24)), may_be_constant=("split", "which"), fixed=tuple(inputs))


@generator("Optional", "OptionalHasElement", "OptionalGetElement")
def optional(r, op):
    x = r.array(r.shape(), np.float32)
    nodes = [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["has"]), node("OptionalGetElement", ["o"], ["v"]), some_node(r, "v", "y")]
    return Case(op, {"x": x}, outputs=("has", "y"), nodes=tuple(nodes), opset=r.pick((15, 18)), fixed=("x",))
