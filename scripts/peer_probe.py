"""How fast the processor is right now, and which measurements are not trusted: the rule of `treadle bench
suite` (src/cli/suite_plan.hpp), whose own loop is inside the command."""
import os
import struct
import time

import numpy as np

SECONDS = 0.03
UNIT = "G multiply-adds/s"
DIFFERENCE, BELOW_BEST = 0.05, 0.10


def loop():
    """Products and sums over an array in the first-level cache: multiply-adds a second."""
    values, size = np.ones(2048, np.float32), 2048
    factor, term, done, start = np.float32(0.5), np.float32(1e-3), 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        for _ in range(200):
            np.multiply(values, factor, out=values)
            np.add(values, term, out=values)
        done += 200 * size
    return done / (time.perf_counter() - start) / 1e9


def rate(cores):
    """The sum over a process on each of the cores."""
    children = []
    for core in cores:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.sched_setaffinity(0, {core})
            os.write(writer, struct.pack("d", loop()))
            os._exit(0)
        os.close(writer)
        children.append((pid, reader))
    total = 0.0
    for pid, reader in children:
        total += struct.unpack("d", os.read(reader, 8))[0]
        os.close(reader)
        os.waitpid(pid, 0)
    return total


class Disturbance:
    def __init__(self):
        self.best, self.count = {}, {}

    def seen(self, kind):
        return self.count.get(kind, 0)

    def saw(self, kind, value):
        self.best[kind] = max(self.best.get(kind, 0), value)
        self.count[kind] = self.seen(kind) + 1

    def disturbed(self, kind, before, after):
        self.saw(kind, before)
        self.saw(kind, after)
        low, high = sorted((before, after))
        return low < (1 - DIFFERENCE) * high or low < (1 - BELOW_BEST) * self.best[kind]
