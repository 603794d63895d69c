#!/usr/bin/env python3
"""Checks that files named in the documents exist: Markdown links, and paths in backquotes."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where a path in backquotes may start.
BASES = [ROOT, ROOT / "src", ROOT / "src" / "formats" / "onnx" / "ops", ROOT / "tests", ROOT / "src" / "kernels"]
TOP = "src tests docs scripts cmake include examples bench".split()
# Written by `make models` and `make bench`.
MADE = {"docs/models.md", "bench/results"}


def exists(path):
    if "*" in path or "NAME" in path:
        return any(any(base.glob(path.replace("NAME", "*"))) for base in BASES)
    return any((base / path).exists() for base in BASES)


def broken(document):
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        path = (document.parent / target).resolve()
        if "://" not in target and not path.exists() and str(path.relative_to(ROOT)) not in MADE:
            yield target
    modules = [p.name for p in (ROOT / "src").iterdir()]
    for path in re.findall(r"`([\w*./-]+/[\w*./-]*)`", text):
        if path.split("/")[0] in TOP + modules and path.rstrip("/") not in MADE and not exists(path):
            yield path
    for path in re.findall(r"`([\w*-]+\.(?:cpp|hpp|inc|py|sh|cmake))`", text):
        if not any(found for top in TOP for found in (ROOT / top).rglob(path)):
            yield path


def main():
    failures = [
        f"{document.relative_to(ROOT)}: {path} does not exist"
        for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        for path in broken(document)
    ]
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
