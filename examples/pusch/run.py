"""Receives slots at several noise levels, or compares the program's time with NumPy's.

python examples/pusch/run.py                 error rates from 0 to 30 dB, by LU and by Cholesky
python examples/pusch/run.py --identity      error vectors on a channel that is the identity
python examples/pusch/run.py --time          the program's time next to NumPy's
python examples/pusch/run.py --explore       both factorizations, and two FFTs, as task graphs
"""

from __future__ import annotations

import argparse
import json
import time

import headrace as hr
import numpy as np
from channel import by_frequency, identity, inputs, slot
from plain import receive
from receiver import Sizes, constants, receiver

SMALL = {"radix": 16, "antennas": 16, "beams": 8, "carriers": 204}


def as_complex(values: np.ndarray) -> np.ndarray:
    return values[..., 0] + 1j * values[..., 1]


def decibels(power: float) -> float:
    return 10 * float(np.log10(power))


def measure(sizes: Sizes, snrs: list[float], on_identity: bool) -> list[dict]:
    """Errors at each noise level: of symbols, bits, and of the linear systems."""
    programs = {name: receiver(sizes, name) for name in ("lu", "cholesky")}
    rows = []
    for snr in snrs:
        data = slot(sizes, snr, channel=identity(sizes) if on_identity else None)
        given = {**inputs(sizes, data), **constants(sizes)}
        solutions, row = {}, {"snr": snr}
        for name, program in programs.items():
            equalized, bits, left, right = program(**given)
            a, x, b = map(as_complex, (left, equalized, right))
            row[f"residual_{name}"] = float(np.linalg.norm(a @ x - b) / np.linalg.norm(b))
            solutions[name] = by_frequency(sizes, x)
        plain, _ = receive(sizes, data)
        found = by_frequency(sizes, bits).reshape(data.bits.shape) < 0
        row["bit_errors"] = float(np.mean(found != data.bits.astype(bool)))
        row["evm"] = decibels(np.mean(np.abs(solutions["lu"] - data.sent) ** 2))
        row["lu_cholesky"] = relative(solutions["lu"], solutions["cholesky"])
        row["numpy"] = relative(plain, solutions["cholesky"])
        rows.append(row)
    return rows


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(a).max())


def compare_times(sizes: Sizes, turns: int) -> dict[str, float]:
    """Milliseconds, by turns: the median of each."""
    data = slot(sizes, 20.0)
    given = {**inputs(sizes, data), **constants(sizes)}
    program = receiver(sizes)
    program(**given)
    times: dict[str, list[float]] = {"headrace": [], "numpy": []}
    for _ in range(turns):
        for name, run in (
            ("headrace", lambda: program(**given)),
            ("numpy", lambda: receive(sizes, data)),
        ):
            begin = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - begin))
    return {name: float(np.median(values)) for name, values in times.items()}


def one_step_fft(sizes: Sizes, count: int) -> hr.Model:
    """The transform of `count` symbols as a single product with the matrix of the DFT."""
    samples = hr.placeholder((count, sizes.points, 2), "f64", name="samples")
    matrix = hr.placeholder((sizes.points, 2, sizes.points, 2), "f64", name="matrix")
    n, d = hr.axis(sizes.points, name="n"), hr.axis(2, name="d")
    return hr.compile(
        hr.compute(
            (count, sizes.points, 2),
            lambda t, k, c: hr.sum(samples[t, n, d] * matrix[n, d, k, c], axis=[n, d]),
            name="dft",
        ),
        name="one step",
    )


def two_step_fft(sizes: Sizes, count: int) -> hr.Model:
    """The same as two smaller products with twiddles between them, as in the receiver."""
    radix = sizes.radix
    samples = hr.placeholder((count, radix, radix, 2), "f64", name="samples")
    dft = hr.placeholder((2, radix, radix), "f64", name="dft")
    twiddle = hr.placeholder((radix, radix, 2), "f64", name="twiddle")
    block = hr.placeholder((radix, 2, radix, 2), "f64", name="block")
    n1, n2, d2 = hr.axis(radix, name="n1"), hr.axis(radix, name="n2"), hr.axis(2, name="d2")
    outer = hr.compute(
        (count, 2, radix, radix, 2),
        lambda t, p, k, n, d: hr.sum(dft[p, k, n1] * samples[t, n1, n, d], axis=n1),
        name="outer",
    )

    def turned(t, k, n, d):
        real = outer[t, 0, k, n, 0] - outer[t, 1, k, n, 1]
        imaginary = outer[t, 0, k, n, 1] + outer[t, 1, k, n, 0]
        c, i = twiddle[k, n, 0], twiddle[k, n, 1]
        return hr.select(d == 0, real * c - imaginary * i, real * i + imaginary * c)

    twisted = hr.compute((count, radix, radix, 2), turned, name="turned")
    return hr.compile(
        hr.compute(
            (count, radix, radix, 2),
            lambda t, k, f, d: hr.sum(twisted[t, k, n2, d2] * block[n2, d2, f, d], axis=[n2, d2]),
            name="inner",
        ),
        name="two steps",
    )


def explore(sizes: Sizes, search: int) -> list[dict]:
    """The receiver's whole table, the linear systems, and both FFTs, fastest first."""
    rows = []

    def add(title: str, exploration: dict) -> None:
        outcomes = exploration["outcomes"]
        for outcome in sorted(
            outcomes, key=lambda o: (o["processing_elements"], o["makespan"], o["off_chip"])
        ):
            rows.append(
                {
                    "program": title,
                    **{key: outcome[key] for key in ("implementation", "processing_elements")},
                    **{key: outcome[key] for key in ("off_chip", "buffers", "makespan", "pareto")},
                }
            )

    tables = receiver(sizes).explore(search=search, simulate=False)["explorations"]
    add("systems", next(table for table in tables if table["name"] == "equalized"))
    add("receiver", tables[-1])
    small = Sizes(radix=min(sizes.radix, 16))
    for program in (one_step_fft(small, 16), two_step_fft(small, 16)):
        tables = program.explore(search=search, simulate=False)["explorations"]
        add(f"FFT in {program.name}", tables[-1])
    return rows


def show(rows: list[dict]) -> None:
    print("  ".join(f"{name:>14}" for name in rows[0]))
    for row in rows:
        cells = (f"{v:14.3g}" if isinstance(v, float) else f"{v!s:>14}" for v in row.values())
        print("  ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="256 points, 16 antennas")
    parser.add_argument("--identity", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--explore", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = Sizes(**(SMALL if options.small else {}))
    if options.time:
        rows = [compare_times(sizes, turns=10)]
    elif options.explore:
        rows = explore(sizes, search=8)
    else:
        if options.identity:
            small = {"antennas": 4, "beams": 4}
            sizes = Sizes(**{**(SMALL if options.small else {}), **small})
        rows = measure(sizes, [0.0, 10.0, 20.0, 30.0], options.identity)
    if options.json:
        print(json.dumps(rows))
    else:
        show(rows)


if __name__ == "__main__":
    main()
