"""A decoder of the GPT-2 kind as ONNX, with caches that go in and come out: prefill and decode."""
import numpy as np

from onnx_graph import INT64, OnnxGraph
from weights import Weights

LAYERS, HEADS, WIDTH, VOCABULARY, POSITIONS = 6, 6, 384, 8192, 1024  # 17 million parameters
HEAD = WIDTH // HEADS


class Decoder:
    def __init__(self):
        self.g, self.w = OnnxGraph("transformer"), Weights("transformer")
        self.ids = self.g.input("input_ids", ["batch", "seq"], INT64)
        caches = [(f"past_key_{i}", f"past_value_{i}") for i in range(LAYERS)]
        self.caches = [[self.g.input(n, ["batch", HEADS, "past", HEAD]) for n in pair] for pair in caches]

    def dense(self, x, inputs, outputs):
        weight = self.g.weight(self.w.normal([inputs, outputs], 1 / np.sqrt(inputs)))
        return self.g.node("Add", [self.g.node("MatMul", [x, weight]), self.g.weight(self.w.bias(outputs))])

    def norm(self, x):
        scale, bias = self.w.uniform([WIDTH], 0.8, 1.2), self.w.bias(WIDTH)
        return self.g.node("LayerNormalization", [x, self.g.weight(scale), self.g.weight(bias)], axis=-1)

    def gelu(self, x):
        g = self.g
        half, one = g.weight(np.float32(0.5)), g.weight(np.float32(1))
        erf = g.node("Erf", [g.node("Mul", [x, g.weight(np.float32(np.sqrt(0.5)))])])
        return g.node("Mul", [g.node("Mul", [x, half]), g.node("Add", [erf, one])])

    def size(self, value, axis):
        shape = self.g.node("Shape", [value], start=axis, end=axis + 1)
        return self.g.node("Squeeze", [shape, self.g.ints(0)])

    def positions(self):
        """Where the tokens of this call are, and what each may not see: all that comes after it."""
        g = self.g
        past, seq = self.size(self.caches[0][0], 2), self.size(self.ids, 1)
        total, zero, one = g.node("Add", [past, seq]), g.weight(np.int64(0)), g.weight(np.int64(1))
        here = g.node("Range", [past, total, one])
        everywhere = g.node("Range", [zero, total, one])
        later = g.node("Greater", [everywhere, g.node("Unsqueeze", [here, g.ints(1)])])
        mask = g.node("Where", [later, g.weight(np.float32(-1e9)), g.weight(np.float32(0))])
        return here, mask

    def split_heads(self, x):
        shape = self.g.ints(0, 0, HEADS, HEAD)  # 0: as it is
        return self.g.node("Transpose", [self.g.node("Reshape", [x, shape])], perm=[0, 2, 1, 3])

    def attention(self, x, layer, mask):
        g = self.g
        q, k, v = (self.split_heads(part) for part in
                   g.node("Split", [self.dense(x, WIDTH, 3 * WIDTH)], outputs=3, axis=-1))
        k, v = (g.node("Concat", [past, now], axis=2) for past, now in zip(self.caches[layer], (k, v)))
        for name, value in (("key", k), ("value", v)):
            g.output(value, f"present_{name}_{layer}", ["batch", HEADS, "total", HEAD])
        scores = g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = g.node("Add", [g.node("Mul", [scores, g.weight(np.float32(HEAD**-0.5))]), mask])
        y = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
        y = g.node("Reshape", [g.node("Transpose", [y], perm=[0, 2, 1, 3]), g.ints(0, 0, WIDTH)])
        return self.dense(y, WIDTH, WIDTH)

    def serialized(self):
        g = self.g
        here, mask = self.positions()
        table = self.w.normal([VOCABULARY, WIDTH], 0.5)
        places = g.node("Gather", [g.weight(self.w.normal([POSITIONS, WIDTH], 0.1)), here])
        x = g.node("Add", [g.node("Gather", [g.weight(table), self.ids]), places])
        for layer in range(LAYERS):
            x = g.node("Add", [x, self.attention(self.norm(x), layer, mask)])
            wide = self.gelu(self.dense(self.norm(x), WIDTH, 4 * WIDTH))
            x = g.node("Add", [x, self.dense(wide, 4 * WIDTH, WIDTH)])
        logits = g.node("MatMul", [self.norm(x), g.weight(table.T / np.float32(np.sqrt(WIDTH)))])
        g.output(logits, "logits", ["batch", "seq", VOCABULARY])
        return g.serialized()


def transformer():
    return Decoder().serialized()
