"""Tries an installed wheel: the command, a model, a script, PyTorch, and other compilers in the same process.

    PYTHON tools/wheel/trial.py EXAMPLES

PYTHON has Headrace installed; EXAMPLES is the directory of examples. Peers that PYTHON lacks are left out, and
named. A line for each step that worked; a step that fails ends the trial.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

PEERS = ["torch", "onnxruntime", "openvino", "jax"]

DIGITS = """
import time
start = time.perf_counter()
import headrace as hr
imported = time.perf_counter()
import numpy as np
model = hr.load(EXAMPLES + "/digits/digits.onnx")
answers = model(np.load(EXAMPLES + "/digits/held_back_images.npy")).argmax(axis=1)
answered = time.perf_counter()
right = (answers == np.load(EXAMPLES + "/digits/held_back_labels.npy")).mean()
assert right > 0.9, right
print(f"{right:.1%} right; import {1e3 * (imported - start):.0f} ms, first answer {1e3 * (answered - imported):.0f} ms later")
"""

TORCH = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 32), nn.Mish(), nn.Linear(32, 10))
fast = torch.compile(net, backend="headrace")
x = torch.randn(16, 64)
def gradients(module):
    net.zero_grad()
    module(x).square().sum().backward()
    return [p.grad.clone() for p in net.parameters()]
expected, found = gradients(net), gradients(fast)
worst = max(float((a - b).abs().max()) for a, b in zip(expected, found))
assert worst < 1e-3, worst
torch.testing.assert_close(fast(x), net(x), rtol=1e-4, atol=1e-4)
print(f"torch {torch.__version__}: outputs and gradients agree, gradients to {worst:.1e}")
"""

# One use of each library, checked; x is an array of 4 x 64, `images` and `labels` are the digits'.
USES = {
    "headrace": """
        import headrace as hr
        n = hr.var("n")
        a = hr.placeholder((n, 64), "f32", name="a")
        double = hr.compile(hr.compute((n, 64), lambda i, j: a[i, j] * 2.0, name="double"))
        assert np.array_equal(double(x), 2 * x)
        assert (hr.load(EXAMPLES + "/digits/digits.onnx")(images).argmax(axis=1) == labels).mean() > 0.9
    """,
    "torch": """
        import torch
        assert np.array_equal((torch.from_numpy(x) @ (2 * torch.eye(64))).numpy(), 2 * x)
    """,
    "onnxruntime": """
        import onnxruntime
        file = EXAMPLES + "/digits/digits.onnx"
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        (logits,) = session.run(None, {session.get_inputs()[0].name: images})
        assert (logits.argmax(axis=1) == labels).mean() > 0.9
    """,
    "openvino": """
        import openvino
        compiled = openvino.compile_model(EXAMPLES + "/digits/digits.onnx", "CPU")
        logits = next(iter(compiled([images]).values()))
        assert (logits.argmax(axis=1) == labels).mean() > 0.9
    """,
    "jax": """
        import jax
        assert np.array_equal(jax.jit(lambda v: v @ (2 * jax.numpy.eye(64)))(x), 2 * x)
    """,
}


def run(name: str, command: list[str]) -> None:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{name} FAILED with exit status {done.returncode}:\n{done.stdout}{done.stderr}")
    last = (done.stdout.strip().splitlines() or [""])[-1]
    print(f"{name}: {last} ({seconds:.1f} s)", flush=True)


def in_process(name: str, code: str, examples: Path) -> None:
    run(name, [sys.executable, "-c", f"EXAMPLES = {str(examples)!r}\n{code}"])


def together(names: tuple[str, ...]) -> str:
    """Uses the libraries in this order, then again, so that each has worked before and after the others were loaded."""
    lines = ["import numpy as np", "x = np.arange(256, dtype=np.float32).reshape(4, 64)"]
    for kind in ("images", "labels"):
        lines.append(f"{kind} = np.load(EXAMPLES + '/digits/held_back_{kind}.npy')")
    lines += [textwrap.dedent(USES[name]) for name in names * 2]
    return "\n".join([*lines, f"print({', '.join(names)!r} + ': each right, twice')"])


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: PYTHON tools/wheel/trial.py EXAMPLES")
    examples = Path(sys.argv[1]).resolve()
    command = str(Path(sys.executable).with_name("headrace"))
    peers = [name for name in PEERS if importlib.util.find_spec(name)]
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HEADRACE_CACHE_DIR"] = cache  # so that the first answer is compiled
        run("command", [command, "--version"])
        in_process("digits, compiled", DIGITS, examples)
        in_process("digits, from the cache", DIGITS, examples)
        run("script", [command, "run", str(examples / "scripts/pagerank.dml"), "-nvargs", "n=2000"])
        package = f"{cache}/digits.hrpkg"
        run("package", [command, "compile", str(examples / "digits/digits.onnx"), "-o", package])
        run("package runs", [command, "run", package, "--random", "0"])
        if "torch" in peers:
            in_process("PyTorch's backend", TORCH, examples)
        for peer in peers:
            for order in itertools.permutations(["headrace", peer]):
                in_process("one process", together(order), examples)
        if len(peers) > 1:
            in_process("one process", together(("headrace", *peers)), examples)
            in_process("one process", together((*reversed(peers), "headrace")), examples)
    missing = [name for name in PEERS if name not in peers]
    print("the wheel works" + (f"; not installed here: {', '.join(missing)}" if missing else ""))


if __name__ == "__main__":
    main()
