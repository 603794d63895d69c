"""A random TensorFlow graph under construction."""
import dataclasses

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
raw = tf.raw_ops

GENERATORS = {}
FLOATS = (np.float32, np.float32, np.float32, np.float64)
INTS = (np.int32, np.int32, np.int64, np.uint8, np.int8, np.int16, np.uint16)
NUMBERS = FLOATS + INTS
TAME = 1e6


def generator(*names):
    """Registers a function from (Builder, operator) to the operator's outputs under each name."""
    def add(function):
        for name in names:
            GENERATORS[name] = lambda b, n=name, f=function: f(b, n)
        return function
    return add


@dataclasses.dataclass
class Value:
    tensor: tf.Tensor
    exact: bool                       # has no rounding errors: an input, or elements of one
    tame: bool = False                # surely holds neither NaN nor infinities nor huge numbers

    @property
    def shape(self):
        return tuple(self.tensor.shape.as_list())

    @property
    def rank(self):
        return len(self.shape)

    @property
    def dtype(self):
        return np.dtype(self.tensor.dtype.as_numpy_dtype)


class Builder:
    """Makes operators, whose inputs are outputs of earlier ones, fresh inputs of the graph or constants."""

    def __init__(self, r):
        self.r = r
        self.values = []              # Value, in order
        self.feeds = {}               # placeholder → array
        self.used = set()
        self.dynamic = 0.3 if r.chance(0.15) else 0.0  # how often sizes and indices are known to the run only
        self.exact = True             # whether the inputs of the operator in the making are

    def known(self):
        return [v for v in self.values if v.tensor.shape.is_fully_defined()]

    def fresh(self, shape, dtype, low=None, high=None, edges=0.1, constant=0.2):
        """An input of the graph, or a constant."""
        array = np.asarray(self.r.array(shape, dtype, edges, low, high))
        tame = array.dtype.kind != "f" or bool(np.all(np.abs(array) < TAME))
        if self.r.chance(constant):
            return Value(tf.constant(array), True, tame)
        value = Value(self.fresh_of(array), True, tame)
        self.values.append(value)
        return value

    def fresh_of(self, array):
        """An input of the graph that holds the array."""
        x = v1.placeholder(array.dtype, array.shape, name=f"x{len(self.feeds)}")
        self.feeds[x] = array
        return x

    def shape(self, low=0, high=4, empty=0.03):
        """Small enough that chains stay small."""
        shape = self.r.shape(low, high, empty)
        return shape if np.prod(shape) <= 4000 else tuple(min(s, 5) for s in shape)

    def take(self, dtypes=FLOATS, low=0, high=4, exact=False, where=lambda shape: True, make=None, **options):
        """A value of one of the dtypes and such a rank: of an earlier operator, or a fresh one."""
        fits = [v for v in self.known() if v.dtype in [np.dtype(d) for d in dtypes] and low <= v.rank <= high
                and (v.exact or not exact) and where(v.shape)]
        if fits and self.r.chance(0.75):
            # The newest one more often than others: graphs become deep.
            value = fits[-1] if self.r.chance(0.6) else self.r.pick(fits)
        else:
            value = self.fresh(make() if make else self.shape(low, high), self.r.pick(dtypes), **options)
        return self.use(value)

    def like(self, shape, dtype, exact=False, **options):
        """A value of this shape and dtype."""
        fits = [v for v in self.known() if v.shape == tuple(shape) and v.dtype == dtype and (v.exact or not exact)]
        return self.use(self.r.pick(fits) if fits and self.r.chance(0.5) else self.fresh(shape, dtype, **options))

    def tame(self, value):
        """Ones in place of NaN, infinities and huge numbers, where TensorFlow's kernels have other answers for one operator or
        answers that the order of their arithmetic decides (docs/accuracy.md)."""
        if value.tame or value.dtype.kind != "f":
            return value
        one = tf.constant(1, value.dtype)
        fine = raw.Less(x=raw.Abs(x=value.tensor), y=tf.constant(TAME, value.dtype))
        return Value(raw.SelectV2(condition=fine, t=value.tensor, e=one), value.exact, True)

    def nonzero(self, value):
        """Ones in place of zeros, whose sign differs from kernel to kernel."""
        one, zero = tf.constant(1, value.dtype), tf.constant(0, value.dtype)
        found = raw.NotEqual(x=value.tensor, y=zero)
        return Value(raw.SelectV2(condition=found, t=value.tensor, e=one), value.exact, value.tame)

    def use(self, value):
        self.used.add(id(value))
        self.exact = self.exact and value.exact
        return value

    def add(self, name):
        """One more operator."""
        self.exact = True
        exact, made = GENERATORS[name](self)
        for tensor in made if isinstance(made, (list, tuple)) else [made]:
            if tensor.dtype in (tf.resource, tf.variant):
                continue
            self.values.append(Value(tensor, exact and self.exact))


def moved(tensors):
    """Elements of the inputs, or exact functions of them."""
    return True, tensors


def computed(tensors):
    return False, tensors
