#!/usr/bin/env python3
"""Strings the kernel dialect, the parameters and every kernel together into one Metal source text.

Usage: kernel_text.py SRC [OUT]. SRC is the repository's src folder. Prints to standard output without
OUT. The names of the kernels, one a line, with --names. With --cpp the C++ file that has, for
gpu/metal/device.hpp, what the text of each single kernel is made of.
"""
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#include "(gpu/[^"]+)"\s*$')
ONCE = re.compile(r"^\s*#pragma once\s*$")
ENTRY = re.compile(r"TK_ENTRY\((\w+)")
# Of the front ends only Metal's; the host's and CUDA's include what Metal does not have.
OTHER = re.compile(r"gpu/dialect/(cuda|lint|host)\.hpp")
# What stands between the bodies and the entries.
USING = ["using namespace tk;", "#define TK_ENTRY TK_KERNEL"]


def lines_of(src, name):
    return [line for line in (src / name).read_text().splitlines() if not ONCE.match(line)]


def expand(src, name, seen, out):
    """Appends the lines of src/name to `out`, included files in their place and once."""
    if name in seen:
        return
    seen.add(name)
    if OTHER.fullmatch(name):
        return
    for line in lines_of(src, name):
        if m := INCLUDE.match(line):
            expand(src, m[1], seen, out)
        else:
            out.append(line)


def metal_text(src):
    out = []
    expand(src, "gpu/kernels/all.hpp", set(), out)
    out += USING
    expand(src, "gpu/kernels/list.inc", set(), out)
    return "\n".join(out) + "\n"


def kernel_names(src):
    out = []
    expand(src, "gpu/kernels/list.inc", set(), out)
    return [m[1] for line in out if (m := ENTRY.match(line))]


def pieces_of(src, name, seen, pieces, order):
    """Adds src/name, cut where it includes a file, to `pieces` (text by key); `order` gets the keys."""
    if name in seen or OTHER.fullmatch(name):
        return
    seen.add(name)
    part, number = [], 0

    def close():
        nonlocal part, number
        if any(part):
            pieces[key := (name, number)] = "\n".join(part) + "\n"
            order.append(key)
        part, number = [], number + 1

    for line in lines_of(src, name):
        if m := INCLUDE.match(line):
            close()
            pieces_of(src, m[1], seen, pieces, order)
        else:
            part.append(line)
    close()


def cpp_text(src):
    """The families are the files that sim compiles: which bodies the entries of a .inc file need."""
    pieces, families = {}, []
    family_of = {}
    for file in sorted((src / "gpu/sim").glob("kernels_*.cpp")):
        seen, order = set(), []
        for line in file.read_text().splitlines():
            m = INCLUDE.match(line)
            if m and m[1].endswith(".hpp"):
                pieces_of(src, m[1], seen, pieces, order)
            elif m:
                family_of.update((name, len(families)) for e in lines_of(src, m[1]) for name in ENTRY.findall(e))
        families.append(order)
    index = {key: i for i, key in enumerate(pieces)}
    listed = []
    expand(src, "gpu/kernels/list.inc", set(), listed)
    out = ["// Written by scripts/kernel_text.py --cpp.", '#include "gpu/metal/device.hpp"', "",
           "namespace treadle::gpu::metal {", "", "const char* const kPieces[] = {"]
    out += [f'R"text({text})text",' for text in pieces.values()]
    out += ["};", ""]
    for i, order in enumerate(families):
        out.append(f"static const int kFamily{i}[] = {{{', '.join(str(index[key]) for key in order)}, -1}};")
    out += ["", "const KernelText kKernelTexts[] = {"]
    out += [f'{{kFamily{family_of[m[1]]}, R"text({line})text"}},' for line in listed if (m := ENTRY.match(line))]
    return "\n".join(out + ["};", "", "}  // namespace treadle::gpu::metal"]) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    src = Path(arguments[0])
    if "--names" in sys.argv:
        text = "\n".join(kernel_names(src)) + "\n"
    else:
        text = cpp_text(src) if "--cpp" in sys.argv else metal_text(src)
    if len(arguments) > 1:
        Path(arguments[1]).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
