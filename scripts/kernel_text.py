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
ENTRY = re.compile(r"^TK_ENTRY\((\w+)", re.M)
# The parameter struct of an entry; the threads and buffers.
PARAMS = re.compile(r"\), (\w+), ")
TAKES = re.compile(r"sync, (.*)")
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
    listed = []
    expand(src, "gpu/kernels/list.inc", set(), listed)
    out += USING + with_own(src, listed)
    return "\n".join(out) + "\n"


def with_own(src, lines):
    """The lines of the kernel list, with those that Metal has kernels of its own for as a choice."""
    own = {m[1]: line for line in lines_of(src, "gpu/metal/own.inc") if (m := ENTRY.match(line))}
    out = []
    for line in lines:
        m = ENTRY.match(line)
        if not m or m[1] not in own:
            out.append(line)
            continue
        mine = own.pop(m[1])
        if TAKES.search(mine)[1] != TAKES.search(line)[1] or PARAMS.search(mine)[1] != PARAMS.search(line)[1]:
            sys.exit(f"gpu/metal/own.inc: {m[1]} does not take what the kernel of the list takes")
        out.append(f"#ifdef TK_PORTABLE\n{line}\n#else\n{mine}\n#endif")
    if own:
        sys.exit(f"gpu/metal/own.inc: not in the kernel list: {', '.join(own)}")
    return out


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
    out += [f'{{kFamily{family_of[m[1]]}, R"text({line})text"}},' for line in with_own(src, listed)
            if (m := ENTRY.search(line))]
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
