#!/usr/bin/env python3
"""Strings the kernel dialect, the parameters and every kernel together into one Metal source text.

Usage: kernel_text.py SRC [OUT]. SRC is the repository's src folder. Prints to standard output without
OUT. The names of the kernels, one a line, with --names.
"""
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#include "(gpu/[^"]+)"\s*$')
ONCE = re.compile(r"^\s*#pragma once\s*$")
ENTRY = re.compile(r"TK_ENTRY\((\w+)")


def expand(src, name, seen, out):
    """Appends the lines of src/name to `out`, included files in their place and once."""
    if name in seen:
        return
    seen.add(name)
    # Of the front ends only Metal's; the host's and CUDA's include what Metal does not have.
    if re.fullmatch(r"gpu/dialect/(cuda|lint|host)\.hpp", name):
        return
    for line in (src / name).read_text().splitlines():
        if ONCE.match(line):
            continue
        if m := INCLUDE.match(line):
            expand(src, m[1], seen, out)
        else:
            out.append(line)


def metal_text(src):
    out = []
    expand(src, "gpu/kernels/all.hpp", set(), out)
    out += ["using namespace tk;", "#define TK_ENTRY TK_KERNEL"]
    expand(src, "gpu/kernels/list.inc", set(), out)
    return "\n".join(out) + "\n"


def kernel_names(src):
    out = []
    expand(src, "gpu/kernels/list.inc", set(), out)
    return [m[1] for line in out if (m := ENTRY.match(line))]


def main():
    arguments = [a for a in sys.argv[1:] if a != "--names"]
    src = Path(arguments[0])
    text = "\n".join(kernel_names(src)) + "\n" if "--names" in sys.argv else metal_text(src)
    if len(arguments) > 1:
        Path(arguments[1]).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
