"""A random graph with its inputs, and the model that is made of it."""
import dataclasses

import numpy as np
import onnx

GENERATORS = {}
# The newest opset that the installed ONNX Runtime promises to run.
NEWEST_OPSET = 28


# Operators whose elements are sums, which may cancel: compared relative to what the whole output is like.
SUMS = {"AffineGrid", "Attention", "AveragePool", "BatchNormalization", "CausalConvWithState", "Col2Im", "Conv", "ConvTranspose", "CumProd", "CumSum", "DFT",
        "DeformConv", "Det", "Einsum", "GRU", "Gemm", "GlobalAveragePool", "GlobalLpPool", "GridSample", "GroupNormalization", "InstanceNormalization", "LSTM",
        "LayerNormalization", "LinearAttention", "LpPool", "MatMul", "Mean", "MeanVarianceNormalization", "NegativeLogLikelihoodLoss", "RNN", "ReduceL1",
        "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Resize", "RoiAlign", "RotaryEmbedding", "STFT",
        "SoftmaxCrossEntropyLoss", "Sum", "ScatterElements", "ScatterND", "Upsample"}


@dataclasses.dataclass
class Case:
    op: str
    inputs: dict                      # name → array; an omitted one is absent
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: tuple = ("y",)
    opset: int = 17
    constants: tuple = ()             # inputs that are always constants
    may_be_constant: tuple = ()
    fixed: tuple = ("w", "shape", "repeats", "axes", "starts", "ends", "steps", "pads", "sizes", "scales")  # no symbols in their shapes
    tolerance: float = 0              # 0: by the output's type
    steps: int = 0                    # integers may differ by so many
    optimised: bool = False           # ONNX Runtime optimises; a session's answers are the same to the last bit
    order: list = None                # of the node's inputs, "" for one that is left out
    nodes: tuple = ()                 # in place of one node of `op`
    domain: str = ""                  # other than ai.onnx: with its version, and the element types of the outputs
    version: int = 1
    types: tuple = ()

    def __post_init__(self):
        if self.order is None:
            self.order = list(self.inputs)
        self.inputs = {k: np.asarray(v) for k, v in self.inputs.items()}
        self.attributes = {k: v for k, v in self.attributes.items() if v is not None}

    @property
    def sums(self):
        return bool(self.nodes or self.domain) or self.op in SUMS

    def attribute(self, name, default=None):
        return self.attributes.get(name, default)


def generator(*names, domain=""):
    """Registers a function from (Random, operator) to a Case under each name, with the domain before it."""
    def add(function):
        for name in names:
            GENERATORS[f"{domain}.{name}" if domain else name] = lambda r, n=name, f=function: f(r, n)
        return function
    return add


def flag(r, p=0.5):
    return int(r.chance(p))


def same_schema(op, opset):
    """The opsets from `opset` on in which the operator is the same."""
    since = onnx.defs.get_schema(op, opset).since_version
    last = opset
    while last < NEWEST_OPSET and onnx.defs.get_schema(op, last + 1).since_version == since:
        last += 1
    return opset, last


def types_of(array):
    dtype = np.asarray(array).dtype
    return onnx.TensorProto.STRING if dtype.kind == "U" else onnx.helper.np_dtype_to_tensor_dtype(dtype)


def one_node(case):
    return onnx.helper.make_node(case.op, case.order, [*case.outputs], domain=case.domain, **case.attributes)


def as_model(r, case):
    """The case as a model: some inputs constants, some sizes symbols. Shapes of outputs are not declared: onnx infers
    wrong ones for some pools (ceil_mode), which treadle refuses and ONNX Runtime warns of."""
    inputs, constants = [], []
    symbolic = r.chance(0.3)
    for name, value in case.inputs.items():
        if name in case.constants or (name in case.may_be_constant and r.chance(0.5)):
            constants.append(onnx.numpy_helper.from_array(value, name))
            continue
        shape = [f"{name}_{i}" if symbolic and name not in case.fixed and r.chance(0.5) else s for i, s in enumerate(value.shape)]
        inputs.append(onnx.helper.make_tensor_value_info(name, types_of(value), shape))
    opset = case.opset
    if case.domain:
        outputs = [onnx.helper.make_tensor_value_info(*o, None) for o in zip(case.outputs, case.types)]
        graph = onnx.helper.make_graph([one_node(case)], "fuzz", inputs, outputs, constants)
        opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid(case.domain, case.version)]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    if not case.nodes:
        opset = r.integer(*same_schema(case.op, opset))
    nodes = list(case.nodes) or [one_node(case)]
    outputs = [onnx.ValueInfoProto(name=o) for o in case.outputs]
    graph = onnx.helper.make_graph(nodes, "fuzz", inputs, outputs, constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = min(model.ir_version, 10)
    # ONNX Runtime wants the types of outputs, which inference finds.
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=False)
    del inferred.graph.value_info[:]
    for output in inferred.graph.output:
        kind = output.type.tensor_type
        kind.ClearField("shape")
        if not kind.elem_type:  # what it cannot infer is of the type of the last input (OneHot, GroupNormalization)
            kind.elem_type = types_of(case.inputs[case.order[-1]])
    return inferred
