"""Random PyTorch modules: straight-line code over operators that compile, as source text.

A seed is a module. Every line is tried in eager mode when it is chosen, so that it fits the values
before it, which stay finite and of moderate size.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch_lines import LINES

LARGEST = 1e3
MOST_ELEMENTS = 3000


@dataclass(frozen=True)
class Input:
    name: str
    expression: str
    requires_grad: bool = False


@dataclass(frozen=True)
class Program:
    seed: int
    inputs: tuple[Input, ...]
    layers: tuple[str, ...]  # statements of `__init__`
    lines: tuple[str, ...]  # statements of `forward`
    outputs: tuple[str, ...]
    is_training: bool

    def source(self) -> str:
        names = ", ".join(each.name for each in self.inputs)
        body = [*self.lines, f"return [{', '.join(self.outputs)}]"]
        made = [
            f"{each.expression}{'.requires_grad_()' if each.requires_grad else ''},"
            for each in self.inputs
        ]
        return "\n".join(
            [
                "import torch",
                "from torch import nn",
                "from torch.nn import functional as F",
                "",
                "class Net(nn.Module):",
                "    def __init__(self):",
                "        super().__init__()",
                f"        torch.manual_seed({self.seed})",
                *(f"        {line}" for line in self.layers),
                f"        self.train({self.is_training})",
                "",
                f"    def forward(self, {names}):",
                *(f"        {line}" for line in body),
                "",
                "def inputs():",
                f"    torch.manual_seed({self.seed + 1})",
                "    return [",
                *(f"        {line}" for line in made),
                "    ]",
                "",
            ]
        )


def create(program: Program, dtype: torch.dtype) -> tuple[nn.Module, list[torch.Tensor]]:
    """The module and its inputs. Numbers are those of f32, whatever the type."""
    scope: dict[str, Any] = {}
    exec(compile(program.source(), f"<seed {program.seed}>", "exec"), scope)
    inputs = []
    for x in scope["inputs"]():
        if x.is_floating_point() and dtype != x.dtype:
            whole = torch.empty(0).set_(x.untyped_storage()).to(dtype)
            x = whole.as_strided(x.shape, x.stride(), x.storage_offset()).requires_grad_(
                x.requires_grad
            )
        inputs.append(x)
    return scope["Net"]().to(dtype), inputs


def runs(program: Program) -> dict[str, Any] | None:
    """The values of all names in eager mode; None if a line or its gradient fails, or numbers grow too large."""
    returned = "{name: x for name, x in locals().items() if name != 'self'}"
    everything = replace(program, outputs=(f"*{returned}.items()",))
    try:
        module, inputs = create(everything, torch.float64)
        values = dict(module(*inputs))
        differentiable = [
            x for x in values.values() if isinstance(x, torch.Tensor) and x.requires_grad
        ]
        torch.autograd.backward([x.sum() for x in differentiable])
    except (RuntimeError, ValueError, IndexError, TypeError, NameError):
        return None
    return values if all(is_moderate(x) for x in values.values()) else None


def is_moderate(x: Any) -> bool:
    if not isinstance(x, torch.Tensor):
        return True
    if x.numel() > MOST_ELEMENTS or x.dim() > 5:
        return False
    return not x.is_floating_point() or bool((x.detach().abs() <= LARGEST).all())


@dataclass
class Generator:
    """What lines are written with: random choices among the values there are."""

    random: random.Random
    values: dict[str, Any] = field(default_factory=dict)
    layers: list[str] = field(default_factory=list)

    def floats(self) -> list[str]:
        return [
            n
            for n, x in self.values.items()
            if isinstance(x, torch.Tensor) and x.is_floating_point()
        ]

    def value(self, suits: Callable[[torch.Tensor], bool] = lambda x: True) -> str:
        """A float tensor, rather one of the last."""
        names = [name for name in self.floats() if suits(self.values[name])]
        if not names:
            raise LookupError("no such value")
        return names[-1 - int(len(names) * self.random.random() ** 2)]

    def shape(self, name: str) -> list[int]:
        return list(self.values[name].shape)

    def dim(self, name: str) -> int:
        rank = self.values[name].dim()
        if rank == 0:
            raise LookupError("no dimension")
        return self.random.randrange(-rank, rank)

    def size(self) -> int:
        return self.random.choice(
            [0, 1, 1, 2, 2, 3, 3, 4, 5, 7] if self.random.random() < 0.3 else [1, 2, 3, 4, 5]
        )

    def layer(self, expression: str) -> str:
        name = f"self.l{len(self.layers)}"
        self.layers.append(f"{name} = {expression}")
        return name

    def parameter(self, *shape: int) -> str:
        return self.layer(f"nn.Parameter(torch.randn({list(shape)}))")

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)


def random_inputs(g: Generator, gradients: bool) -> list[Input]:
    inputs = []
    for i in range(g.random.randint(1, 3)):
        shape = [g.size() for _ in range(g.random.choice([0, 1, 2, 2, 3, 3, 4]))]
        expression = f"torch.randn({shape})"
        order = list(range(len(shape)))
        if g.random.random() < 0.25:
            g.random.shuffle(order)
            expression += f".permute({order})"
        elif shape and g.random.random() < 0.1:
            expression = f"torch.randn({[*shape[:-1], 2 * shape[-1]]})[..., ::2]"
        elif shape and g.random.random() < 0.1:
            expression = f"torch.randn({[1, *shape[1:]]}).expand({shape})"
        inputs.append(Input(f"x{i}", expression, gradients and g.random.random() < 0.8))
    inputs.append(Input("i0", f"torch.randint(0, 3, [{g.size()}])"))
    inputs.append(
        Input("b0", f"torch.rand({[g.size() for _ in range(g.random.randint(1, 2))]}) > 0.4")
    )
    return inputs


def generate(seed: int) -> Program:
    g = Generator(random.Random(seed))
    gradients = g.random.random() < 0.7
    program = Program(seed, tuple(random_inputs(g, gradients)), (), (), (), g.random.random() < 0.7)
    g.values = runs(program) or {}
    wanted = g.random.randint(2, 12)
    for _ in range(4 * wanted):
        if len(program.lines) == wanted:
            break
        layers = len(g.layers)
        try:
            written = g.random.choice(LINES)(g)
        except LookupError:
            written = ""
        name = f"v{len(program.lines)}"
        line = written if written.startswith("!") else f"{name} = {written}"
        longer = replace(program, layers=tuple(g.layers), lines=(*program.lines, line.lstrip("!")))
        values = runs(longer) if written else None
        if values is None:
            del g.layers[layers:]
            continue
        program, g.values = longer, values
    return needed(replace(program, outputs=tuple(chosen_outputs(g, program))))


def chosen_outputs(g: Generator, program: Program) -> list[str]:
    """What no line reads, though one may change it, and some other values."""
    read = " ".join(line.partition(" = ")[2] or line.partition(".")[2] for line in program.lines)
    made = [name for name in g.floats() if name.startswith("v")]
    unread = [name for name in made if not re.search(rf"\b{name}\b", read)]
    others = [g.random.choice(g.floats()) for _ in range(g.random.randint(0, 2))]
    return list(dict.fromkeys([*unread[-4:], *others])) or g.floats()[-1:]


def needed(program: Program) -> Program:
    """Without inputs and layers that no line mentions."""
    text = "\n".join([*program.lines, *program.outputs])
    inputs = [each for each in program.inputs if re.search(rf"\b{each.name}\b", text)]
    layers = [line for line in program.layers if re.search(rf"{line.split(' ')[0]}\b", text)]
    return replace(program, inputs=tuple(inputs or program.inputs[:1]), layers=tuple(layers))
