"""The same receiver in NumPy."""

from __future__ import annotations

import numpy as np
from channel import Slot
from receiver import Sizes


def receive(sizes: Sizes, data: Slot) -> tuple[np.ndarray, np.ndarray]:
    """Equalized symbols [carriers, layers, data symbols] and soft bits with a last dimension of 4."""
    spectrum = np.fft.fft(data.samples, axis=-1)[..., : sizes.carriers]
    beams = np.matmul(data.weights, spectrum)  # [symbols, beams, carriers]
    channel = estimate(sizes, data, beams[: sizes.pilot_symbols])
    conjugate = channel.conj().transpose(0, 2, 1)
    gram = conjugate @ channel
    power = np.mean(np.sum(np.abs(data.weights) ** 2, axis=1))
    gram += data.noise * power * np.eye(sizes.layers)
    received = np.ascontiguousarray(beams[sizes.pilot_symbols :].transpose(2, 1, 0))
    equalized = np.linalg.solve(gram, conjugate @ received)
    levels = np.stack([equalized.real, equalized.imag], axis=-1)
    bits = np.stack([levels, 2 / np.sqrt(10) - np.abs(levels)], axis=-1)
    return equalized, bits.reshape(*equalized.shape, 4)


def estimate(sizes: Sizes, data: Slot, received: np.ndarray) -> np.ndarray:
    """The channel [carriers, beams, layers] from the pilots, averaged between their carriers."""
    carriers = sizes.radix * sizes.columns
    channel = np.zeros((carriers, sizes.beams, sizes.layers), complex)
    for layer in range(sizes.layers):
        group = layer // sizes.covers
        pilots = data.pilots[:, layer, group::2].conj()
        found = np.einsum("pk,pbk->kb", pilots, received[..., group::2]) / sizes.pilot_symbols
        # Averages stay within rows of `radix` frequencies, as the program's do.
        rows = np.zeros((carriers // 2, sizes.beams), complex)
        rows[: len(found)] = found
        rows[len(found) :] = found[-1]
        rows = rows.reshape(sizes.columns, sizes.radix // 2, sizes.beams)
        others = rows.copy()
        if group == 0:
            others[:, :-1] = (rows[:, :-1] + rows[:, 1:]) / 2
        else:
            others[:, 1:] = (rows[:, :-1] + rows[:, 1:]) / 2
        pair = [rows, others] if group == 0 else [others, rows]
        channel[..., layer] = np.stack(pair, axis=2).reshape(carriers, sizes.beams)
    return channel[: sizes.carriers]
