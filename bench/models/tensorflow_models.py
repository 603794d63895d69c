"""Frozen TensorFlow graphs: keyword spotting, voice commands, MobileNet v1."""
import numpy as np

from graphdef import GraphDef
from weights import Weights

LABELS = 12  # ten words, silence, unknown


class Layers:
    """Layers with seeded weights, added to a graph one after the other (NHWC)."""

    def __init__(self, model, quantised=False):
        self.graph, self.weights, self.quantised = GraphDef(), Weights(model), quantised

    def input(self, name, shape):
        self.x, self.channels = self.graph.placeholder(name, shape), shape[-1]

    def weight(self, array):
        """A constant, rounded to 8 bits in the graph where the model is fake-quantised."""
        name = self.graph.const(array)
        if not self.quantised:
            return name
        # Symmetric: 255 values, as TensorFlow trains weights (narrow_range).
        most = float(np.abs(array).max())
        return self._fake_quantised(name, -most, most, narrow=True)

    def _fake_quantised(self, x, low, high, narrow):
        limits = [self.graph.const(np.float32(v)) for v in (low, high)]
        return self.graph.node("FakeQuantWithMinMaxVars", [x, *limits], num_bits=8, narrow_range=narrow)

    def conv(self, filters, size, stride, padding="SAME"):
        shape = [*size, self.channels, filters]
        weight = self.weight(self.weights.he(shape, np.prod(shape[:3])))
        self.x = self.graph.op("Conv2D", [self.x, weight], strides=[1, *stride, 1], padding=padding,
                               data_format="NHWC", dilations=[1, 1, 1, 1])
        self.channels = filters

    def depthwise(self, size, stride):
        weight = self.weight(self.weights.he([*size, self.channels, 1], np.prod(size)))
        self.x = self.graph.op("DepthwiseConv2dNative", [self.x, weight], strides=[1, *stride, 1],
                               padding="SAME", data_format="NHWC", dilations=[1, 1, 1, 1])

    def bias(self):
        bias = self.graph.const(self.weights.bias(self.channels))
        self.x = self.graph.op("BiasAdd", [self.x, bias], data_format="NHWC")

    def batch_norm(self):
        parameters = [self.graph.const(p) for p in self.weights.batch_norm(self.channels)]
        self.x = self.graph.op("FusedBatchNorm", [self.x, *parameters], epsilon=0.001, is_training=False,
                               data_format="NHWC")

    def relu(self, op="Relu"):
        self.x = self.graph.op(op, [self.x])

    def quantise(self, low, high):
        """Rounds activations to 8 bits where the model is fake-quantised."""
        if self.quantised:
            self.x = self._fake_quantised(self.x, low, high, narrow=False)

    def pool(self, op, size, stride, padding):
        self.x = self.graph.op(op, [self.x], ksize=[1, *size, 1], strides=[1, *stride, 1],
                               padding=padding, data_format="NHWC")

    def flatten(self, n):
        self.x, self.channels = self.graph.reshape(self.x, [-1, n]), n

    def dense(self, n):
        weight = self.weight(self.weights.he([self.channels, n], self.channels))
        self.x = self.graph.op("MatMul", [self.x, weight], transpose_a=False, transpose_b=False)
        self.channels = n
        self.bias()

    def softmax(self, name):
        self.x = self.graph.op("Softmax", [self.x], name)
        return self.graph.serialized()


def kws_cnn_m():
    """CNN-M of "Hello Edge" (Zhang et al. 2018, table 2): 49 frames of 10 MFCCs, convolutions of 64 and
    48 filters of 10x4, linear 16, dense 128; structure of ARM's ML-KWS-for-MCU."""
    net = Layers("kws_cnn_m")
    net.input("Mfcc", [1, 49, 10])
    net.x, net.channels = net.graph.reshape(net.x, [-1, 49, 10, 1]), 1
    for filters, stride in ((64, [1, 1]), (48, [2, 1])):
        net.conv(filters, [10, 4], stride, "VALID")
        net.bias()
        net.batch_norm()
        net.relu()
    net.flatten(16 * 4 * 48)  # 49 - 9 = 40, (40 - 9 + 1) / 2 = 16 frames; 10 - 3 - 3 = 4 coefficients
    net.dense(16)
    net.dense(128)
    net.relu()
    net.dense(LABELS)
    return net.softmax("labels_softmax")


def kws_ds_cnn_m():
    """DS-CNN-M of "Hello Edge": a convolution of 172 filters of 10x4 and four depthwise separable ones of
    3x3, the first of them with stride 2."""
    net = Layers("kws_ds_cnn_m")
    net.input("Mfcc", [1, 49, 10])
    net.x, net.channels = net.graph.reshape(net.x, [-1, 49, 10, 1]), 1
    net.conv(172, [10, 4], [2, 1])
    net.bias()
    net.batch_norm()
    net.relu()
    for stride in ([2, 2], [1, 1], [1, 1], [1, 1]):
        net.depthwise([3, 3], stride)
        net.bias()
        net.batch_norm()
        net.relu()
        net.conv(172, [1, 1], [1, 1])
        net.bias()
        net.batch_norm()
        net.relu()
    net.pool("AvgPool", [13, 5], [13, 5], "VALID")
    net.flatten(172)
    net.dense(LABELS)
    return net.softmax("labels_softmax")


def voice_command(quantised=False):
    """2 seconds (200 frames of 10 ms, 10 coefficients): three convolutions, pooling over time, two dense
    layers. The same weights in both forms; fake-quantised as trained by TensorFlow for 8 bits."""
    net = Layers("voice_command", quantised)
    net.input("input", [200, 10])
    net.x, net.channels = net.graph.reshape(net.x, [1, 200, 10, 1]), 1
    net.quantise(-4.0, 4.0)
    for filters, size, stride in ((64, [10, 4], [2, 1]), (96, [6, 4], [2, 2]), (128, [6, 3], [1, 1])):
        net.conv(filters, size, stride)
        net.bias()
        net.relu()
        net.quantise(0.0, 6.0)
    net.pool("MaxPool", [5, 1], [5, 1], "VALID")
    net.flatten(10 * 5 * 128)  # 200 / 2 / 2 / 5 = 10 frames; 10 / 2 = 5 coefficients
    net.dense(128)
    net.relu()
    net.quantise(0.0, 6.0)
    net.dense(LABELS)
    return net.softmax("output")


def voice_command_fq():
    return voice_command(quantised=True)


def mobilenet_v1():
    """MobileNet v1 1.0 224 (Howard et al. 2017): 4.2 million parameters."""
    net = Layers("mobilenet_v1")
    net.input("input", [1, 224, 224, 3])
    net.conv(32, [3, 3], [2, 2])
    net.batch_norm()
    net.relu("Relu6")
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1),
                            (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)):
        net.depthwise([3, 3], [stride, stride])
        net.batch_norm()
        net.relu("Relu6")
        net.conv(filters, [1, 1], [1, 1])
        net.batch_norm()
        net.relu("Relu6")
    net.pool("AvgPool", [7, 7], [1, 1], "VALID")
    net.conv(1001, [1, 1], [1, 1])
    net.bias()
    net.flatten(1001)
    return net.softmax("predictions")
