"""Code written for onnxruntime gives the same with Headrace in its place: each of these calls is made on both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from headrace import _session_options

from cases import graph_text

ORT = pytest.importorskip("onnxruntime")
CPU = ["CPUExecutionProvider"]
X = np.arange(8, dtype=np.float32).reshape(2, 4)
MODEL = """m (float[N,4] x) => (float[N,3] y, float[N,4] z)
  <float[4,3] w = {0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1}>
  { y = MatMul(x, w) z = Relu(x) }"""
MAPS = """m (float[N,3] x) => (int64[N] label, seq(map(string, float)) scores)
  { label = ArgMax<axis=1, keepdims=0>(x) s = Softmax(x)
    scores = ai.onnx.ml.ZipMap<classlabels_strings=["a","b","c"]>(s) }"""


@pytest.fixture
def write(tmp_path: Path):
    def make(text: str = MODEL, name: str = "model.onnx") -> str:
        path = tmp_path / name
        return str(graph_text.write(path, text, opset=17, imports=', "ai.onnx.ml" : 3'))

    return make


@pytest.fixture
def both(write):
    """The sessions of Headrace and of ONNX Runtime, each with its module."""

    def make(text: str = MODEL):
        path = write(text)
        return [(m, m.InferenceSession(path, providers=CPU)) for m in (hr, ORT)]

    return make


def same(sessions, call):
    """What the call gives on Headrace, after it has given the same on ONNX Runtime."""
    (_, ours), (_, theirs) = [(m, call(m, session)) for m, session in sessions]
    assert repr(ours) == repr(theirs)
    return ours


@pytest.fixture
def fresh_warnings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_session_options, "_warned", set())


# Runs


def test_outputs_come_in_the_order_asked(both):
    sessions = both()
    for names in (None, [], ["z"], ["z", "y"], ["y", "y"]):
        same(sessions, lambda m, s, names=names: s.run(names, {"x": X}))


def test_a_map_for_each_row(both):
    rows = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    (_, ours), (_, theirs) = both(MAPS)
    for names in (None, ["label"], ["scores"], ["scores", "label"]):
        for found, expected in zip(ours.run(names, {"x": rows}), theirs.run(names, {"x": rows})):
            if isinstance(expected, list):
                assert [*map(list, found)] == [*map(list, expected)]
                found, expected = ([[*row.values()] for row in maps] for maps in (found, expected))
                assert {type(value) for row in found for value in row} == {float}
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_nodes_for_outputs_that_nobody_asks_for_do_not_run(write):
    """The map's node is an error on these rows, and what follows it waits for it."""
    text = """m (float[N,K] x) => (float[N,K] y, seq(map(string, float)) scores, float[M] z)
      { y = Neg(x) scores = ai.onnx.ml.ZipMap<classlabels_strings=["a"]>(x)
        i = Constant<value_int=0>() e = SequenceLength(scores) f = Cast<to=1>(e) z = Expand(f, o) }"""
    text = text.replace("z = Expand(f, o)", "o = Constant<value_ints=[1]>() z = Expand(f, o)")
    session = hr.InferenceSession(write(text))
    (y,) = session.run(["y"], {"x": X})
    np.testing.assert_array_equal(y, -X)
    with pytest.raises(hr.ShapeMismatchError, match="ZipMap"):
        session.run(["z"], {"x": X})
    column = np.ones((2, 1), np.float32)
    assert session.run(["z"], {"x": column})[0].tolist() == [2]
    assert session.run(None, {"x": column})[1] == [{"a": 1.0}, {"a": 1.0}]


def test_ort_values(both):
    sessions = both()

    def describe(value):
        return [
            value.shape(),
            value.data_type(),
            value.element_type(),
            value.device_name(),
            value.is_tensor(),
            value.has_value(),
            value.is_sparse_tensor(),
            value.is_tensor_sequence(),
            value.tensor_size_in_bytes(),
        ]

    def call(m, session):
        given = X.copy()
        value = m.OrtValue.ortvalue_from_numpy(given)
        outputs = session.run_with_ort_values(["y"], {"x": value})
        found = [describe(value), describe(outputs[0]), outputs[0].numpy()]
        value.update_inplace(np.zeros_like(X))
        found += [given, np.shares_memory(value.numpy(), given), np.asarray(value)]
        found += [value.data_ptr() == given.ctypes.data, session.run(["y"], {"x": value})]
        for kind in (np.int64, "float16", 9, 16):
            found.append(describe(m.OrtValue.ortvalue_from_shape_and_type([2, 3], kind)))
        return found

    same(sessions, call)
    turned = np.arange(16, dtype=np.float32).reshape(4, 4).T
    same(sessions, lambda m, s: m.OrtValue.ortvalue_from_numpy(turned).numpy())


def test_mistakes_with_ort_values(write):
    value = hr.OrtValue.ortvalue_from_numpy(X.copy())
    with pytest.raises(hr.ShapeMismatchError, match=r"expected an array of \[2, 4\], got \[3, 4\]"):
        value.update_inplace(np.zeros((3, 4), np.float32))
    with pytest.raises(hr.TypeMismatchError, match="expected an array of float32, got float64"):
        value.update_inplace(np.zeros((2, 4)))
    with pytest.raises(hr.UnsupportedError, match="expected memory of device 'cpu', got 'cuda'"):
        hr.OrtValue.ortvalue_from_numpy(X, "cuda")
    with pytest.raises(hr.TypeMismatchError, match="got object"):
        hr.OrtValue.ortvalue_from_numpy(np.array(["a"], object))
    (maps,) = hr.InferenceSession(write(MAPS)).run_with_ort_values(
        ["scores"], {"x": hr.OrtValue.ortvalue_from_numpy(np.ones((1, 3), np.float32))}
    )
    assert maps.data_type() == "seq(map(string,tensor(float)))" and not maps.is_tensor()
    with pytest.raises(hr.UnsupportedError, match="expected a tensor, got seq"):
        maps.numpy()


def test_bindings(both):
    sessions = both()

    def call(m, session):
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_output("z")
        memory = np.full((2, 3), 7, np.float32)
        binding.bind_output("y", "cpu", 0, np.float32, memory.shape, memory.ctypes.data)
        session.run_with_iobinding(binding)
        found = [binding.copy_outputs_to_cpu(), memory.copy()]
        value = m.OrtValue.ortvalue_from_numpy(X + 1)
        result = m.OrtValue.ortvalue_from_shape_and_type((2, 4), np.float32)
        binding.clear_binding_outputs()
        binding.bind_ortvalue_input("x", value)
        binding.bind_ortvalue_output("z", result)
        binding.synchronize_inputs()
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        found += [result.numpy().copy(), [v.shape() for v in binding.get_outputs()]]
        found.append(binding.get_outputs()[0].data_ptr() == result.data_ptr())
        source = X + 2
        binding.bind_input("x", "cpu", 0, np.float32, source.shape, source.ctypes.data)
        session.run_with_iobinding(binding, m.RunOptions())
        return [*found, result.numpy()]

    same(sessions, call)


def test_a_binding_may_write_over_its_input(write):
    session, array = hr.InferenceSession(write()), X - 3
    value = hr.OrtValue.ortvalue_from_numpy(array)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("z", value)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(array, np.maximum(X - 3, 0))


def test_mistakes_with_bindings(write):
    path = write()
    session, other = hr.InferenceSession(path), hr.InferenceSession(path)
    binding = session.io_binding()
    with pytest.raises(hr.InvalidArgumentError, match="expected inputs 'x', got 'q'"):
        binding.bind_cpu_input("q", X)
    with pytest.raises(hr.InvalidArgumentError, match="expected outputs 'y', 'z', got 'q'"):
        binding.bind_output("q")
    with pytest.raises(hr.UnsupportedError, match="got 'cuda'"):
        binding.bind_output("y", "cuda")
    with pytest.raises(hr.InvalidArgumentError, match="expected element_type and shape"):
        binding.bind_output("y", buffer_ptr=1)
    with pytest.raises(hr.InvalidArgumentError, match="an output that is bound, got none"):
        session.run_with_iobinding(binding)
    binding.bind_output("y")
    with pytest.raises(hr.MissingInputError, match="'x'"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", X)
    with pytest.raises(hr.InvalidArgumentError, match="another session's"):
        other.run_with_iobinding(binding)
    for shape, kind, error in (
        ((2, 2), np.float32, hr.ShapeMismatchError),
        ((2, 3), np.float64, hr.TypeMismatchError),
    ):
        binding.bind_ortvalue_output("y", hr.OrtValue.ortvalue_from_shape_and_type(shape, kind))
        with pytest.raises(error, match="output 'y'"):
            session.run_with_iobinding(binding)


def test_a_binding_of_maps(write):
    session = hr.InferenceSession(write(MAPS))
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.ones((1, 3), np.float32))
    binding.bind_output("scores")
    session.run_with_iobinding(binding)
    assert [list(row) for row in binding.copy_outputs_to_cpu()[0]] == [["a", "b", "c"]]
    memory = hr.OrtValue.ortvalue_from_shape_and_type((1,), np.float32)
    binding.bind_ortvalue_output("scores", memory)
    with pytest.raises(hr.TypeMismatchError, match="'scores': expected no memory"):
        session.run_with_iobinding(binding)


def test_runs_in_a_thread(both):
    def call(m, session):
        calls, ended = [], threading.Event()

        def take(outputs, data, message):
            calls.append((outputs, data, bool(message)))
            ended.set()

        session.run_async(["y"], {"x": X}, take, "data")
        assert ended.wait(60)
        ended.clear()
        session.run_async(["y"], {"x": X.astype(np.float64)}, take, "data")
        assert ended.wait(60)
        return calls

    same(both(), call)


def test_terminate_ends_a_run(write):
    text = """m (int64 n, bool go, float[64,64] a) => (float[64,64] b)
      { b = Loop(n, go, a) <body = body (int64 i, bool c, float[64,64] v) => (bool d, float[64,64] w)
          { d = Identity(c) s = MatMul(v, v) w = Tanh(s) }> }"""
    session = hr.InferenceSession(write(text))
    feed = {"n": np.array(3), "go": np.array(True), "a": np.ones((64, 64), np.float32)}
    expected = session.run(None, feed)[0]
    endless, options, errors = {**feed, "n": np.array(10**7)}, hr.RunOptions(), []

    def work():
        try:
            session.run(None, endless, options)
        except hr.TerminatedError as error:
            errors.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive()
    options.terminate = True
    thread.join(60)
    assert not thread.is_alive()
    assert errors == ["the run was ended, because its RunOptions.terminate was set"]
    with pytest.raises(hr.TerminatedError):
        session.run(None, feed, options)
    options.terminate = False
    np.testing.assert_array_equal(session.run(None, feed, options)[0], expected)
    theirs = ORT.RunOptions()
    theirs.terminate = True
    with pytest.raises(hr.TerminatedError):
        session.run(None, feed, theirs)


# What a session is


def test_the_bytes_of_a_file(write):
    path = write()
    bytes_, file = hr.InferenceSession(Path(path).read_bytes()), hr.InferenceSession(path)
    assert repr(bytes_.run(None, {"x": X})) == repr(file.run(None, {"x": X}))
    assert bytes_.get_modelmeta() == file.get_modelmeta()
    assert repr(bytes_.get_outputs()) == repr(file.get_outputs())


def test_descriptions(both, tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17], producer_name: "writer", model_version: 7,
      domain: "place", doc_string: "words", metadata_props: ["key": "value"]>
      m (float[?,N,3] x, float[3] d) => (y, int64[?] z, float[a,?,b] w) <float[3] d = {1.0,2.0,3.0}>
      { y = Identity(x) z = Shape(x) w = Add(x, d) }"""
    import onnx.parser

    model = onnx.parser.parse_model(text.replace("=> (y,", "=> (float[?,?,?] y,"))
    model.graph.doc_string = "graph's words"
    path = str(tmp_path / "described.onnx")
    onnx.save(model, path)
    sessions = [(m, m.InferenceSession(path, providers=CPU)) for m in (hr, ORT)]

    def describe(m, session):
        meta = session.get_modelmeta()
        args = [
            *session.get_inputs(),
            *session.get_outputs(),
            *session.get_overridable_initializers(),
        ]
        return [
            *[(arg.name, arg.type, arg.shape) for arg in args],
            meta.producer_name,
            meta.graph_name,
            meta.domain,
            meta.description,
            meta.graph_description,
            meta.version,
            meta.custom_metadata_map,
            session.get_providers(),
            session.get_provider_options(),
        ]

    same(sessions, describe)
    x = np.ones((1, 2, 3), np.float32)
    same(sessions, lambda m, s: s.run(["w"], {"x": x}))
    same(sessions, lambda m, s: s.run(["w"], {"x": x, "d": np.zeros(3, np.float32)}))
    same(both(MAPS), describe)


def test_describes_the_shipped_model_as_onnxruntime_does(digits_path):
    def describe(m):
        session = m.InferenceSession(str(digits_path), providers=CPU)
        args = [*session.get_inputs(), *session.get_outputs()]
        return [(arg.name, arg.type, arg.shape) for arg in args]

    assert describe(hr) == describe(ORT)


def test_a_package_describes_what_it_knows(write, tmp_path):
    hr.write_package(write(), tmp_path / "model.hrpkg", processors=["native"])
    session = hr.InferenceSession(tmp_path / "model.hrpkg")
    assert [arg.shape for arg in session.get_inputs()] == [["N", 4]]
    assert session.get_modelmeta().producer_name == ""
    np.testing.assert_array_equal(session.run(["z"], {"x": X})[0], X)


def test_module_level_names():
    for name in ("GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"):
        ours, theirs = getattr(hr, name).__members__, getattr(ORT, name).__members__
        assert {k: int(v) for k, v in ours.items()} == {k: int(v) for k, v in theirs.items()}
    assert hr.get_device() == ORT.get_device() == "CPU"
    assert set(hr.get_available_providers()) <= set(ORT.get_available_providers())


# Options


def test_options_have_onnxruntime_s_names_and_defaults():
    for ours, theirs in (
        (hr.SessionOptions(), ORT.SessionOptions()),
        (hr.RunOptions(), ORT.RunOptions()),
    ):
        for name in dir(theirs):
            value = getattr(theirs, name)
            if name.startswith("_") or callable(value) or name == "profile_file_prefix":
                continue
            expected = value if isinstance(value, (str, bool)) else int(value)
            assert getattr(ours, name) == expected, name
            setattr(ours, name, getattr(ours, name))
    with pytest.raises(AttributeError):
        hr.SessionOptions().intra_op_threads = 1


def test_options_that_cannot_be_followed_warn_once(write, fresh_warnings):
    path = write()
    for module in (hr, ORT):
        options = module.SessionOptions()
        options.graph_optimization_level = module.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        options.inter_op_num_threads = 1
        if module is hr:
            with pytest.warns(RuntimeWarning, match="'graph_optimization_level' has no effect"):
                hr.InferenceSession(path, options)
            with pytest.warns(RuntimeWarning, match="'session.intra_op.allow_spinning'"):
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session = hr.InferenceSession(path, options)
        assert session.get_session_options() is options
        with pytest.raises(RuntimeError, match="key"):
            options.get_session_config_entry("key")


def test_the_warning_names_the_line_of_the_user(write, fresh_warnings):
    options = hr.SessionOptions(optimized_model_filepath="x.onnx")
    with pytest.warns(RuntimeWarning, match="no file is written") as caught:
        hr.InferenceSession(write(), options)
    with pytest.warns(RuntimeWarning, match="argument 'disabled_optimizers' has no") as others:
        hr.InferenceSession(write(), disabled_optimizers=["ConstantFolding"])
    assert {warning.filename for warning in [*caught, *others]} == {__file__}


def test_other_providers_warn(digits_path, fresh_warnings):
    with pytest.warns(RuntimeWarning, match="CUDAExecutionProvider"):
        hr.InferenceSession(digits_path, providers=[("CUDAExecutionProvider", {})])
    with pytest.warns(RuntimeWarning, match="option 'use_arena' has no effect"):
        hr.InferenceSession(digits_path, providers=CPU, provider_options=[{"use_arena": 1}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = hr.InferenceSession(
            digits_path, providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
        )
    with pytest.warns(RuntimeWarning, match="got XExecutionProvider"):
        session.set_providers(["XExecutionProvider"])
    for wrong in ("CPUExecutionProvider", [3], [("a", "b")]):
        with pytest.raises(hr.InvalidArgumentError, match="expected providers as"):
            hr.InferenceSession(digits_path, providers=wrong)
    with pytest.raises(hr.InvalidArgumentError, match="options for each of 1 providers, got 2"):
        hr.InferenceSession(digits_path, providers=CPU, provider_options=[{}, {}])


@pytest.mark.parametrize("text", [MODEL, MAPS], ids=["program", "stages"])
def test_profiling_writes_a_trace(text, write, tmp_path):
    options = hr.SessionOptions(
        enable_profiling=True, profile_file_prefix=str(tmp_path / "trace"), intra_op_num_threads=1
    )
    session = hr.InferenceSession(write(text), options)
    plain = hr.InferenceSession(write(text))
    feed = {"x": np.ones((2, plain.get_inputs()[0].shape[1]), np.float32)}
    assert session.get_profiling_start_time_ns() > 0
    for _ in range(2):
        assert repr(session.run(None, feed)) == repr(plain.run(None, feed))
    path = Path(session.end_profiling())
    assert path.parent == tmp_path and session.end_profiling() == ""
    events = json.loads(path.read_text())
    runs = [event for event in events if event["name"] == "model_run"]
    steps = [event for event in events if event["cat"] == "Node"]
    assert len(runs) == 2 and len(steps) >= 4
    assert {operator for step in steps for operator in step["args"]["operators"]}
    for step in steps:
        assert step["ph"] == "X" and step["dur"] >= 0
        assert any(
            run["ts"] - 1 <= step["ts"]
            and step["ts"] + step["dur"] <= run["ts"] + run["dur"] + len(steps)
            for run in runs
        ), (step, runs)
    session.run(None, feed)  # after the end
    options.profile_file_prefix = str(tmp_path / "none" / "trace")
    with pytest.raises(hr.IoError, match="there is no directory '.*none'"):
        hr.InferenceSession(write(text), options)


# Threads


SUMS = "m (float[512,4096] x) => (float[512] y) { a = Constant<value_ints=[1]>() y = ReduceSum<keepdims=0>(x, a) }"


def test_threads_are_a_session_s_own(write):
    code = """if True:
        import os, sys
        import headrace as hr, numpy as np

        x = np.random.default_rng(0).normal(size=(512, 4096)).astype(np.float32)

        def run(count):
            options = hr.SessionOptions(intra_op_num_threads=count)
            (y,) = hr.InferenceSession(sys.argv[1], options).run(None, {"x": x})
            np.testing.assert_allclose(y, x.sum(1), atol=1e-3)
            return len(os.listdir("/proc/self/task"))

        alone = run(1)
        print([run(count) - alone for count in (3, 1, 0, 2, 3)], hr.get_threads())
        hr.set_threads(4)
        print(run(0) - alone, hr.get_threads())
        hr.set_threads(2)
        print(run(0) - alone, hr.get_threads())
        """
    out = subprocess.run(
        [sys.executable, "-c", code, write(SUMS)],
        env={**os.environ, "HEADRACE_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    # A session's threads beyond its caller are workers, which all with that number share.
    assert out.splitlines() == ["[2, 2, 2, 3, 3] 1", "6 4", "6 2"]


def test_numbers_of_threads_that_cannot_be(write):
    with pytest.raises(hr.InvalidArgumentError, match="threads: expected 1 to 1024, got 5000"):
        hr.InferenceSession(write(), hr.SessionOptions(intra_op_num_threads=5000))
    with pytest.raises(hr.InvalidArgumentError, match="threads: expected 1 to 1024, got -1"):
        hr.load(write(), threads=-1)


# Mistakes


def test_mistakes(write):
    path = write()
    session = hr.InferenceSession(path)
    with pytest.raises(hr.InvalidArgumentError, match="'y', 'z', got 'answer'"):
        session.run(["answer"], {"x": X})
    with pytest.raises(hr.MissingInputError, match="'x'"):
        session.run(None, {})
    with pytest.raises(
        hr.TypeMismatchError, match="expected float32, got an object array of float"
    ):
        session.run(None, {"x": X.astype(object)})
    ragged = np.empty(2, object)
    ragged[:] = [X, X[:1]]
    with pytest.raises(
        hr.TypeMismatchError, match="expected float32, got an object array of ndarray"
    ):
        session.run(None, {"x": ragged})


@pytest.mark.parametrize(
    "value",
    [
        X[:, ::-1],
        X[::-1],
        np.asfortranarray(X),
        X.astype(">f4"),
        np.broadcast_to(X[:1], (2, 4)),
        X[:0],
    ],
    ids=["mirrored", "upside-down", "Fortran", "big-endian", "broadcast", "empty"],
)
def test_arrays_of_any_layout(both, value):
    (_, ours), (_, theirs) = both()
    native = np.ascontiguousarray(value.astype(np.float32))
    for found, expected in zip(ours.run(None, {"x": value}), theirs.run(None, {"x": native})):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
