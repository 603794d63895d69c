#!/usr/bin/env python3
"""How good the choice of tiles is: the chosen variant beside the best of a sweep, for each shape.

usage: fit_tiles.py SWEEP...
SWEEP is what `gpu_conv_bench sweep` printed. The estimate is that of src/gpu/tiles.cpp, with the
constants that stand there and the tables of src/gpu/conv_plan.cpp and src/gpu/gemm_plan.cpp: edit
those and run this again, no build needed. Exit status 1 where the choice takes more than 1.2 times
the best.
"""
import collections
import math
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src" / "gpu"
TABLES = {"gemm_": ("conv_plan.cpp", "kFourTiles"), "gemm_any_": ("conv_plan.cpp", "kAnyTiles"),
          "tile_": ("gemm_plan.cpp", "kTiles")}
CYCLES = 1755  # a microsecond, of an H200

Tile = collections.namedtuple("Tile", "m n k threads resident rate")


def constants():
    text = (SOURCES / "tiles.cpp").read_text()
    found = {name: float(v) for name, v in re.findall(r"constexpr [\w:]+ (k\w+) = ([\d.]+);", text)}
    splits = re.search(r"kSplits\[\] = \{([^}]*)\}", text)[1]
    return found, [int(s) for s in splits.split(",")]


def tiles(file, table):
    text = (SOURCES / file).read_text()
    body = re.search(table + r"\[\] = \{(.*?)\n\};", text, re.S)[1]
    return {name: Tile(*map(int, sizes.split(",")), float(rate))
            for name, sizes, rate in re.findall(r'\{"(\w+)", ([\d, ]+), ([\d.]+)\}', body)}


def divide_up(a, b):
    return -(-a // b)


def group_cycles(c, tile, groups, positions):
    if groups == 0:
        return 0
    warps = groups * tile.threads / 32
    idle = c["kIdleRate"]
    rate = c["kPeak"] * tile.rate * min(1, idle + (1 - idle) * warps / c["kFullWarps"])
    return groups * tile.m * tile.n * (positions + c["kEnds"]) / rate


def estimated_cycles(c, tile, shape, splits):
    m, n, k = shape
    split_k = divide_up(divide_up(k, splits), tile.k) * tile.k
    groups = divide_up(m, tile.m) * divide_up(n, tile.n) * divide_up(k, split_k)
    processors = int(c["kMultiprocessors"])
    waves, rest = divmod(groups, processors * tile.resident)
    cycles = c["kLaunch"] + waves * group_cycles(c, tile, tile.resident, split_k)
    cycles += group_cycles(c, tile, divide_up(rest, processors), split_k)
    if splits > 1:
        cycles += c["kSumLaunch"] + c["kSumSplit"] * splits + 8 * m * n * splits / c["kCacheBytes"]
    return cycles


def estimates(c, all_splits, table, prefix, shape):
    """{variant: cycles} of what choose_tile chooses from."""
    k, found = shape[2], {}
    for name, tile in table.items():
        for splits in all_splits:
            if splits > 1 and k < splits * c["kLeastSplit"]:
                break
            split_k = divide_up(divide_up(k, splits), tile.k) * tile.k
            if divide_up(k, split_k) == splits:
                variant = prefix + name + (f"/{splits}" if splits > 1 else "")
                found[variant] = estimated_cycles(c, tile, shape, splits)
    return found


def conv_shape(name, batch):
    m = re.match(r"(\d+)x(\d+)(?:/(\d+))? (\d+)² (\d+)→(\d+)$", name)
    if not m:
        return None
    high, wide, stride, size, inputs, outputs = (int(v or 1) for v in m.groups())
    out = (size - 1) // stride + 1
    return batch * out * out, outputs, high * wide * inputs


def product_shape(name):
    if m := re.match(r"(\d+)³$", name):
        return (int(m[1]),) * 3
    m = re.match(r"(\d+) (\d+)→(\d+)$", name)
    return (int(m[1]), int(m[3]), int(m[2])) if m else None


def read(path):
    """{(row, shape): {variant: microseconds}} of convolutions and products by tiles."""
    found, current = {}, None
    for line in open(path, encoding="utf-8"):
        if m := re.match(r"(\S.*) batch (\d+) (\w+): chosen", line):
            shape = conv_shape(m[1], int(m[2]))
            current = found.setdefault((f"{m[1]} batch {m[2]} {m[3]}", shape), {}) if shape else None
        elif (m := re.match(r"\s+([\d.]+) (gemm_\S+)$", line)) and current is not None:
            current[m[2]] = float(m[1])
        elif m := re.match(r"\| (\S.*?) \| (\w+) \| (tile_\S+) \| ([\d.]+) \|", line):
            shape = product_shape(m[1])
            if shape and shape[0] > 8:  # fewer rows are not done by tiles
                found.setdefault((f"{m[1]} {m[2]}", shape), {})[m[3]] = float(m[4])
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    c, all_splits = constants()
    tables = {prefix: tiles(*where) for prefix, where in TABLES.items()}
    ratios = []
    for path in sys.argv[1:]:
        for (row, shape), measured in read(path).items():
            prefix = next((p for p in ("tile_", "gemm_", "gemm_any_")
                           if any(v.removeprefix(p).split("/")[0] in tables[p] for v in measured)), None)
            if prefix is None:
                continue
            cycles = estimates(c, all_splits, tables[prefix], prefix, shape)
            wanted = min(cycles, key=cycles.get)
            known = [v for v in cycles if v in measured]
            chosen, best = min(known, key=cycles.get), min(known, key=measured.get)
            ratios.append(measured[chosen] / measured[best])
            error = cycles[chosen] / CYCLES / measured[chosen]
            print(f"{row:30} {chosen:16} {measured[chosen]:9.2f}   best {best:16} {measured[best]:9.2f}"
                  f"   {ratios[-1]:5.2f}   estimate {error:5.2f}"
                  + (f"   would choose {wanted}, not measured" if wanted != chosen else ""))
    if not ratios:
        sys.exit("no convolution or product in these files")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} shapes: {mean:.3f} of the best on average, {max(ratios):.2f} at most, "
          f"{sum(r > 1.05 for r in ratios)} above 1.05")
    return 1 if max(ratios) > 1.2 else 0


if __name__ == "__main__":
    sys.exit(main())
