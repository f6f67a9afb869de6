#!/usr/bin/env python3
"""Times of whole models on this machine's GPU: torch.compile(backend="headrace") next to the best of
eager mode, Inductor, and Inductor with CUDA graphs.

Microseconds a call, as calls follow each other, medians of turns; the error is that of the result
against float64, relative to its norm. Each model is a process of its own: several are compiled at a
time, one is timed at a time. `--table` writes the results of earlier runs as the table of docs/gpu.md.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import fcntl
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TURNS = 7
TURN_MICROSECONDS = 30_000
SECONDS = 400  # that one model may take
PEERS = ("eager", "inductor", "graphs")


@dataclass(frozen=True)
class Model:
    build: Callable[[], Any]
    #: Images of 224 pixels, or tokens of a sequence of this length.
    tokens: int = 0
    vocabulary: int = 0


def vision(name: str) -> Model:
    def build() -> Any:
        import torchvision

        return getattr(torchvision.models, name)()

    return Model(build)


def language(name: str, tokens: int, **sizes: int) -> Model:
    def build() -> Any:
        import transformers

        config = getattr(transformers, f"{name}Config")(**sizes, use_cache=False)
        return getattr(transformers, f"{name}Model")(config)

    return Model(build, tokens, sizes.get("vocab_size", 30000))


LLAMA = {
    "vocab_size": 32000,
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
}
MODELS = {
    "resnet50": vision("resnet50"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "densenet121": vision("densenet121"),
    "convnext_tiny": vision("convnext_tiny"),
    "swin_t": vision("swin_t"),
    "vit_b16": vision("vit_b_16"),
    "bert_base": language("Bert", 128, vocab_size=30522),
    "gpt2": language("GPT2", 512, vocab_size=50257),
    "llama_160m": language("Llama", 512, **LLAMA),
}
#: Model, batch.
INFERENCE = [
    ("resnet50", 1), ("resnet50", 32), ("mobilenet_v2", 32), ("efficientnet_b0", 32),
    ("densenet121", 16), ("convnext_tiny", 16), ("swin_t", 16), ("vit_b16", 16),
    ("bert_base", 1), ("bert_base", 16), ("gpt2", 4), ("llama_160m", 4),
]  # fmt: skip
TRAINING = [("resnet50", 32), ("mobilenet_v2", 32), ("vit_b16", 16), ("bert_base", 16), ("gpt2", 4)]


@dataclass(frozen=True)
class Case:
    model: str
    batch: int
    dtype: str = "bf16"
    train: bool = False

    @property
    def name(self) -> str:
        return f"{self.model} b{self.batch} {self.dtype}{' training' if self.train else ''}"


def cases(arguments: argparse.Namespace) -> list[Case]:
    kinds = arguments.kinds.split(",")
    found = [Case(m, b, dtype) for dtype in ("bf16", "f32") if dtype in kinds for m, b in INFERENCE]
    if "train" in kinds:
        found += [Case(m, b, "bf16", True) for m, b in TRAINING]
    return [c for c in found if not arguments.cases or any(p in c.name for p in arguments.cases)]


# One model


class Timed:
    """A model with its input, as each of the peers runs it."""

    def __init__(self, case: Case, channels_last: bool, expansion: str) -> None:
        import torch

        self.torch, self.case, self.expansion = torch, case, expansion
        torch.manual_seed(0)
        model = MODELS[case.model]
        self.kind = {"bf16": torch.bfloat16, "f32": torch.float32}[case.dtype]
        self.module = model.build().cuda().train(case.train)
        for parameter in self.module.parameters():  # some are zero before training
            if parameter.dim() > 1 and not parameter.any():
                torch.nn.init.normal_(parameter, std=0.02)
        if not case.train:
            self.module = self.module.to(self.kind)
        if model.tokens:
            size = (case.batch, model.tokens)
            self.x = torch.randint(0, model.vocabulary, size, device="cuda")
        else:
            size = (case.batch, 3, 224, 224)
            self.x = torch.randn(
                size, device="cuda", dtype=torch.float32 if case.train else self.kind
            )
            if channels_last:
                self.x = self.x.to(memory_format=torch.channels_last)
                self.module = self.module.to(memory_format=torch.channels_last)

    def caller(self, peer: str) -> Callable[[], Any]:
        torch = self.torch
        module = copy.deepcopy(self.module)
        function = {
            "eager": lambda: module,
            "inductor": lambda: torch.compile(module),
            "graphs": lambda: torch.compile(module, mode="reduce-overhead"),
            "headrace": lambda: torch.compile(
                module, backend="headrace", options={"expansion": self.expansion}
            ),
        }[peer]()
        if not self.case.train:

            def infer() -> Any:
                with torch.no_grad():
                    return result(function(self.x))

            return infer

        def step() -> Any:
            module.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16):
                y = result(function(self.x))
            loss = y.float().square().mean()
            loss.backward()
            return loss.detach()

        return step

    def expected(self) -> Any:
        """In float64: of a few rows, since that is slow."""
        with self.torch.no_grad():
            module = copy.deepcopy(self.module).double()
            x = self.x[:2]
            return result(module(x.double() if x.is_floating_point() else x))

    def error(self, found: Any, expected: Any) -> float:
        difference = found[: len(expected)].double() - expected
        return float(difference.norm() / expected.norm())


def result(found: Any) -> Any:
    return found if hasattr(found, "shape") else found[0]


@contextlib.contextmanager
def alone(path: str) -> Iterator[None]:
    """One process at a time is on the device."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def once(torch: Any, call: Callable[[], Any], calls: int) -> tuple[float, float]:
    """Microseconds per call, and those in which it was submitted."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    submit = (time.perf_counter() - begin) * 1e6 / calls
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1000 / calls, submit


def time_model(case: Case, arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    warnings.simplefilter("ignore")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    timed = Timed(case, arguments.channels_last, arguments.expansion)
    found: dict[str, Any] = {"case": case.name, "device": torch.cuda.get_device_name()}
    found["torch"] = torch.__version__
    expected = None if case.train else timed.expected()
    calls: dict[str, Callable[[], Any]] = {}
    for peer in ["headrace", *arguments.peers.split(",")] if arguments.peers else ["headrace"]:
        torch._dynamo.reset()
        try:
            call = timed.caller(peer)
            begin = time.perf_counter()
            y = call()
            torch.cuda.synchronize()
            found[f"{peer} first call"] = time.perf_counter() - begin
            if expected is not None:
                found[f"{peer} error"] = timed.error(y, expected)
            else:
                found[f"{peer} loss"] = float(y)
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            calls[peer] = call
        except Exception as error:
            found[f"{peer} failed"] = f"{type(error).__name__}: {error}"[:300]
        if peer == "headrace":
            import headrace.torch

            found["report"] = str(headrace.torch.report())
    with alone(arguments.lock):
        counts = {}
        for peer, call in calls.items():
            once(torch, call, 3)
            counts[peer] = max(3, math.ceil(TURN_MICROSECONDS / once(torch, call, 5)[0]))
        turns: dict[str, list[tuple[float, float]]] = {peer: [] for peer in calls}
        for _ in range(TURNS):
            for peer, call in calls.items():
                turns[peer].append(once(torch, call, counts[peer]))
        for peer, pairs in turns.items():
            found[peer] = statistics.median(full for full, _ in pairs)
            found[f"{peer} submit"] = statistics.median(submit for _, submit in pairs)
        if arguments.steps and "headrace" in calls:
            found["steps"] = steps_of(torch, calls["headrace"])
    return found


def steps_of(torch: Any, call: Callable[[], Any]) -> list[list[tuple[str, float]]]:
    """Device times of the steps of our programs in a call, and of all kernels by the profiler."""
    from headrace.torch import _runnable

    seen = []
    run = _runnable.Runnable.__call__

    def record(self: Any, inputs: list[Any], known: Any = None, place: int = 0) -> list[Any]:
        prepared = known.values if known else []
        seen.append((self.model, [*inputs[:place], *prepared, *inputs[place:]]))
        return run(self, inputs, known, place)

    _runnable.Runnable.__call__ = record
    try:
        call()
    finally:
        _runnable.Runnable.__call__ = run
    programs = []
    for model, inputs in seen:
        for _ in range(2):  # the first brings clocks and caches up
            given = [_runnable.as_capsule(x) for x in inputs]
            steps = model.profile(given, lambda value, _: value)
        programs.append([(name, float(duration)) for name, duration in steps])
    return programs


# All models


def run_all(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    waiting = cases(arguments)
    running: list[tuple[Case, subprocess.Popen, float, Any]] = []
    results = []
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            case = waiting.pop(0)
            log = tempfile.TemporaryFile("w+")
            command = [sys.executable, __file__, "--one", json.dumps(vars(case)), *sys.argv[1:]]
            process = subprocess.Popen(
                [*command, "--lock", arguments.lock], stdout=log, stderr=subprocess.STDOUT
            )
            running.append((case, process, time.monotonic(), log))
        time.sleep(0.2)
        for entry in list(running):
            case, process, begin, log = entry
            if process.poll() is None and time.monotonic() - begin < SECONDS:
                continue
            process.kill()
            process.wait()
            running.remove(entry)
            log.seek(0)
            text = log.read().strip()
            line = text.splitlines()[-1] if text else ""
            if line.startswith("{"):
                results.append(json.loads(line))
            else:
                results.append({"case": case.name, "headrace failed": text[-1500:]})
            print(summary(results[-1]), flush=True)
    order = [case.name for case in cases(arguments)]
    return sorted(results, key=lambda each: order.index(each["case"]))


def best_peer(found: dict[str, Any]) -> float | None:
    return min((found[peer] for peer in PEERS if peer in found), default=None)


def ratio(found: dict[str, Any]) -> float | None:
    best = best_peer(found)
    return best / found["headrace"] if best and "headrace" in found else None


def summary(found: dict[str, Any]) -> str:
    text = f"{found['case']:28}"
    for peer in ("headrace", *PEERS):
        if peer in found:
            text += f" {peer} {found[peer]:.0f} (submit {found[f'{peer} submit']:.0f})"
        if f"{peer} failed" in found:
            text += f" {peer}: {found[f'{peer} failed']}"
        for what in ("error", "loss"):
            if f"{peer} {what}" in found:
                text += f" {what} {found[f'{peer} {what}']:.2e}"
    times = ratio(found)
    text += f" ratio {times:.2f}" if times else ""
    first = found.get("headrace first call")
    text += f" first call {first:.1f} s" if first else ""
    if "steps" in found:
        text += "\n     " + found["report"].replace("\n", "\n     ")
    for steps in found.get("steps", []):
        text += f"\n     {len(steps)} steps, {sum(us for _, us in steps):.0f} us"
        for name, us in sorted(steps, key=lambda each: -each[1])[:14]:
            text += f"\n       {us:8.1f} {name[:90]}"
    return text


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| model | eager | Inductor | with graphs | Headrace | best peer / Headrace | error, eager's |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios: dict[str, list[float]] = {}
    for found in results:

        def cell(key: str, form: str = ".0f") -> str:
            return format(found[key], form) if key in found else ""  # noqa: B023

        times = ratio(found)
        if times:
            ratios.setdefault(found["case"].split(maxsplit=2)[2], []).append(times)
        errors = f"{cell('headrace error', '.1e')}, {cell('eager error', '.1e')}"
        if "headrace loss" in found and "eager loss" in found:
            difference = found["headrace loss"] / found["eager loss"] - 1
            errors = f"loss differs by {abs(difference):.0e}"
        lines.append(
            f"| {found['case']} | {cell('eager')} | {cell('inductor')} | {cell('graphs')} | "
            f"{cell('headrace')} | {f'{times:.2f}' if times else ''} | {errors.strip(', ')} |"
        )
    means = (
        f"{kind} {math.exp(sum(map(math.log, some)) / len(some)):.2f} (least {min(some):.2f})"
        for kind, some in ratios.items()
    )
    if ratios:
        lines.append(f"\nGeometric means: {', '.join(means)}.")
    return "\n".join(lines)


def write_table(page: Path, results: list[dict[str, Any]], day: str) -> None:
    device, version = results[0].get("device"), results[0].get("torch")
    text = page.read_text()
    begin, end = "<!-- models -->\n", "<!-- /models -->"
    before, after = text.split(begin)[0], text.split(end)[1]
    title = f"{device}, PyTorch {version}, {day}, microseconds a call:\n\n"
    page.write_text(f"{before}{begin}{title}{table(results)}\n{end}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases (default: all)")
    parser.add_argument("--kinds", default="bf16,f32,train", help="of bf16, f32 and train")
    parser.add_argument("--peers", default=",".join(PEERS), help="empty for none")
    parser.add_argument("--expansion", default="auto", help="of our contractions and convolutions")
    parser.add_argument("--channels-last", action="store_true", help="modules and images so")
    parser.add_argument("--steps", action="store_true", help="the longest steps, too")
    parser.add_argument("--jobs", type=int, default=6, help="models that are compiled at a time")
    parser.add_argument("--out", type=Path, help="where results go, as JSON")
    parser.add_argument("--table", type=Path, help="writes a page's table from --out, runs nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--lock", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        day = time.strftime("%Y-%m-%d", time.gmtime(arguments.out.stat().st_mtime))
        write_table(arguments.table, json.loads(arguments.out.read_text()), day)
        return 0
    if arguments.one:
        print(json.dumps(time_model(Case(**json.loads(arguments.one)), arguments)), flush=True)
        os._exit(0)  # threads of compilers need not end
    with tempfile.NamedTemporaryFile() as lock:
        arguments.lock = lock.name
        results = run_all(arguments)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1))
    print(table(results))
    return 1 if any("headrace failed" in found for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
