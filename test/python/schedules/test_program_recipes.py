"""Recipes of programs: the compiler follows what it wrote, and what users write in part."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import pytest

from cases import graph_text
from cases.graphs.onnx_graphs import generate
from cases.graphs.recipes import partial
from cases.policy import assert_close

MODELS = ["lenet", "mlp", "resnet18", "mobilenet_v2", "bert_layer", "mish", "softmax", "layernorm"]
LARGE = bool(os.environ.get("HEADRACE_LARGE_TESTS"))
COMMAND = os.environ.get("HEADRACE_BIN", "headrace")
CONV = "/features/features.0/Conv"


def kernels_of(path: Path, recipe: str, **options: str) -> dict[str, dict]:
    return {
        kernel["name"]: kernel
        for kernel in hr.load(path, recipe=recipe, **options).explain()["kernels"]
    }


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3", "cuda"])
def test_the_compiler_follows_its_own_recipe(digits_path: Path, target: str) -> None:
    model = hr.load(digits_path, target=target)
    recipe = model.explain()["recipe"]
    again = hr.load(digits_path, target=target, recipe=recipe)
    assert again.explain()["recipe"] == recipe
    assert again.ir("schedule") == model.ir("schedule")


def test_a_kernel_whose_operators_cancel_is_compiled_and_followed(tmp_path: Path) -> None:
    graph = """cancels (float[n,12,1,1] x) => (float[?,?,?,?] same, float[?,?,?,?] most) {
        y = DepthToSpace <blocksize = 2, mode = "CRD"> (x)
        negative = Neg (y)
        same = Neg (negative)
        most = Max (y, same)
      }"""
    path = graph_text.write(tmp_path / "cancels.onnx", graph, opset=13)
    recipe = hr.load(path).explain()["recipe"]
    model = hr.load(path, recipe=recipe)
    x = np.arange(36, dtype=np.float32).reshape(3, 12, 1, 1)
    for result in model(x):
        assert np.array_equal(result, x.reshape(3, 3, 2, 2))


def test_operators_join_the_kernel_that_took_theirs_along(tmp_path: Path) -> None:
    """`Exp` is in the kernel of `Sin` by the time its own line is followed."""
    graph = """united (float[8,16] x) => (float[8,16] z) {
        q = Neg (x)
        m = Exp (q)
        n = Abs (m)
        z = Sin (n)
      }"""
    path = graph_text.write(tmp_path / "united.onnx", graph, opset=13)
    recipe = "fuse Exp_m into Exp_m\nfuse Abs_n into Sin_z\nfuse Neg_q into Sin_z\nkernel Sin_z:\n"
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)
    assert_close(hr.load(path, recipe=recipe)(x), np.sin(np.exp(-x)))


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("name", MODELS)
def test_benchmark_models_are_scheduled_again_as_they_were(
    small_models: Path, name: str, target: str
) -> None:
    path = small_models / f"{name}.onnx"
    recipe = hr.load(path, target=target).explain()["recipe"]
    again = hr.load(path, target=target, recipe=recipe)  # constants are numbered in each anew
    assert again.ir("schedule") == hr.load(path, target=target).ir("schedule")


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("name", MODELS if LARGE else ["lenet", "bert_layer", "layernorm"])
def test_benchmark_models_are_compiled_again_byte_for_byte(
    small_models: Path, tmp_path: Path, name: str, target: str
) -> None:
    path = small_models / f"{name}.onnx"
    model = hr.load(path, target=target, expansion="generated")
    sizes = dict.fromkeys(model.symbols, 2)
    options = {"target": target, "sizes": sizes}
    if target == "cpu":
        options["processors"] = ["native"]
    for number, recipe in enumerate(["", model.explain(sizes)["recipe"]]):
        hr.write_package(path, tmp_path / f"{number}.hrpkg", recipe=recipe, **options)
    first, second = ((tmp_path / f"{number}.hrpkg").read_bytes() for number in range(2))
    assert first == second


def test_a_choice_of_an_expansion_changes_one_operator(digits_path: Path) -> None:
    before = kernels_of(digits_path, "")
    gemm = "/classifier/classifier.1/Gemm"
    after = kernels_of(digits_path, f"expand {gemm} as openblas\n")
    assert before[f"{gemm}/contract"]["kind"] != after[f"{gemm}/call"]["kind"] == "openblas.sgemm"
    rest = [name for name in before if not name.startswith(gemm)]
    assert [before[name]["kind"] for name in rest] == [after[name]["kind"] for name in rest]


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_kernels_are_called_in_reports_as_in_recipes(digits_path: Path, target: str) -> None:
    report = hr.load(digits_path, target=target).explain()
    heads = [line[7:-1] for line in report["recipe"].splitlines() if line.startswith("kernel ")]
    assert heads == [kernel["name"] for kernel in report["kernels"] if kernel["kind"] != "copy"]
    assert any(name.endswith("/contract") for name in heads)


def test_names_of_nodes_mean_the_kernels_built_around_them(digits_path: Path) -> None:
    """So do names with a kind behind a colon, as reports had them once."""
    gemm = "/classifier/classifier.1/Gemm"
    plain = hr.load(digits_path).explain()["recipe"]
    old = plain.replace(f"kernel {gemm}/contract:", f"kernel {gemm}:")
    old = old.replace(f"kernel {CONV}/pad:", f"kernel {CONV}:pad:")
    assert old != plain
    assert hr.load(digits_path, recipe=old).explain()["recipe"] == plain
    again = hr.load(digits_path, recipe=old)  # constants are numbered in each anew
    assert again.ir("schedule") == hr.load(digits_path).ir("schedule")
    twice = f"kernel {gemm}:\nkernel {gemm}/contract:\n"
    with pytest.raises(hr.InvalidArgumentError, match="line 2.*: line 1 names this kernel, too"):
        kernels_of(digits_path, twice)


def test_a_schedule_of_one_kernel_leaves_the_others(digits_path: Path) -> None:
    before = kernels_of(digits_path, "")
    pool = "/features/features.2/MaxPool"
    after = kernels_of(digits_path, f"kernel {pool}:\n  pool: parallel d0\n")
    assert after[pool]["recipe"] == "pool: parallel d0\n"
    assert {n: k["recipe"] for n, k in before.items() if n != pool} == {
        n: k["recipe"] for n, k in after.items() if n != pool
    }


def test_a_line_on_a_stage_speaks_of_its_kernel(digits_path: Path) -> None:
    pool = "/features/features.2/MaxPool"
    after = kernels_of(digits_path, f"{pool}: parallel d0\n")
    assert after[pool]["recipe"] == "pool: parallel d0\n"
    with pytest.raises(hr.InvalidArgumentError, match="line 1: there is no stage 'nobody'; there"):
        kernels_of(digits_path, "nobody: parallel d0\n")


def test_operators_are_fused_and_separated(digits_path: Path, images: np.ndarray) -> None:
    apart = hr.load(digits_path, recipe=f"separate {CONV}/conv\n")
    together = hr.load(digits_path, recipe=f"fuse /features/features.1/Relu into {CONV}\n")
    plain = hr.load(digits_path)
    assert len(apart.explain()["kernels"]) == len(plain.explain()["kernels"]) + 1
    assert len(together.explain()["kernels"]) == len(plain.explain()["kernels"])
    expected = plain(images[:5])
    assert_close(apart(images[:5]), expected)
    assert_close(together(images[:5]), expected)


@pytest.mark.parametrize("columns", [1, 2, 4, 16])
def test_weights_are_packed_as_the_recipe_says(
    digits_path: Path, images: np.ndarray, columns: int
) -> None:
    model = hr.load(digits_path, recipe=f"pack {CONV}/conv by {columns}\n")
    assert f"pack {CONV}/conv by {columns}\n" in model.explain()["recipe"]
    assert_close(model(images[:5]), hr.load(digits_path)(images[:5]))


def test_layouts_are_as_the_recipe_says(digits_path: Path, images: np.ndarray) -> None:
    recipe = f"layout {CONV}/conv channels-first\nlayout {CONV}/map channels-first\n"
    model = hr.load(digits_path, recipe=recipe)
    assert recipe in model.explain()["recipe"]
    assert "hr.transpose" in re.search("hr.conv.*?hr.conv", model.ir("layout"), re.S)[0]
    assert_close(model(images[:5]), hr.load(digits_path)(images[:5]))


def test_kinds_of_operators_are_chosen_for_in_any_model(
    digits_path: Path, images: np.ndarray
) -> None:
    recipe = (
        "expand every conv of 3x3 as openblas\n"
        "layout every pool channels-first\n"
        "separate every reduce over last axis\n"  # there is none
        f"expand {CONV} as generated\n"  # the closer name counts
    )
    model = hr.load(digits_path, recipe=recipe)
    kinds = {kernel["name"]: kernel["kind"] for kernel in model.explain()["kernels"]}
    assert kinds["/features/features.3/Conv/call"] == "openblas.sgemm"
    assert kinds[f"{CONV}/conv"] == "tiles"
    assert "layout /features/features.2/MaxPool channels-first\n" in model.explain()["recipe"]
    assert_close(model(images[:5]), hr.load(digits_path)(images[:5]))


def test_reasons_are_given_for_what_is_not_done(digits_path: Path) -> None:
    reasons = {why["step"]: why for why in hr.load(digits_path).explain(batch=16)["why_not"]}
    pad = reasons[f"fuse {CONV}/pad into {CONV}/conv"]
    assert pad["reason"] == "it, or the kernel's root, is empty or not a structured loop nest"
    assert pad["bytes"] == 2 * 16 * 10 * 10 * 4
    assert re.match("an estimated .* us", reasons[f"expand {CONV}/conv as openblas"]["reason"])


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ["lenet", "resnet18", "bert_layer", "layernorm"])
def test_gradients_are_compiled_again_byte_for_byte(
    small_models: Path, tmp_path: Path, name: str, target: str
) -> None:
    def explain(*options: str) -> str:
        path = small_models / f"{name}.onnx"
        every = [COMMAND, "explain", path, "--grad", "--weights", "--target", target, *options]
        return subprocess.run(every, check=True, capture_output=True, text=True).stdout

    file = tmp_path / "recipe"
    explain("--recipe-out", str(file))
    assert "\nbackward:\n" in file.read_text()
    assert explain("--to", "schedule") == explain("--to", "schedule", "--recipe", str(file))


def test_a_gradient_keeps_what_the_recipe_says(small_models: Path) -> None:
    path = small_models / "lenet.onnx"
    relu = "/features/features.1/Relu"
    for verb in ("keep", "recompute"):
        pair = hr.forward_backward(hr.load(path, recipe=f"{verb} {relu}\n"))
        assert any(relu in spec.name for spec in pair.kept) == (verb == "keep")


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("expand nobody as openblas", "there is no operator 'nobody' at that point; there are '"),
        (f"expand {CONV} as cudnn", "expected one that applies: generated"),
        (f"fuse {CONV}/conv into /classifier/classifier.2/Relu", "neither of the two reads"),
        ("fuse /features/features.2/MaxPool into /features/features.3/Conv/conv",
         "neither of the two reads the other's result"),
        (f"pack {CONV}/conv by 7", "there are 16 columns, which is not a multiple"),
        (f"pack {CONV}/pad by 8", "is not an operator to which it applies"),
        ("pack /features/features.2/MaxPool by 8", "it has no constant weights that could be"),
        (f"walk {CONV}/pad along q", "expected one of the axes d0, d1, d2, d3, or nothing"),
        (f"layout {CONV}/conv sideways", "expected channels-last, channels-first, blocked8"),
        ("expand every contrcat as openblas", "got 'contrcat'; did you mean 'contract'?"),
        ("expand every contract as openblsa", "got 'openblsa'; did you mean 'openblas'?"),
        ("separate every reduce over lats axis", "got 'over lats axis'; did you mean 'over last axis'"),
        ("expand every conv of big as openblas", "expected a window such as 'of 3x3' behind 'conv'"),
        (f"fuse every map into {CONV}/covn", f"there is no operator '{CONV}/covn' at that point"),
        (f"fuse {CONV}/map into {CONV}/covn", f"there is no operator '{CONV}/covn' at that point"),
        ("kernel /features/features.2/MaxPool:\n  pool: poinst vector=8",
         "line 2, column 7: kernel '/features/features.2/MaxPool': expected a step"),
        ("kernel /features/features.2/MaxPool:\n  pool: poinst vector=8",
         "got 'poinst'; did you mean 'points'?"),
        ("\nkernel /features/features.2/MaxPool:\n\n  pool: points vectr=8", "recipe, line 4, column"),
        ("/features/features.2/MaxPool: vectorise d0", "got 'vectorise'; did you mean 'vectorize'?"),
        ("\n\n/features/features.2/MaxPool: vectorize d9", "recipe, line 3: kernel '/features/"),
        ("merge nobody into nothing", "there is no kernel 'nothing'"),
        ("kernel nobody:", "there is no operator 'nobody'"),
        ("kernel /features/features.1/Relu:", "no kernel is called '/features/features.1/Relu'"),
        ("kernel /features/features.2/MaxPool:\n  pool: vectorize d9", "pool: vectorize d9"),
        ("fold a", "expected 'into', got the end of the line"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused_with_the_reason(
    digits_path: Path, recipe: str, reason: str
) -> None:
    with pytest.raises(hr.InvalidArgumentError) as error:
        hr.load(digits_path, recipe=recipe + "\n").explain()
    assert reason in str(error.value)
    assert str(error.value).startswith("recipe, ")


def test_sizes_of_one_and_none_are_compiled_without_what_does_not_fit_them(
    digits_path: Path, images: np.ndarray
) -> None:
    model = hr.load(digits_path, recipe=hr.load(digits_path).explain()["recipe"])
    for count in (0, 1, 3):
        assert model(images[:count]).shape[0] == count


def test_a_program_for_one_follows_what_it_can_of_a_recipe_for_all(
    digits_path: Path, images: np.ndarray
) -> None:
    conv = "/features/features.3/Conv"
    whole = hr.load(digits_path, recipe=f"expand {conv} as openblas\n").explain()["recipe"]
    with pytest.raises(hr.InvalidArgumentError, match="there is no operator 'nobody'"):
        hr.load(digits_path, recipe=whole + "separate nobody\n")(images[:1])
    model = hr.load(digits_path, recipe=whole)
    for sizes in ({}, {"batch": 1}):
        kinds = {kernel["name"]: kernel["kind"] for kernel in model.explain(sizes)["kernels"]}
        assert "openblas.sgemm" in kinds.values(), (sizes, kinds)
    expected = hr.load(digits_path)(images[:1])
    np.testing.assert_allclose(model(images[:1]), expected, rtol=1e-5, atol=1e-6)


def test_what_cannot_be_followed_is_passed_over_where_the_recipe_says_so(
    digits_path: Path, images: np.ndarray
) -> None:
    pool = "/features/features.2/MaxPool"
    gemm = "/classifier/classifier.1/Gemm"
    lines = ["fold nobody into no-one", f"pack {CONV}/conv by 7", "kernel nobody:"]
    lines += [f"kernel {pool}:", "  pool: vectorize d9", f"expand {gemm} as openblas"]
    strict = "\n".join(lines)
    with pytest.raises(hr.InvalidArgumentError, match="recipe, line"):
        hr.load(digits_path, recipe=strict).explain()
    model = hr.load(digits_path, recipe=strict + "\nfollow recipe where-possible\n")
    report = model.explain()
    assert "openblas.sgemm" in [kernel["kind"] for kernel in report["kernels"]]
    reasons = {why["step"]: why["reason"] for why in report["why_not"]}
    assert "which is not a multiple" in reasons[f"pack {CONV}/conv by 7"]
    assert "there is no operator 'nobody'" in reasons["kernel nobody"]
    assert "vectorize d9" in reasons[f"kernel {pool}"]
    # Its loops are those that it has without a recipe.
    own = {kernel["name"]: kernel["recipe"] for kernel in hr.load(digits_path).explain()["kernels"]}
    assert own[pool] == next(k["recipe"] for k in report["kernels"] if k["name"] == pool)
    assert_close(model(images[:5]), hr.load(digits_path)(images[:5]))
    with pytest.raises(hr.InvalidArgumentError, match="expected strictly or where-possible"):
        hr.load(digits_path, recipe="follow recipe loosely\n").explain()


@pytest.mark.parametrize(
    "first, second",
    [
        (f"layout {CONV} channels-last", f"layout {CONV} channels-first"),
        ("separate /features/features.1/Relu", f"fuse /features/features.1/Relu into {CONV}"),
        ("plan kernels greedily", "plan kernels by-time"),
    ],
)
def test_lines_that_contradict_each_other_are_named(
    digits_path: Path, first: str, second: str
) -> None:
    with pytest.raises(hr.InvalidArgumentError) as error:
        hr.load(digits_path, recipe=f"{first}\n{second}\n").explain()
    assert str(error.value) == f"recipe, line 2: '{second}': line 1 says otherwise: '{first}'"
    hr.load(
        digits_path, recipe=f"{first}\n{first}\n"
    ).explain()  # a repeated line is not a contradiction
    lenient = hr.load(
        digits_path, recipe=f"{first}\n{second}\nfollow recipe where-possible\n"
    ).explain()
    reasons = {why["step"]: why["reason"] for why in lenient["why_not"]}
    assert reasons[second] == f"line 1 says otherwise: '{first}'"


def as_list(results: object) -> list:
    return list(results) if isinstance(results, (tuple, list)) else [results]


@pytest.mark.parametrize("part", range(10 if LARGE else 2))
def test_random_parts_of_recipes_are_followed_or_refused(tmp_path: Path, part: int) -> None:
    """And whatever is followed computes what the model does."""
    followed = 0
    for seed in range(part * 10, part * 10 + 10):
        program = generate(seed)
        path = tmp_path / f"{seed}.onnx"
        onnx.save(program.model, path)
        try:
            model = hr.load(path)
            whole = model.explain()["recipe"]
        except hr.Error:
            continue
        inputs = [program.feeds[spec.name] for spec in model.inputs]
        expected = as_list(model(*inputs))
        draw = random.Random(seed)
        for recipe in (whole, partial(whole, draw), partial(whole, draw)):
            try:
                results = as_list(hr.load(path, recipe=recipe)(*inputs))
            except hr.InvalidArgumentError as error:
                assert re.match("recipe, (line|kernel)", str(error)), recipe
                assert recipe != whole
                continue
            followed += 1
            for spec, one, other in zip(model.outputs, expected, results):
                np.testing.assert_allclose(
                    np.asarray(other, np.float64),
                    np.asarray(one, np.float64),
                    rtol=1e-3,
                    atol=max(4 * program.tolerances.get(spec.name, 0), 1e-6),
                    err_msg=recipe,
                )
    assert followed >= 10
