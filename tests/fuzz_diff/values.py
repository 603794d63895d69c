"""Random sizes, element values and attributes of the generators."""
import numpy as np

FLOATS = (np.float32, np.float32, np.float32, np.float64, np.float16)
INTS = (np.int32, np.int64, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64)
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 1e30, -1e30)


class Random:
    """The choices of one case."""

    def __init__(self, seed):
        self.g = np.random.default_rng(seed)

    def chance(self, p):
        return self.g.random() < p

    def pick(self, options):
        return options[int(self.g.integers(len(options)))]

    def integer(self, low, high):
        return int(self.g.integers(low, high + 1))

    def some(self, options, least=0):
        """A sorted part of `options`, at least so many."""
        count = self.integer(min(least, len(options)), len(options))
        return sorted(int(i) for i in self.g.choice(options, count, replace=False)) if count else []

    def size(self, empty=0.04):
        if self.chance(empty):
            return 0
        return self.pick((1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33))

    def shape(self, low=0, high=4, empty=0.04):
        return tuple(self.size(empty) for _ in range(self.integer(low, high)))

    def axis(self, rank):
        return self.integer(-rank, rank - 1)

    def part(self, shape):
        """A shape that broadcasts against `shape`."""
        kept = [s if self.chance(0.7) else 1 for s in shape]
        return tuple(kept[self.integer(0, len(kept)):]) if self.chance(0.4) else tuple(kept)

    def array(self, shape, dtype, edges=0.0, low=None, high=None):
        dtype = np.dtype(dtype)
        if dtype == bool:
            return self.g.random(shape) < 0.5
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            low = (0 if dtype.kind == "u" else -10) if low is None else low
            high = 10 if high is None else high
            x = self.g.integers(low, high, shape, endpoint=True).astype(dtype)
            special = (info.min, info.max, 0)
        else:
            x = self.g.standard_normal(shape) * self.pick((0.5, 1.0, 3.0))
            if low is not None:
                x = low + (high - low) * self.g.random(shape)
            if self.chance(0.2):
                x = np.round(x)
            x = np.asarray(x).astype(dtype)
            special = EDGES
        if edges and self.chance(edges) and x.size:
            x = np.array(x)
            where = self.g.random(x.shape) < 0.2
            with np.errstate(over="ignore"):
                filled = self.g.choice(np.array(special, dtype), x.shape)
            x[where] = filled[where]
        return x
