#!/usr/bin/env python3
"""Checks what ptxas said about the CUDA kernels: every entry of the kernel list was compiled for every
architecture, none spills registers, and there is no entry beside the list.

usage: cuda_kernels.py LIST "ARCHITECTURE..." LOG...
Architectures compute_XY are skipped: the driver compiles those.
"""
import pathlib
import re
import sys


def listed(path):
    """The kernels of a list and of the lists it includes (as "gpu/kernels/family.inc")."""
    path = pathlib.Path(path)
    text = path.read_text()
    names = re.findall(r"^TK_ENTRY\(\s*(\w+)", text, re.M)
    for included in re.findall(r'^#include "gpu/kernels/(\w+\.inc)"', text, re.M):
        names += listed(path.parent / included)
    return names


def compiled(lines):
    """{(kernel, architecture): (bytes of spill stores, of spill loads, registers)}."""
    found = {}
    current = None
    spills = (0, 0)
    for line in lines:
        if m := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
            current, spills = m.groups(), (0, 0)
        elif m := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spills = tuple(map(int, m.groups()))
        elif (m := re.search(r"Used (\d+) registers", line)) and current:
            found[current] = (*spills, int(m[1]))
            current = None
    return found


def main():
    kernel_list, architectures, *logs = sys.argv[1:]
    names, kernels = listed(kernel_list), {}
    for log in logs:
        kernels |= compiled(open(log))
    faults = [] if names else [f"{kernel_list} names no kernel"]
    machine = [a for a in architectures.split() if a.startswith("sm_")]
    for architecture in machine:
        for name in names:
            if (name, architecture) not in kernels:
                faults.append(f"{name} was not compiled for {architecture}")
    for (name, architecture), (stores, loads, _) in sorted(kernels.items()):
        if name not in names:
            faults.append(f"{name} is not in {kernel_list}")
        if stores or loads:
            faults.append(f"{name} for {architecture} spills {stores} bytes, loads {loads} back")
    for fault in faults:
        print(fault)
    most = max((registers for _, _, registers in kernels.values()), default=0)
    print(f"{len(names)} kernels, {len(machine)} architectures, at most {most} registers a thread: "
          f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
