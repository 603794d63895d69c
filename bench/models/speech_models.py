"""ONNX models of speech: wake word, acoustic models, transducer. Inputs are [1, frames, features]."""
import numpy as np

from onnx_graph import FLOAT, INT64, OnnxGraph
from weights import Weights

SENONES = 2000  # outputs of the acoustic models


class Frames:
    """Layers over time with seeded weights. Inside [1, channels, frames], as Conv has it."""

    def __init__(self, name, features):
        self.graph, self.weights = OnnxGraph(name), Weights(name)
        x = self.graph.input("input", [1, "frames", features])
        self.x, self.channels = self.graph.node("Transpose", [x], perm=[0, 2, 1]), features

    def conv(self, x, inputs, filters, size, **attributes):
        weight = self.graph.weight(self.weights.glorot([filters, inputs, size], inputs * size, filters))
        bias = self.graph.weight(self.weights.bias(filters))
        return self.graph.node("Conv", [x, weight, bias], kernel_shape=[size], **attributes)

    def relu_batch_norm(self):
        parameters = [self.graph.weight(p) for p in self.weights.batch_norm(self.channels)]
        x = self.graph.node("Relu", [self.x])
        self.x = self.graph.node("BatchNormalization", [x, *parameters], epsilon=1e-3)

    def tdnn(self, filters, size, dilation=1, stride=1):
        self.x = self.conv(self.x, self.channels, filters, size, dilations=[dilation], strides=[stride])
        self.channels = filters
        self.relu_batch_norm()

    def lstm(self, hidden):
        g, w = self.graph, self.weights
        scale = 1 / np.sqrt(hidden)
        weights = [g.weight(w.uniform([1, 4 * hidden, n], -scale, scale)) for n in (self.channels, hidden)]
        bias = g.weight(w.uniform([1, 8 * hidden], -scale, scale))
        x = g.node("Transpose", [self.x], perm=[2, 0, 1])
        y = g.node("LSTM", [x, *weights, bias], hidden_size=hidden)  # [frames, 1, 1, hidden]
        y = g.node("Squeeze", [y, g.ints(1)])
        self.x, self.channels = g.node("Transpose", [y], perm=[1, 2, 0]), hidden

    def finish(self, outputs, frames):
        x = self.conv(self.x, self.channels, outputs, 1)
        x = self.graph.node("Transpose", [x], perm=[0, 2, 1])
        x = self.graph.node("LogSoftmax", [x], axis=-1)
        self.graph.output(x, "output", [1, frames, outputs])
        return self.graph.serialized()


def wakeword(name, features, stacks):
    """Gated dilated causal convolutions with residual and skip paths ("Efficient keyword spotting using
    dilated convolutions and gating", Coucke et al. 2018): kernels of 3, dilations 1, 2, 4, 8, 16 residual
    and 32 skip channels, then two layers. What is before the first frame is 0."""
    net = Frames(name, features)
    g = net.graph

    def causal(x, inputs, filters, dilation):
        return net.conv(x, inputs, filters, 3, dilations=[dilation], pads=[2 * dilation, 0])

    x, skips = causal(net.x, features, 16, 1), None
    for dilation in (1, 2, 4, 8) * stacks:
        gate = g.node("Sigmoid", [causal(x, 16, 16, dilation)])
        value = g.node("Tanh", [causal(x, 16, 16, dilation)])
        gated = g.node("Mul", [gate, value])
        skip = net.conv(gated, 16, 32, 1)
        skips = g.node("Add", [skips, skip]) if skips else skip
        x = g.node("Add", [x, net.conv(gated, 16, 16, 1)])
    y = g.node("Relu", [skips])
    net.x, net.channels = g.node("Relu", [net.conv(y, 32, 128, 1)]), 128
    return net.finish(4, "frames")


def wakeword_40():
    return wakeword("wakeword_40", 40, stacks=2)  # sees 63 frames


def wakeword_20():
    return wakeword("wakeword_20", 20, stacks=6)  # sees 183 frames, as in the paper


def tdnn(name, hidden):
    """Time delay network (Peddinti, Povey, Khudanpur 2015) with one output for 3 frames, as Kaldi's chain
    models have it. 16 hidden² + 2200 hidden parameters."""
    net = Frames(name, 40)
    net.tdnn(hidden, 5)
    net.tdnn(hidden, 3)
    net.tdnn(hidden, 3)
    net.tdnn(hidden, 3, stride=3)
    net.tdnn(hidden, 3)
    net.tdnn(hidden, 3)
    net.tdnn(hidden, 1)
    return net.finish(SENONES, "frames_out")


def tdnn_8m():
    return tdnn("tdnn_8m", 640)


def tdnn_15m():
    return tdnn("tdnn_15m", 900)


def tdnn_lstm(name, hidden):
    """TDNN layers and LSTMs in turns (Peddinti et al. 2018). 25 hidden² + 2200 hidden parameters."""
    net = Frames(name, 40)
    net.tdnn(hidden, 5)
    net.tdnn(hidden, 3)
    net.tdnn(hidden, 3, stride=3)
    net.lstm(hidden)
    net.tdnn(hidden, 3)
    net.lstm(hidden)
    return net.finish(SENONES, "frames_out")


def tdnn_lstm_8m():
    return tdnn_lstm("tdnn_lstm_8m", 520)


def tdnn_lstm_15m():
    return tdnn_lstm("tdnn_lstm_15m", 728)


PREDICTOR, ENCODER, VOCABULARY = 640, 512, 1025  # the last token is blank


def transducer_decoder():
    """A step of a transducer's prediction network (Graves 2012): a token, its embedding, two LSTMs; the
    state goes in and comes out."""
    g, w = OnnxGraph("transducer_decoder"), Weights("transducer_decoder")
    token = g.input("token", [1, 1], INT64)
    states = [g.input(name, [2, 1, PREDICTOR]) for name in ("h", "c")]
    table = g.weight(w.normal([VOCABULARY, PREDICTOR], 1))
    x = g.node("Gather", [table, token])  # [1 step, batch of 1, features]
    layers = [g.node("Split", [s], outputs=2, axis=0) for s in states]
    scale, next_states = 1 / np.sqrt(PREDICTOR), []
    for h, c in zip(*layers):
        weights = [g.weight(w.uniform([1, 4 * PREDICTOR, PREDICTOR], -scale, scale)) for _ in range(2)]
        bias = g.weight(w.uniform([1, 8 * PREDICTOR], -scale, scale))
        y, *state = g.node("LSTM", [x, *weights, bias, "", h, c], outputs=3, hidden_size=PREDICTOR)
        x = g.node("Squeeze", [y, g.ints(1)])
        next_states.append(state)
    g.output(x, "output", [1, 1, PREDICTOR])
    for name, parts in zip(("h_out", "c_out"), zip(*next_states)):
        g.output(g.node("Concat", list(parts), axis=0), name, [2, 1, PREDICTOR])
    return g.serialized()


def transducer_joint():
    """A step of the joint network: one frame of the encoder with one step of the predictor."""
    g, w = OnnxGraph("transducer_joint"), Weights("transducer_joint")

    def dense(x, inputs, outputs):
        product = g.node("MatMul", [x, g.weight(w.glorot([inputs, outputs], inputs, outputs))])
        return g.node("Add", [product, g.weight(w.bias(outputs))])

    encoder = g.input("encoder", [1, 1, ENCODER], FLOAT)
    predictor = g.input("predictor", [1, 1, PREDICTOR], FLOAT)
    x = g.node("Tanh", [g.node("Add", [dense(encoder, ENCODER, 640), dense(predictor, PREDICTOR, 640)])])
    x = g.node("LogSoftmax", [dense(x, 640, VOCABULARY)], axis=-1)
    g.output(x, "output", [1, 1, VOCABULARY])
    return g.serialized()
