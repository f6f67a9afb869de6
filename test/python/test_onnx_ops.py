"""Every ONNX operator that can be imported, on odd cases, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx_cases import Case, f32, ints, normal, one, positive, truth, whole

headrace = pytest.importorskip("headrace")

INF, NAN = np.inf, np.nan
EXTREMES = f32(-INF, -1e4, -100, -20, -1, -1e-3, -0.0, 0, 1e-3, 1, 20, 88, 100, 1e4, INF, NAN)
SATURATING = EXTREMES[1:-2]
CURVE = np.linspace(-4, 4, 37, dtype=np.float32).reshape(1, 37)


def unary_cases() -> list[Case]:
    anywhere = ["Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Relu", "Exp", "Sigmoid", "Tanh", "Erf"]
    cases = [one(op, EXTREMES, label="extremes") for op in anywhere]
    cases += [one(op, SATURATING, label="large") for op in ["Softplus", "Softsign", "Elu", "Selu", "HardSwish"]]
    cases += [one(op, CURVE) for op in ["Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Reciprocal", "Celu"]]
    cases += [one(op, CURVE / 5) for op in ["Asin", "Acos"]]
    cases += [one(op, positive(3, 5)) for op in ["Sqrt", "Log"]]
    cases += [
        one("Round", f32(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5), label="ties"),
        one("Abs", whole(7), label="int"),
        one("Neg", whole(7, dtype=np.int32), label="int"),
        one("Sign", whole(7), label="int"),
        one("Relu", whole(7, dtype=np.int32), label="int", opset=14),
        one("Elu", CURVE, alpha=0.3),
        one("Selu", CURVE, alpha=2.0, gamma=0.5),
        one("Celu", CURVE, alpha=2.0, label="alpha"),
        one("LeakyRelu", CURVE),
        one("LeakyRelu", SATURATING, alpha=0.3, label="large"),
        one("ThresholdedRelu", CURVE, alpha=0.7),
        one("HardSigmoid", CURVE),
        one("HardSigmoid", SATURATING, alpha=0.5, beta=0.1, label="large"),
        one("Mish", SATURATING, opset=18),
        one("Gelu", CURVE, opset=20),
        one("Gelu", CURVE, opset=20, approximate="tanh", label="tanh"),
        one("IsNaN", EXTREMES),
        one("IsInf", EXTREMES),
        one("IsInf", EXTREMES, detect_negative=0, label="positive"),
        one("Not", truth(3, 4)),
        one("Tanh", normal(0, 3), label="empty"),
        one("Exp", np.float32(1.5), label="scalar"),
        one("Sqrt", positive(4).astype(np.float64), label="f64"),
        one("Identity", normal(2, 3)),
        one("Dropout", normal(2, 3)),
        one("Dropout", normal(2, 3), np.float32(0.5), np.bool_(False), constants=(1, 2), label="inputs"),
    ]
    return cases


def binary_cases() -> list[Case]:
    a, b = normal(2, 3, 4), normal(3, 1, seed=1)
    cases = [one(op, a, b, label="broadcast") for op in ["Add", "Sub", "Mul", "Div"]]
    cases += [one(op, normal(1), normal(2, 1, 3), label="rank") for op in ["Add", "Sub"]]
    comparisons = ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]
    cases += [one(op, EXTREMES, EXTREMES[::-1].copy(), label="extremes") for op in comparisons]
    cases += [one(op, whole(8), whole(1)) for op in comparisons]
    cases += [one(op, truth(2, 1, 4), truth(3, 1, seed=5)) for op in ["And", "Or", "Xor"]]
    cases += [one(op, f32(1, NAN, 3, -INF), f32(NAN, 2, 2, INF)) for op in ["Max", "Min"]]
    cases += [one(op, normal(2, 3), normal(3, seed=1), normal(2, 1, seed=2)) for op in ["Max", "Min", "Sum", "Mean"]]
    cases += [one(op, normal(2, 3), label="alone") for op in ["Max", "Min", "Sum", "Mean"]]
    seven = ints(-7, -7, 7, 7, 0, 6)
    cases += [
        one("Div", seven, ints(2, -2, 2, -2, 5, 3), label="int"),
        one("Mod", seven, ints(2, -2, 2, -2, 5, 3)),
        one("Mod", seven, ints(2, -2, 2, -2, 5, 3), fmod=1, label="fmod"),
        one("Mod", f32(-7.5, 7.5, 7.5), f32(2, -2, 2), fmod=1, label="float"),
        one("Max", whole(4), whole(4)[::-1].copy(), opset=13, label="int"),
        one("BitwiseAnd", whole(5), whole(1), opset=18),
        one("BitwiseXor", whole(5, dtype=np.int32), whole(5, dtype=np.int32)[::-1].copy(), opset=18),
        one("Equal", truth(4), truth(4, seed=7), label="bool"),
        one("Pow", positive(2, 3), normal(3)),
        one("Pow", normal(2, 3), f32(2), constants=(1,), label="square"),
        one("Pow", normal(2, 3), f32(3), constants=(1,), label="cube"),
        one("Pow", positive(2, 3), np.float32(0.5), constants=(1,), label="root"),
        one("Pow", normal(3), np.full((2, 1, 1), 2, np.float32), constants=(1,), label="rank"),
        one("Pow", normal(2, 3), ints(2, 3, 0), constants=(1,), label="int exponent"),
        one("Pow", whole(2, 3), ints(0, 1, 4), label="ints"),
        one("PRelu", normal(2, 3, 4), normal(3, 1, seed=3)),
        one("PRelu", normal(2, 3, 4), f32(0.2), constants=(1,), label="one slope"),
        one("Where", truth(2, 1), normal(2, 3), normal(1, 3, seed=4)),
        one("Where", truth(3), whole(3), np.int64(0), label="int"),
        one("Clip", EXTREMES, np.float32(-2), np.float32(3), constants=(1, 2)),
        one("Clip", normal(5), np.float32(0), None, constants=(1,), label="low"),
        one("Clip", normal(5), None, np.float32(0.5), label="high at run time"),
        one("Clip", normal(5), np.float32(1), np.float32(-1), constants=(1, 2), label="crossed"),
        one("Clip", normal(5), opset=7, min=-0.5, max=0.25, label="attributes"),
        one("Clip", whole(6), np.int64(-3), np.int64(4), constants=(1, 2), label="int"),
    ]
    return cases


def cast_cases() -> list[Case]:
    kinds = [np.float32, np.float64, np.float16, np.int8, np.int32, np.int64, np.bool_]
    codes = [helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for kind in kinds]
    values = np.array([-3.7, -1, 0, 0.2, 1, 5.9])
    cases = [
        one("Cast", values.astype(source), to=code, label=f"{source.__name__} to {code}")
        for source in kinds
        for code in codes
    ]
    cases.append(one("CastLike", values.astype(np.float32), ints(1)))
    return cases


def linear_cases() -> list[Case]:
    shapes = [
        ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((1, 3, 4), (6, 4, 1)), ((2, 3, 4), (2, 4, 5)),
        ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((1, 1, 4), (1, 4, 2)), ((0, 4), (4, 3)), ((2, 0), (0, 3)),
    ]  # fmt: skip
    cases = [one("MatMul", normal(*a), normal(*b, seed=1), label=f"{a} {b}") for a, b in shapes]
    x, w = normal(3, 4), normal(4, 5, seed=1)
    cases += [
        one("MatMul", whole(3, 4), whole(4, 2), label="int"),
        one("Gemm", x, w),
        one("Gemm", x, w, normal(5), constants=(1, 2), label="bias"),
        one("Gemm", x, w, normal(3, 1), alpha=0.5, beta=2.0, label="column bias"),
        one("Gemm", x, w, np.float32(2), beta=0.0, label="beta 0"),
        one("Gemm", x.T.copy(), w.T.copy(), normal(1, 5), transA=1, transB=1, alpha=3.0, label="transposed"),
        one("Gemm", x, w.T.copy(), transB=1, constants=(1,), label="as exported"),
        one("Einsum", x, w, equation="ij,jk->ki"),
        one("Einsum", x, w, equation="ij,jk", label="implicit"),
        one("Einsum", normal(2, 3, 4), normal(2, 5, 4), equation="b i d, b j d -> b i j", label="batch"),
        one("Einsum", normal(3), normal(4), equation="i,j->ij", label="outer"),
        one("Einsum", normal(3, 4), normal(4), equation="ij,j->j", label="sums i"),
        one("Einsum", normal(2, 3, 4), equation="ijk->ki", label="alone"),
    ]
    return cases


def window_cases() -> list[Case]:
    image, filters = normal(2, 4, 9, 7), normal(6, 4, 3, 3, seed=1)
    cases = [
        one("Conv", image, filters, constants=(1,)),
        one("Conv", image, filters, normal(6, seed=2), constants=(1, 2), pads=[1, 1, 1, 1], label="bias"),
        one("Conv", image, filters, strides=[2, 3], pads=[0, 1, 2, 0], label="asymmetric"),
        one("Conv", image, filters, dilations=[2, 1], label="dilated"),
        one("Conv", image, normal(6, 2, 3, 3), group=2, label="groups"),
        one("Conv", image, normal(8, 1, 3, 3), group=4, pads=[1, 1, 1, 1], label="depthwise"),
        one("Conv", image, normal(6, 4, 1, 1), label="1x1"),
        one("Conv", normal(2, 3, 11), normal(5, 3, 4), strides=[2], pads=[1, 2], label="1d"),
        one("Conv", normal(1, 2, 5, 6, 4), normal(3, 2, 2, 3, 2), normal(3), strides=[1, 2, 1], label="3d"),
        one("MaxPool", image, kernel_shape=[3, 2]),
        one("MaxPool", -positive(1, 2, 6, 6), kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], label="negative"),
        one("MaxPool", image, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, label="ceil"),
        one("MaxPool", normal(1, 1, 6, 6), kernel_shape=[2, 2], strides=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1, label="ceil drops"),
        one("MaxPool", image, kernel_shape=[2, 3], dilations=[2, 2], label="dilated"),
        one("MaxPool", normal(2, 3, 10), kernel_shape=[3], strides=[2], label="1d"),
        one("MaxPool", whole(1, 2, 5, 5, dtype=np.int8), kernel_shape=[2, 2], pads=[1, 0, 0, 1], label="int8"),
        one("AveragePool", image, kernel_shape=[3, 2]),
        one("AveragePool", image, kernel_shape=[3, 3], pads=[1, 1, 1, 1], label="pads"),
        one("AveragePool", image, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1, label="counted"),
        one("AveragePool", image, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, label="ceil"),
        one("AveragePool", normal(1, 2, 6, 6), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0], ceil_mode=1, count_include_pad=1, opset=19, label="ceil counted"),
        one("GlobalAveragePool", image),
        one("GlobalMaxPool", normal(2, 3, 4, 5, 2)),
    ]  # fmt: skip
    for mode in ["SAME_UPPER", "SAME_LOWER", "VALID"]:
        cases.append(one("Conv", image, normal(6, 4, 4, 2), auto_pad=mode, strides=[2, 1], label=mode))
        cases.append(one("MaxPool", image, kernel_shape=[4, 2], auto_pad=mode, strides=[2, 2], label=mode))
    return cases


def normalization_cases() -> list[Case]:
    image, per_channel = normal(2, 4, 5, 3), [normal(4, seed=s) for s in (1, 2, 3)]
    statistics = (*per_channel, positive(4))
    cases = [
        one("BatchNormalization", image, *statistics, constants=(1, 2, 3, 4)),
        one("BatchNormalization", image, *statistics, epsilon=0.1, opset=9, label="run time"),
        one("BatchNormalization", normal(3, 4), *statistics, label="rank 2"),
        one("LayerNormalization", normal(2, 3, 8), normal(8), normal(8, seed=1)),
        one("LayerNormalization", normal(2, 3, 8) + 10, normal(8), label="no bias"),
        one("LayerNormalization", normal(2, 3, 8), normal(3, 8), normal(3, 8, seed=1), axis=1, epsilon=1e-2, label="axis 1"),
        one("InstanceNormalization", image, per_channel[0], per_channel[1]),
        one("InstanceNormalization", normal(2, 4, 9), per_channel[0], per_channel[1], epsilon=0.1, label="1d"),
        one("GroupNormalization", image, normal(2), normal(2, seed=1), num_groups=2, opset=18),
        one("GroupNormalization", image, per_channel[0], per_channel[1], num_groups=2, opset=21),
        one("Softmax", normal(2, 3, 4)),
        one("Softmax", normal(2, 3, 4), axis=1, label="axis 1"),
        one("Softmax", normal(2, 3, 4) * 200, axis=-2, label="large"),
        one("Softmax", normal(2, 3, 4), opset=11, label="flattened"),
        one("Softmax", normal(2, 3, 4), opset=11, axis=0, label="all"),
        one("Softmax", normal(2, 3, 4), opset=11, axis=2, label="last"),
        one("LogSoftmax", normal(2, 5) * 200),
        one("LogSoftmax", normal(2, 3, 4), opset=9, label="flattened"),
    ]  # fmt: skip
    return cases


def reduction_cases() -> list[Case]:
    x = normal(2, 3, 4)
    names = ["Sum", "Mean", "Max", "Min", "Prod", "SumSquare", "L1", "L2", "LogSumExp"]
    cases = []
    for op in (f"Reduce{name}" for name in names):
        cases.append(one(op, x, opset=11, label="all"))
        cases.append(one(op, x, opset=11, axes=[-1, 0], keepdims=0, label="attribute"))
        cases.append(one(op, x, ints(1), constants=(1,), opset=18, label="input"))
    cases += [
        one("ReduceLogSum", positive(2, 3, 4), opset=11, axes=[1]),
        one("ReduceLogSumExp", normal(3, 4) * 500, opset=11, axes=[1], label="large"),
        one("ReduceSum", x, ints(-2), constants=(1,), keepdims=0, label="13"),
        one("ReduceSum", x, opset=13, noop_with_empty_axes=1, label="noop"),
        one("ReduceSum", whole(3, 4), ints(0), constants=(1,), label="int"),
        one("ReduceMax", whole(3, 4, dtype=np.int32), opset=11, axes=[1], label="int"),
        one("ReduceSum", normal(2, 0), ints(1), constants=(1,), label="nothing"),
    ]
    return cases


def layout_cases() -> list[Case]:
    x = normal(2, 3, 4)
    cases = [
        one("Reshape", x, ints(*shape), constants=(1,), label=str(shape))
        for shape in [(6, 4), (-1,), (0, -1), (0, 0, 2, 2), (4, -1, 3), (1, 2, 3, 4, 1)]
    ]
    cases += [one("Flatten", x, axis=axis, label=str(axis)) for axis in [0, 1, 2, 3, -1]]
    cases += [one("Transpose", x, **({"perm": p} if p else {}), label=str(p)) for p in [None, [0, 2, 1], [2, 0, 1]]]
    cases += [
        one("Reshape", normal(0, 3), ints(3, 0), constants=(1,), allowzero=1, label="allowzero"),
        one("Reshape", np.float32(3), ints(1, 1), constants=(1,), label="scalar"),
        one("Squeeze", normal(1, 3, 1), label="all"),
        one("Squeeze", normal(1, 3, 1), ints(-1), constants=(1,), label="input"),
        one("Squeeze", normal(1, 3, 1), opset=11, axes=[0], label="attribute"),
        one("Unsqueeze", x, ints(0, -1), constants=(1,), label="input"),
        one("Unsqueeze", x, opset=11, axes=[1, 4], label="attribute"),
        one("Expand", normal(3, 1), ints(2, 1, 4), constants=(1,)),
        one("Expand", normal(3, 4), ints(1, 1), constants=(1,), label="smaller"),
        one("Tile", normal(2, 3), ints(2, 3), constants=(1,)),
        one("Tile", normal(2, 3), ints(1, 2), constants=(1,), label="one axis"),
        one("DepthToSpace", normal(2, 8, 3, 2), blocksize=2),
        one("DepthToSpace", normal(2, 8, 3, 2), blocksize=2, mode="CRD", opset=13, label="crd"),
        one("SpaceToDepth", normal(2, 3, 4, 6), blocksize=2),
    ]
    return cases


def half_cases() -> list[Case]:
    """Half precision; what is averaged is averaged in single precision."""
    x = normal(2, 3, 8, dtype=np.float16)
    scale, bias = normal(8, dtype=np.float16, seed=1), normal(8, dtype=np.float16, seed=2)
    return [
        one("Add", x, scale, label="f16"),
        one("MatMul", x, normal(8, 4, dtype=np.float16), label="f16"),
        one("Sigmoid", x, label="f16"),
        one("Softmax", x, label="f16"),
        one("LayerNormalization", x + np.float16(8), scale, bias, label="f16"),
        one("Where", truth(8), x, bias, label="f16"),
        one("Clip", x, np.float16(-0.5), np.float16(0.5), constants=(1, 2), label="f16"),
    ]


def slice_of(x: np.ndarray, starts, ends, axes=None, steps=None, label="") -> Case:
    rest = [None if values is None else ints(*values) for values in (axes, steps)]
    present = tuple(i + 1 for i, v in enumerate([starts, ends, *rest]) if v is not None)
    return one("Slice", x, ints(*starts), ints(*ends), *rest, constants=present, label=label)


def indexing_cases() -> list[Case]:
    x = normal(5, 6, 4)
    far = np.iinfo(np.int64)
    cases = [
        slice_of(x, [1], [4]),
        slice_of(x, [-3, 1], [far.max, -1], [0, 2], label="from the end"),
        slice_of(x, [0], [100], [1], [2], label="step"),
        slice_of(x, [-1], [far.min], [0], [-1], label="backward"),
        slice_of(x, [4], [0], [1], [-3], label="backward step"),
        slice_of(x, [3], [3], [0], label="empty"),
        slice_of(x, [4], [1], [0], label="crossed"),
        slice_of(x, [-100], [2], [0], label="before the start"),
        one("Slice", x, opset=9, starts=[1, 0], ends=[-1, 2], axes=[1, 2], label="attributes"),
        one("Split", x, axis=1, results=3, label="equal"),
        one("Split", x, ints(1, 3), axis=-1, results=2, constants=(1,), label="sizes"),
        one("Split", x, opset=11, axis=0, split=[2, 3], results=2, label="attribute"),
        one("Split", x, opset=18, axis=0, num_outputs=3, results=3, label="uneven"),
        one("Concat", x, normal(5, 1, 4), axis=1),
        one("Concat", x, axis=0, label="alone"),
        one("Concat", whole(2), whole(3), whole(0), axis=-1, label="int"),
        one("Pad", normal(2, 3), ints(1, 0, 2, 1), constants=(1,)),
        one("Pad", normal(2, 3), ints(1, 0, 0, 2), np.float32(1.5), constants=(1, 2), label="value"),
        one("Pad", normal(4, 5), ints(-1, 2, 1, -2), constants=(1,), label="negative"),
        one("Pad", normal(2, 3), opset=7, pads=[0, 1, 0, 1], value=-2.0, label="attribute"),
        one("Pad", normal(2, 3, 4), ints(1, 2), None, ints(-1), constants=(1, 3), opset=18, label="axes"),
        one("Pad", whole(2, 2), ints(0, 1, 1, 0), np.int64(7), constants=(1, 2), label="int"),
        one("Gather", x, ints(4, 0, -1)),
        one("Gather", x, whole(2, 3, low=0, high=4), axis=2, label="matrix"),
        one("Gather", x, np.int64(2), axis=1, constants=(1,), label="scalar"),
        one("Gather", x, np.int64(-1), constants=(1,), label="last"),
        one("Gather", x, np.array([1, 3], np.int32), constants=(1,), axis=1, label="int32"),
        one("Gather", whole(10), whole(2, 2, low=0), label="int data"),
    ]
    return cases


def node(op: str, inputs: str, outputs: str, **attributes: object):
    return helper.make_node(op, inputs.split(","), outputs.split(","), name=f"{op}_{outputs}", **attributes)


def constant(name: str, value: np.ndarray):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value))


def shape_cases() -> list[Case]:
    """Shapes computed in the model, with free sizes."""
    x = normal(2, 6, 4)
    free = {"x": ["batch", "time", 4]}

    def case(name: str, nodes, constants=None, inputs=None, free=free, **more) -> Case:
        return Case(name, nodes, inputs or {"x": x}, constants or {}, free=free, **more)

    return [
        case("merge", [
            node("Shape", "x", "s"), node("Gather", "s,zero", "b"), node("Gather", "s,one", "t"),
            node("Mul", "b,t", "n"), node("Unsqueeze", "n,axis", "n1"),
            node("Concat", "n1,four", "target", axis=0), node("Reshape", "x,target", "y"),
        ], {"zero": np.int64(0), "one": np.int64(1), "axis": ints(0), "four": ints(4)}),
        case("heads", [
            node("Shape", "x", "s"), node("Slice", "s,from,to", "lead"),
            node("Concat", "lead,tail", "target", axis=0), node("Reshape", "x,target", "h"),
            node("Transpose", "h", "y", perm=[0, 2, 1, 3]),
        ], {"from": ints(0), "to": ints(2), "tail": ints(2, -1)}),
        case("flat", [node("Reshape", "x,target", "y")], {"target": ints(0, -1)}),
        case("infer-free", [node("Reshape", "x,target", "y")], {"target": ints(-1, 4)}),
        case("ones", [
            node("Shape", "x", "s"),
            node("ConstantOfShape", "s", "o", value=helper.make_tensor("v", 1, [1], [2.5])),
            node("Add", "x,o", "y"),
        ]),
        case("expand-where", [
            node("Shape", "x", "s"), node("Equal", "s,minus", "e"), node("Where", "e,s,s", "t"),
            node("Expand", "row,t", "y"),
        ], {"minus": ints(-1, -1, -1), "row": normal(4)}),
        case("drop-last", [node("Slice", "x,from,to,axis", "y")],
             {"from": ints(0), "to": ints(-1), "axis": ints(1)}),
        case("positions", [
            node("Shape", "x", "s"), node("Gather", "s,one", "t"), node("Slice", "table,from,t,axis", "p"),
            node("Add", "x,p", "y"),
        ], {"one": ints(1), "from": ints(0), "axis": ints(0), "table": normal(16, 4)}),
        case("tile", [
            node("Shape", "x", "s"), node("Gather", "s,zero", "b"), node("Concat", "b,one", "r", axis=0),
            node("Tile", "row,r", "y"),
        ], {"zero": ints(0), "one": ints(3), "row": normal(1, 5)}),
        case("shape-out", [node("Shape", "x", "y")]),
        case("size-out", [node("Size", "x", "y")]),
        case("shape-as-data", [
            node("Shape", "x", "s"), node("Cast", "s", "f", to=1), node("ReduceProd", "f", "n", keepdims=0),
            node("Div", "x,n", "y"),
        ]),
        case("unknown-dims", [node("Relu", "x", "y")], free={"x": [None, None, 4]}),
        case("range", [constant("a", np.int64(2)), constant("b", np.int64(11)), constant("c", np.int64(3)),
                       node("Range", "a,b,c", "y")], free={}),
        case("range-float", [constant("a", np.float32(1)), constant("b", np.float32(0)),
                             constant("c", np.float32(-0.25)), node("Range", "a,b,c", "y")], free={}),
        case("constants", [constant("k", normal(4)), node("Add", "x,k", "y")]),
        case("unsorted", [node("Neg", "r", "y"), node("Relu", "x", "r")]),
        case("conv-free", [node("Conv", "x,w", "c", pads=[1, 1, 1, 1], strides=[2, 2]),
                           node("MaxPool", "c", "y", kernel_shape=[2, 2])],
             {"w": normal(3, 2, 3, 3)}, inputs={"x": normal(2, 2, 11, 9)}, free={"x": ["n", 2, "h", "w"]}),
        case("remainder-as-bound", [
            node("Mod", "two,three", "r"), node("Slice", "x,from,r,axis", "y"),
        ], {"two": ints(2), "three": ints(3), "from": ints(0), "axis": ints(2)}),
        case("two-outputs", [node("Relu", "x", "a"), node("Neg", "x", "b")], outputs=("a", "b")),
    ]  # fmt: skip


CASES = [
    *unary_cases(), *binary_cases(), *cast_cases(), *linear_cases(), *window_cases(), *normalization_cases(),
    *reduction_cases(), *layout_cases(), *indexing_cases(), *shape_cases(), *half_cases(),
]  # fmt: skip


def expected_results(case: Case, path: Path) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, case.inputs)


def as_list(results) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple) else [results]


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        tolerance = 2e-3 if theirs.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operator(case: Case, tmp_path: Path) -> None:
    path = case.save(tmp_path)
    try:
        expected = expected_results(case, path)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        pytest.skip("ONNX Runtime has no kernel for these types")
    model = headrace.load(path)
    inputs = list(case.inputs.values())
    assert_same(as_list(model.reference(*inputs)), expected)
    assert_same(as_list(model(*inputs)), expected)


def refuse(case: Case, tmp_path: Path, kind: type, *words: str) -> None:
    with pytest.raises(kind) as raised:
        headrace.load(case.save(tmp_path))
    message = str(raised.value)
    assert "\n" not in message
    for word in ("model.onnx", *words):
        assert word in message


def test_unsupported_operators_are_all_named(tmp_path: Path) -> None:
    nodes = [node("Det", "x", "d"), node("NonZero", "d", "n"), node("Det", "x", "e"), node("Neg", "e", "y")]
    case = Case("bad", nodes, {"x": normal(3, 3)})
    refuse(case, tmp_path, headrace.UnsupportedError, "Det_d", "'Det' (opset 17)", "'NonZero'")


def test_shapes_that_do_not_fit_name_the_node(tmp_path: Path) -> None:
    refuse(one("Add", normal(2, 3), normal(4)), tmp_path, headrace.Error, "the_Add", "2 x 3", "4")
    refuse(one("MatMul", normal(2, 3), normal(4, 2)), tmp_path, headrace.Error, "the_MatMul", "2 x 3")


def test_data_dependent_shapes_name_the_input(tmp_path: Path) -> None:
    case = one("Reshape", normal(2, 3), ints(3, 2))
    refuse(case, tmp_path, headrace.UnsupportedError, "the_Reshape", "input 1 ('x1')")


def test_unsigned_inputs_are_refused_by_name(tmp_path: Path) -> None:
    case = one("Relu", np.zeros(3, np.uint8))
    refuse(case, tmp_path, headrace.UnsupportedError, "'x0'", "u8")


def test_sizes_outside_their_range_are_refused(tmp_path: Path) -> None:
    """A table of 16 rows serves up to 16 steps; more must not read beyond it."""
    case = next(case for case in CASES if case.name == "positions")
    model = headrace.load(case.save(tmp_path))
    assert model(normal(2, 16, 4)).shape == (2, 16, 4)
    with pytest.raises(headrace.Error):
        model(normal(2, 17, 4))
