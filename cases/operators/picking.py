"""Cases of operators that find, pick and place elements by index or position."""

from __future__ import annotations

import numpy as np

from cases.operators.case import Case, f32, ints, node, normal, one, truth, whole

NAN = np.float32(np.nan)


def gather_cases() -> list[Case]:
    x = normal(3, 4, 5)
    return [
        one("GatherElements", x, whole(3, 2, 5, low=-4, high=4), axis=1),
        one("GatherElements", x, whole(2, 4, 3, low=0, high=3, dtype=np.int32), label="smaller"),
        one("GatherElements", truth(4, 3), whole(4, 5, low=-3, high=3), axis=-1, label="bool"),
        one("GatherElements", x, whole(3, 0, 5, low=0, high=1), axis=1, label="nothing"),
        one(
            "GatherElements", x, whole(3, 4, 2, low=-5, high=5), axis=2,
            free={0: ["n", 4, 5], 1: ["n", 4, 2]}, label="free",
        ),
        one("GatherND", x, whole(2, 6, 2, low=-3, high=3), label="rows"),
        one("GatherND", x, whole(7, 3, low=-3, high=3), label="elements"),
        one("GatherND", x, whole(3, 2, 1, low=-4, high=4), batch_dims=1, label="batch"),
        one("GatherND", x, whole(3, 4, 2, 1, low=-5, high=5), batch_dims=2, label="batches"),
    ]  # fmt: skip


def scatter_cases() -> list[Case]:
    x, kinds = normal(4, 5), ("none", "add", "mul", "max", "min")
    apart = np.stack([np.random.default_rng(i).permutation(5)[:3] for i in range(4)])
    cases = [
        one("ScatterElements", x, apart, normal(4, 3, seed=3), axis=1),
        one("ScatterElements", x, apart[:2] - 5, normal(2, 3, seed=3), axis=-1, label="negative"),
        one("ScatterElements", x, ints().reshape(0, 5), normal(0, 5), label="nothing"),
        one("Scatter", x, apart, normal(4, 3, seed=3), axis=1, opset=9),
        one("ScatterND", x, ints([3], [0], [-2]), normal(3, 5, seed=4), label="rows"),
        one("ScatterND", truth(3, 4), ints([0, 1], [2, 3]), truth(2, seed=5), label="bool"),
        one(
            "ScatterND", normal(2, 3, 4), ints([[0, 1], [1, 2]]), normal(1, 2, 4, seed=5),
            label="nested",
        ),
    ]  # fmt: skip
    often = whole(4, 3, low=-5, high=5)
    for kind in kinds[1:]:
        for data, more in ((x, normal(4, 3, seed=3)), (whole(4, 5), whole(4, 3))):
            label = f"{kind} {data.dtype}"
            cases.append(
                one(
                    "ScatterElements",
                    data,
                    often,
                    more,
                    axis=1,
                    reduction=kind,
                    opset=18,
                    label=label,
                )
            )
        updates = normal(6, 5, seed=6)
        places = whole(6, 1, low=-4, high=4)
        cases.append(one("ScatterND", x, places, updates, reduction=kind, opset=18, label=kind))
    byte = np.arange(240, 250, dtype=np.uint8)
    cases.append(
        one(
            "ScatterElements", byte, ints(1, 1, 4), np.array([3, 255, 5], np.uint8),
            reduction="max", opset=18, label="unsigned",
        )
    )  # fmt: skip
    return cases


def search_cases() -> list[Case]:
    x = normal(3, 4, 5)
    equal = whole(4, 6, low=0, high=3).astype(np.float32)
    cases = []
    for op in ("ArgMax", "ArgMin"):
        cases += [
            one(op, x, label="0"),
            one(op, x, axis=-1, keepdims=0, label="last"),
            one(op, equal, axis=1, label="equal"),
            one(op, equal, axis=0, select_last_index=1, label="equal last"),
            one(op, whole(3, 7, dtype=np.int32), axis=1, label="int"),
            one(op, x, axis=1, free={0: ["n", "m", 5]}, label="free"),
            one(op, normal(3, 100), axis=1, label="long"),
        ]
    cases += [
        one("Hardmax", x, axis=1),
        one("Hardmax", equal, label="equal"),
        one("Hardmax", x, axis=1, opset=11, label="flat"),
        one("OneHot", whole(3, 4, low=-7, high=7), ints(5)[0], f32(2, 7), constants=(1,)),
        one("OneHot", whole(3), ints(4), ints(0, 1), constants=(1,), axis=0, label="first"),
        one("OneHot", f32(1, 2), ints(4), ints(0, 1), constants=(1,), axis=1, label="floats"),
    ]
    for largest in (0, 1):
        cases += [
            one("TopK", x, ints(3), constants=(1,), results=2, largest=largest, label=f"{largest}"),
            one(
                "TopK", equal, ints(4), constants=(1,), results=2, axis=0, largest=largest,
                label=f"{largest} equal",
            ),
            one(
                "TopK", whole(2, 40), ints(40), constants=(1,), results=2, largest=largest,
                label=f"{largest} all",
            ),
        ]  # fmt: skip
    cases += [
        one("TopK", normal(2, 500), ints(7), constants=(1,), results=2, label="long"),
        one("TopK", normal(2, 5), ints(0), constants=(1,), results=2, label="none"),
        one("TopK", x, results=2, k=2, axis=1, opset=9, label="attribute"),
        one("TopK", x, ints(2), constants=(1,), results=2, free={0: ["n", 4, 5]}, label="free"),
        one(
            "TopK", normal(3, 9, dtype=np.float16), ints(4), constants=(1,), results=2, label="f16"
        ),
        one("TopK", whole(3, 9, dtype=np.int32), ints(4), constants=(1,), results=2, label="i32"),
    ]
    return cases


def position_cases() -> list[Case]:
    x = normal(2, 4, 5)
    cases = [one("Trilu", x, upper=upper, label=f"{upper}") for upper in (0, 1)] + [
        one("Trilu", whole(3, 5), ints(k)[0], upper=upper, label=f"{upper} {k}")
        for upper in (0, 1)
        for k in (-7, -2, 1, 3, 9)
    ]
    cases += [
        one("Trilu", truth(4, 4), label="bool"),
        one("Trilu", x, free={0: ["b", "n", 5]}, label="free"),
        one("EyeLike", whole(4, 6), k=2, dtype=1),
        one("EyeLike", normal(4, 3), k=-1, label="below"),
        one("CenterCropPad", normal(7, 4, 5), ints(4, 9), constants=(1,), axes=[0, 2], opset=18),
        one("CenterCropPad", normal(3, 4), ints(6, 1), constants=(1,), opset=18, label="all"),
        one("ReverseSequence", normal(5, 3, 2), ints(5, 1, 3)),
        one(
            "ReverseSequence", normal(3, 6), ints(2, 6, 0), time_axis=1, batch_axis=0, label="rows"
        ),
    ]
    pads = ints(0, 2, 1, 1, 0, 3)
    cases += [
        one("Pad", x, pads, constants=(1,), mode=mode, opset=opset, label=mode)
        for mode, opset in (("reflect", 13), ("edge", 13), ("wrap", 19))
    ]
    cases += [
        one("Pad", x, ints(0, -1, 2, 0, 1, -2), constants=(1,), mode="edge", label="edge cut"),
        one("Pad", x, pads, f32(3)[0], constants=(1,), label="value at run time"),
        one("Pad", whole(3, 4), ints(1, 0, 2, 2), ints(7)[0], constants=(1,), label="int value"),
        one(
            "Pad", normal(2, 3, 6), ints(0, 0, 2, 0, 0, 3), constants=(1,), mode="reflect",
            free={0: ["b", 3, 6]}, label="free",
        ),
    ]  # fmt: skip
    return cases


def joined_cases() -> list[Case]:
    """Elements picked by index from what is computed just before."""
    nodes = [node("ReduceMax", "x", "r", axes=[0], keepdims=0), node("GatherND", "r,i", "y")]
    inputs = {"x": normal(1, 2, 10, 20), "i": whole(3, 3, 1, low=-2, high=2)}
    return [Case("gather of a reduction", nodes, inputs)]


def picking_cases() -> list[Case]:
    return [
        *gather_cases(), *scatter_cases(), *search_cases(), *position_cases(), *joined_cases(),
    ]  # fmt: skip
