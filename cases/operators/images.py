"""Cases of operators that resize, sample and spread images."""

from __future__ import annotations

import itertools

import numpy as np

from cases.operators.case import Case, f32, ints, normal, one, whole

COORDINATES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")


def resize(x: np.ndarray, *, scales=None, sizes=None, roi=None, opset=19, label="", **more) -> Case:
    given = [
        None if roi is None else f32(*roi),
        None if scales is None else f32(*scales),
        None if sizes is None else ints(*sizes),
    ]
    while given[-1] is None:
        given.pop()
    fixed = tuple(i + 1 for i, value in enumerate(given) if value is not None)
    return one("Resize", x, *given, constants=fixed, opset=opset, label=label, **more)


def resize_cases() -> list[Case]:
    x = normal(2, 3, 5, 7)
    cases = [
        resize(
            x, scales=(1, 1, *scales), mode=mode, coordinate_transformation_mode=how,
            label=f"{mode} {how} {scales}",
        )
        for mode, how, scales in itertools.product(
            ("nearest", "linear", "cubic"), COORDINATES, ((2, 1.5), (0.6, 0.5))
        )
        # ONNX Runtime rounds the size before it aligns corners, the standard does not.
        if how != "align_corners"
    ] + [
        resize(
            x, sizes=(2, 3, *sizes), mode=mode, coordinate_transformation_mode="align_corners",
            label=f"{mode} align_corners {sizes}",
        )
        for mode, sizes in itertools.product(("nearest", "linear", "cubic"), ((9, 4), (3, 15)))
    ]  # fmt: skip
    cases += [
        resize(x, sizes=(2, 3, 4, 9), mode="nearest", nearest_mode=how, label=f"nearest {how}")
        for how in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    ]
    # Whole scales, with which most of these repeat pixels.
    cases += [
        resize(
            x, scales=(1, 1, *scales), mode="nearest", coordinate_transformation_mode=how, nearest_mode=nearest,
            label=f"repeated {how} {nearest} {scales}",
        )
        for how, nearest, scales in itertools.product(
            ("asymmetric", "half_pixel", "half_pixel_symmetric"), ("floor", "round_prefer_floor"), ((3, 2), (1, 4))
        )
    ] + [
        resize(normal(2, 3, 4), scales=(1, 1, 3), mode="nearest", label="repeated 1d"),
        resize(normal(1, 2, 2, 3, 4), scales=(1, 1, 2, 1, 3), mode="nearest", label="repeated 3d"),
        resize(x, scales=(1, 2, 2, 2), mode="nearest", label="repeated channels"),
        resize(x, sizes=(2, 3, 10, 14), mode="nearest", label="repeated sizes"),
    ]  # fmt: skip
    # Whole scales, whose places have weights that repeat.
    cases += [
        resize(
            x, scales=(1, 1, *scales), mode=mode, coordinate_transformation_mode=how,
            label=f"phases {mode} {how} {scales}",
        )
        for mode, how, scales in itertools.product(
            ("linear", "cubic"), ("half_pixel", "asymmetric", "half_pixel_symmetric"), ((2, 3), (1, 4), (5, 2))
        )
    ] + [
        resize(normal(2, 3, 4), scales=(1, 1, 3), mode="linear", label="phases 1d"),
        resize(normal(1, 2, 2, 3, 4), scales=(1, 1, 2, 1, 3), mode="linear", label="phases 3d"),
        resize(normal(1, 2, 1, 1), scales=(1, 1, 4, 2), mode="linear", label="phases of one pixel"),
        resize(x, sizes=(2, 3, 40, 14), mode="linear", label="phases sizes"),
        resize(x, scales=(1, 1, 2, 1.5), mode="linear", label="phases along one axis"),
        resize(
            f32(np.inf, 1, -2, 3, 0, 5).reshape(1, 1, 2, 3), scales=(1, 1, 2, 2), mode="linear",
            label="phases infinity",
        ),
    ]  # fmt: skip
    cases += [
        resize(x, sizes=(2, 3, 3, 4), mode=mode, antialias=1, label=f"{mode} antialias")
        for mode in ("linear", "cubic")
    ]
    cases += [
        resize(x, scales=(1, 1, 0.7, 2), mode="cubic", exclude_outside=1, label="exclude"),
        resize(x, scales=(1, 1, 2, 2), mode="cubic", cubic_coeff_a=-0.5, label="coefficient"),
        resize(
            x, sizes=(2, 3, 4, 4), roi=(0, 0, -0.2, 0.1, 1, 1, 0.9, 1.3), mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0,
            label="crop",
        ),
        resize(x, sizes=(9, 4), axes=[2, 3], mode="linear", label="axes"),
        resize(
            x, sizes=(9, 9), axes=[2, 3], keep_aspect_ratio_policy="not_larger", mode="nearest",
            label="not larger",
        ),
        resize(
            x, sizes=(9, 9), axes=[2, 3], keep_aspect_ratio_policy="not_smaller", mode="linear",
            label="not smaller",
        ),
        resize(normal(1, 2, 6), scales=(1, 1, 1.5), mode="linear", label="1d"),
        resize(whole(1, 2, 3, 4, dtype=np.int32), scales=(1, 1, 2, 2), mode="nearest", label="int"),
        resize(
            x, scales=(1, 1, 2, 2), mode="nearest", coordinate_transformation_mode="asymmetric",
            nearest_mode="floor", free={0: ["n", 3, "h", "w"]}, label="free",
        ),
        resize(x, scales=(1, 1, 2, 0.5), mode="linear", free={0: ["n", 3, 5, "w"]}, label="free linear"),
        one("Resize", x, f32(1, 1, 2, 2), constants=(1,), opset=10, label="old"),
        one("Resize", normal(1, 2, 7, 20), f32(1, 1, 0.6, 0.7), constants=(1,), opset=10, label="smaller"),
        one("Resize", normal(1, 2, 20, 10), f32(1, 1, 1.3, 1.7), constants=(1,), opset=10, label="rounded"),
        one("Upsample", x, f32(1, 1, 2, 3), constants=(1,), opset=9),
        one("Upsample", x, f32(1, 1, 2, 2), constants=(1,), opset=9, mode="linear", label="linear"),
    ]  # fmt: skip
    return cases


def sampling_cases() -> list[Case]:
    x, grid = normal(2, 3, 5, 4), normal(2, 6, 3, 2, seed=3)
    cases = [
        one(
            "GridSample", x, grid, mode=mode, padding_mode=padding, align_corners=corners,
            opset=20, label=f"{mode} {padding} {corners}",
        )
        for mode in ("linear", "cubic", "nearest")
        for padding in ("zeros", "border", "reflection")
        for corners in (0, 1)
    ]  # fmt: skip
    rois = f32([0, 0, 3, 4], [0.5, 1.2, 2.5, 3.9], [1, 1, 1.1, 1.1])
    cases += [
        one("GridSample", normal(1, 2, 3, 4, 3), normal(1, 2, 2, 3, 3, seed=4), opset=20, label="3d"),
        one("AffineGrid", normal(2, 2, 3), ints(2, 3, 5, 4), constants=(1,), opset=20),
        one(
            "AffineGrid", normal(2, 3, 4), ints(2, 3, 2, 5, 4), constants=(1,), opset=20,
            align_corners=1, label="3d",
        ),
    ]  # fmt: skip
    for mode, ratio in itertools.product(("avg", "max"), (0, 2)):
        cases.append(
            one(
                "RoiAlign", x, rois, ints(0, 1, 1), mode=mode, output_height=2, output_width=3,
                sampling_ratio=ratio, spatial_scale=0.9, opset=16, label=f"{mode} {ratio}",
            )
        )  # fmt: skip
    cases.append(one("RoiAlign", x, rois, ints(0, 1, 1), output_height=3, opset=10, label="old"))
    pooled = f32([0, 0, 0, 3, 4], [1, 0.5, 1.2, 2.5, 3.9], [1, 2, 3, 90, 80])
    cases.append(one("MaxRoiPool", x, pooled, pooled_shape=[2, 3], spatial_scale=0.9, opset=7))
    return cases


def transposed_cases() -> list[Case]:
    x = normal(2, 4, 5, 6)
    cases = [
        one("ConvTranspose", x, normal(4, 3, 3, 2, seed=1), f32(1, 2, 3)),
        one(
            "ConvTranspose", x, normal(4, 2, 3, 3, seed=1), group=2, strides=[2, 3], pads=[1, 0, 2, 1],
            output_padding=[1, 2], label="strides",
        ),
        one(
            "ConvTranspose", x, normal(4, 2, 2, 3, seed=1), dilations=[2, 1], strides=[1, 2],
            label="dilated",
        ),
        one("ConvTranspose", x, normal(4, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER", label="same"),
        one(
            "ConvTranspose", x, normal(4, 2, 3, 3), strides=[2, 2], output_shape=[10, 13],
            label="output shape",
        ),
        one("ConvTranspose", normal(1, 2, 7), normal(2, 3, 4), pads=[3, 3], label="1d"),
        one("ConvTranspose", normal(1, 2, 3, 3), normal(2, 2, 1, 1), pads=[1, 0, 0, 1], label="cut"),
        one(
            "ConvTranspose", x, normal(4, 2, 2, 2), strides=[2, 2], free={0: ["n", 4, "h", "w"]},
            label="free",
        ),
        one(
            "ConvTranspose", x, normal(4, 24, 2, 3), normal(24), strides=[2, 3], label="side by side",
        ),
        one("ConvTranspose", normal(1, 2, 7), normal(2, 3, 4), strides=[4], label="side by side 1d"),
        one(
            "ConvTranspose", normal(1, 2, 3, 2, 4), normal(2, 9, 1, 2, 2), strides=[1, 2, 2],
            label="side by side 3d",
        ),
        one(
            "ConvTranspose", x, normal(4, 3, 2, 2), strides=[2, 2], output_padding=[1, 0],
            label="side by side, padded",
        ),
        one(
            "ConvTranspose", x, normal(4, 3, 2, 2), strides=[2, 2], pads=[1, 0, 0, 0],
            label="side by side, cut",
        ),
        one(
            "ConvTranspose", normal(2, 3, 4, 5), normal(3, 5, 4, 6, seed=1), strides=[2, 3], pads=[1, 2, 1, 1],
            label="phases in one",
        ),
        one(
            "ConvTranspose", normal(2, 3, 4, 5), normal(3, 5, 3, 5, seed=1), f32(1, 2, 3, 4, 5), strides=[2, 3],
            pads=[1, 0, 2, 4], output_padding=[1, 2], free={0: ["n", 3, "h", "w"]}, label="phases, free",
        ),
        one(
            "ConvTranspose", normal(1, 3, 4, 5), normal(3, 2, 2, 1, seed=1), strides=[3, 2], pads=[1, 0, 0, 0],
            output_padding=[2, 1], label="phases without taps",
        ),
        one(
            "ConvTranspose", normal(1, 4, 6, 5), normal(4, 1, 3, 3, seed=1), strides=[2, 3], dilations=[3, 3], group=4,
            pads=[0, 1, 1, 2], label="phases of dilated channels",
        ),
        one(
            "ConvTranspose", normal(1, 3, 3, 4, 2), normal(3, 4, 3, 4, 2, seed=1), strides=[2, 2, 3],
            dilations=[1, 1, 2], pads=[1, 1, 0, 1, 1, 1], label="phases 3d",
        ),
        one("Col2Im", normal(2, 12, 20), ints(5, 6), ints(2, 2), constants=(1, 2), opset=18),
        one(
            "Col2Im", normal(1, 18, 9), ints(5, 5), ints(3, 3), constants=(1, 2), strides=[2, 2],
            pads=[1, 1, 1, 1], opset=18, label="strides",
        ),
    ]  # fmt: skip
    return cases


def pool_cases() -> list[Case]:
    x = normal(2, 3, 6, 7)
    pooled = normal(1, 2, 3, 3)
    places = np.arange(9).reshape(3, 3) // 3 * 12 + np.arange(9).reshape(3, 3) % 3 * 2 + 1
    both = np.stack([places, places + 36])[None]
    return [
        one("MaxPool", x, results=2, kernel_shape=[2, 3], strides=[2, 1]),
        one("MaxPool", x, results=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], label="pads"),
        one("MaxPool", x, results=2, kernel_shape=[2, 2], storage_order=1, label="columns"),
        one("MaxPool", x, results=2, kernel_shape=[2, 2], dilations=[2, 3], label="dilated"),
        one("MaxUnpool", pooled, both, kernel_shape=[2, 2], strides=[2, 2]),
        one("LpPool", x, kernel_shape=[2, 3], strides=[1, 2]),
        one("LpPool", x, kernel_shape=[3, 3], pads=[1, 0, 1, 2], p=1, label="pads"),
        one("GlobalLpPool", x, p=3),
        one("LRN", normal(2, 7, 3, 2), size=3, alpha=0.2, beta=0.6, bias=1.5),
        one("LRN", normal(2, 5, 3, 2), size=5, label="wide"),
    ]  # fmt: skip


def image_cases() -> list[Case]:
    return [*resize_cases(), *sampling_cases(), *transposed_cases(), *pool_cases()]
