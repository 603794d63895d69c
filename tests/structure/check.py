#!/usr/bin/env python3
"""Checks the rules that hold for the source tree and for the compiled objects.

Usage: check.py [--build DIR]
Without --build only the sources are checked. Standard library, objdump and nm only.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SRC = ROOT / "src"
MODULES = ["base", "tensor", "graph", "ops", "passes", "kernels", "plan", "cpu", "gpu", "formats",
           "pulse", "llm", "api", "cli"]
# Modules that may not be used although they stand above in the list.
FORBIDDEN = {
    "kernels": {"tensor", "graph", "ops", "passes"},
    "formats": {"cpu", "gpu"},
}
MAX_LINES = 600
SOURCES = {".cpp", ".mm", ".hpp", ".h", ".c", ".inc", ".py", ".sh", ".cmake"}
PER_ISA = re.compile(r"_(avx2|avx512|neon)\.cpp\.o$")


def sources(folder, suffixes=frozenset({".cpp", ".mm", ".hpp", ".h", ".c", ".inc"})):
    return sorted(p for p in folder.rglob("*") if p.suffix in suffixes)


def check_includes():
    """A module includes only itself and modules above it."""
    for path in sources(SRC):
        module = path.relative_to(SRC).parts[0]
        if module not in MODULES:
            yield f"{path.relative_to(ROOT)}: module '{module}' is not in the list of modules"
            continue
        for target in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
            used = target.split("/")[0]
            if used not in MODULES:
                if not (ROOT / "include" / target).exists() and target != "cli/build_info.hpp":
                    yield f"{path.relative_to(ROOT)}: '{target}' is not written relative to src/"
                continue
            if MODULES.index(used) > MODULES.index(module) or used in FORBIDDEN.get(module, ()):
                yield f"{path.relative_to(ROOT)}: {module} may not include '{target}'"


def check_sizes():
    """Files of at most MAX_LINES lines; data of tests exempt."""
    for folder in ("src", "include", "tests", "bench", "examples", "scripts", "cmake"):
        for path in sources(ROOT / folder, SOURCES):
            lines = path.read_text().count("\n")
            if lines > MAX_LINES:
                yield f"{path.relative_to(ROOT)}: {lines} lines, the limit is {MAX_LINES}"


def check_importers():
    """Every .cpp of formats/*/ops defines an importer that a table names, or serves a header."""
    for folder in sorted((SRC / "formats").glob("*/ops")):
        named = set()
        for table in folder.parent.rglob("*.inc"):
            named |= set(re.findall(r",\s*(\w+)\)", table.read_text()))
        for path in sorted(folder.glob("*.cpp")):
            # nn_attention_parts.cpp serves nn_attention.hpp.
            if any(path.stem == h.stem or path.stem.startswith(h.stem + "_")
                   for h in folder.glob("*.hpp")):
                continue
            words = set(re.findall(r"\b(\w+)\s*\(", path.read_text()))
            # Some families stamp their functions out with a macro.
            words |= set(re.findall(r"\bimport_\w+", path.read_text()))
            if not words & named:
                yield f"{path.relative_to(ROOT)}: no table names an importer that it defines"


def check_listed_rules():
    """Every rewrite is named by the table of rules."""
    table = (SRC / "passes" / "table.inc").read_text()
    for path in sorted((SRC / "passes").glob("*.cpp")):
        if path.with_suffix(".hpp").exists():
            continue
        text = path.read_text().split("}  // namespace\n")[-1]
        for rule in re.findall(r"^std::optional<Patch> (\w+)\(const Graph& ", text, re.M):
            if not re.search(rf"\({rule},", table):
                yield f"{path.relative_to(ROOT)}: rule '{rule}' is not in passes/table.inc"


def check_operator_page():
    """docs/operators.md is what the tables say."""
    script = ROOT / "scripts" / "operators_doc.py"
    if not script.exists():
        yield "scripts/operators_doc.py is missing"
        return
    python = ROOT / ".venv" / "bin" / "python"
    done = subprocess.run([python if python.exists() else sys.executable, script, "--check"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        yield f"docs/operators.md is out of date: {(done.stdout + done.stderr).strip()[:300]}"


def wide_register(path):
    """The first instruction on a ymm or zmm register, or None."""
    with subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", path], text=True,
                          stdout=subprocess.PIPE) as tool:
        for line in tool.stdout:
            if "%ymm" in line or "%zmm" in line:
                tool.kill()
                return line.strip()
    return None


def symbols(path):
    """(kind, demangled name) of each symbol that the object defines."""
    text = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True,
                          text=True, check=True).stdout
    for line in text.splitlines():
        parts = line.split(None, 2)
        if len(parts) == 3:
            yield parts[1], parts[2]


def check_object(path):
    found = []
    name = pathlib.Path(path).name
    per_isa = PER_ISA.search(path)
    in_command = "/cli/" in path
    if not per_isa and (line := wide_register(path)):
        found.append(f"{name}: uses AVX registers outside _avx2/_avx512 files: {line}")
    for kind, symbol in symbols(path):
        if per_isa and kind in "WVu" and not symbol.startswith(("treadle::", "typeinfo", "vtable")):
            found.append(f"{name}: a per-instruction-set object defines the shared '{symbol}'")
        # GCC's Objective-C makes its selectors known to the runtime before main, in any object.
        if not in_command and not name.endswith(".mm.o") and symbol.startswith("_GLOBAL__sub_I"):
            found.append(f"{name}: has a static initialiser")
    return found


def check_objects(build):
    """Instruction sets stay in their files; nothing registers itself before main."""
    objects = [str(p) for p in sorted((build / "CMakeFiles").glob("treadle_*.dir/src/**/*.o"))]
    if not objects:
        yield f"{build}: no objects there"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(check_object, objects):
            yield from found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, help="build folder whose objects to check")
    args = parser.parse_args()
    checks = [check_includes, check_sizes, check_importers, check_listed_rules,
              check_operator_page]
    if args.build:
        checks.append(lambda: check_objects(args.build))
    problems = [problem for check in checks for problem in check()]
    print("\n".join(problems))
    print(f"structure: {len(checks)} checks, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
