"""Programs that are run on a GPU: their inputs, expected results and required times.

Has no import beyond the standard library: it is read where kits are made and where they are run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A program. `formula` names the float64 function in formulas.py that it must agree with, and the
    PyTorch function in peers.py that it is timed next to; a network has no formula, but stored outputs.
    """

    name: str
    formula: str
    inputs: tuple[Shape, ...]
    dtype: str = "f32"
    expansion: str = "generated"
    # Bounds on the time: at most `microseconds`, at most PyTorch's time over `speedup`, at most the
    # time of another case times a factor.
    microseconds: float | None = None
    speedup: float | None = None
    beside: tuple[str, float] | None = None
    network: str | None = None
    # How stages are launched (docs/schedules.md); the compiler chooses where it is empty.
    recipe: str = ""
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
            Case(f"gradient_{dtype}", "gradient", ((2048, 3072), (2048, 768)), dtype, row_step=97),
            Case(f"batched_{dtype}", "matmul", ((24, 128, 64), (24, 64, 130)), dtype),
            Case(
                f"cublas_{dtype}", "matmul", (big, big), dtype, "cublas", speedup=0.95, row_step=331
            ),
        ]
    return cases


def recipe_cases() -> list[Case]:
    """Launches that the compiler does not choose: they are legal, so they are right."""
    odd, deep = ((1000, 769), (769, 3001)), ((130, 4096), (4096, 200))
    even = ((1024, 768), (768, 1536))

    def products(kind: str, shapes: tuple[Shape, ...], dtype: str, **lines: str) -> list[Case]:
        return [
            Case(
                f"{kind}_{name}",
                "matmul",
                shapes,
                dtype,
                row_step=7,
                recipe=f"MatMul_y: {kind} {line}",
            )
            for name, line in lines.items()
        ]

    return [
        *products(
            "product",
            odd,
            "f32",
            wide="tileM=64 tileN=128 tileK=8 threadM=8 threadN=8",
            narrow="tileM=32 tileN=64 threadM=4 threadN=8",
            large="tileM=256 tileN=64 tileK=16 threadM=8 threadN=8",
        ),
        *products("product", deep, "f32", splits="tileM=64 tileN=64 tileK=32 splits=5"),
        *products("tensorcores", odd, "bf16", small="tileM=64 tileN=64"),
        *products(
            "tensorcores",
            even,
            "bf16",
            tall="tileM=128 tileN=64 threadM=32 threadN=32",
            splits="tileM=64 tileN=64 tileK=16 splits=3",
        ),
        *products("warpgroups", odd, "bf16", narrow="tileN=128 stages=3"),
        *products(
            "warpgroups",
            even,
            "bf16",
            low="tileM=64 tileN=192 blocks=50",
            high="tileM=192 tileN=128",
        ),
        Case(
            "product_apart",
            "dense",
            ((200, 300), (300, 410), (410,)),
            recipe="MatMul_p/contract: product\nMatMul_p: points threads=64",
        ),
        Case("rows_of_8", "softmax", ((37, 512),), recipe="Softmax_y: rows lanes=8 held=16"),
        Case("rows_of_1", "softmax", ((1000, 52),), recipe="Softmax_y: rows lanes=1"),
        Case("rows_of_2048", "softmax", ((67, 2048),)),
        Case(
            "rows_walked",
            "layernorm",
            ((300, 1001), (1001,), (1001,)),
            recipe="LayerNormalization_y: rows lanes=256 held=0",
        ),
        Case(
            "columns_split",
            "sum_columns",
            ((4096, 1001),),
            recipe="ReduceSum_y: columns threads=128 splits=37",
        ),
        Case(
            "columns_shared",
            "sum_rows",
            ((300, 5000),),
            recipe="ReduceSum_y: columns threads=512 lanes=512 vector=4 splits=3",
        ),
        Case("points_of_1", "mish", ((64, 1000),), recipe="Mul_y: points vector=1 threads=1024"),
        Case("points_of_8", "mish", ((64, 1000),), recipe="Mul_y: points vector=8 threads=64"),
        Case(
            "tiles_of_1024",
            "transpose",
            ((1001, 2003),),
            recipe="Transpose_y_transpose: tiles threads=1024",
        ),
    ]


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
    *recipe_cases(),
    Case("small_kernels", "shifts", tuple((1000 + i,) for i in range(50))),
]
SMALL_KERNEL_MICROSECONDS = 1.5
