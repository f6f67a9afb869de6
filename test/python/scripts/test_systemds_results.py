"""Scripts give what SystemDS gave: recorded answers, replayed in every format, on the host and compiled.

cases/systemds/results.jsonl holds what SystemDS answered (generate.py there records it);
kept.jsonl what Headrace answers where it differs on purpose, with the reason.
"""

from __future__ import annotations

import os
from typing import Any

import headrace as hr
import pytest

pytest.importorskip("scipy.sparse")
from cases.systemds.answers import answer, given, plain, recorded, same, same_value
from cases.systemds.expressions import Expressions
from cases.systemds.inputs import used

RESULTS, KEPT = recorded("results.jsonl"), recorded("kept.jsonl")
EXPECTED = RESULTS | KEPT
REASONS = {
    "ieee": "zeros, NaN and infinity follow IEEE 754 in sums, products and order, stored or not",
    "literal": "a literal means what a variable of its value means",
    "declared": "declared types hold in every function, not only in those that are inlined",
    "extension": "SystemDS refuses it; there is one meaning it can have",
    "refused": "SystemDS answers a mistake with some number",
    "loops": "a loop takes the steps that it names, whole or not",
    "strings": "a string as a matrix is the number it says",
    "text": "digits of numbers are the shortest that read back",
    "empty": "aggregates of no cells are what they start from",
}
LARGE = "HEADRACE_LARGE_TESTS" in os.environ


def test_the_record_is_as_large_as_it_claims() -> None:
    assert len(RESULTS) >= 5000
    assert set(KEPT) <= set(RESULTS)
    assert {kept["why"] for kept in KEPT.values()} <= set(REASONS)


def test_differences_kept_on_purpose_are_differences() -> None:
    assert [script for script, kept in KEPT.items() if same(RESULTS[script], kept)] == []


def show(script: str, found: Any) -> str:
    return f"{script!r}: expected {EXPECTED[script]}, got {found}"


@pytest.mark.parametrize("formats", ["dense", "sparse"])
def test_scripts_give_what_is_recorded(formats: str) -> None:
    wrong = [
        show(script, found)
        for script, expected in EXPECTED.items()
        if not same(expected, found := answer(script, "never", formats))
    ]
    assert not wrong, f"{len(wrong)} of {len(EXPECTED)}, among them\n" + "\n".join(wrong[:20])


def batches(size: int) -> list[list[str]]:
    """Scripts of one line that leave a value, many to a batch: compiling takes a while."""
    lines = [
        script
        for script, expected in EXPECTED.items()
        if "\n" not in script and script.startswith("y = ") and "value" in expected
    ]
    lines = lines if LARGE else lines[:: len(lines) // 400]
    return [lines[i : i + size] for i in range(0, len(lines), size)]


def compiled(batch: list[str], formats: str) -> list[Any]:
    """The values of y after these scripts, compiled as one."""
    text = "\n".join(f"y{i} = {script[4:]}" for i, script in enumerate(batch))
    left = hr.script(text, compile="always")(**given(used(text), formats))
    return [plain(left[f"y{i}"]) for i in range(len(batch))]


@pytest.mark.parametrize("formats", ["dense", "sparse"])
def test_compiled_scripts_give_what_is_recorded(formats: str) -> None:
    wrong = [
        show(script, found)
        for batch in batches(40)
        for script, found in zip(batch, compiled(batch, formats), strict=True)
        if not same_value(EXPECTED[script]["value"], found)
    ]
    assert not wrong, f"{len(wrong)}, among them\n" + "\n".join(wrong[:20])


def test_formats_and_compiled_code_agree_on_what_is_not_finite() -> None:
    scripts = [f"y = {Expressions(seed, 'ASNPPNSZT').any()}" for seed in range(500)]
    # Sparse matrices do not keep the sign of a zero, which quotients and powers show.
    scripts = [script for script in scripts if not set("/^") & set(script)]
    assert len(scripts) > 200
    dense = {script: answer(script, "never", "dense") for script in scripts}
    wrong = [
        script for script in scripts if not same(dense[script], answer(script, "never", "sparse"))
    ]
    batch = [script for script in scripts if "value" in dense[script]][:40]
    wrong += [
        script
        for formats in ("dense", "sparse")
        for script, found in zip(batch, compiled(batch, formats), strict=True)
        if not same_value(dense[script]["value"], found)
    ]
    assert wrong == []
