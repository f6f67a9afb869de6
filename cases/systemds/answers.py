"""Headrace's results of the recorded scripts, compared with the recorded ones."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
from scipy import sparse

from cases.systemds.inputs import MATRICES, SCALARS, used

FOLDER = Path(__file__).parent
TYPES = {bool: "boolean", int: "int", float: "double", str: "string"}
NUMBER = re.compile(r"-?\d+\.\d+(?:E-?\d+)?")


def recorded(file: str) -> dict[str, dict[str, Any]]:
    """The answers of results.jsonl or kept.jsonl, by script."""
    answers = [json.loads(line) for line in (FOLDER / file).read_text().splitlines()]
    return {answer.pop("do"): answer for answer in answers}


def given(names: list[str], formats: str) -> dict[str, Any]:
    """The inputs of a script, with matrices dense or sparse."""
    made = sparse.csr_matrix if formats == "sparse" else np.array
    values: dict[str, Any] = {name: made(MATRICES[name]) for name in names if name in MATRICES}
    return values | {name: SCALARS[name] for name in names if name in SCALARS}


def plain(value: Any) -> list[Any]:
    """A value as the recorded ones are written."""
    if sparse.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        return [*value.shape, value.ravel().tolist()]
    return [TYPES[type(value)], value]


def answer(script: str, compile: str, formats: str) -> dict[str, Any]:
    printed = io.StringIO()
    found: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(printed):
            left = hr.script(script, compile=compile)(**given(used(script), formats))
            if "y" in set(left):
                found["value"] = plain(left["y"])
    except hr.errors.Error as error:
        return {"error": str(error).splitlines()[0]}
    if printed.getvalue():
        found["printed"] = printed.getvalue()
    return found


def _number(text: Any) -> float:
    return float(str(text).replace("Infinity", "inf"))


def _close(expected: Any, found: Any) -> bool:
    return np.allclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True)


def same_value(expected: list[Any], found: list[Any]) -> bool:
    if len(expected) != len(found) or expected[0] != found[0]:
        return False
    if len(expected) == 3:
        cells = np.array(expected[2], float)
        if len(cells) == 1:
            cells = np.full(len(found[2]), cells[0])
        return expected[1] == found[1] and len(cells) == len(found[2]) and _close(cells, found[2])
    if expected[0] == "double":
        return _close(_number(expected[1]), _number(found[1]))
    return str(expected[1]).upper() == str(found[1]).upper()


def _same_text(expected: str, found: str) -> bool:
    """Equal up to rounding of the numbers in it."""
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(found), strict=False)
    return NUMBER.sub("#", expected) == NUMBER.sub("#", found) and all(
        a == b or ("." in a and len(a) > 12 and _close(float(a), float(b))) for a, b in pairs
    )


def same(expected: dict[str, Any], found: dict[str, Any]) -> bool:
    if "error" in expected or "error" in found:
        return "error" in expected and "error" in found
    if not _same_text(expected.get("printed", ""), found.get("printed", "")):
        return False
    if "value" not in expected or "value" not in found:
        return "value" not in expected and "value" not in found
    return same_value(expected["value"], found["value"])
