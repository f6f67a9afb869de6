"""What is run on a GPU: programs, their inputs, what they must agree with and how fast they must be.

Has no import beyond the standard library: it is read where kits are made and where they are run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A program. `formula` names the float64 function in formulas.py that it must agree with, and the
    PyTorch function in peers.py that it is timed beside; a network has no formula, but stored outputs.
    """

    name: str
    formula: str
    inputs: tuple[Shape, ...]
    dtype: str = "f32"
    expansion: str = "generated"
    # What the time must be: at most `microseconds`, at most PyTorch's time over `speedup`, at most
    # the time of another case times a factor.
    microseconds: float | None = None
    speedup: float | None = None
    beside: tuple[str, float] | None = None
    network: str | None = None
    # Only the rows given by a stride are compared, where float64 would take too long.
    row_step: int = field(default=1)


def matrix_cases() -> list[Case]:
    big, odd = (4096, 4096), (4095, 4095)
    wide = ((1000, 769), (769, 3001))
    cases = []
    for dtype, bar in (("f32", 0.85), ("bf16", 0.75)):
        cases += [
            Case(f"matmul_{dtype}", "matmul", (big, big), dtype, speedup=bar, row_step=331),
            Case(
                f"matmul_{dtype}_ragged",
                "matmul",
                (odd, odd),
                dtype,
                beside=(f"matmul_{dtype}", 1.3),
                row_step=331,
            ),
            Case(f"matmul_{dtype}_odd", "matmul", wide, dtype, row_step=7),
            Case(
                f"dense_{dtype}", "dense", ((2048, 1024), (1024, 4096), (4096,)), dtype, row_step=97
            ),
            Case(f"batched_{dtype}", "matmul", ((24, 128, 64), (24, 64, 130)), dtype),
            Case(
                f"cublas_{dtype}", "matmul", (big, big), dtype, "cublas", speedup=0.95, row_step=331
            ),
        ]
    return cases


CASES = [
    Case("mish", "mish", ((8, 32, 224, 224),), microseconds=36, row_step=5),
    Case("mish_both", "mish_both", ((8, 32, 224, 224),) * 2, microseconds=64, row_step=5),
    Case("mish_ragged", "mish", ((7, 3, 223, 221),)),
    Case("softmax", "softmax", ((8, 16, 512, 512),), speedup=1.0, row_step=5),
    Case("softmax_ragged", "softmax", ((3, 5, 127, 509),)),
    Case("softmax_long", "softmax", ((16, 50257),)),
    Case("layernorm", "layernorm", ((8, 512, 1024), (1024,), (1024,)), speedup=1.4),
    Case("layernorm_wide", "layernorm", ((64, 1537), (1537,), (1537,))),
    Case("layernorm_ragged", "layernorm", ((3, 127, 1001), (1001,), (1001,))),
    Case("transpose", "transpose", ((4096, 4096),)),
    Case("transpose_ragged", "transpose", ((1001, 2003),)),
    Case("sum_rows", "sum_rows", ((4096, 4096),)),
    Case("sum_columns", "sum_columns", ((4096, 4097),)),
    Case("sum_all", "sum_all", ((4099, 4097),)),
    *matrix_cases(),
    Case("conv", "conv", ((8, 64, 56, 56), (64, 64, 3, 3))),
    Case("conv_cudnn", "conv", ((8, 64, 56, 56), (64, 64, 3, 3)), expansion="cudnn"),
    Case("resnet18", "", ((4, 3, 224, 224),), network="resnet18"),
    Case("bert_layer", "", ((4, 128, 768),), network="bert_layer"),
    Case("small_kernels", "shifts", tuple((1000 + i,) for i in range(50))),
]
SMALL_KERNEL_MICROSECONDS = 1.5
