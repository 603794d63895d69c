"""Faults that the self-tests of fuzz_diff and fuzz_tf plant in treadle's answers."""
import numpy as np


def one_element(y):
    """One element is off by more than any tolerance allows."""
    flat = y.reshape(-1)
    at = flat.size // 2
    with np.errstate(all="ignore"):
        if y.dtype.kind == "f":
            flat[at] = 1 if not np.isfinite(flat[at]) else flat[at] + 0.1 + abs(flat[at]) * 0.1 + 100 * np.abs(np.where(np.isfinite(y), y, 0)).max()
        elif y.dtype == bool:
            flat[at] = not flat[at]
        elif y.dtype.kind in "iu":
            flat[at] ^= 8
        else:
            flat[at] = "another"
    return y


def not_a_number(y):
    y.reshape(-1)[-1] = 0 if np.isnan(y.reshape(-1)[-1]) else np.nan
    return y


# Of the first output that has elements.
ANSWERS = {"element": one_element, "nan": not_a_number, "axis": lambda y: y[None], "dtype": lambda y: y.astype(np.float64 if y.dtype != np.float64 else np.float32),
           "missing": lambda y: y.reshape(-1)[1:]}


def faults_of(outputs):
    """The faults that can be planted in these outputs."""
    first = next(y for y in outputs if y.size)
    without = {"nan"} if first.dtype.kind != "f" else set()
    return [f for f in (*ANSWERS, "error") if f not in without | ({"dtype"} if first.dtype.kind == "U" else set())]


class Faults:
    """Before a class with `run`, in its list of bases: plants `fault` in what that answers."""
    fault = None

    def run(self, case, path):
        kind, text, outputs = super().run(case, path)
        if kind or self.fault is None:
            return kind, text, outputs
        if self.fault == "error":
            return "shape", "planted", None
        k = next(i for i, y in enumerate(outputs) if y.size)
        outputs[k] = ANSWERS[self.fault](outputs[k].copy())
        return kind, text, outputs
