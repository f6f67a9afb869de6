"""The command line, driven as a user does. HEADRACE_BIN is the program's path."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits.onnx"
IMAGES = DIGITS / "held_back_images.npy"
LABELS = DIGITS / "held_back_labels.npy"


def headrace(*arguments, **settings) -> subprocess.CompletedProcess[str]:
    command = [BIN, *map(str, arguments)]
    settings.setdefault("timeout", 120)
    return subprocess.run(command, capture_output=True, text=True, **settings)


def good(*arguments, **settings) -> str:
    done = headrace(*arguments, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def bad(code: int, *arguments, **settings) -> str:
    """The error, which must be one line and nothing else."""
    done = headrace(*arguments, **settings)
    assert done.returncode == code, done
    assert done.stderr.startswith("headrace: error: ") and done.stderr.count("\n") == 1, done
    return done.stderr


def save(path: Path, nodes, inputs, outputs) -> Path:
    """Writes a model; inputs and outputs are (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def add(tmp_path: Path) -> Path:
    """sum = a + b, of a dynamic dimension."""
    values = [(name, TensorProto.FLOAT, ["n", 4]) for name in ("a", "b", "sum")]
    node = helper.make_node("Add", ["a", "b"], ["sum"], name="add")
    return save(tmp_path / "add.onnx", [node], values[:2], values[2:])


# Help and usage


def test_alone_it_prints_help():
    text = good()
    assert text == good("--help")
    for word in ("run", "bench", "explain", "Examples:"):
        assert word in text


@pytest.mark.parametrize("command", ["run", "bench", "explain"])
def test_commands_have_help_with_examples(command):
    assert f"headrace {command} " in good(command, "--help")


def test_version():
    assert good("--version").startswith("headrace 0.")


@pytest.mark.parametrize(
    "arguments",
    [["frobnicate"], ["run"], ["run", MODEL, "--frobnicate"], ["run", MODEL, "--threads", "0"],
     ["bench", MODEL, "--against", "nobody"], ["explain", MODEL, "--size", "batch"],
     ["explain", MODEL, "--to", "import", "--recipes"]],
)  # fmt: skip
def test_wrong_usage(arguments):
    assert "--help" in bad(2, *arguments)


# run


def test_digits_are_recognised(tmp_path):
    text = good("run", MODEL, "--input", f"image=@{IMAGES}", "--output", tmp_path / "out")
    assert "logits: f32 16x10" in text
    logits = np.load(tmp_path / "out" / "logits.npy")
    assert (logits.argmax(1) == np.load(LABELS)).sum() == 15


def test_reference_agrees_with_the_compiled_program(tmp_path):
    good("run", MODEL, "--input", f"@{IMAGES}", "--output", tmp_path, "--reference")
    text = good("run", MODEL, "--input", f"@{IMAGES}", "--expect", tmp_path)
    assert "logits matches" in text and "max abs error" in text


def test_inputs_by_text(add, tmp_path):
    inputs = ["--input", "a=1x4xf32=1,2,3,-4.5", "--input", "1x4xf32=0.5", "--input", "b=1x4xf32=1"]
    bad(1, "run", add, *inputs)  # the one without a name is for 'a', too
    text = good("run", add, "--input", "a=1x4xf32=1,2,3,-4.5", "--input", "b=1x4xf32=0.5")
    assert "[[ 1.5000  2.5000  3.5000 -4.0000]]" in text
    assert text == good("run", add, "--input", "1x4xf32=1,2,3,-4.5", "--input", "1x4xf32=0.5")


def test_large_outputs_are_summarized(add):
    text = good("run", add, "--random", "0", "--size", "n=100")
    assert "..." in text and len(text.splitlines()) < 20


def test_random_inputs_repeat_and_fit_the_inputs_given(add, tmp_path):
    good("run", add, "--input", "a=3x4xf32=0", "--random", "7", "--output", tmp_path / "first")
    good("run", add, "--input", "a=3x4xf32=0", "--random", "7", "--output", tmp_path / "second")
    good("run", add, "--input", "a=3x4xf32=0", "--random", "8", "--output", tmp_path / "third")
    first, second, third = (np.load(tmp_path / d / "sum.npy") for d in ("first", "second", "third"))
    assert first.shape == (3, 4) and (first >= -1).all() and (first < 1).all()
    assert (first == second).all() and (first != third).any()


def test_names_cannot_lead_out_of_the_folder(tmp_path):
    node = helper.make_node("Relu", ["x"], ["../../evil"])
    values = [(name, TensorProto.FLOAT, [2]) for name in ("x", "../../evil")]
    model = save(tmp_path / "evil.onnx", [node], values[:1], values[1:])
    out = tmp_path / "deep" / "er" / "out"
    good("run", model, "--random", "0", "--output", out)
    assert [path.name for path in out.iterdir()] == ["_._.._evil.npy"]
    assert [path.parent for path in tmp_path.rglob("*.npy")] == [out]


def test_control_characters_in_names_are_not_printed(tmp_path):
    name = "y\x1b[2J"
    values = [(n, TensorProto.FLOAT, [2]) for n in ("x", name)]
    node = helper.make_node("Relu", ["x"], [name])
    model = save(tmp_path / "m.onnx", [node], values[:1], values[1:])
    assert "\x1b" not in good("run", model, "--random", "0")


# Errors of run


def test_model_not_found():
    assert "nowhere.onnx" in bad(1, "run", "nowhere.onnx")


def test_truncated_model(tmp_path):
    path = tmp_path / "half.onnx"
    path.write_bytes(MODEL.read_bytes()[: MODEL.stat().st_size // 2])
    assert "half.onnx" in bad(1, "run", path, "--random", "0")


def test_model_that_is_a_picture(tmp_path):
    path = tmp_path / "cat.onnx"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)))
    assert "cat.onnx" in bad(1, "run", path, "--random", "0")


def test_missing_input_says_what_to_do():
    error = bad(1, "run", MODEL)
    for part in ("'image'", "f32 batch x 1 x 8 x 8", "--random"):
        assert part in error


def test_wrong_shape():
    error = bad(1, "run", MODEL, "--input", "2x1x8x7xf32=0")
    assert "'image'" in error and "batch x 1 x 8 x 8" in error and "2 x 1 x 8 x 7" in error


def test_wrong_type():
    error = bad(1, "run", MODEL, "--input", "2x1x8x8xf64=0")
    assert "'image'" in error and "f32" in error and "f64" in error


def test_sizes_that_contradict_each_other():
    error = bad(1, "run", MODEL, "--random", "0", "--size", "batch=3", "--size", "batch=4")
    assert "--size batch=4: size 'batch' is given twice" in error


def test_size_that_contradicts_an_input():
    error = bad(1, "run", MODEL, "--input", "2x1x8x8xf32=0", "--size", "batch=3")
    assert "'image'" in error and "batch" in error


@pytest.mark.parametrize("text", ["garbage", "image=0.5", "2x1x8x8=0", "@", "4xf99=1", "4xf32=a",
                                  "2xi8=1,300", "-1xf32=0", "image="])  # fmt: skip
def test_bad_input_syntax(text):
    assert text in bad(2, "run", MODEL, "--input", text)


def test_wrong_number_of_values():
    assert "got 3" in bad(1, "run", MODEL, "--input", "4xf32=1,2,3")


def test_unknown_and_extra_inputs():
    assert "'picture'" in bad(1, "run", MODEL, "--input", "picture=2x1x8x8xf32=0")
    extra = ["--input", "2x1x8x8xf32=0", "--input", "2x1x8x8xf32=0"]
    assert "only 1 input" in bad(1, "run", MODEL, *extra)


def test_huge_input_is_refused():
    bad(1, "run", MODEL, "--input", "99999999999x99999999999xf32=0")


def test_input_file_that_is_no_npy(tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(b"not an array")
    assert "x.npy" in bad(1, "run", MODEL, "--input", f"image=@{path}")
    assert "none.npy" in bad(1, "run", MODEL, "--input", "image=@none.npy")


def test_unwritable_output(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in bad(1, "run", MODEL, "--random", "0", "--output", tmp_path / "file")
    assert "file" in bad(1, "run", MODEL, "--random", "0", "--output", tmp_path / "file" / "deeper")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_unknown_target():
    assert "'toaster'" in bad(1, "run", MODEL, "--random", "0", "--target", "toaster")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["explain", "--phases"]])
def test_full_disk_is_an_error(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot write the output" in done.stderr


# --expect


def test_mismatch_exits_with_1_and_says_where(add, tmp_path):
    expected = np.full((2, 4), 3, np.float32)
    expected[1, 2] = 3.5
    np.save(tmp_path / "sum.npy", expected)
    inputs = ["--input", "2x4xf32=1", "--input", "2x4xf32=2"]
    for option in (tmp_path / "sum.npy", tmp_path, f"sum={tmp_path}/sum.npy"):
        error = bad(1, "run", add, *inputs, "--expect", option)
        for part in ("'sum'", "1 of 8", "[1, 2]", "expected 3.5, got 3 ", "max abs error 0.5"):
            assert part in error
    good("run", add, *inputs, "--expect", tmp_path / "sum.npy", "--atol", "0.6")
    good("run", add, *inputs, "--expect", tmp_path / "sum.npy", "--rtol", "0.2")


def test_expectation_of_another_shape_or_type(add, tmp_path):
    inputs = ["--input", "2x4xf32=1", "--input", "2x4xf32=2"]
    for wrong in (np.zeros((2, 3), np.float32), np.zeros((2, 4), np.int64)):
        np.save(tmp_path / "x.npy", wrong)
        assert "'sum'" in bad(1, "run", add, *inputs, "--expect", tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.full((2, 4), 3.0))
    good("run", add, *inputs, "--expect", tmp_path / "x.npy")


def test_nan_where_a_number_is_expected(add, tmp_path):
    np.save(tmp_path / "x.npy", np.full((1, 4), 3, np.float32))
    inputs = ["--input", "1x4xf32=1,1,1,nan", "--input", "1x4xf32=2"]
    assert "[0, 3]" in bad(1, "run", add, *inputs, "--expect", tmp_path / "x.npy")


# explain


def test_explain_shows_expressions_or_numbers():
    assert "*batch" in good("explain", MODEL)
    text = good("explain", MODEL, "--size", "batch=4")
    assert "*batch" not in text
    for word in ("before", "after", "bytes moved", "intermediates", "ops/byte", "total"):
        assert word in text


def test_explain_json():
    report = json.loads(good("explain", MODEL, "--size", "batch=4", "--json"))
    assert {"model", "symbols", "before", "after", "kernels", "peak_bytes", "constant_bytes",
            "phases"} <= report.keys()  # fmt: skip
    for side in ("before", "after"):
        assert {"kernels", "bytes_moved", "operations", "intermediate_bytes"} == report[side].keys()
        assert isinstance(report[side]["bytes_moved"], int)
    assert report["after"]["kernels"] == len(report["kernels"]) < report["before"]["kernels"]
    assert report["after"]["bytes_moved"] < report["before"]["bytes_moved"]
    for kernel in report["kernels"]:
        assert {"name", "operators", "kind", "schedule", "recipe", "notes", "where", "why_not", "bytes_read", "bytes_written", "operations",
                "bytes_saved", "intermediate_bytes", "workspace_bytes", "intensity", "predicted_us", "shares",
                "least_bytes", "source"} == kernel.keys()  # fmt: skip
    assert all(phase["milliseconds"] >= 0 and phase["name"] for phase in report["phases"])


def test_recipes_are_printed_and_applied(tmp_path):
    text = good("explain", MODEL, "--size", "batch=4", "--recipes")
    assert ": vectorize " in text and ": parallel " in text
    recipe = tmp_path / "recipe.txt"
    recipe.write_text("nothing: parallel i\n")
    assert "there is no stage 'nothing'" in bad(
        1, "run", MODEL, "--random", "0", "--recipe", recipe
    )
    recipe.write_text("nothing: paralel i\n")
    assert "line 1, column 10" in bad(1, "run", MODEL, "--random", "0", "--recipe", recipe)
    assert "cannot open: No such file" in bad(1, "run", MODEL, "--recipe", tmp_path / "none.txt")


def test_launches_on_a_device_are_printed_and_applied(tmp_path):
    cuda = ("--size", "batch=4", "--target", "cuda:sm_90a", "--expansion", "generated")
    text = good("explain", MODEL, *cuda, "--recipes")
    recipe = tmp_path / "recipe.txt"
    recipe.write_text(text)
    assert good("explain", MODEL, *cuda, "--recipe", recipe, "--recipes") == text
    code = good("explain", MODEL, *cuda, "--to=llvm")
    assert good("explain", MODEL, *cuda, "--recipe", recipe, "--to=llvm") == code
    changed = text.replace("points threads=256", "points threads=512")
    assert changed != text
    recipe.write_text(changed)
    assert good("explain", MODEL, *cuda, "--recipe", recipe, "--recipes") == changed
    assert good("explain", MODEL, *cuda, "--recipe", recipe, "--to=llvm") != code
    package = tmp_path / "digits.hrpkg"
    compile_for = ("compile", MODEL, *cuda, "-o", package, "--recipe", recipe)
    assert "wrote" in good(*compile_for)
    recipe.write_text("nothing: points\n")
    assert "there is no stage 'nothing'; there are '" in bad(1, *compile_for)
    recipe.write_text(text.replace("threads=256", "threads=100", 1))
    for command in (compile_for, ("explain", MODEL, *cuda, "--recipe", recipe)):
        assert "threads: expected a multiple of 32, at most 1024" in bad(1, *command)
    recipe.write_text("\nC: split i by 4\n")
    assert "line 2, column 4: expected a kind of launch" in bad(1, *compile_for)


def test_explain_json_has_expressions_for_open_sizes():
    report = json.loads(good("explain", MODEL, "--json"))
    assert "batch" in report["symbols"] and "batch" in report["before"]["bytes_moved"]


def test_explain_grad():
    text = good("explain", "--grad", "--weights", MODEL, "--size", "batch=4")
    for word in (
        "(forward)",
        "(backward)",
        "saved in addition to inputs and outputs",
        "computed again",
    ):
        assert word in text
    report = json.loads(good("explain", "--grad", "--memory-budget", "0", "--json", MODEL))
    assert report["kept"] == [] and report["kept_bytes"] == 0 and report["computed_again"]
    assert report["forward"]["kernels"] and report["backward"]["kernels"]


def test_explain_grad_shows_its_phases():
    listed = good("explain", "--phases", "--grad")
    assert listed.index("differentiate") < listed.index("split") < listed.index("import")
    before = good("explain", MODEL, "--grad", "--to=merge")
    after = good("explain", MODEL, "--grad", "--to=differentiate")
    assert ".grad" not in before and ".grad" in after
    apart = good("explain", MODEL, "--grad", "--to=split")
    assert "func.func @forward" in apart and "func.func @backward" in apart
    kernels = good("explain", MODEL, "--grad", "--to=kernels")
    assert kernels.startswith("// forward") and "// backward" in kernels


def test_phases_are_those_of_the_target():
    assert "buffers" in good("explain", "--phases")
    device = good("explain", "--phases", "--target", "cuda:sm_90a")
    assert "functions" in device and "buffers" not in device
    error = bad(1, "explain", MODEL, "--to=functions")
    assert "unknown phase 'functions'" in error and "tiles, buffers, llvm" in error


def test_expansions_are_those_of_the_target():
    error = bad(1, "explain", MODEL, "--expansion", "cublas")
    assert "expansion 'cublas': there is none on target 'cpu'" in error
    assert "auto, generated, openblas, int8, routine, cholesky or lu" in error
    assert "unknown expansion 'mkl'" in bad(1, "explain", MODEL, "--expansion", "mkl")


def test_explain_grad_names_what_is_unknown():
    assert "got 'nothing'" in bad(1, "explain", "--grad", MODEL, "--wrt", "nothing")


def test_every_phase_prints_its_program():
    names = [line.split()[0] for line in good("explain", "--phases").splitlines()[1:]]
    assert "import" in names and len(names) > 3
    for name in names:
        assert "module" in good("explain", MODEL, f"--to={name}", "--size", "batch=4")


def test_unknown_phase_and_size():
    assert "'nowhere'" in bad(1, "explain", MODEL, "--to=nowhere")
    assert "'bath'" in bad(1, "explain", MODEL, "--size", "bath=4")


# bench

QUICK = ["--seconds", "0.02", "--rounds", "2"]


def test_bench_prints_tables():
    text = good("bench", MODEL, *QUICK, "--profile", "--threads", "1")
    for word in "median|p95|min|calls/s|first answer|compile|threads: 1|GB/s|lost".split("|"):
        assert word in text


def test_bench_json():
    report = json.loads(good("bench", MODEL, *QUICK, "--profile", "--json", "--size", "batch=3"))
    assert {"model", "inputs", "threads", "rounds", "seconds", "bytes_moved", "operations",
            "gb_per_second", "gop_per_second", "systems", "missing", "kernels",
            "median_error"} == report.keys()  # fmt: skip
    assert report["inputs"] == [{"name": "image", "dtype": "f32", "shape": [3, 1, 8, 8]}]
    (ours,) = report["systems"]
    assert {"name", "version", "median_us", "p95_us", "min_us", "calls", "calls_per_second",
            "load_us", "compile_us", "first_run_us", "first_answer_us"} == ours.keys()  # fmt: skip
    assert 0 < ours["min_us"] <= ours["median_us"] <= ours["p95_us"] and ours["calls"] >= 2
    for kernel in report["kernels"]:
        assert {"name", "operators", "where", "routine", "notes", "time_us", "predicted_us",
                "least_us", "losses", "bytes", "operations", "gb_per_second",
                "gop_per_second"} == kernel.keys()  # fmt: skip
        lost = max(0, kernel["time_us"] - kernel["least_us"])
        assert sum(us for _, us in kernel["losses"]) == pytest.approx(lost)


def test_bench_against_onnx_runtime():
    pytest.importorskip("onnxruntime")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    arguments = ["--against", "onnxruntime", "--json", "--size", "batch=3"]
    text = good("bench", MODEL, *QUICK, *arguments, env={**os.environ, "PATH": path})
    report = json.loads(text)
    assert [system["name"] for system in report["systems"]] == ["headrace", "onnxruntime"]
    theirs = report["systems"][1]
    assert theirs["calls"] >= 2 and theirs["max_abs_error"] < 1e-4


def test_bench_goes_on_without_python_or_the_peer(tmp_path):
    env = {**os.environ, "PATH": str(tmp_path)}
    text = good("bench", MODEL, *QUICK, "--against", "onnxruntime", env=env)
    assert "onnxruntime: left out: cannot start python3" in text
    (tmp_path / "python3").symlink_to("/bin/false")
    report = json.loads(good("bench", MODEL, *QUICK, "--against", "openvino", "--json", env=env))
    assert [system["name"] for system in report["missing"]] == ["openvino"]


# Terminals and interrupts


def test_no_colours_without_a_terminal_or_with_no_color():
    def on_terminal(**env) -> bytes:
        master, slave = pty.openpty()
        command = [BIN, "explain", "--phases"]
        process = subprocess.Popen(
            command, stdout=slave, env={**os.environ, "TERM": "xterm", **env}
        )
        os.close(slave)
        process.wait(timeout=60)
        text = os.read(master, 1 << 16)
        os.close(master)
        return text

    assert "\x1b" not in good("explain", "--phases")
    assert b"\x1b[1m" in on_terminal(NO_COLOR="")
    assert b"\x1b" not in on_terminal(NO_COLOR="1")


def test_interrupt_ends_with_130_and_a_clean_line():
    master, slave = pty.openpty()
    command = [BIN, "bench", MODEL, "--seconds", "60"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown = b""
    while b"round 1" not in shown:
        shown += os.read(master, 1 << 16)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    shown += os.read(master, 1 << 16)
    os.close(master)
    assert (process.returncode, out) == (130, b"") and shown.endswith(b"\r\x1b[K")


def interrupted(command: list, ready, **settings) -> str:
    """Its standard error, after Ctrl-C once `ready(process)` has returned."""
    process = subprocess.Popen(
        [BIN, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )
    ready(process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    return err


def test_interrupt_ends_scripts(tmp_path):
    script = tmp_path / "endless.dml"
    script.write_text(
        'print("begins")\nx = matrix(1, 100, 100)\nwhile (TRUE) { x = x %*% x / 100 }\n'
    )
    assert interrupted(["run", script], lambda process: process.stdout.readline()) == ""


def test_interrupt_leaves_no_files(tmp_path):
    """However often a file is begun, none stays behind half written."""
    script = tmp_path / "writes.dml"
    out = tmp_path / "out"
    out.mkdir()
    script.write_text(
        "X = matrix(1, 300, 300)\n"
        f"for (i in 1:100000) {{ write(X, '{out}/x.csv', format='csv')\nprint(i) }}\n"
    )
    for turn in range(5):

        def ready(process, turn=turn):
            for _ in range(3 + turn):
                process.stdout.readline()

        interrupted(["run", script], ready)
        assert {path.name for path in out.iterdir()} <= {"x.csv", "x.csv.mtd"}
        rows = (out / "x.csv").read_text().splitlines()
        assert len(rows) == 300 and all(len(row.split(",")) == 300 for row in rows)


def test_interrupt_ends_compile(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    output = tmp_path / "p.hrpkg"

    def ready(_):
        deadline = time.monotonic() + 60
        while not list(cache.rglob("*.o")) and time.monotonic() < deadline:
            time.sleep(0.01)

    environment = {**os.environ, "HEADRACE_CACHE_DIR": str(cache), "TMPDIR": str(tmp_path)}
    assert interrupted(["compile", MODEL, "-o", output], ready, env=environment) == ""
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert not list(cache.rglob("*.tmp"))


# Names of files


def limited_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_writes_that_fail_name_the_file_and_leave_nothing(tmp_path):
    """A full disk, by a limit on the size of files."""
    out = tmp_path / "out"
    error = bad(
        1, "run", MODEL, "--random", "0", "--size", "batch=64", "--output", out,
        preexec_fn=limited_files,
    )  # fmt: skip
    assert f"{out}/logits.npy: cannot write: File too large" in error
    package = tmp_path / "p.hrpkg"
    error = bad(
        1, "compile", MODEL, "-o", package, "--target-cpu", "native", preexec_fn=limited_files
    )
    assert "cannot write" in error
    for name in ("m.csv", "m.mtx"):
        script = tmp_path / "w.dml"
        kind = "csv" if name == "m.csv" else "mm"
        script.write_text(f"write(matrix(1, 100, 100), '{tmp_path}/{name}', format='{kind}')")
        done = headrace("run", script, preexec_fn=limited_files)
        assert done.returncode == 1 and f"{tmp_path}/{name}: cannot write" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "w.dml"]
    assert not list(out.iterdir())


def test_names_that_are_none(tmp_path):
    script = tmp_path / "s.dml"
    (tmp_path / "empty").mkdir()
    for code, expected in {
        "write(matrix(1, 2, 2), '')": 'expected a file\'s name, got ""',
        "X = read('')\nprint(sum(X))": 'expected a file\'s name, got ""',
        f"write(matrix(1, 2, 2), '{tmp_path}')": f"{tmp_path}: expected the name of a file, got a directory",
        f"write(1, '{tmp_path}/')": f"{tmp_path}/: expected the name of a file, got a directory",
        f"X = read('{tmp_path}/empty', format='csv')\nprint(sum(X))": "expected part files in this directory, got none",
        f"write(matrix(1, 2, 2), '{tmp_path}/no/x.csv')": "/no/x.csv: cannot write: No such file",
        "write(matrix(1, 2, 2), '/dev/full')": "/dev/full: expected a regular file or a new name",
    }.items():
        script.write_text(code)
        done = headrace("run", script)
        assert done.returncode == 1 and expected in done.stderr, (code, done.stderr)
    assert "--input image=@: expected" in bad(2, "run", MODEL, "--input", "image=@")
    assert "out: cannot create the directory" in bad(
        1, "run", MODEL, "--random", "0", "--output", script / "out"
    )
    assert "expected an ONNX file, got a directory" in bad(1, "run", tmp_path)
