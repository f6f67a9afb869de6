"""Calling, describing and explaining programs."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import headrace as hr
import numpy as np
import pytest


def close(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_digits_as_onnxruntime_computes_them(digits, digits_path, images):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(digits_path), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"image": images})
    close(digits(images), expected)


def test_digits_as_the_reference_computes_them(digits, images):
    close(digits(images), digits.reference(images))
    exact = digits.reference(images, keep_double=True)
    assert exact.dtype == np.float64
    close(exact, digits.reference(images))


def test_description(digits):
    (image,), (logits,) = digits.inputs, digits.outputs
    assert (image.name, image.dtype, image.shape) == ("image", np.float32, ("batch", 1, 8, 8))
    assert (logits.name, logits.dtype, logits.shape) == ("logits", np.float32, ("batch", 10))
    assert digits.symbols == ("batch",)
    assert "image: f32[batch, 1, 8, 8]" in repr(digits)
    assert re.fullmatch(r"\d+\.\d+\.\d+", hr.__version__)


def test_a_graph_without_nodes_gives_its_inputs(write_model, tmp_path):
    """As exporters write it where all else is folded."""
    values = [("x", "FLOAT", ["n", 3])]
    path, package = write_model([], values, values), tmp_path / "model.hrpkg"
    hr.write_package(path, package)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for file in (path, package):
        found = hr.load(file)(x)
        np.testing.assert_array_equal(found, x)
        assert not np.shares_memory(found, x)


def test_calls_by_position_name_and_dict_agree(digits, images):
    by_position = digits(images)
    assert isinstance(by_position, np.ndarray)
    assert (by_position.dtype, by_position.shape) == (np.float32, (16, 10))
    np.testing.assert_array_equal(digits(image=images), by_position)
    by_dict = digits.run_dict({"image": images})
    assert list(by_dict) == ["logits"]
    np.testing.assert_array_equal(by_dict["logits"], by_position)


def test_several_inputs_and_outputs(sum_and_difference):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.full((2, 3), 2, np.float32)
    for total, difference in [
        sum_and_difference(a, b),
        sum_and_difference(a, b=b),
        sum_and_difference(b=b, a=a),
    ]:
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(difference, a - b)


@pytest.mark.parametrize("batch", [0, 1, 2, 7])
def test_every_batch_size(digits, images, batch):
    logits = digits(images[:batch])
    assert logits.shape == (batch, 10)
    close(logits, digits(images)[:batch])


def test_compile_ahead(digits, images):
    assert digits.compile(images[:3]) is digits
    versions = digits.compiled_versions
    assert versions >= 1
    digits(images[:3])
    assert digits.compiled_versions == versions


def test_phases_and_ir(digits):
    names = [phase.name for phase in hr.phases()]
    assert len(names) == len(set(names)) > 1
    assert all(phase.summary for phase in hr.phases())
    assert "module" in digits.ir(names[-1], batch=4)
    with pytest.raises(hr.InvalidArgumentError, match="nonsense"):
        digits.ir("nonsense")


def test_explanation(digits):
    report = digits.explain(batch=16)
    for side in (report["before"], report["after"]):
        assert all(type(side[key]) is int for key in side)
    assert report["after"]["kernels"] == len(report["kernels"]) <= report["before"]["kernels"]
    assert report["after"]["bytes_moved"] < report["before"]["bytes_moved"]
    assert report["kernels"][0]["operators"]
    text = str(report)
    assert "bytes moved" in text and report["kernels"][0]["name"] in text


def test_explanation_with_open_sizes(digits):
    report = digits.explain()
    assert "batch" in report["after"]["bytes_moved"]
    assert "batch" in str(report)
    assert report["peak_bytes"] is None
    assert digits.explain({"batch": 2})["after"] == digits.explain(batch=2)["after"]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({"height": 4}, "'batch', got 'height'"), ({"batch": -1}, "0 or more, got -1")],
)
def test_wrong_sizes(digits, sizes, message):
    with pytest.raises(hr.InvalidArgumentError, match=message):
        digits.explain(sizes)


def test_eight_threads_get_equal_results(digits, images):
    expected = digits(images)
    start = threading.Barrier(8)

    def calls(_: int) -> bool:
        start.wait()
        return all(np.array_equal(digits(images), expected) for _ in range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(calls, range(8)))


def test_threads_that_load_and_compile_at_once(digits_path, images, digits):
    expected = digits(images)
    with ThreadPoolExecutor(4) as pool:
        for logits in pool.map(lambda _: hr.load(digits_path)(images), range(4)):
            np.testing.assert_array_equal(logits, expected)


def test_number_of_threads_may_change(digits, images):
    expected, running = digits(images), hr.get_threads()
    try:
        for count in (running + 1, 1):
            hr.set_threads(count)
            assert hr.get_threads() == count
            np.testing.assert_array_equal(digits(images), expected)
        for count in (0, 5000):
            with pytest.raises(hr.InvalidArgumentError, match=f"threads: expected.* got {count}"):
                hr.set_threads(count)
        assert hr.get_threads() == 1
    finally:
        hr.set_threads(running)


@pytest.mark.parametrize("dump", [pickle.dumps, copy.copy, copy.deepcopy])
def test_pickling_is_refused_with_advice(digits, dump):
    with pytest.raises(TypeError, match=r"cannot be pickled.*headrace\.load\("):
        dump(digits)


def test_memory_does_not_grow(digits_path, images):
    digits = hr.load(digits_path, specialize="never")  # no compiler in the background meanwhile

    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    batch = np.repeat(images, 16, axis=0)  # one leaked output or input a call would be 20 MB
    for _ in range(200):
        digits(batch)
    before = resident_bytes()
    for _ in range(2000):
        digits(batch)
    assert resident_bytes() - before < 8_000_000


def test_scalars_can_be_explained(write_model) -> None:
    path = write_model(
        [("Exp", ["x"], ["e"]), ("Transpose", ["e"], ["y"])],
        [("x", "FLOAT", [])],
        [("y", "FLOAT", [])],
    )
    report = hr.load(path).explain()
    assert report["before"]["kernels"] == 1  # a scalar has nothing to transpose
