"""Inception v1 in 8 bits, as ONNX Runtime's static quantiser writes it (QDQ)."""
import pathlib
import tempfile

import numpy as np

from onnx_graph import OnnxGraph
from weights import Weights

# Per module: 1x1; 3x3 after its reduction; 5x5 after its reduction; projection of the pool. Table 1 of
# "Going deeper with convolutions" (Szegedy et al. 2014). None: a pool that halves.
MODULES = ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None,
           (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
           (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), None,
           (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128))


class Inception:
    def __init__(self):
        self.g, self.w = OnnxGraph("inception_v1"), Weights("inception_v1")

    def conv(self, x, inputs, filters, size, stride=1):
        weight = self.g.weight(self.w.he([filters, inputs, size, size], inputs * size * size))
        pad = size // 2
        y = self.g.node("Conv", [x, weight, self.g.weight(self.w.bias(filters))], kernel_shape=[size, size],
                        strides=[stride, stride], pads=[pad] * 4)
        return self.g.node("Relu", [y])

    def pool(self, x, stride):
        return self.g.node("MaxPool", [x], kernel_shape=[3, 3], strides=[stride, stride], pads=[1] * 4)

    def module(self, x, inputs, sizes):
        one, reduce3, three, reduce5, five, project = sizes
        branches = [self.conv(x, inputs, one, 1),
                    self.conv(self.conv(x, inputs, reduce3, 1), reduce3, three, 3),
                    self.conv(self.conv(x, inputs, reduce5, 1), reduce5, five, 5),
                    self.conv(self.pool(x, 1), inputs, project, 1)]
        return self.g.node("Concat", branches, axis=1), one + three + five + project

    def model(self):
        g = self.g
        x = self.pool(self.conv(g.input("input", [1, 3, 224, 224]), 3, 64, 7, 2), 2)
        x = self.pool(self.conv(self.conv(x, 64, 64, 1), 64, 192, 3), 2)
        channels = 192
        for sizes in MODULES:
            if sizes:
                x, channels = self.module(x, channels, sizes)
            else:
                x = self.pool(x, 2)
        x = g.node("Flatten", [g.node("GlobalAveragePool", [x])])
        weight = g.weight(self.w.glorot([channels, 1000], channels, 1000))
        x = g.node("Gemm", [x, weight, g.weight(self.w.bias(1000))])
        g.output(g.node("Softmax", [x]), "output", [1, 1000])
        return g.model()


class Calibration:
    """Two seeded pictures."""

    def __init__(self):
        random = np.random.Generator(np.random.PCG64(1))
        self._pictures = [random.standard_normal((1, 3, 224, 224)).astype(np.float32) for _ in range(2)]

    def get_next(self):
        return {"input": self._pictures.pop()} if self._pictures else None


def inception_v1_quant():
    import onnx
    from onnxruntime import quantization

    class Reader(Calibration, quantization.CalibrationDataReader):
        pass

    with tempfile.TemporaryDirectory() as folder:
        plain, quantised = pathlib.Path(folder, "plain.onnx"), pathlib.Path(folder, "quantised.onnx")
        onnx.save(Inception().model(), plain)
        quantization.quantize_static(plain, quantised, Reader(), per_channel=True,
                                     quant_format=quantization.QuantFormat.QDQ,
                                     weight_type=quantization.QuantType.QInt8)
        return onnx.load(quantised).SerializeToString(deterministic=True)
