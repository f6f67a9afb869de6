"""Cases of operators that move data, and of shapes computed in the model."""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper

from cases.operators.case import Case, ints, node, normal, one, whole
from cases.operators.picking import picking_cases


def layout_cases() -> list[Case]:
    x = normal(2, 3, 4)
    cases = [
        one("Reshape", x, ints(*shape), constants=(1,), label=str(shape))
        for shape in [(6, 4), (-1,), (0, -1), (0, 0, 2, 2), (4, -1, 3), (1, 2, 3, 4, 1)]
    ]
    cases += [one("Flatten", x, axis=axis, label=str(axis)) for axis in [0, 1, 2, 3, -1]]
    cases += [
        one("Transpose", x, **({"perm": p} if p else {}), label=str(p))
        for p in [None, [0, 2, 1], [2, 0, 1]]
    ]
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
        slice_of(x[:0], [-1], [far.min], [0], [-1], label="backward over nothing"),
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
        one(
            "Pad", normal(2, 3), ints(1, 0, 0, 2), np.float32(1.5), constants=(1, 2), label="value"
        ),
        one("Pad", normal(4, 5), ints(-1, 2, 1, -2), constants=(1,), label="negative"),
        one("Pad", normal(2, 3), opset=7, pads=[0, 1, 0, 1], value=-2.0, label="attribute"),
        one(
            "Pad",
            normal(2, 3, 4),
            ints(1, 2),
            None,
            ints(-1),
            constants=(1, 3),
            opset=18,
            label="axes",
        ),
        one("Pad", whole(2, 2), ints(0, 1, 1, 0), np.int64(7), constants=(1, 2), label="int"),
        one("Gather", x, ints(4, 0, -1)),
        one("Gather", x, whole(2, 3, low=0, high=4), axis=2, label="matrix"),
        one("Gather", x, np.int64(2), axis=1, constants=(1,), label="scalar"),
        one("Gather", x, np.int64(-1), constants=(1,), label="last"),
        one("Gather", x, np.array([1, 3], np.int32), constants=(1,), axis=1, label="int32"),
        one("Gather", whole(10), whole(2, 2, low=0), label="int data"),
    ]
    return cases


def constant(name: str, value: np.ndarray):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value))


def shape_cases() -> list[Case]:
    """Shapes computed in the model, with dynamic dimensions."""
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
        case("range-empty", [constant("a", np.float32(1)), constant("b", np.float32(-1e38)),
                             constant("c", np.float32(1e-38)), node("Range", "a,b,c", "y")], free={}),
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


def movement_cases() -> list[Case]:
    return [*layout_cases(), *indexing_cases(), *shape_cases(), *picking_cases()]
