#!/usr/bin/env python3
"""Writes docs/operators.md from the operator tables in src/; with --check only compares.

The list of ONNX operators without an importer needs the onnx package of scripts/requirements.txt;
without that very version the list in the present file is kept, less what the table has by now.
"""
import argparse
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
DOC = ROOT / "docs" / "operators.md"


def read(path):
    return path.read_text(encoding="utf-8")


def onnx_table():
    """(domain, operator) → importer's function."""
    table = read(SRC / "formats/onnx/table.inc")
    entries = {}
    for part in re.findall(r'#include "(.+?)"', table):
        for domain, op, function in re.findall(r'TREADLE_ONNX\("(.*?)", "(\w+)", (\w+)\)', read(SRC / part)):
            entries[domain, op] = function
    return entries


def tf_table():
    """Operators, with macros named TREADLE_TF_… counted for what they expand to."""
    return re.findall(r"^TREADLE_TF\w*\((\w+), ", read(SRC / "formats/tf/table.inc"), re.M)


def first_sentence(comment):
    text = " ".join(comment)
    end = re.search(r"(?<=[^.…])\.(?: |$)", text)
    return text[: end.start()] if end else text


def core_operators():
    """Operator → (header, first sentence of its class's comment)."""
    found = {}
    for path in sorted([*SRC.glob("ops/*.hpp"), *SRC.glob("graph/basic_ops.hpp")]):
        lines = read(path).splitlines()
        for i, line in enumerate(lines):
            kind = re.search(r"TREADLE_OPERATOR\((\w+)\)", line)
            if not kind:
                continue
            start = next(k for k in range(i, -1, -1) if re.match(r"(class|struct) ", lines[k]))
            first = start
            while lines[first - 1].startswith("//"):
                first -= 1
            comment = [text.lstrip("/ ") for text in lines[first:start]]
            found[kind[1]] = (path.relative_to(SRC), first_sentence(comment))
    return found


def cpu_translators():
    """Operator → its translators, in order."""
    found = {}
    for op, function in re.findall(r"TREADLE_CPU\((\w+), (\w+)\)", read(SRC / "cpu/translators.inc")):
        found.setdefault(op, []).append(function)
    return found


def rewrites():
    """(rule, kinds, what its own comment with an arrow or the first sentence of its file's says, its phase)."""
    files = {p.stem: read(p) for p in SRC.glob("passes/*.cpp")}
    for phase, rule, kinds in re.findall(
        r'^TREADLE_(LAYOUT_|LAST_|INTEGER_)?PASS\((\w+), "(.+?)"\)', read(SRC / "passes/table.inc"), re.M
    ):
        home = next((text for text in files.values() if re.search(rf"Patch> {rule}\(", text)), "")
        own = re.search(rf"((?:^//.*\n)+)std::optional<Patch> {rule}\(", home, re.M)
        comment = []
        for line in (own[1] if own and "→" in own[1] else home).splitlines():
            if not line.startswith("//") or line == "//":
                break
            comment.append(line.lstrip("/ "))
        text = re.sub(r"\. (Leaves|Shortens|Moves|When).*", "", " ".join(comment)).rstrip(".")
        yield rule, kinds, text, phase.rstrip("_").lower()


def plain(text):
    """Text for a cell of a table, without what Markdown takes for a column or a link."""
    return text.replace("|", "\\|").replace("](", "]\\(")


INTEGERS = "i8 i16 i32 i64 u8 u16 u32 u64".split()
FLOATS = "bf16 f16 f32 f64".split()


def types(text):
    """Element types, with words for all integers of 8 to 64 bits and all floats of 16 to 64."""
    left, words = text.split(), []
    for word, group in (("floats", FLOATS), ("integers", INTEGERS)):
        if set(group) <= set(left):
            words.append(word)
            left = [t for t in left if t not in group]
    return " ".join([*words, *sorted(left)])


def versions(text):
    """From 7 on, with 7 for what is older."""
    numbers = [int(v) for v in text.split()]
    return " ".join(str(v) for v in sorted({max(v, 7) for v in numbers})) if numbers else ""


def measured(name):
    """Lines of docs/NAME as lists, without the comment."""
    path = ROOT / "docs" / name
    return [line.split("\t") for line in read(path).splitlines()[1:]] if path.exists() else []


def onnx_rows(domain, names):
    """A table of operators with versions, element types and those with kernels; the types of operators without a
    random case are left empty."""
    known = {op: rest for d, op, *rest in measured("operator_types_onnx.tsv") if d == domain}
    rows = ["| operator | versions | element types | kernels |", "|---|---|---|---|"]
    for op in sorted(names, key=str.lower):
        numbers, taken, fast = known.get(op, ["", "", ""])
        shown = versions(numbers) if domain == "" else numbers
        rows.append(f"| {op} | {shown} | {types(taken)} | {types(fast)} |")
    return rows


def tf_rows(names):
    known = {op: rest for op, *rest in measured("operator_types_tf.tsv")}
    rows = ["| operator | element types | kernels |", "|---|---|---|"]
    for op in sorted(names, key=str.lower):
        taken, fast = known.get(op, ["", ""])
        rows.append(f"| {op} | {types(taken)} | {types(fast)} |")
    return rows


def missing_onnx(have, old):
    """Names that ai.onnx defines (and does not deprecate) and no table entry imports."""
    pinned = re.search(r"onnx==(\S+)", read(ROOT / "scripts/requirements.txt"))[1]
    try:
        import onnx
    except ImportError:
        onnx = None
    if onnx is not None and onnx.__version__ == pinned:
        names = {}
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain == "":
                latest = names.get(schema.name)
                if latest is None or schema.since_version > latest.since_version:
                    names[schema.name] = schema
        all_names = {n for n, s in names.items() if not s.deprecated}
    else:
        section = re.search(r"^### Not imported\n\n.*?\n\n(.*?)\n\n", old, re.M | re.S)
        all_names = set(re.findall(r"\w+", section[1])) - {"none"} if section else set()
    return sorted(all_names - {op for domain, op in have if domain == ""})


# What stands after the list of a domain.
NOTES = {
    "ai.onnx.ml": [
        "There are no maps: ZipMap passes its tensor through, `[N, classes]` with the columns in the order of",
        "its labels; a map as an input (DictVectorizer, CastMap) is unsupported. Where two classes have one",
        "score, which the standard is silent about, labels and scores are those of ONNX Runtime. Where that",
        "departs from the standard it is not followed: of two classes that both get votes of trees the label",
        "is the one with more, and a single target of a regressor is transformed as well. PROBIT is exact.",
        "",
    ]
}


def document(old):
    onnx_ops, tf, core, cpu = onnx_table(), tf_table(), core_operators(), cpu_translators()
    unknown = set(cpu) - set(core)
    if unknown:
        sys.exit(f"src/cpu/translators.inc names no core operator: {', '.join(sorted(unknown))}")
    pinned = re.search(r"onnx==(\S+)", read(ROOT / "scripts/requirements.txt"))[1]
    out = [
        "# Operators",
        "",
        "Written by `scripts/operators_doc.py` from the tables in `src/`; a test compares. Do not edit.",
        "",
        "An operator in these lists is imported for every opset from 7 on in which it exists, as far as",
        "its attributes and types are supported; `treadle check MODEL` tells for a given model. What is",
        "tested, and what is known not to pass, stands in `tests/onnx_backend/expected.tsv`.",
        "",
        "*Versions* are those of the standard in which the operator changed, from 7 on. *Element types* are",
        "those of the first input (of the output, without inputs; of `T` for TensorFlow) with which a random",
        "case runs or the model is accepted; *floats* and *integers* are all of 16 to 64 and of 8 to 64 bits.",
        "*Kernels* are the element types for which the CPU has fast paths; the plain reference does the work",
        "of the others, correct and slow. `tests/fuzz_diff/operator_types.py` and",
        "`tests/fuzz_tf/operator_types.py` measure both; an empty cell is an operator without random cases.",
        "",
    ]
    for domain, title in (("", "ai.onnx"), ("ai.onnx.ml", "ai.onnx.ml"), ("com.microsoft", "com.microsoft")):
        names = [op for d, op in onnx_ops if d == domain]
        out += [f"## ONNX: {title} ({len(names)})", "", *onnx_rows(domain, names), "", *NOTES.get(domain, [])]
    lost = missing_onnx(onnx_ops, old)
    out += [
        "### Not imported",
        "",
        f"Of the operators of ai.onnx in onnx {pinned}: {len(lost)}.",
        "",
        (", ".join(lost) or "none") + ".",
        "",
        f"## TensorFlow ({len(tf)})",
        "",
        *tf_rows(tf),
        "",
        f"## Core operators ({len(core)})",
        "",
        "What the importers make. Each has a reference evaluation; those with a CPU kernel say which",
        "translator offers it (the first that accepts dtype and rank serves the node, the reference",
        "evaluation otherwise).",
        "",
        "| operator | header | what | CPU translator |",
        "|---|---|---|---|",
    ]
    for name in sorted(core):
        header, text = core[name]
        text = plain(text)
        out.append(f"| {name} | `{header}` | {text} | {', '.join(cpu.get(name, []))} |")
    rules = list(rewrites())
    out += [
        "",
        f"## Rewrites ({len(rules) + 1})",
        "",
        "In the order in which they are tried on a node. The marked ones run only when lowering: *integer*",
        "for a target with integer kernels, then *layout* for one that wants channels last, *last* after these.",
        "",
        "| rule | looks at | what |",
        "|---|---|---|",
    ]
    for rule, kinds, text, phase in rules:
        kinds = "everything" if kinds == "*" else kinds.replace(" ", ", ")
        text = plain(text)
        out.append(f"| {rule}{f' *{phase}*' if phase else ''} | {kinds} | {text} |")
    out.append("| common_subexpressions | everything | f(x) and f(x) → one f(x); between rounds |")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the file is not up to date")
    args = parser.parse_args()
    old = read(DOC) if DOC.exists() else ""
    new = document(old)
    if not args.check:
        DOC.parent.mkdir(exist_ok=True)
        DOC.write_text(new, encoding="utf-8")
    elif old != new:
        diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "docs/operators.md", "tables", lineterm="", n=1)
        print("\n".join(diff))
        sys.exit("docs/operators.md is not up to date: run scripts/operators_doc.py")


if __name__ == "__main__":
    main()
