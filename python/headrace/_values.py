"""Values that are more than tensors of numbers: strings, sequences, maps, optionals.

Types are text, as the compiler writes them: "f32", "string", "sequence(f32)",
"optional(sequence(i64))", "map(string, f32)", and "?" where a model does not say. The extension takes and gives tensors
as (element type, array) and ("string", shape, list), sequences as lists, and None. It takes maps as
("map", keys, values) and gives dicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace._arrays import NUMPY_NAMES, from_output, raise_type_mismatch, to_input
from headrace.errors import TypeMismatchError

ELEMENT_TYPES = {name: element_type for element_type, name in NUMPY_NAMES.items()}


def inner(type_: str, outer: str) -> str | None:
    """ "f32" of "sequence(f32)"; None for another type."""
    return type_[len(outer) + 1 : -1] if type_.startswith(outer + "(") else None


def to_value(value: Any, name: str, type_: str) -> Any:
    if (element := inner(type_, "optional")) is not None:
        return None if value is None else to_value(value, name, element)
    if (element := inner(type_, "sequence")) is not None:
        if not isinstance(value, (list, tuple)):
            raise_type_mismatch(name, "a list", type(value).__name__)
        return [to_value(item, f"{name}[{i}]", element) for i, item in enumerate(value)]
    if (pair := inner(type_, "map")) is not None:
        return to_map(value, name, *pair.split(", "))
    if type_ == "?":
        return to_any_value(value, name)
    if type_ == "string":
        return to_strings(value, name)
    return type_, to_input(value, name, type_)


def to_map(value: Any, name: str, key_type: str, value_type: str) -> Any:
    if not isinstance(value, dict):
        raise_type_mismatch(name, "a dict", type(value).__name__)
    keys = to_strings if key_type == "string" else to_numbers
    values = to_strings if value_type == "string" else to_numbers
    return (
        "map",
        keys(list(value.keys()), f"{name} (keys)", key_type),
        values(list(value.values()), f"{name} (values)", value_type),
    )


def to_numbers(value: list[Any], name: str, type_: str) -> Any:
    array = np.asarray(value)
    is_whole = array.dtype.kind in "biu" or array.size == 0
    if array.dtype.kind not in "biuf" or (type_ == "i64" and not is_whole):
        raise_type_mismatch(name, type_, str(array.dtype))
    return type_, to_input(array.astype(NUMPY_NAMES[type_]), name, type_)


def to_any_value(value: Any, name: str) -> Any:
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [to_any_value(item, f"{name}[{i}]") for i, item in enumerate(value)]
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return to_strings(array, name)
    element_type = ELEMENT_TYPES.get(array.dtype.name)
    if element_type is None:
        raise_type_mismatch(name, "numeric values, booleans or strings", str(array.dtype))
    return element_type, to_input(array, name, element_type)


def to_strings(
    value: Any, name: str, _type: str = "string"
) -> tuple[str, tuple[int, ...], list[str]]:
    array = np.asarray(value, dtype=object) if not isinstance(value, np.ndarray) else value
    elements = [
        item.decode() if isinstance(item, bytes) else item for item in array.ravel().tolist()
    ]
    for item in elements:
        if not isinstance(item, str):
            raise TypeMismatchError(
                f"input '{name}': expected strings, got {type(item).__name__} {item!r}"
            )
    return "string", array.shape, elements


def from_value(value: Any) -> Any:
    """Arrays, of objects where they hold strings; lists; dicts; None."""
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, list):
        has_dicts = bool(value) and isinstance(value[0], dict)
        return value if has_dicts else [from_value(item) for item in value]
    element_type, *parts = value
    if element_type == "string":
        array = np.empty(len(parts[1]), dtype=object)
        array[:] = parts[1]
        return array.reshape(parts[0])
    return from_output(parts[0], element_type)
