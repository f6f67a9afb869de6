"""The examples with trained networks tell what is true, run as a user runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from examples.models import fetch

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "models"


def run(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False
    )


def lines_of(package: str, script: str, *arguments: object) -> list[str]:
    """The output of the example; skips the test where its networks cannot be fetched."""
    try:
        fetch.fetched(package)
    except fetch.CannotFetch as reason:
        pytest.skip(str(reason))
    result = run(script, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_types_of_the_repository_s_files_are_told() -> None:
    lines = lines_of("magika", "file_types.py")
    found = {name: label for name, label, _ in (re.split(" {3,}", line) for line in lines)}
    assert found == {
        "README.md": "markdown",
        "dev": "shell",
        "CMakePresets.json": "json",
        "pyproject.toml": "toml",
        "src/driver/models/Model.cpp": "cpp",
        "examples/digits/classify.py": "python",
        "examples/digits/digits.onnx": "onnx",
        "examples/digits/held_back_images.npy": "npy",
        "docs/images/times.svg": "svg",
    }


def test_types_do_not_come_from_names(tmp_path: Path) -> None:
    contents = {
        "a.txt": b'#!/bin/sh\nset -e\nfor f in *.c; do echo "$f"; done\n',
        "b.png": b"",
        "c": b"ab",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    lines = lines_of("magika", "file_types.py", *(tmp_path / name for name in contents))
    assert [re.split(" {3,}", line)[1] for line in lines] == ["shell", "empty", "too short to tell"]


def test_a_missing_file_is_named() -> None:
    lines_of("magika", "file_types.py")
    result = run("file_types.py", "no-such-file")
    assert result.returncode == 1
    assert result.stderr == "error: no-such-file: cannot read the file: No such file or directory\n"


READ = re.compile(r"'(.*)'   [\d.]+%   x (\d+) to (\d+), y (\d+) to (\d+)(, upside down)?")


def test_text_is_found_turned_and_read(tmp_path: Path) -> None:
    picture = tmp_path / "picture.ppm"
    lines = lines_of("rapidocr_onnxruntime", "read_text.py", "--save", picture)
    found = [READ.fullmatch(line).groups() for line in lines]
    assert [(text, bool(turned)) for text, *_, turned in found] == [
        ("DATA MOVEMENT", False),
        ("READS UPSIDE DOWN", True),
        ("HEADRACE 2048", False),
    ]
    header, content = picture.read_bytes().split(b"\n", 1)
    width, height = map(int, header.split()[1:3])
    pixels = np.frombuffer(content, np.uint8).reshape(height, width, 3)
    for number, (_, *corners, _) in enumerate(found):
        left, right, top, bottom = map(int, corners)
        rows, columns = np.nonzero(pixels[64 * number : 64 * number + 64, :, 0] < 128)
        # The box holds the letters, with a margin of less than half of their height.
        for inner, outer in ((columns.min(), left), (64 * number + rows.min(), top)):
            assert 0 <= inner - outer < 16
        for inner, outer in ((columns.max(), right), (64 * number + rows.max(), bottom)):
            assert 0 <= outer - inner < 20


def test_a_picture_without_text_has_no_lines(tmp_path: Path) -> None:
    np.save(tmp_path / "blank.npy", np.full((64, 96, 3), 255, np.uint8))
    package = "rapidocr_onnxruntime"
    assert lines_of(package, "read_text.py", "--image", tmp_path / "blank.npy") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ÄÖ"], "error: expected letters, digits, '-', '.' and blanks, got 'Ä'"),
        (["--image", "no-such-file.npy"], "error: .*no-such-file.npy"),
        (["--image", FOLDER.parent / "digits" / "held_back_images.npy"], ".*got float32"),
    ],
)
def test_a_picture_that_cannot_be_is_one_line(arguments: list[str], message: str) -> None:
    result = run("read_text.py", *arguments)
    assert result.returncode != 0
    assert re.match(message, result.stderr.splitlines()[-1])


def seconds(lines: list[str]) -> list[tuple[float, float, str]]:
    parts = (
        re.fullmatch(r" +([\d.]+) to +([\d.]+) s(?:   (.*))?", line).groups() for line in lines
    )
    return [(float(begin), float(end), name or "") for begin, end, name in parts]


def test_the_two_voices_are_found_and_nothing_else() -> None:
    lines = lines_of("silero_vad", "find_speech.py")
    at = lines.index("speech:")
    made_of, found = seconds(lines[1:at]), seconds(lines[at + 1 :])
    voices = [(begin, end) for begin, end, name in made_of if "voice" in name]
    assert {name for *_, name in made_of} >= {"silence", "noise", "a tone"}
    assert len(found) == len(voices) == 2
    for (begin, end), (found_begin, found_end, _) in zip(voices, found):
        assert abs(found_begin - begin) < 0.25 and abs(found_end - end) < 0.25


def write_wave(path: Path, samples: np.ndarray, rate: int) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 32767).astype("<i2").tobytes())


def test_noise_in_a_file_is_no_speech(tmp_path: Path) -> None:
    noise = 0.1 * np.random.default_rng(1).standard_normal(2 * 16000).clip(-5, 5)
    write_wave(tmp_path / "noise.wav", noise, 16000)
    assert lines_of("silero_vad", "find_speech.py", tmp_path / "noise.wav") == ["no speech"]


def test_a_sound_of_another_rate_is_refused_in_one_line(tmp_path: Path) -> None:
    write_wave(tmp_path / "slow.wav", np.zeros(100), 8000)
    result = run("find_speech.py", tmp_path / "slow.wav")
    assert result.returncode == 1
    assert result.stderr.endswith("expected 16000 samples of 2 bytes a second, got 8000 of 2\n")


@pytest.mark.parametrize("script", ["file_types.py", "read_text.py", "find_speech.py"])
def test_without_a_network_one_line_says_what_to_do(script: str, tmp_path: Path) -> None:
    result = run(
        script,
        HEADRACE_MODELS_DIR=str(tmp_path),
        PIP_INDEX_URL="http://127.0.0.1:9",
        PIP_RETRIES="0",
    )
    assert result.returncode == 1
    first, *rest = result.stderr.splitlines()
    assert first.startswith("fetching ") and first.endswith(f"into {tmp_path}")
    assert len(rest) == 1 and rest[0].startswith("error: cannot download ")
    assert "HEADRACE_MODELS_DIR" in rest[0]
    assert list(tmp_path.rglob("*.onnx")) == []
