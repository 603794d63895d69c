#!/usr/bin/env python3
"""Checks the device kernels without a device; see docs/adding-a-kernel.md.

1. clang's C++ for OpenCL, without the generic address space, compiles every kernel: a pointer without
   an address space, or in a wrong one, is an error, as it is on Metal.
2. It refuses tests/gpu/bad_*.hpp, each with the error that the file names.
3. No kernel or dialect file has what the dialect does not have.
4. The Metal text, preprocessed with Metal's own kernels and with the portable ones alone, has an entry for
   every kernel of the list, and no other.
Usage: kernel_lint.py ROOT [--clang PROGRAM]. Exits with 1 and a line for each fault.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kernel_text import kernel_names, metal_text

LINT = [
    "-x", "cl", "-cl-std=clc++2021", "-Xclang",
    "-cl-ext=-__opencl_c_generic_address_space,-__opencl_c_device_enqueue,-__opencl_c_pipes,"
    "-__opencl_c_program_scope_global_variables",
    "-Xclang", "-finclude-default-header", "-target", "spir64", "-fsyntax-only", "-Wall", "-Werror",
    "-Wno-unused-function",
]
ENTRIES = 'using namespace tk;\n#define TK_ENTRY TK_KERNEL\n'
# What Metal or another front end has not, or what the rules of the dialect forbid.
FORBIDDEN = {
    r"\bstd::": "the standard library",
    r"\b(double|long double)\b": "double precision",
    r"\blong\b": "long, whose size differs: tk_i64",
    r"\b(unsigned|size_t)\b": "unsigned and size_t: tk_u32, tk_u64",
    r"\b(new|delete|throw|try|catch|goto|virtual|thread_local|typeid|dynamic_cast|reinterpret_cast)\b":
        "what Metal does not have",
    r"\bstatic (?!TK_FN|_assert)": "static data",
    r"\[[&=\w, ]*\]\s*\([^)]*\)\s*(->\s*\w+\s*)?\{": "a lambda",
    r"\batomic\w*": "atomic operations",
    r"\b__\w+": "names of one compiler",
    r"\b(thread|threadgroup|device|constant|kernel|vertex|fragment)\b": "a keyword of Metal",
    r"\bif constexpr\b": "C++17",
    r"\b(fma|fmaf|fmax|fmin|expf?|tanhf?)\s*\(": "a function beside the dialect's tk_ functions",
}


def kernel_files(root):
    folder = root / "src/gpu/kernels"
    return sorted(folder.glob("*.hpp")) + sorted(folder.glob("*.inc"))


def without_comments(text):
    return re.sub(r'"[^"\n]*"', '""', re.sub(r"//[^\n]*", "", text))


def forbidden(root, paths):
    for path in paths:
        for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
            for pattern, what in FORBIDDEN.items():
                if re.search(pattern, line):
                    yield f"{path.relative_to(root)}:{number}: {what}: {line.strip()}"
                    break
        for line in path.read_text().splitlines():
            if line.startswith("#include") and not line.startswith('#include "gpu/'):
                yield f"{path.relative_to(root)}: includes more than the dialect: {line}"


def compile_text(clang, root, text):
    with tempfile.NamedTemporaryFile("w", suffix=".cl") as file:
        file.write(text)
        file.flush()
        return subprocess.run([clang, *LINT, "-I", root / "src", "-I", root / "tests", file.name],
                              capture_output=True, text=True)


def address_spaces(clang, root):
    # Each file on its own too, so that none depends on what another one includes.
    texts = [f'#include "gpu/kernels/{p.name}"\n' for p in kernel_files(root) if p.suffix == ".hpp"]
    texts.append('#include "gpu/kernels/all.hpp"\n' + ENTRIES + '#include "gpu/kernels/list.inc"\n')
    for text in texts:
        result = compile_text(clang, root, text)
        if result.returncode != 0:
            yield f"lint of {text.split()[1]}:\n{result.stderr}"


def bad_examples(clang, root):
    examples = sorted((root / "tests/gpu").glob("bad_*.hpp"))
    if not examples:
        yield "tests/gpu has no bad_*.hpp"
    for path in examples:
        wanted = re.match(r"// Refused: (.*)", path.read_text())
        result = compile_text(clang, root, f'#include "gpu/{path.name}"\n')
        if wanted is None:
            yield f"{path}: the first line does not say '// Refused: …'"
            continue
        found = result.stderr if result.returncode != 0 else ""
        found += "\n".join(forbidden(root, [path]))
        if wanted[1] not in found:
            yield f"{path} should be refused with '{wanted[1]}', got:\n{found}"


def metal_entries(clang, root, *options):
    text = re.sub(r"#include <metal_stdlib>\n", "", metal_text(root / "src"))
    if re.search(r"^\s*#include", text, re.M):
        yield "the Metal text includes files"
    result = subprocess.run([clang, "-E", "-P", "-x", "c++", "-D__METAL_VERSION__=240", *options, "-"],
                            input=text, capture_output=True, text=True)
    what = " ".join(["the Metal text", *options])
    if result.returncode != 0:
        yield f"{what} does not preprocess:\n{result.stderr}"
        return
    entries = re.findall(r"\[\[kernel,[^]]*\]\] void (\w+)\s*\(", result.stdout)
    listed = kernel_names(root / "src")
    for name in sorted(set(listed) ^ set(entries)):
        yield f"kernel {name} is in {'the list' if name in listed else what} only"
    for name in sorted({n for n in listed if listed.count(n) > 1}):
        yield f"kernel {name} is listed more than once"
    if left := re.search(r"\b(TK_[A-Z_]+)\b", result.stdout):
        yield f"the Metal front end does not define {left[1]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--clang", default=shutil.which("clang-14") or shutil.which("clang"))
    arguments = parser.parse_args()
    if arguments.clang is None:
        sys.exit("kernel_lint: no clang; scripts/setup.sh installs it")
    root, clang = arguments.root, arguments.clang
    files = [*kernel_files(root), root / "src/gpu/dialect/common.hpp"]
    faults = [*forbidden(root, files), *bad_examples(clang, root), *metal_entries(clang, root),
              *metal_entries(clang, root, "-DTK_PORTABLE"), *address_spaces(clang, root)]
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(1)
    print(f"{len(kernel_names(root / 'src'))} kernels")


if __name__ == "__main__":
    main()
