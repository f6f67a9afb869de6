"""A program by ONNX Runtime, in wider types where it has no kernel for the program's own."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from cases.graphs.values import BF16, MANTISSA, Program, epsilon

F16, F32, F64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
I8, I16, I32, I64 = (np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64))
#: Tried one after the other. The results of the first are the more exact ones, those of the second are
#: compared within the rounding of f32.
WIDER = {F16: F32, BF16: F32, I8: I32, I16: I32}
OTHER = {F16: F32, BF16: F32, F64: F32, I8: I64, I16: I64, I32: I64}


#: Its messages for models that the standard allows.
LIMITS = [
    "Size of X.shape[axis:] must be at least 1",  # normalizations of no elements
    "Only N can be zero",  # windows over no elements
    "operand cannot broadcast on dim",  # products of no elements
    "Pad should be smaller than kernel",  # a dilated window is larger than its kernel
    "padding values must be non-negative",  # SAME_UPPER where strides pass over elements
    "pool_attributes.h",  # fewer paddings than the standard's, where the last window is rounded up or in
]


@dataclass
class Answer:
    """`kind`: own (types), wider, other; or no results: unsupported (no kernel for these types),
    limited (right models that it is known not to run) or refused."""

    kind: str
    results: dict[str, np.ndarray] | None = None
    message: str = ""
    # Of the rounding that results are compared within, where it is coarser than their type's.
    unit: float = 0.0


def is_unsupported(error: Exception) -> bool:
    """No kernel for a type, or a version that does not list the type: the model itself may be right."""
    text = str(error)
    return (
        isinstance(error, errors.NotImplemented)
        or (isinstance(error, errors.InvalidGraph) and "Type Error: Type 'tensor(" in text)
        or "can't be converted to MLDataType" in text  # numpy has no bfloat16 of its own
        or "No corresponding Numpy type" in text
    )


def is_limit(program: Program, error: Exception) -> bool:
    """Whether a model that the standard allows is one that ONNX Runtime is known not to run."""
    text = str(error)
    # Kernels that take empty tensors for faults of the model, such as AveragePool.
    fails_on_nothing = "Non-zero status code returned while running" in text and any(
        0 in shape for shape in program.shapes.values()
    )
    return fails_on_nothing or any(limit in text for limit in LIMITS)


def run(model: onnx.ModelProto, feeds: dict) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in model.graph.output]
    return dict(zip(names, session.run(names, feeds)))


def would_crash(program: Program) -> bool:
    """Einsum divides by the number of elements of its operands."""
    return any(
        node.op_type == "Einsum" and any(0 in program.shapes.get(name, ()) for name in node.input)
        for node in program.model.graph.node
    )


def by_runtime(program: Program) -> Answer:
    message = ""
    if would_crash(program):
        return Answer("unsupported", message="Einsum of an empty tensor")
    for kind, types in (("own", {}), ("wider", WIDER), ("other", OTHER)):
        if kind == "other" and not is_fit_for_single(program):
            break
        model, feeds = in_types(program, types) if types else (program.model, program.feeds)
        try:
            results = run(model, feeds)
        except Exception as error:
            if not is_unsupported(error):
                return Answer(
                    "limited" if is_limit(program, error) else "refused", message=str(error)
                )
            message = str(error)
            continue
        with np.errstate(all="ignore"):
            results = {n: r.astype(program.types.get(n, r.dtype)) for n, r in results.items()}
        return Answer(kind, results, unit=epsilon(F32) if kind == "other" else 0.0)
    return Answer("unsupported", message=message)


def is_fit_for_single(program: Program) -> bool:
    """Whether f64 can be f32: a narrower type would be expected to hide an error of f64 alone."""
    narrowed = any(
        node.op_type in ("Cast", "CastLike")
        and program.types.get(node.input[0]) == F64
        and program.types.get(node.output[0]) in MANTISSA
        for node in program.model.graph.node
    )
    return program.fits_single and not narrowed


def in_types(program: Program, types: dict) -> tuple[onnx.ModelProto, dict]:
    """The program with every type replaced by another."""
    codes = {helper.np_dtype_to_tensor_dtype(a): b for a, b in types.items()}
    model = onnx.ModelProto()
    model.CopyFrom(program.model)

    def replace(tensor: onnx.TensorProto) -> None:
        if tensor.data_type in codes:
            array = numpy_helper.to_array(tensor).astype(codes[tensor.data_type])
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

    for value in (*model.graph.input, *model.graph.output):
        declared = value.type.tensor_type
        if declared.elem_type in codes:
            declared.elem_type = helper.np_dtype_to_tensor_dtype(codes[declared.elem_type])
    for tensor in model.graph.initializer:
        replace(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i in codes:
                attribute.i = helper.np_dtype_to_tensor_dtype(codes[attribute.i])
            elif attribute.type == onnx.AttributeProto.TENSOR:
                replace(attribute.t)
        if node.op_type == "Clip":
            state_limits(program, model, node)
    return model, {n: x.astype(types.get(x.dtype, x.dtype)) for n, x in program.feeds.items()}


def state_limits(program: Program, model: onnx.ModelProto, node: onnx.NodeProto) -> None:
    """Bounds that are left out are the limits of the type, which is another now."""
    dtype = program.types.get(node.output[0])
    if dtype not in WIDER or dtype not in MANTISSA or program_version(model) < 11:
        return
    node.input.extend([""] * (3 - len(node.input)))
    limits = ml_dtypes.finfo(dtype)
    for i, limit in ((1, limits.min), (2, limits.max)):
        if not node.input[i]:
            node.input[i] = f"{node.output[0]}_limit{i}"
            bound = np.array(float(limit), np.float32)
            model.graph.initializer.append(numpy_helper.from_array(bound, node.input[i]))


def program_version(model: onnx.ModelProto) -> int:
    return model.opset_import[0].version
