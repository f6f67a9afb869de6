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
    with pytest.raises(hr.errors.Error, match="read: 'schema' applies to frames"):
        read(path, ', schema="double"')
    with pytest.raises(hr.errors.Error, match='read: expected a value_type such as .*, got "word"'):
        read(path, ', value_type="word"')


def test_the_type_of_a_scalar(file) -> None:
    path = file("7\n")
    assert read(path, ', data_type="scalar", value_type="string"') == "7"
    found = read(path, ', data_type="scalar", value_type="int"')
    assert found == 7
    assert type(found) is int


def test_part_files_of_a_directory(tmp_path) -> None:
    folder = tmp_path / "X.csv"
    folder.mkdir()
    for i, text in enumerate(["1,2\n", "3,4\n5,6\n"]):
        (folder / f"{i}-m-00000").write_text(text)
    (folder / "10-m-00000").write_text("7,8")
    (folder / "_SUCCESS").write_text("")
    left = hr.script(f'X = read("{folder}", format="csv")')()
    np.testing.assert_array_equal(left["X"], np.arange(1.0, 9).reshape(4, 2))


def test_libsvm(tmp_path) -> None:
    path = tmp_path / "data.libsvm"
    path.write_text("1 1:0.5 3:2\n-1 2:4 # a comment\n\n1\n")
    left = hr.script(f'X = read("{path}"); write(X, "{path}2", format="libsvm"); '
                     f'Y = read("{path}2", format="libsvm", cols=4)')()  # fmt: skip
    expected = [[0.5, 0, 2, 1], [0, 4, 0, -1], [0, 0, 0, 1]]
    for name in ("X", "Y"):
        found = left[name]
        np.testing.assert_array_equal(
            found.toarray() if hasattr(found, "toarray") else found, expected
        )
    path.write_text("1 0:5\n")
    with pytest.raises(hr.errors.Error, match=r"data.libsvm:1: expected COLUMN:VALUE .*got '0:5'"):
        hr.script(f'X = read("{path}")')()


def test_npy(tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    left = hr.script(f'X = read("{tmp_path / "x.npy"}")')()
    np.testing.assert_array_equal(left["X"], [[0, 1, 2], [3, 4, 5]])
    np.save(tmp_path / "y.npy", np.zeros((2, 2, 2)))
    with pytest.raises(hr.errors.Error, match="expected a matrix, got 2x2x2"):
        hr.script(f'X = read("{tmp_path / "y.npy"}")')()


def test_frames_in_files(tmp_path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('name,age\n"Ada, ""Countess""",36\nBob,?\n')
    text = f'''F = read("{path}", data_type="frame", format="csv", header=TRUE, naStrings="?", schema="STRING,FP64")
      names = toString(colnames(F))
      write(F, "{path}2", format="csv", header=TRUE)
      G = read("{path}2")'''
    left = hr.script(text)()
    assert "name age" in left["names"]
    for frame in (left["F"], left["G"]):
        assert list(frame["name"]) == ['Ada, "Countess"', "Bob"]
        assert frame["age"][0] == 36
        assert np.isnan(frame["age"][1])
    path.write_text('a,b\n"1,2\n')
    with pytest.raises(hr.errors.Error, match=r"people.csv:2: expected a quotation mark"):
        hr.script(f'F = read("{path}", data_type="frame", format="csv", header=TRUE)')()
