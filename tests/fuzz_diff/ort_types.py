"""What ONNX Runtime's CPU provider has kernels for."""
import collections
import functools

import numpy as np
import onnx
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

# Element types by the kernels' names for them, as far as numpy has them.
NUMPY = {f"tensor({name})": np.dtype(t) for name, t in (
    ("float", np.float32), ("double", np.float64), ("float16", np.float16), ("bool", bool), ("int8", np.int8), ("int16", np.int16),
    ("int32", np.int32), ("int64", np.int64), ("uint8", np.uint8), ("uint16", np.uint16), ("uint32", np.uint32), ("uint64", np.uint64))}


@functools.cache
def kernels():
    """Kernels of ai.onnx by operator."""
    found = collections.defaultdict(list)
    for k in get_all_opkernel_def():
        if k.provider == "CPUExecutionProvider" and k.domain == "":
            found[k.op_name].append(k)
    return found


@functools.cache
def dtypes(op, opset, constraint="T"):
    """The numpy types that some kernel of the operator takes for a type constraint."""
    since = onnx.defs.get_schema(op, opset).since_version
    names = set()
    for k in kernels()[op]:
        if k.version_range[0] <= since <= k.version_range[1]:
            names.update(k.type_constraints.get(constraint, ()))
    return tuple(NUMPY[n] for n in NUMPY if n in names)


def any_dtype(r, op, opset, constraint="T", without=""):
    """float32 half of the time, else any; not of the kinds `without` ("f", "iu", "b")."""
    options = [d for d in dtypes(op, opset, constraint) if d.kind not in without]
    if np.dtype(np.float32) in options and r.chance(0.5):
        return np.dtype(np.float32)
    return r.pick(options)
