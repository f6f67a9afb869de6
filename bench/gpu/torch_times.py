#!/usr/bin/env python3
"""Times of torch.compile(backend="headrace") on this machine's GPU, next to eager mode and Inductor.

Each is given in microseconds a call twice: what the device needs, with the queue kept full, and how
often calls follow each other, where the host may be what is waited for. "dynamo" is what
torch.compile itself costs: a backend that runs the graph in eager mode.
"""

from __future__ import annotations

import argparse
import copy
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from device_time import measure
from torch import nn

WARMUPS, ROUNDS = 20, 5

Call = Callable[[], object]


class Function(nn.Module):
    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return self.function(*args)


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(768, 12, 3072, 0.0, "gelu", batch_first=True)


#: Name: module, shape of the input, element type.
CASES = {
    "mish": (lambda: Function(F.mish), (8, 32, 224, 224), torch.float32),
    "softmax": (lambda: Function(lambda x: F.softmax(x, -1)), (8, 16, 512, 512), torch.float32),
    "layernorm": (lambda: nn.LayerNorm(1024), (8, 512, 1024), torch.float32),
    "layernorm bf16": (lambda: nn.LayerNorm(1024), (8, 512, 1024), torch.bfloat16),
    "encoder": (encoder, (4, 128, 768), torch.float32),
    "encoder bf16": (encoder, (16, 128, 768), torch.bfloat16),
}


def caller(module: nn.Module, function: Callable, x: torch.Tensor, train: bool) -> Call:
    if not train:

        def infer() -> None:
            with torch.no_grad():
                function(x)

        return infer
    x = x.clone().requires_grad_()
    weight = torch.randn_like(module(x))

    def step() -> None:
        x.grad = None
        module.zero_grad(set_to_none=True)
        function(x).backward(weight)

    return step


def time_all(calls: dict[str, Call]) -> dict[str, tuple[float, float]]:
    """The least of some rounds, taken in turns: on the device, and as calls follow each other."""
    plans = {}
    for name, call in calls.items():
        measure(call, WARMUPS, 0)
        rough, submit = measure(call, 10, 0)
        # The queue holds about a thousand launches.
        plans[name] = (int(min(max(min(20_000 / rough, 6_000 / submit), 3), 200)), submit)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            count, submit = plans[name]
            full, _ = measure(call, count, 1.5 * count * submit)
            plain, _ = measure(call, count, 0)
            found[name].append((full, plain))
    return {name: tuple(min(column) for column in zip(*rows)) for name, rows in found.items()}


def steps_of(call: Call) -> list[str]:
    """Device times of the steps of our programs in a call, longest first."""
    from headrace.torch import _execute

    seen = []
    run = _execute.Runnable.__call__

    def record(
        self: _execute.Runnable, inputs: list[torch.Tensor], known: Any = None, place: int = 0
    ) -> Any:
        seen.append(
            (self.model, [*inputs[:place], *(known.values if known else []), *inputs[place:]])
        )
        return run(self, inputs, known, place)

    _execute.Runnable.__call__ = record
    try:
        call()
    finally:
        _execute.Runnable.__call__ = run
    lines = []
    for model, inputs in seen:
        for _ in range(2):  # the first brings clocks and caches up
            given = [_execute.as_capsule(x) for x in inputs]
            steps = model.profile(given, lambda value, _: value)
        total = sum(duration for _, duration in steps)
        lines.append(f"     {model.name}: {len(steps)} steps, {total:.1f} us")
        for step, duration in sorted(steps, key=lambda each: -each[1])[:8]:
            if duration >= 0.05 * total:
                lines.append(f"       {duration:8.1f} us  {step[:70]}")
    return lines


def time_case(name: str, train: bool, arguments: argparse.Namespace) -> None:
    create, shape, dtype = CASES[name]
    torch.manual_seed(0)
    module = create().to("cuda", dtype).train(train)
    x = torch.randn(shape, device="cuda", dtype=dtype)
    backends = {"eager": None, "dynamo": "eager", "headrace": "headrace", "inductor": "inductor"}
    if arguments.no_inductor:
        del backends["inductor"]
    calls = {}
    for label, backend in backends.items():
        torch._dynamo.reset()
        own = copy.deepcopy(module)
        function = torch.compile(own, backend=backend) if backend else own
        try:
            call = caller(own, function, x, train)
            call()
            torch.cuda.synchronize()
            calls[label] = call
        except Exception as error:
            print(f"     {name}: {label} left out: {str(error).splitlines()[0][:200]}")
    times = time_all(calls)
    what = f"{name} {'forward and backward' if train else 'forward'}"
    text = ", ".join(f"{label} {full:.1f} / {plain:.1f}" for label, (full, plain) in times.items())
    ours = times.get("headrace")
    ratios = ", ".join(
        f"{label} {full / ours[0]:.2f}x / {plain / ours[1]:.2f}x"
        for label, (full, plain) in times.items()
        if ours and label != "headrace"
    )
    print(f"time {what:36} {text} us; {ratios}", flush=True)
    if arguments.steps and "headrace" in calls:
        print("\n".join(steps_of(calls["headrace"])), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--steps", action="store_true", help="print the longest steps, too")
    arguments = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    for name in arguments.cases or CASES:
        for train in (False, True):
            try:
                time_case(name, train, arguments)
            except Exception:
                print(f"FAIL time {name}\n{traceback.format_exc()[-1500:]}", flush=True)


if __name__ == "__main__":
    main()
