"""Realistic data for the receiver: bits, 16-QAM, pilots, a fading channel, noise, OFDM symbols."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from receiver import Sizes, parts

# Delays and powers (dB) of the strongest taps of 3GPP's TDL-A profile, for a delay spread of 1.
TAP_DELAYS = np.array([0.0, 0.3819, 0.4025, 0.5868, 0.4610, 0.5375, 0.6708, 0.5750, 0.7618, 1.5375])
TAP_POWERS = np.array([-13.4, 0.0, -2.2, -4.0, -6.0, -8.2, -9.9, -10.5, -7.5, -15.9])
CARRIER_SPACING = 30e3  # Hz
SYMBOL_TIME = 35.7e-6  # s, with its cyclic prefix


@dataclass(frozen=True)
class Slot:
    """What the antennas receive, what was sent, and what the receiver knows."""

    samples: np.ndarray  # [symbols, antennas, points], complex
    weights: np.ndarray  # [beams, antennas]
    pilots: np.ndarray  # [pilot symbols, layers, carriers]; 0 where a layer has none
    noise: float  # variance on a carrier of an antenna
    bits: np.ndarray  # [carriers, layers, data symbols, 4]
    sent: np.ndarray  # [carriers, layers, data symbols]


def qam16(bits: np.ndarray) -> np.ndarray:
    """Gray codes: of each part one bit is the sign, the other says whether it is the outer one."""
    signs, outer = 1 - 2.0 * bits[..., 0::2], 1 + 2.0 * bits[..., 1::2]
    levels = signs * outer / np.sqrt(10)
    return levels[..., 0] + 1j * levels[..., 1]


def layer_pilots(sizes: Sizes, rng: np.random.Generator) -> np.ndarray:
    """QPSK on every second carrier, even ones for the first group of layers, odd ones for the other.

    The layers of a group differ by their signs on the pilot symbols.
    """
    shape = (sizes.pilot_symbols, sizes.layers, sizes.carriers)
    sequence = np.exp(0.5j * np.pi * (rng.integers(0, 4, sizes.carriers) + 0.5))
    pilots = np.zeros(shape, complex)
    for layer in range(sizes.layers):
        group, cover = divmod(layer, sizes.covers)
        for symbol in range(sizes.pilot_symbols):
            sign = -1 if cover and symbol % 2 else 1
            pilots[symbol, layer, group::2] = sign * sequence[group::2]
    return pilots


def fading(
    sizes: Sizes, delay_spread: float, doppler: float, correlation: float, rng: np.random.Generator
) -> np.ndarray:
    """The channel [symbols, carriers, antennas, layers]: taps that fade, antennas that are alike."""
    symbols = sizes.data_symbols + sizes.pilot_symbols
    powers = 10 ** (TAP_POWERS / 10)
    powers /= powers.sum()
    waves = 16  # of which the fading of a tap consists (Jakes)
    shape = (len(powers), sizes.antennas, sizes.layers, waves)
    speed = 2 * np.pi * doppler * np.cos(rng.uniform(0, 2 * np.pi, shape))
    phase = rng.uniform(0, 2 * np.pi, shape)
    time = np.arange(symbols) * SYMBOL_TIME
    frequency = np.arange(sizes.carriers) * CARRIER_SPACING
    distance = np.abs(np.subtract.outer(np.arange(sizes.antennas), np.arange(sizes.antennas)))
    root = np.linalg.cholesky(correlation**distance + 1e-12 * np.eye(sizes.antennas))
    channel = np.zeros((symbols, sizes.carriers, sizes.antennas, sizes.layers), complex)
    for tap, power in enumerate(powers):
        turn = np.exp(-2j * np.pi * frequency * TAP_DELAYS[tap] * delay_spread)
        for symbol in range(symbols):
            gain = np.exp(1j * (phase[tap] + speed[tap] * time[symbol])).mean(axis=-1)
            gain = root @ gain * np.sqrt(power * waves)
            channel[symbol] += turn[:, None, None] * gain
    return channel


def identity(sizes: Sizes) -> np.ndarray:
    """A channel that brings every layer to an antenna of its own."""
    symbols = sizes.data_symbols + sizes.pilot_symbols
    eye = np.eye(sizes.antennas, sizes.layers, dtype=complex)
    return np.broadcast_to(eye, (symbols, sizes.carriers, *eye.shape))


def slot(
    sizes: Sizes,
    snr: float,
    *,
    seed: int = 0,
    channel: np.ndarray | None = None,
    delay_spread: float = 100e-9,
    doppler: float = 10.0,
    correlation: float = 0.5,
) -> Slot:
    """A slot at a signal-to-noise ratio, in dB, on a carrier of an antenna, by layer."""
    rng = np.random.default_rng(seed)
    if channel is None:
        channel = fading(sizes, delay_spread, doppler, correlation, rng)
        weights = np.fft.fft(np.eye(sizes.antennas))[: sizes.beams] / np.sqrt(sizes.antennas)
    else:
        weights = np.eye(sizes.beams, sizes.antennas, dtype=complex)
    bits = rng.integers(0, 2, (sizes.carriers, sizes.layers, sizes.data_symbols, 4))
    sent = qam16(bits)
    pilots = layer_pilots(sizes, rng)
    grid = np.concatenate([pilots.transpose(2, 1, 0), sent], axis=2)  # [carriers, layers, symbols]
    received = np.einsum("tkal,klt->tak", channel, grid, optimize=True)
    noise = 10 ** (-snr / 10)
    received = received + np.sqrt(noise / 2) * (
        rng.standard_normal(received.shape) + 1j * rng.standard_normal(received.shape)
    )
    spectrum = np.zeros((*received.shape[:2], sizes.points), complex)
    spectrum[..., : sizes.carriers] = received
    samples = np.fft.ifft(spectrum, axis=-1)
    # The cyclic prefix, which keeps symbols apart, comes and goes.
    prefix = sizes.points // 16
    sent_samples = np.concatenate([samples[..., -prefix:], samples], axis=-1)
    return Slot(sent_samples[..., prefix:], weights, pilots, noise, bits, sent)


def inputs(sizes: Sizes, data: Slot) -> dict[str, np.ndarray]:
    """The slot as the program takes it; constants of the FFT are its own."""
    radix, half = sizes.radix, sizes.radix // 2
    used = np.zeros((*data.pilots.shape[:2], radix * sizes.columns), complex)
    used[..., : sizes.carriers] = data.pilots
    # Frequency f is carrier (f % radix, f // radix); of each pair one carrier is a group's.
    ordered = used.reshape(*used.shape[:2], sizes.columns, half, 2).transpose(0, 1, 3, 4, 2)
    own = np.stack(
        [
            ordered[:, group * sizes.covers : (group + 1) * sizes.covers, :, group]
            for group in range(sizes.groups)
        ],
        axis=3,
    )
    symbols = sizes.data_symbols + sizes.pilot_symbols
    return {
        "samples": parts(data.samples.reshape(symbols, sizes.antennas, radix, radix)),
        "weights": np.stack([data.weights.real, data.weights.imag]),
        "pilots": parts(own),
        "noise": np.array([data.noise * np.mean(np.sum(np.abs(data.weights) ** 2, axis=1))]),
    }


def by_frequency(sizes: Sizes, values: np.ndarray) -> np.ndarray:
    """Results of the program, whose first dimensions are carriers, in the order of frequencies."""
    rest = values.shape[3:]
    flat = np.moveaxis(values, 2, 0).reshape(-1, *rest)
    return flat[: sizes.carriers]
