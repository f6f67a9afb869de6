"""The receiver of a 5G uplink (PUSCH with several layers) as one program of tensor expressions.

FFT per antenna, beamforming, least-squares channel estimate on pilots, Gram matrix, linear systems
by LU or Cholesky, soft bits. Complex numbers are a last dimension of 2, real and imaginary part.

Carriers stand in the order in which the FFT gives them: frequency f is carrier (f % radix, f //
radix), the first split into pairs, because layers 0 and 1 have their pilots on even frequencies and
layers 2 and 3 on odd ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import headrace as hr
import numpy as np


@dataclass(frozen=True)
class Sizes:
    """A slot: 14 symbols, of which 2 are pilots; 4 layers in 2 groups of 2."""

    radix: int = 64  # the FFT has radix * radix points
    antennas: int = 64
    beams: int = 32
    carriers: int = 3276  # that are in use
    data_symbols: int = 12
    pilot_symbols: int = 2
    groups: int = 2
    covers: int = 2

    @property
    def points(self) -> int:
        return self.radix**2

    @property
    def layers(self) -> int:
        return self.groups * self.covers

    @property
    def columns(self) -> int:
        """Rows of frequencies that are computed: all that hold a carrier in use."""
        return -(-self.carriers // self.radix)


def constants(sizes: Sizes) -> dict[str, np.ndarray]:
    """The matrices of the FFT in two steps: planes of the first, twiddles, blocks of the second."""
    radix = sizes.radix
    n = np.arange(radix)
    dft = np.exp(-2j * np.pi * np.outer(n, n) / radix)
    twiddle = np.exp(-2j * np.pi * np.outer(n, n) / sizes.points)
    second = dft[:, : sizes.columns]
    block = np.empty((radix, 2, sizes.columns, 2))
    block[:, 0, :, 0], block[:, 1, :, 0] = second.real, -second.imag
    block[:, 0, :, 1], block[:, 1, :, 1] = second.imag, second.real
    return {
        "dft": np.stack([dft.real, dft.imag]),
        "twiddle": parts(twiddle),
        "block": block,
    }


def parts(numbers: np.ndarray) -> np.ndarray:
    """Complex numbers as a last dimension of 2."""
    return np.stack([numbers.real, numbers.imag], axis=-1)


def receiver(sizes: Sizes, factorization: str = "auto") -> hr.Model:
    """The program. `factorization` is "lu", "cholesky", or "auto": as the compiler estimates."""
    s, radix, half = sizes, sizes.radix, sizes.radix // 2
    symbols = s.data_symbols + s.pilot_symbols

    def tensor(name: str, *shape: int) -> hr.Tensor:
        return hr.placeholder(shape, "f64", name=name)

    # Sample n1 * radix + n2 of every symbol and antenna.
    samples = tensor("samples", symbols, s.antennas, radix, radix, 2)
    dft = tensor("dft", 2, radix, radix)
    twiddle = tensor("twiddle", radix, radix, 2)
    block = tensor("block", radix, 2, s.columns, 2)
    weights = tensor("weights", 2, s.beams, s.antennas)
    pilots = tensor("pilots", s.pilot_symbols, s.covers, half, 2, s.columns, 2)
    noise = tensor("noise", 1)

    # The FFT: over n1, twiddles, over n2.
    n1 = hr.axis(radix, name="n1")
    outer = hr.compute(
        (symbols, s.antennas, 2, radix, radix, 2),
        lambda t, a, p, k, n, d: hr.sum(dft[p, k, n1] * samples[t, a, n1, n, d], axis=n1),
        name="fft_outer",
    )

    def turned(t, a, k, n, d):
        real = outer[t, a, 0, k, n, 0] - outer[t, a, 1, k, n, 1]
        imaginary = outer[t, a, 0, k, n, 1] + outer[t, a, 1, k, n, 0]
        c, i = twiddle[k, n, 0], twiddle[k, n, 1]
        return hr.select(d == 0, real * c - imaginary * i, real * i + imaginary * c)

    twisted = hr.compute((symbols, s.antennas, radix, radix, 2), turned, name="fft_twiddle")
    n2, d2 = hr.axis(radix, name="n2"), hr.axis(2, name="d2")
    spectrum = hr.compute(
        (symbols, s.antennas, radix, s.columns, 2),
        lambda t, a, k, f, d: hr.sum(twisted[t, a, k, n2, d2] * block[n2, d2, f, d], axis=[n2, d2]),
        name="fft_inner",
    )

    # Beams.
    antenna = hr.axis(s.antennas, name="antenna")
    planes = hr.compute(
        (symbols, 2, s.beams, radix, s.columns, 2),
        lambda t, p, b, k, f, d: hr.sum(
            weights[p, b, antenna] * spectrum[t, antenna, k, f, d], axis=antenna
        ),
        name="beam_planes",
    )
    beams = hr.compute(
        (half, 2, s.columns, symbols, s.beams, 2),
        lambda j, e, f, t, b, d: hr.select(
            d == 0,
            planes[t, 0, b, 2 * j + e, f, 0] - planes[t, 1, b, 2 * j + e, f, 1],
            planes[t, 0, b, 2 * j + e, f, 1] + planes[t, 1, b, 2 * j + e, f, 0],
        ),
        name="beams",
    )

    # The channel: products with the conjugate pilots of each layer on the carriers of its group,
    # averages between them.
    def estimate(j, g, f, h, b, d):
        total = 0.0
        for p in range(s.pilot_symbols):
            re, im = beams[j, g, f, p, b, 0], beams[j, g, f, p, b, 1]
            c, i = pilots[p, h, j, g, f, 0], pilots[p, h, j, g, f, 1]
            total = total + hr.select(d == 0, re * c + im * i, im * c - re * i)
        return total / s.pilot_symbols

    measured = hr.compute(
        (half, s.groups, s.columns, s.covers, s.beams, 2), estimate, name="channel_measured"
    )

    def between(j, e, f, g, h, b, d):
        own = measured[j, g, f, h, b, d]
        in_use = 2 * j + 2 + g + radix * f < s.carriers
        after = hr.select(hr.all(j < half - 1, in_use), measured[j + 1, g, f, h, b, d], own)
        before = hr.select(j > 0, measured[j - 1, g, f, h, b, d], own)
        return hr.select(e == g, own, hr.select(e > g, (own + after) / 2, (own + before) / 2))

    channel = hr.compute(
        (half, 2, s.columns, s.groups, s.covers, s.beams, 2), between, name="channel"
    )
    # H as blocks: real parts of conj(H) y, then imaginary ones.
    conjugate = hr.compute(
        (half, 2, s.columns, s.groups, s.covers, 2, s.beams, 2),
        lambda j, e, f, g, h, c, b, d: hr.select(
            c == 0,
            channel[j, e, f, g, h, b, d],
            hr.select(d == 0, -channel[j, e, f, g, h, b, 1], channel[j, e, f, g, h, b, 0]),
        ),
        name="conjugate",
    )

    # Normal equations: (H^H H + s^2 I) x = H^H y for every carrier.
    beam, part = hr.axis(s.beams, name="beam"), hr.axis(2, name="part")
    gram = hr.compute(
        (half, 2, s.columns, s.groups, s.covers, 2, s.groups, s.covers),
        lambda j, e, f, g, h, c, g2, h2: hr.sum(
            conjugate[j, e, f, g, h, c, beam, part] * channel[j, e, f, g2, h2, beam, part],
            axis=[beam, part],
        ),
        name="gram",
    )
    matrices = hr.compute(
        (half, 2, s.columns, s.groups, s.covers, s.groups, s.covers, 2),
        lambda j, e, f, g, h, g2, h2, c: (
            gram[j, e, f, g, h, c, g2, h2]
            + hr.select(hr.all(g == g2, h == h2, c == 0), noise[0], 0.0)
        ),
        name="matrices",
    )
    matched = hr.compute(
        (half, 2, s.columns, s.groups, s.covers, 2, s.data_symbols),
        lambda j, e, f, g, h, c, t: hr.sum(
            conjugate[j, e, f, g, h, c, beam, part]
            * beams[j, e, f, t + s.pilot_symbols, beam, part],
            axis=[beam, part],
        ),
        name="matched",
    )
    return finish(s, matrices, matched, factorization)


def finish(s: Sizes, matrices: hr.Tensor, matched: hr.Tensor, factorization: str) -> hr.Model:
    """The linear systems, in the shape that solvers take, and the bits."""
    half = s.radix // 2
    left = hr.compute(
        (half, 2, s.columns, s.layers, s.layers, 2),
        lambda j, e, f, a, b, c: matrices[
            j, e, f, a // s.covers, a % s.covers, b // s.covers, b % s.covers, c
        ],
        name="left",
    )
    right = hr.compute(
        (half, 2, s.columns, s.layers, s.data_symbols, 2),
        lambda j, e, f, a, t, c: matched[j, e, f, a // s.covers, a % s.covers, c, t],
        name="right",
    )
    equalized = hr.solve(left, right, complex=True, positive_definite=True, name="equalized")
    # 16-QAM with Gray codes: the sign of each part is a bit, its distance from 2 the other.
    middle = 2 / np.sqrt(10)
    bits = hr.compute(
        (half, 2, s.columns, s.layers, s.data_symbols, 2, 2),
        lambda j, e, f, a, t, c, i: hr.select(
            i == 0, equalized[j, e, f, a, t, c], middle - abs(equalized[j, e, f, a, t, c])
        ),
        name="bits",
    )
    recipe = "" if factorization == "auto" else f"expand equalized as {factorization}\n"
    return hr.compile([equalized, bits, left, right], name="pusch", recipe=recipe)
