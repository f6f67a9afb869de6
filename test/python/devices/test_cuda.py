"""Programs on a CUDA device, against a driver without a device that the build makes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("HEADRACE_BIN", "")).parent.parent
DRIVER = BUILD / "test/runtime/libfake_cuda_driver.so"
WRITER = BUILD / "test/package/write_device_package"

# x, y: y = (x + 1) * (x + 2)
PRELUDE = """
import sys
import numpy as np
import pytest
import headrace as hr
model = hr.load(sys.argv[1])
x = np.arange(8, dtype=np.float32)
expected = (x + 1) * (x + 2)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    if not DRIVER.exists() or not WRITER.exists():
        pytest.skip("the build has no test driver: HEADRACE_BIN is not in a build with tests")
    path = tmp_path_factory.mktemp("cuda") / "chain.hrpkg"
    subprocess.run([WRITER, path], check=True)
    return path


def run(code, package, **environment):
    """A process of its own: a process has one driver."""
    environment = {
        **os.environ,
        "HEADRACE_CUDA_DRIVER": str(DRIVER),
        "HEADRACE_CACHE_DIR": "",
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, package],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_host_arrays_come_back_to_the_host(package):
    run(
        """
for _ in range(3):
    y = model(x)
    assert isinstance(y, np.ndarray) and np.array_equal(y, expected)
""",
        package,
    )


def test_device_arrays_stay_on_the_device(package):
    run(
        """
there = hr.to_cuda(x)
assert there.__dlpack_device__() == (2, 0) and there.shape == (8,) and there.dtype == np.float32
y = model(there)
assert isinstance(y, hr.DeviceArray) and "f32[8] on device 0" in repr(y)
assert np.array_equal(np.asarray(y), expected)
assert np.array_equal(np.asarray(model(y)), (expected + 1) * (expected + 2))
del there
assert np.array_equal(np.asarray(y), expected)
""",
        package,
    )


def test_streams_wait_for_each_other(package):
    run(
        """
import ctypes, os
class Other:  # an array of a library with streams of its own
    def __init__(self, array):
        self.array, self.streams, self.dtype = array, [], array.dtype
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)
other = Other(hr.to_cuda(x))
y = model(other)
assert other.streams == [1]
assert np.array_equal(np.asarray(y), expected)
driver = ctypes.CDLL(os.environ["HEADRACE_CUDA_DRIVER"])
stream = ctypes.c_void_p()
driver.cuStreamCreate(ctypes.byref(stream), 1)
capsule = y.__dlpack__(stream=stream.value)
del y, capsule
""",
        package,
    )


def test_other_types_and_places_are_refused(package):
    run(
        """
with pytest.raises(hr.TypeMismatchError, match="input 'x': expected float32, got float64"):
    model(hr.to_cuda(x.astype(np.float64)))
with pytest.raises(hr.TypeMismatchError, match="expected an array of numbers"):
    hr.to_cuda(np.array(["a"]))
""",
        package,
    )


def test_a_missing_driver_is_one_line(package):
    done = subprocess.run(
        [sys.executable, "-c", "import sys, headrace as hr; hr.load(sys.argv[1])", package],
        env={**os.environ, "HEADRACE_CUDA_DRIVER": "/nowhere/libcuda.so.1"},
        capture_output=True,
        text=True,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("headrace.errors.UnsupportedError: chain.hrpkg: ")
    assert "no NVIDIA driver: /nowhere/libcuda.so.1 not found" in last


# As PyTorch is with a device, over the memory of the driver that has none.
ON_DEVICE = """
import ctypes
import types
import torch
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
class OnDevice:
    is_cuda = True
    def __init__(self, array, dtype=torch.float32, device="cuda:0"):
        self.array, self.dtype, self.device = array, dtype, torch.device(device)
        self.shape = array.shape
    def detach(self):
        return self
    contiguous = resolve_neg = detach
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
    def data_ptr(self):
        self.capsule = self.array.__dlpack__()
        return ctypes.c_void_p.from_address(get_pointer(self.capsule, b"dltensor")).value
OnDevice.__module__ = "torch"
def empty(shape, dtype, device):
    assert device == torch.device("cuda:0")
    made.append((shape, dtype))
    return OnDevice(hr.to_cuda(np.zeros(shape, str(dtype).removeprefix("torch."))), dtype)
made = []
torch.empty = empty
torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=0)
"""


def test_tensors_of_pytorch_get_its_memory(package):
    pytest.importorskip("torch")
    run(
        ON_DEVICE
        + """
for _ in range(3):
    made.clear()
    y = model(OnDevice(hr.to_cuda(x)))
    assert isinstance(y, OnDevice) and np.array_equal(np.asarray(y.array), expected)
    assert made == [((8,), torch.float32), ((128,), torch.uint8)], made
with pytest.raises(hr.TypeMismatchError, match="expected float32, got float64"):
    model(OnDevice(hr.to_cuda(x), torch.float64))
with pytest.raises(hr.InvalidArgumentError, match="'x': expected a tensor on 'cuda:0' .*'cuda:1'"):
    model(OnDevice(hr.to_cuda(x), device="cuda:1"))
""",
        package,
    )


def test_errors_of_pytorchs_allocator_arrive(package):
    pytest.importorskip("torch")
    run(
        ON_DEVICE
        + """
def fail(shape, dtype, device):
    raise torch.OutOfMemoryError("no memory")
torch.empty = fail
with pytest.raises(torch.OutOfMemoryError, match="no memory"):
    model(OnDevice(hr.to_cuda(x)))
torch.empty = empty
assert np.array_equal(np.asarray(model(OnDevice(hr.to_cuda(x))).array), expected)
""",
        package,
    )
