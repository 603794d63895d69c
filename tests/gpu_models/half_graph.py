"""A frozen TensorFlow graph for a smaller input, or in f16: constants, placeholders and operators of f32 become half, but for the
statistics of batch norms, which TensorFlow keeps in f32. Needs the protobuf package, which onnx brings, and no
TensorFlow."""
import numpy
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FLOAT, HALF = 1, 19  # DataType: DT_FLOAT, DT_HALF


def graph_class():
    """The part of tensorflow/core/framework that is looked at; what else there is stays as it is."""
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="half_graph.proto", package="half", syntax="proto3")

    def message(name, /, **fields):
        made = file.message_type.add(name=name)
        for key, (number, what, many) in fields.items():
            field = made.field.add(name=key, number=number, label=kind.LABEL_REPEATED if many else kind.LABEL_OPTIONAL)
            if isinstance(what, str):
                field.type, field.type_name = kind.TYPE_MESSAGE, f".half.{what}"
            else:
                field.type = what

    message("Tensor", dtype=(1, kind.TYPE_INT32, False), shape=(2, kind.TYPE_BYTES, False),
            content=(4, kind.TYPE_BYTES, False), floats=(5, kind.TYPE_FLOAT, True), halves=(13, kind.TYPE_INT32, True))
    message("Integers", values=(3, kind.TYPE_INT64, True))
    message("Value", list=(1, "Integers", False), type=(6, kind.TYPE_INT32, False), tensor=(8, "Tensor", False))
    message("Attribute", key=(1, kind.TYPE_STRING, False), value=(2, "Value", False))
    message("Node", name=(1, kind.TYPE_STRING, False), op=(2, kind.TYPE_STRING, False),
            inputs=(3, kind.TYPE_STRING, True), attributes=(5, "Attribute", True))
    message("Graph", nodes=(1, "Node", True))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("half.Graph"))


def rewritten(data, window, half=False):
    """The serialized graph, in f16 if asked for. `window`: of its average pools larger than 3x3, for a smaller input
    than theirs."""
    graph = graph_class()()
    graph.ParseFromString(data)
    statistics = {i for n in graph.nodes if n.op.startswith("FusedBatchNorm") for i in n.inputs[1:]}
    for node in graph.nodes:
        for attribute in node.attributes:
            value = attribute.value
            if node.op == "AvgPool" and attribute.key == "ksize" and value.list.values[1] > 3:
                value.list.values[1:3] = [window, window]
            if not half or node.name in statistics or attribute.key == "U":
                continue
            if value.type == FLOAT:
                value.type = HALF
            if value.tensor.dtype == FLOAT:
                tensor = value.tensor
                tensor.dtype = HALF
                tensor.content = numpy.frombuffer(tensor.content, "<f4").astype("<f2").tobytes()
                tensor.halves.extend(numpy.array(tensor.floats, "<f2").view(numpy.uint16).tolist())
                del tensor.floats[:]
    return graph.SerializeToString()
