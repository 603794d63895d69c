"""Seeded weights: the same bytes wherever they are made."""
import zlib

import numpy as np


class Weights:
    """Random numbers that depend on the model's name alone."""

    def __init__(self, model):
        self._random = np.random.Generator(np.random.PCG64(zlib.crc32(model.encode())))

    def normal(self, shape, deviation):
        return (self._random.standard_normal(shape) * deviation).astype(np.float32)

    def he(self, shape, fan_in):
        """K. He et al. 2015: keeps the size of what a ReLU follows."""
        return self.normal(shape, np.sqrt(2 / fan_in))

    def glorot(self, shape, fan_in, fan_out):
        """X. Glorot and Y. Bengio 2010."""
        return self.normal(shape, np.sqrt(2 / (fan_in + fan_out)))

    def uniform(self, shape, low, high):
        return self._random.uniform(low, high, shape).astype(np.float32)

    def bias(self, n):
        return self.normal([n], 0.05)

    def batch_norm(self, n):
        """Scale, offset, mean and variance as training leaves them: near 1, 0, 0 and 1."""
        return (self.uniform([n], 0.8, 1.2), self.normal([n], 0.1), self.normal([n], 0.1),
                self.uniform([n], 0.8, 1.2))
