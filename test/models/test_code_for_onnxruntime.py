"""Packages written for ONNX Runtime do the same with Headrace in its place: their own code runs on both."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from installed_packages import installed

from examples.models import fetch

hr = pytest.importorskip("headrace")
onnxruntime = pytest.importorskip("onnxruntime")

FASTER_WHISPER = fetch.Wheel(
    "faster_whisper",
    "1.2.1",
    {
        "faster_whisper/vad.py": "37a9c774aefdd3162d936b896c8dcf5571b2ed938d65bffecfd631770049a18d",
        "faster_whisper/assets/silero_vad_v6.onnx": "4cbf549b8326f60f80f2536d9eefeb450a9abe83365a098031c89719f1be17d2",
    },
)
SILERO_VAD = fetch.Wheel(
    "silero_vad",
    "6.2.3",
    {
        "silero_vad/utils_vad.py": "15d0f6b3ef9590e22ca2f146e1436f6901da356cb552d3183df4100862b333cb",
        "silero_vad/data/silero_vad.onnx": "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
    },
)


def folder_of(wheel: fetch.Wheel) -> Path:
    try:
        fetch.fetch(wheel, fetch.cache_folder())
    except fetch.CannotFetch as reason:
        pytest.skip(str(reason))
    return fetch.cache_folder() / wheel.package


def code_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_under_test", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sound() -> np.ndarray:
    """Six seconds at 16 kHz: syllables of a voice of 140 Hz between noise."""
    time = np.arange(16000 * 6) / 16000
    sound = 0.001 * np.random.default_rng(0).normal(size=time.size)
    vibrato = 1 + 0.02 * np.sin(2 * np.pi * 5 * time)
    partials = enumerate((140, 280, 420, 560, 700, 2400), 1)
    voice = sum(np.sin(2 * np.pi * pitch * time * vibrato) / k for k, pitch in partials)
    spoken = (np.sin(2 * np.pi * 3 * time) > 0) & (time > 1) & (time < 3)
    return (sound + 0.3 * voice * spoken).astype(np.float32)


def on_each(monkeypatch: pytest.MonkeyPatch, run):
    """What the code gives on Headrace and on ONNX Runtime."""
    results = []
    for module in (hr, onnxruntime):
        monkeypatch.setitem(sys.modules, "onnxruntime", module)
        results.append(run())
    return results


def test_faster_whisper_finds_the_same_speech(monkeypatch, sound) -> None:
    folder = folder_of(FASTER_WHISPER)
    utils = ModuleType("faster_whisper.utils")  # the real one needs CTranslate2
    utils.get_assets_path = lambda: str(folder)
    monkeypatch.setitem(sys.modules, "faster_whisper", ModuleType("faster_whisper"))
    monkeypatch.setitem(sys.modules, "faster_whisper.utils", utils)

    def run():
        vad = code_of(folder / "vad.py")
        options = vad.VadOptions(threshold=0.1, min_speech_duration_ms=50)
        whole = sound[: sound.size // 512 * 512].copy()
        return vad.get_speech_timestamps(sound, options), vad.get_vad_model()(whole)

    (found, probabilities), (expected, theirs) = on_each(monkeypatch, run)
    assert found == expected and len(found) > 0
    np.testing.assert_allclose(probabilities, theirs, atol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_silero_vad_finds_the_same_speech(monkeypatch, sound) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("packaging")
    folder = folder_of(SILERO_VAD)

    def run():
        code = code_of(folder / "utils_vad.py")
        model = code.OnnxWrapper(str(folder / "silero_vad.onnx"), force_onnx_cpu=True)
        samples = torch.from_numpy(sound)
        stamps = code.get_speech_timestamps(
            samples, model, threshold=0.1, min_speech_duration_ms=50
        )
        return stamps, model.audio_forward(samples, 16000).numpy()

    (found, probabilities), (expected, theirs) = on_each(monkeypatch, run)
    assert found == expected and len(found) > 0
    np.testing.assert_allclose(probabilities, theirs, atol=1e-5)


def results_of(program: str, package: str, *arguments: object) -> list[list]:
    """What a program of this directory prints on Headrace and on ONNX Runtime: a list for each, of the JSON values."""
    path = os.pathsep.join([str(installed(package)), os.environ.get("PYTHONPATH", "")])
    results = []
    for module in ("headrace", "onnxruntime"):
        run = subprocess.run(
            [sys.executable, Path(__file__).with_name(program), module, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, f"{module}: {run.stderr}"
        results.append([json.loads(line) for line in run.stdout.splitlines()])
    return results


def test_rapidocr_reads_the_same_text() -> None:
    (found,), (expected,) = results_of("run_rapidocr.py", "rapidocr")
    texts, scores, boxes = found
    assert texts == expected[0] == ["Headrace", "2024"]
    np.testing.assert_allclose(scores, expected[1], atol=1e-4)
    np.testing.assert_allclose(boxes, expected[2], atol=1)  # of pixels


def test_pipelines_of_transformers_give_the_same_answers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found, expected = results_of("run_optimum.py", "optimum", tmp_path)
    assert len(found) == len(expected) == 4
    for of_headrace, theirs in zip(found[::2], expected[::2], strict=True):
        for answer, other in zip(of_headrace, theirs, strict=True):
            assert [label["label"] for label in answer] == [label["label"] for label in other]
            scores = [[label["score"] for label in labels] for labels in (answer, other)]
            np.testing.assert_allclose(*scores, atol=1e-5)
    assert found[1::2] == expected[1::2]
