"""Small ONNX models with attention, for run.py: of ai.onnx (opset 23) and of com.microsoft."""
import numpy
from onnx import helper, numpy_helper

HIDDEN, HEADS = 48, 4


def model(nodes, inputs, outputs, constants=(), opset=23):
    def value(name, dtype, shape):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)), shape)

    graph = helper.make_graph(nodes, "attention", [value(*i) for i in inputs], [value(*o) for o in outputs],
                              [numpy_helper.from_array(a, name) for name, a in constants])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])


def weights(random, *shape):
    return (random.standard_normal(shape) / numpy.sqrt(shape[0])).astype(numpy.float32)


def self_attention(random):
    """A layer with projections before and after: causal, key heads shared by two, and a mask."""
    w = [("wq", weights(random, HIDDEN, HIDDEN)), ("wk", weights(random, HIDDEN, HIDDEN // 2)),
         ("wv", weights(random, HIDDEN, HIDDEN // 2)), ("wo", weights(random, HIDDEN, HIDDEN))]
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [i]) for i in "qkv"]
    nodes += [
        helper.make_node("Attention", ["q", "k", "v", "mask"], ["a"], q_num_heads=HEADS, kv_num_heads=HEADS // 2,
                         is_causal=1),
        helper.make_node("MatMul", ["a", "wo"], ["y"]),
    ]
    mask = random.standard_normal((2, 1, 70, 70)).astype(numpy.float32)
    mask[:, :, :, 3] = -numpy.inf
    feeds = {"x": random.standard_normal((2, 70, HIDDEN)).astype(numpy.float32), "mask": mask}
    return model(nodes, [(n, v.dtype, v.shape) for n, v in feeds.items()], [("y", "float32", None)], w), feeds


def decode(random, dtype=numpy.float32):
    """One query after 300 keys that are given, which it appends to."""
    feeds = {"q": (2, 6, 1, 64), "k": (2, 3, 1, 64), "v": (2, 3, 1, 40), "past_k": (2, 3, 300, 64),
             "past_v": (2, 3, 300, 40)}
    feeds = {n: random.standard_normal(shape).astype(dtype) for n, shape in feeds.items()}
    node = helper.make_node("Attention", ["q", "k", "v", "", "past_k", "past_v"], ["y", "keys", "values"], is_causal=1)
    return model([node], [(n, v.dtype, v.shape) for n, v in feeds.items()],
                 [(n, dtype, None) for n in ("y", "keys", "values")]), feeds


def multi_head(random):
    """com.microsoft MultiHeadAttention with a bias, keys and values from elsewhere."""
    feeds = {n: random.standard_normal((3, length, HIDDEN)).astype(numpy.float32)
             for n, length in (("query", 17), ("key", 130), ("value", 130))}
    node = helper.make_node("MultiHeadAttention", ["query", "key", "value", "bias"], ["y"], domain="com.microsoft",
                            num_heads=HEADS)
    return model([node], [(n, v.dtype, v.shape) for n, v in feeds.items()], [("y", "float32", None)],
                 [("bias", weights(random, 3 * HIDDEN))], opset=17), feeds


# Name, what makes the model and its inputs from a random generator.
GRAPHS = {
    "self_attention": self_attention,
    "decode": decode,
    "decode in f16": lambda random: decode(random, numpy.float16),
    "multi_head_attention": multi_head,
}
