#!/usr/bin/env python3
"""Find the speech in a sound, with the network of Silero VAD.

    python find_speech.py [SOUND.wav]

Without a file, it makes a sound of its own: two voices that sing vowels, noise, a tone and silence. A file is 16 bits
a sample, 16000 samples a second. Needs Headrace's Python package and NumPy; fetches the network (silero_vad 6.2.3, 2 MB)
into a cache at the first run.
"""

from __future__ import annotations

import sys
import wave

import fetch
import headrace as hr
import numpy as np

RATE = 16000
CHUNK, CONTEXT = 512, 64  # samples that the network takes at once, and that it sees again
LEAST = 0.5  # from this probability on, it is speech
SHORTEST, LONGEST_PAUSE = 0.25, 0.1  # seconds of speech, and of a pause inside of it

# What the mouth lets through: frequencies and widths of its first three resonances, in Hz.
VOWELS = {
    "a": (730, 1090, 2440),
    "e": (530, 1840, 2480),
    "i": (270, 2290, 3010),
    "o": (570, 840, 2410),
    "u": (300, 870, 2240),
}
WIDTHS = (80, 100, 140)


def resonance(frequency: np.ndarray, formants: list[np.ndarray]) -> np.ndarray:
    gain = np.ones_like(frequency)
    for centre, width in zip(formants, WIDTHS):
        gain *= centre**2 / np.hypot(centre**2 - frequency**2, width * frequency)
    return gain


def voice(vowels: str, pitch: float) -> np.ndarray:
    """A falling melody, one vowel gliding into the next: the harmonics of the vocal cords, as the mouth lets them through."""
    length = int(0.22 * RATE)  # of a syllable
    at = np.arange(length * len(vowels))
    middles = (np.arange(len(vowels)) + 0.5) * length
    formants = [np.interp(at, middles, [VOWELS[v][k] for v in vowels]) for k in range(3)]
    melody = pitch * (1.1 - 0.25 * at / len(at) + 0.03 * np.sin(2 * np.pi * 5 * at / RATE))
    phase = 2 * np.pi * np.cumsum(melody) / RATE
    sound = np.zeros(len(at))
    for k in range(1, int(3800 / pitch)):
        sound += resonance(k * melody, formants) / k * np.sin(k * phase)
    place = at % length / length
    loudness = np.clip(np.minimum(place / 0.15, (1 - place) / 0.25), 0, 1)
    return 0.5 * loudness * sound / np.abs(sound).max()


def generated() -> tuple[np.ndarray, list[tuple[str, float, float]]]:
    """A sound, and what it is made of: name, begin and end in seconds."""
    random = np.random.default_rng(0)
    times = np.arange(RATE) / RATE
    silence = ("silence", np.zeros(RATE))
    parts = [
        silence,
        ("a voice", voice("aieoau", 120)),
        silence,
        ("noise", 0.05 * random.standard_normal(RATE)),
        silence,
        ("another voice", voice("oeiua", 150)),
        silence,
        ("a tone", 0.15 * np.sin(2 * np.pi * 440 * times)),
        silence,
    ]
    ends = np.cumsum([len(samples) for _, samples in parts]) / RATE
    made_of = [(name, end - len(s) / RATE, end) for (name, s), end in zip(parts, ends)]
    sound = np.concatenate([samples for _, samples in parts])
    return sound + 0.001 * random.standard_normal(len(sound)), made_of


def read_wave(path: str) -> np.ndarray:
    with wave.open(path) as file:
        found = file.getframerate(), file.getsampwidth()
        if found != (RATE, 2):
            raise ValueError(
                f"expected {RATE} samples of 2 bytes a second, got {found[0]} of {found[1]}"
            )
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return samples.reshape(-1, file.getnchannels()).mean(axis=1) / 32768


def probabilities(model: hr.Model, sound: np.ndarray) -> np.ndarray:
    """Of speech, for each chunk. The network remembers what it heard by a state that it hands back."""
    padded = np.pad(sound.astype(np.float32), (CONTEXT, -len(sound) % CHUNK))
    state = np.zeros((2, 1, 128), np.float32)
    result = []
    for begin in range(0, len(padded) - CONTEXT, CHUNK):
        heard = padded[None, begin : begin + CONTEXT + CHUNK]
        probability, state = model(input=heard, state=state, sr=np.array(RATE))
        result.append(probability.item())
    return np.array(result)


def intervals(speech: np.ndarray) -> list[tuple[float, float]]:
    """Begins and ends in seconds: short pauses are bridged, then short sounds dropped."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], speech >= LEAST, [0]])))
    found: list[tuple[float, float]] = []
    for begin, end in edges.reshape(-1, 2) * CHUNK / RATE:
        if found and begin - found[-1][1] <= LONGEST_PAUSE:
            begin = found.pop()[0]
        found.append((float(begin), float(end)))
    return [(begin, end) for begin, end in found if end - begin >= SHORTEST]


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(f"usage: {sys.argv[0]} [SOUND.wav]")
    if sys.argv[1:]:
        try:
            sound = read_wave(sys.argv[1])
        except (OSError, EOFError, ValueError, wave.Error) as error:
            sys.exit(f"error: {sys.argv[1]}: {error}")
    else:
        sound, made_of = generated()
        print("the sound:")
        for name, begin, end in made_of:
            print(f"  {begin:5.2f} to {end:5.2f} s   {name}")
    model = hr.load(fetch.fetched_or_exit("silero_vad") / "silero_vad.onnx")
    found = intervals(probabilities(model, sound))
    print("speech:" if found else "no speech")
    for begin, end in found:
        print(f"  {begin:5.2f} to {end:5.2f} s")


if __name__ == "__main__":
    main()
