"""A small layer over onnx.helper: nodes are added in order, weights are initializers."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class OnnxGraph:
    def __init__(self, name):
        self.name = name
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []

    def input(self, name, shape, dtype=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value, name, shape, dtype=FLOAT):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def weight(self, array):
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def ints(self, *values):
        return self.weight(np.array(values, np.int64))

    def node(self, op, inputs, outputs=1, **attributes):
        """The name of the node's output; a list of names where there are several."""
        names = [f"{op.lower()}{len(self.nodes)}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8,
                                  producer_name="treadle bench-models")
        onnx.checker.check_model(model)
        return model

    def serialized(self):
        return self.model().SerializeToString(deterministic=True)
