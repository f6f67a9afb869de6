"""Real models agree with ONNX Runtime at several sizes, within the numeric policy."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

hr = pytest.importorskip("headrace")
pytest.importorskip("onnxruntime")

import real_models  # noqa: E402

LARGE = os.environ.get("HEADRACE_LARGE_TESTS") == "1"
# One of each kind in every run; the others take minutes.
ALWAYS = {
    "magika/model",
    "silero_vad/silero_vad",
    "silero_vad/silero_vad_op18_ifless",
    "unet/torchscript",
    "detector/torchscript",
    "bert/torchscript",
    "gpt/torchscript",
    "dlrm/torchscript",
    "dlrm/torchscript-static",
    "mixer/torchscript-dynamic",
    "tagger/torchscript",
    "tagger/torchscript-dynamic",
    "wavenet/torchscript",
}
# Amplifies rounding by what the input happens to be: errors are half to 9 times ONNX Runtime's, and as large on average.
JUDGED_ON_AVERAGE = {"rapidocr_onnxruntime/ch_PP-OCRv4_rec_infer"}
CASES = real_models.wheel_cases() + real_models.exported_cases(small=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_model_agrees_with_onnx_runtime_at_every_size(case: real_models.Case, folder: Path) -> None:
    if case.missing:
        pytest.skip(case.missing)
    if case.name not in ALWAYS and not LARGE:
        pytest.skip("HEADRACE_LARGE_TESTS=1 runs it")
    path = case.make(folder)
    if case.quantized and real_models.has_infinite_scale(path):
        pytest.skip("ONNX Runtime's quantizer gave it an infinite scale")
    model, session = hr.load(path), real_models.open_session(path)
    for number, feeds in enumerate(case.feeds()):
        expected = session.run(None, feeds)
        found = real_models.as_list(model(**feeds))
        exact = [None] * len(expected)
        if number == 0 and case.name not in JUDGED_ON_AVERAGE:
            exact = real_models.as_list(model.reference(**feeds, keep_double=True))
        assert len(found) == len(expected)
        for output, ours, theirs, true in zip(session.get_outputs(), found, expected, exact):
            wrong = real_models.disagreement(np.asarray(ours), theirs, true, case.quantized)
            shapes = {name: feed.shape for name, feed in feeds.items()}
            assert not wrong, f"{case.name} at {shapes}: {output.name}: {wrong}"


@pytest.mark.parametrize("name", sorted(JUDGED_ON_AVERAGE))
def test_errors_are_as_small_as_onnx_runtime_s_over_many_inputs(name: str, folder: Path) -> None:
    (case,) = (case for case in CASES if case.name == name)
    if case.missing:
        pytest.skip(case.missing)
    if not LARGE:
        pytest.skip("HEADRACE_LARGE_TESTS=1 runs it")
    path = case.make(folder)
    model, session = hr.load(path), real_models.open_session(path)
    shapes = {name: feed.shape for name, feed in case.feeds()[0].items()}
    ratios = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        feeds = {n: random.standard_normal(s, dtype=np.float32) for n, s in shapes.items()}
        exact = model.reference(**feeds, keep_double=True)
        errors = (model(**feeds) - exact, session.run(None, feeds)[0] - exact)
        ours, theirs = map(real_models.root_mean_square, errors)
        ratios.append(ours / theirs)
    assert np.exp(np.mean(np.log(ratios))) < 2, ratios
