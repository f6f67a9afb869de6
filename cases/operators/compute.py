"""Cases of operators that compute: element-wise, linear, windows, normalization, reductions."""

from __future__ import annotations

import numpy as np
from onnx import helper

from cases.operators.case import Case, f32, ints, node, normal, one, positive, truth, whole
from cases.operators.images import image_cases
from cases.operators.recurrences import recurrence_cases

INF, NAN = np.inf, np.nan
EXTREMES = f32(-INF, -1e4, -100, -20, -1, -1e-3, -0.0, 0, 1e-3, 1, 20, 88, 100, 1e4, INF, NAN)
SATURATING = EXTREMES[1:-2]
CURVE = np.linspace(-4, 4, 37, dtype=np.float32).reshape(1, 37)


def unary_cases() -> list[Case]:
    anywhere = [
        "Abs",
        "Neg",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Relu",
        "Exp",
        "Sigmoid",
        "Tanh",
        "Erf",
    ]
    cases = [one(op, EXTREMES, label="extremes") for op in anywhere]
    cases += [
        one(op, SATURATING, label="large")
        for op in ["Softplus", "Softsign", "Elu", "Selu", "HardSwish"]
    ]
    cases += [
        one(op, CURVE)
        for op in ["Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Reciprocal", "Celu"]
    ]
    cases += [one(op, CURVE / 5) for op in ["Asin", "Acos", "Atanh"]]
    cases += [one(op, positive(3, 5)) for op in ["Sqrt", "Log"]]
    cases += [one("Acosh", 1 + positive(3, 5))]
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
        one(
            "Dropout",
            normal(2, 3),
            np.float32(0.5),
            np.bool_(False),
            constants=(1, 2),
            label="inputs",
        ),
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
    cases += [
        one(op, normal(2, 3), normal(3, seed=1), normal(2, 1, seed=2))
        for op in ["Max", "Min", "Sum", "Mean"]
    ]
    cases += [one(op, normal(2, 3), label="alone") for op in ["Max", "Min", "Sum", "Mean"]]
    seven = ints(-7, -7, 7, 7, 0, 6)
    cases += [
        one("Div", seven, ints(2, -2, 2, -2, 5, 3), label="int"),
        one("Mod", seven, ints(2, -2, 2, -2, 5, 3)),
        one("Mod", seven, ints(2, -2, 2, -2, 5, 3), fmod=1, label="fmod"),
        one("Mod", f32(-7.5, 7.5, 7.5), f32(2, -2, 2), fmod=1, label="float"),
        one("Max", whole(4), whole(4)[::-1].copy(), opset=13, label="int"),
        one("BitwiseAnd", whole(5), whole(1), opset=18),
        one(
            "BitwiseXor", whole(5, dtype=np.int32), whole(5, dtype=np.int32)[::-1].copy(), opset=18
        ),
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
        one("Clip", EXTREMES, np.float32(0), None, constants=(1,), label="low of infinities"),
        one("Clip", EXTREMES, None, np.float32(0), constants=(2,), label="high of infinities"),
        one("Clip", EXTREMES, label="infinities without bounds"),
        one("Clip", EXTREMES, opset=7, min=0.0, label="attribute and infinities"),
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
        one(
            "Gemm",
            x.T.copy(),
            w.T.copy(),
            normal(1, 5),
            transA=1,
            transB=1,
            alpha=3.0,
            label="transposed",
        ),
        one("Gemm", x, w.T.copy(), transB=1, constants=(1,), label="as exported"),
        one("Einsum", x, w, equation="ij,jk->ki"),
        one("Einsum", x, w, equation="ij,jk", label="implicit"),
        one(
            "Einsum",
            normal(2, 3, 4),
            normal(2, 5, 4),
            equation="b i d, b j d -> b i j",
            label="batch",
        ),
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
        cases.append(
            one("Conv", image, normal(6, 4, 4, 2), auto_pad=mode, strides=[2, 1], label=mode)
        )
        cases.append(
            one("MaxPool", image, kernel_shape=[4, 2], auto_pad=mode, strides=[2, 2], label=mode)
        )
    return cases


def normalization_cases() -> list[Case]:
    image, per_channel = normal(2, 4, 5, 3), [normal(4, seed=s) for s in (1, 2, 3)]
    statistics = (*per_channel, positive(4))
    cases = [
        one("BatchNormalization", image, *statistics, constants=(1, 2, 3, 4)),
        one("BatchNormalization", image, *statistics, epsilon=0.1, opset=9, label="run time"),
        one("BatchNormalization", normal(3, 4), *statistics, label="rank 2"),
        one("BatchNormalization", image, *(normal(4, 5, 3, seed=s) for s in (1, 2, 3)), positive(4, 5, 3), spatial=0, opset=7, label="of positions"),
        one("LayerNormalization", normal(2, 3, 8), normal(8), normal(8, seed=1)),
        one("LayerNormalization", normal(2, 3, 8) + 10, normal(8), label="no bias"),
        one("LayerNormalization", normal(2, 3, 8), normal(3, 8), normal(3, 8, seed=1), axis=1, epsilon=1e-2, label="axis 1"),
        one("InstanceNormalization", image, per_channel[0], per_channel[1]),
        one("InstanceNormalization", normal(2, 4, 9), per_channel[0], per_channel[1], epsilon=0.1, label="1d"),
        one("GroupNormalization", image, normal(2), normal(2, seed=1), num_groups=2, opset=18),
        one("GroupNormalization", image, per_channel[0], per_channel[1], num_groups=2, opset=21),
        *(
            Case(
                f"{op}-of-one-spread",
                [node(op, "x", "s", **more), node("Expand", "s,size", "e"), node("Add", "z,e", "y")],
                {"x": normal(1, 1), "z": normal(1)},
                {"size": ints(5, 1)},
            )
            for op, more in (("Softmax", {}), ("LogSoftmax", {}), ("ReduceSum", {"keepdims": 1}))
        ),
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
        one("ReduceMean", whole(3, 4, dtype=np.int32), opset=11, axes=[1], label="int"),
        one("ReduceL1", whole(3, 4, dtype=np.int32), opset=11, axes=[1], label="int"),
        one("ReduceL2", whole(3, 4, dtype=np.int32), opset=11, axes=[1], label="int"),
        one("ReduceSumSquare", whole(3, 4, dtype=np.int32), opset=11, axes=[1], label="int"),
        one(
            "ReduceLogSum", np.abs(whole(3, 4, dtype=np.int32)) + 1, opset=11, axes=[1], label="int"
        ),
        one("ReduceSum", normal(2, 0), ints(1), constants=(1,), label="nothing"),
    ]
    cases += [
        one("CumSum", x, ints(axis)[0], constants=(1,), exclusive=exclusive, reverse=reverse,
            label=f"{axis} {exclusive} {reverse}")
        for axis, exclusive, reverse in [(0, 0, 0), (1, 1, 0), (-1, 0, 1), (2, 1, 1)]
    ]  # fmt: skip
    cases += [
        one("CumSum", whole(5, 3, dtype=np.int32), ints(0)[0], constants=(1,), label="int"),
        one("CumSum", normal(3, 0), ints(1)[0], constants=(1,), label="nothing"),
        # Rows as long as a vector, read at one place of a last axis.
        one(
            "CumSum",
            whole(4, 2, 2, dtype=np.int64),
            ints(2)[0],
            constants=(1,),
            reverse=1,
            label="columns",
        ),
        one("CumSum", normal(3, 16, 5), ints(2)[0], constants=(1,), label="vectors_of_columns"),
        one("CumSum", normal(4, 3), ints(0)[0], constants=(1,), free={0: ["n", 3]}, label="free"),
    ]
    return cases


def half_cases() -> list[Case]:
    """f16 and bf16; what is averaged is averaged in f32."""
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


def compute_cases() -> list[Case]:
    return [
        *unary_cases(), *binary_cases(), *cast_cases(), *linear_cases(), *window_cases(),
        *normalization_cases(), *reduction_cases(), *half_cases(), *image_cases(),
        *recurrence_cases(),
    ]  # fmt: skip
