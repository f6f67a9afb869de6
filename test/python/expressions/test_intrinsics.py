"""Intrinsics: declared by expressions, matched by recipes, computed by the user's own C."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

SOURCE = """
#include <stdint.h>
int64_t calls = 0;
void gemm8x8(const float *a, int64_t a0, int64_t a1, const float *b, int64_t b0, int64_t b1,
             float *c, int64_t c0, int64_t c1) {
  __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k)
        c[i * c0 + j * c1] += a[i * a0 + k * a1] * b[k * b0 + j * b1];
}
void scale4(const float *x, int64_t x0, float *y, int64_t y0) {
  for (int i = 0; i < 4; ++i)
    y[i * y0] = 2 * x[i * x0];
}
"""
CALLED = "C: split k by 8 -> k.o k.i\nC: tile i j by 8 8\nC: reorder i.o j.o k.o i.i j.i k.i\n"
CALL = "C: tensorize i.i j.i k.i with gemm8x8\n"


def product(n, m, k, name="C", dtype="f32", function=lambda a, b: a * b):
    A = hr.placeholder((n, k), dtype, name="A")
    B = hr.placeholder((k, m), dtype, name="B")
    r = hr.axis(k, name="k")
    return hr.compute((n, m), lambda i, j: hr.sum(function(A[i, r], B[r, j]), axis=r), name=name)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    compiler = next(filter(None, map(shutil.which, ("clang-19", "clang", "cc", "gcc"))), None)
    if not compiler:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("accelerator")
    (folder / "accelerator.c").write_text(SOURCE)
    built = folder / "libaccelerator.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", built, folder / "accelerator.c"], check=True
    )
    return built


@pytest.fixture
def gemm(library):
    return hr.intrinsic("gemm8x8", product(8, 8, 8, "tile"), library)


def calls(library) -> ctypes.c_int64:
    return ctypes.c_int64.in_dll(ctypes.CDLL(str(library)), "calls")


@pytest.mark.parametrize("more", ["", "C: parallel i.o\n", "C: pack B at j.o\n"])
def test_calls_compute_the_same(library, gemm, more):
    C = product(40, 24, 16)
    s = hr.schedule(C)
    io, jo, ii, ji = s[C].tile(["i", "j"], [8, 8])
    ko, ki = s[C].split("k", 8)
    s[C].reorder(io, jo, ko, ii, ji, ki)
    s.apply(more)
    s[C].tensorize([ii, ji, ki], gemm)
    f = hr.compile(C, recipe=s)
    a, b = np.random.default_rng(0).random((2, 40, 24), "f4")
    a, b = a[:, :16].copy(), b[:16].copy()
    before = calls(library).value
    assert_close(f(a, b), a @ b)
    assert calls(library).value - before == 5 * 3 * 2
    np.testing.assert_array_equal(f(a, b), hr.compile(C, recipe=s.recipe)(a, b))


def test_a_batch_of_transposed_products(gemm):
    A = hr.placeholder((3, 16, 8), "f32", name="A")
    B = hr.placeholder((8, 8), "f32", name="B")
    k = hr.axis(8, name="k")
    C = hr.compute((3, 16, 8), lambda b, i, j: hr.sum(A[b, i, k] * B[k, j], axis=k), name="C")
    recipe = "C: split i by 8\nC: reorder b i.o i.i j k\nC: tensorize i.i j k with gemm8x8"
    a = np.random.default_rng(1).random((3, 16, 8), "f4")
    b = np.random.default_rng(2).random((8, 8), "f4")
    assert_close(hr.compile(C, recipe=recipe)(a, b), a @ b)


def test_maps_can_be_called(library):
    X = hr.placeholder((4,), "f32", name="X")
    hr.intrinsic(
        "doubled", hr.compute((4,), lambda p: X[p] * 2.0, name="Y"), library, symbol="scale4"
    )
    V = hr.placeholder((3, 12), "f32", name="V")
    W = hr.compute((3, 12), lambda i, j: V[i, j] * 2.0, name="W")
    f = hr.compile(W, recipe="W: split j by 4\nW: tensorize j.i with doubled")
    v = np.arange(36, dtype="f4").reshape(3, 12)
    np.testing.assert_array_equal(f(v), 2 * v)


def test_code_is_generated_without_a_library():
    hr.intrinsic("gemm8x8", product(8, 8, 8, "tile"))
    C = product(16, 16, 16)
    a, b = np.random.default_rng(0).random((2, 16, 16), "f4")
    assert_close(hr.compile(C, recipe=CALLED + CALL)(a, b), a @ b)


def test_a_library_is_found_by_a_plain_name(library):
    code = (
        "import headrace as hr, numpy as np\n"
        "X = hr.placeholder((4,), 'f32', name='X')\n"
        "Y = hr.compute((4,), lambda p: X[p] * 2.0, name='Y')\n"
        "hr.intrinsic('scale4', Y, 'libaccelerator.so')\n"
        "x = np.arange(4, dtype='f4')\n"
        "assert (hr.compile(Y, recipe='Y: tensorize p with scale4')(x) == 2 * x).all()\n"
    )
    paths = [p for p in sys.path if p]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(library.parent),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize(
    ("program", "recipe", "reason"),
    [
        ({}, CALLED + CALL.replace("gemm8x8", "unknown"), "no intrinsic 'unknown' is declared"),
        ({}, CALLED + "C: tensorize i.i j.i with gemm8x8", r"has 3 axes \(i 8, j 8, k 8\), not 2"),
        ({}, CALLED.replace("k by 8", "k by 4") + CALL, "'k.i' has 4 iterations, and .* has 8"),
        ({}, CALLED + CALL.replace("i.i j.i", "j.i i.i"), "other elements are read of 'A'"),
        ({}, CALLED + CALL.replace("j.i k.i", "k.i j.i"), "'k.i' is reduced"),
        (
            {},
            CALLED.replace("i.i j.i k.i", "i.i k.i j.i").replace("k.o i.i", "i.i k.o") + CALL,
            "'k.o' cannot be inside a call",
        ),
        ({"n": 36}, CALLED + CALL, "tiles of 8 along 'i' are not all complete"),
        ({"dtype": "f64"}, CALLED + CALL, "elements are f64 in 'A'"),
        ({"function": lambda a, b: a + b}, CALLED + CALL, "computes another function"),
        ({}, CALLED + "C: unroll k.i\n" + CALL, "'k.i' is parallel, unrolled or vectorized"),
        ({}, CALLED + CALL + "C: unroll k.i\n", "'k.i' is parallel, unrolled or vectorized"),
        ({}, CALLED + CALL + CALL, "calls 'gemm8x8' already"),
    ],
)
def test_what_is_not_equal_is_refused(gemm, program, recipe, reason):
    C = product(**{"n": 32, "m": 16, "k": 16, **program})
    with pytest.raises(hr.InvalidArgumentError, match=reason):
        hr.schedule(C).apply(recipe)
    with pytest.raises(hr.InvalidArgumentError, match=reason):
        hr.compile(C, recipe=recipe)(
            *(
                np.zeros(s, program.get("dtype", "f32").replace("f", "float"))
                for s in ((program.get("n", 32), 16), (16, 16))
            )
        )


def test_declarations_are_checked(library):
    with pytest.raises(hr.InvalidArgumentError, match="intrinsic 'x': cannot load its library"):
        hr.intrinsic("x", product(8, 8, 8), "/nowhere/lib.so")
    with pytest.raises(hr.InvalidArgumentError, match="has no symbol 'absent'"):
        hr.intrinsic("x", product(8, 8, 8), library, symbol="absent")
    with pytest.raises(hr.InvalidArgumentError, match="letters, digits"):
        hr.intrinsic("a b", product(8, 8, 8))
    with pytest.raises(
        hr.InvalidArgumentError, match="constants of 2 or more, got a dynamic dimension"
    ):
        hr.intrinsic("x", product(hr.var("n"), 8, 8))
    with pytest.raises(hr.TypeMismatchError, match="hr.intrinsic: expected tensors"):
        hr.intrinsic("x", 3)
    X = hr.placeholder((4,), "f32", name="X")
    with pytest.raises(hr.InvalidArgumentError, match="positions"):
        hr.intrinsic("x", hr.compute((4,), lambda i: X[i] + i, name="Y"))
