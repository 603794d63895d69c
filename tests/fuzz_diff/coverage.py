"""Which operators have a generator, and why the others have none."""
import pathlib
import re

from ort_types import kernels

RANDOM = "random: two right answers differ"
STRINGS = "strings, which treadle does not read from .npz; tests/onnx_backend has its cases"
NO_KERNEL = "ONNX Runtime has no kernel, and does not run it by the function body in the standard (NOT_IMPLEMENTED)"
NOT_COVERED = {
    "Bernoulli": RANDOM, "Multinomial": RANDOM, "RandomNormal": RANDOM, "RandomNormalLike": RANDOM, "RandomUniform": RANDOM, "RandomUniformLike": RANDOM,
    "RegexFullMatch": STRINGS, "StringConcat": STRINGS, "StringNormalizer": STRINGS, "StringSplit": STRINGS,
    "Constant": "what is constant in a case is an initializer; loading makes the same of both",
    "ImageDecoder": NO_KERNEL + "; tests/tensor_image_test.cpp has pictures",
    "SwiGLU": NO_KERNEL, "Swish": NO_KERNEL,
    "SimplifiedLayerNormalization": "not in the ONNX standard: the onnx package cannot infer its types",
}


ROOT = pathlib.Path(__file__).resolve().parents[2]


def treadle_operators(domain=""):
    """Those of the domain (ai.onnx) in treadle's tables; pairs of domain and name for None."""
    files = (ROOT / "src" / "formats" / "onnx").rglob("*.inc")
    pairs = {m for f in files for m in re.findall(r'TREADLE_ONNX\("([^"]*)", "(\w+)"', f.read_text())}
    return pairs if domain is None else {op for d, op in pairs if d == domain}


def without_reason(generated):
    """Operators of treadle's that have neither a generator nor a reason."""
    return sorted(treadle_operators() - set(generated) - set(NOT_COVERED))


def print_coverage(generated):
    """Exit status 1 when an operator of ai.onnx has neither a generator nor a reason. (Those of other domains have tests
    of their own too.)"""
    mine, theirs = treadle_operators(), set(kernels())
    print(f"{len(generated)} generators:", ", ".join(generated))
    for op in sorted(mine - set(generated)):
        print(f"not covered: {op}: {NOT_COVERED.get(op, 'no reason given')}")
    print("only ONNX Runtime has:", ", ".join(sorted(theirs - mine)))
    return 1 if without_reason(generated) else 0
