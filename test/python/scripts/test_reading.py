"""Options of read: what stands for NaN, what empty fields are, and what is rejected."""

from __future__ import annotations

import pathlib

import headrace as hr
import numpy as np
import pytest


@pytest.fixture
def file(tmp_path: pathlib.Path):
    def written(text: str) -> str:
        path = tmp_path / "x.csv"
        path.write_text(text)
        return str(path)

    return written


def read(path: str, options: str = "") -> object:
    return hr.script(f'X = read("{path}"{options})')()["X"]


def test_strings_for_nan(file) -> None:
    path = file("1,NA\n-,4\n")
    expected = [[1, np.nan], [np.nan, 4]]
    np.testing.assert_array_equal(read(path, ', naStrings=["NA", "-"]'), expected)
    path = file("1,NA\n3,4\n")
    np.testing.assert_array_equal(read(path, ', naStrings="NA"'), [[1, np.nan], [3, 4]])
    with pytest.raises(hr.errors.Error, match="x.csv:1: field 2: expected a number, got 'NA'"):
        read(path)


def test_empty_fields_are_refused_unless_the_script_says_what_they_are(file) -> None:
    path = file("1,,3\n4,5,6\n")
    with pytest.raises(hr.errors.Error, match=r"x.csv:1: field 2: expected a number, got nothing"):
        read(path)
    np.testing.assert_array_equal(read(path, ", fill=TRUE"), [[1, 0, 3], [4, 5, 6]])
    np.testing.assert_array_equal(read(path, ", default=NaN"), [[1, np.nan, 3], [4, 5, 6]])
    np.testing.assert_array_equal(read(path, ", fill=TRUE, default=7"), [[1, 7, 3], [4, 5, 6]])
    with pytest.raises(hr.errors.Error, match="got nothing"):
        read(path, ", fill=FALSE, default=7")


def test_a_trailing_separator_is_an_empty_field(file) -> None:
    with pytest.raises(hr.errors.Error, match="x.csv:1: field 3: expected a number, got nothing"):
        read(file("1,2,\n3,4,\n"))


def test_options_that_do_nothing_are_refused(file) -> None:
    path = file("1,2\n")
    with pytest.raises(hr.errors.Error, match="'read' has no parameter 'nastrings'"):
        read(path, ', nastrings="NA"')
    with pytest.raises(
        hr.errors.UnsupportedError, match="read: 'schema' is understood but not executed"
    ):
        read(path, ', schema="double"')
    with pytest.raises(hr.errors.Error, match='read: expected a value_type such as .*, got "word"'):
        read(path, ', value_type="word"')


def test_the_type_of_a_scalar(file) -> None:
    path = file("7\n")
    assert read(path, ', data_type="scalar", value_type="string"') == "7"
    found = read(path, ', data_type="scalar", value_type="int"')
    assert found == 7
    assert type(found) is int
