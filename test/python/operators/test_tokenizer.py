"""com.microsoft.Tokenizer, which text vectorizers are exported with, next to ONNX Runtime."""

from __future__ import annotations

import random
from typing import Any

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

EXPRESSIONS = [
    "[a-zA-Z0-9_]+",
    r"\\w+",
    "[a-z]+|[0-9]",
    "a|ab|abc",
    "[^ ,.]+",
    "[ab]*",
    "b+c?",
    r"\\bab?",
    "^a",
    "a{2,3}",
    "é",
    "(?i)AB?|É",
    "(?:[ab] ?){2,4}",
    "(?m)^[a-c]+$",
    "(?P<last>[b-c_]+)$",
    "[[:punct:][:digit:]]+",
    r"\\x{65e5}|\\.",
    "[^[:^digit:]a]",
    "(?s)..",
    "(a|b|c)*?_",
    r"\\B[abc]+\\B",
]
SEPARATORS = [
    [" "],
    [" ", ","],
    ["[.]", "[ ]+"],
    [r"\\s+"],
    ["a"],
    [",", " ", "[!?]"],
    ["é", "日"],
    ["b|ba"],
]


def quoted(values: list[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def tokenizer(attributes: str, rank: int = 1) -> Any:
    shape = ", ".join("nm"[:rank])
    text = f"m (string[{shape}] x) => (string y) {{ y = com.microsoft.Tokenizer<{attributes}>(x) }}"
    return graph_text.parse(text, 18, ', "com.microsoft" : 1')


def texts(seed: int) -> np.ndarray:
    draw = random.Random(seed)
    lengths = [draw.choice([0, 1, 4, 12, 30]) for _ in range(draw.choice([1, 4, 8]))]
    return np.array(["".join(draw.choices("ab c,.;_09!?éßЖ日𝒳 \n", k=k)) for k in lengths], object)


def compare(attributes: str) -> None:
    proto = tokenizer(attributes)
    model, peer = hr.load(proto), runtime.InferenceSession(proto.SerializeToString())
    for seed in range(12):
        x = texts(seed)
        (expected,) = peer.run(None, {"x": x})
        found = model(x)
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_tokens_match_an_expression(expression: str, least: int) -> None:
    compare(f'mark = 0, pad_value = "#", mincharnum = {least}, tokenexp = "{expression}"')


@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("separators", SEPARATORS, ids=str)
def test_tokens_lie_between_separators(separators: list[str], least: int) -> None:
    compare(f'mark = 1, pad_value = "", mincharnum = {least}, separators = {quoted(separators)}')


@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize("how", ['tokenexp = "."', 'separators = [""]'])
def test_tokens_are_characters(how: str, mark: int) -> None:
    compare(f'mark = {mark}, pad_value = "#", mincharnum = 1, {how}')


@pytest.mark.parametrize(
    "pattern, fault",
    [
        ("a**", "a repetition of a repetition"),
        ("*a", "a repetition of nothing"),
        (r"(a)\\1", "a back reference"),
        ("(?=a)", "a kind of group that is not supported"),
        ("[b-a]", "a range of characters that ends before it begins"),
        ("[[:letter:]]", "a name of characters that is not known"),
        (r"\\pL", r"the escape \p"),
        ("((a{100}){100}){100}", "more than 10000 states"),
        ("(" * 300 + "a" + ")" * 300, "more than 200 groups inside of each other"),
        ("a" * 1001, "1001 characters"),
    ],
)
def test_patterns_that_are_refused(pattern: str, fault: str) -> None:
    model = hr.load(tokenizer(f'mark = 0, pad_value = "", mincharnum = 1, tokenexp = "{pattern}"'))
    with pytest.raises(hr.UnsupportedError) as raised:
        model(["a"])
    assert f"got {fault} in" in str(raised.value)


def test_a_long_text_of_beginnings_takes_linear_time() -> None:
    """Every character begins what might still become a match, up to the end of the text."""
    model = hr.load(tokenizer('mark = 0, pad_value = "", mincharnum = 1, tokenexp = "a*b|c"'))
    assert model(["a" * 200_000 + "c"]).tolist() == [["c"]]


def test_rows_of_texts_and_no_texts() -> None:
    proto = tokenizer('mark = 1, pad_value = "#", mincharnum = 1, tokenexp = "[a-z]+"', rank=2)
    model, peer = hr.load(proto), runtime.InferenceSession(proto.SerializeToString())
    for x in ([["a b", "c"], ["", "d e f"]], [[" ", "1"]], np.empty((2, 0), object)):
        x = np.array(x, object)
        (expected,) = peer.run(None, {"x": x})
        assert model(x).shape == expected.shape
        assert model(x).tolist() == expected.tolist()


def test_counts_of_words_in_one_model() -> None:
    text = """m (string[n] x) => (float y) {
        lower = StringNormalizer<case_change_action = "LOWER", locale = "C.UTF-8">(x)
        tokens = com.microsoft.Tokenizer<mark = 0, pad_value = "#", mincharnum = 2, separators = [" ", "[,.!]"]>(lower)
        table = Flatten(tokens)
        y = TfIdfVectorizer<mode = "TFIDF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 0,
            ngram_counts = [0, 3], ngram_indexes = [0, 1, 2, 3], weights = [1.0, 0.5, 2.0, 3.0],
            pool_strings = ["cat", "été", "ж日", "the", "cat"]>(table) }"""
    proto = graph_text.parse(text, 18, ', "com.microsoft" : 1')
    model, peer = hr.load(proto), runtime.InferenceSession(proto.SerializeToString())
    for words in (["The cat, the CAT.", "ÉTÉ Ж日 a", ""], ["!"], ["cat the cat", "x", "été été"]):
        x = np.array(words, object)
        (expected,) = peer.run(None, {"x": x})
        np.testing.assert_allclose(model(x), expected)


@pytest.mark.parametrize(
    "attributes, message",
    [
        ("mincharnum = 1", "expected an attribute 'separators' or 'tokenexp'"),
        ('mincharnum = 0, tokenexp = "a"', "'mincharnum': expected 1 or more, got 0"),
        ('mincharnum = 2, tokenexp = "."', "'mincharnum': expected 1 for tokens of one character"),
        ('mincharnum = 1, tokenexp = "(a"', "'tokenexp': expected a regular expression"),
        ('mincharnum = 1, separators = ["[b"]', "'separators': expected a regular expression"),
    ],
)
def test_attributes_that_make_no_sense(attributes: str, message: str) -> None:
    model = hr.load(tokenizer(f'mark = 0, pad_value = "", {attributes}'))
    with pytest.raises(hr.Error, match=message):
        model(["a"])
