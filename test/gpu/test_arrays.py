"""Models on a CUDA device with arrays of NumPy, PyTorch and Headrace's own."""

from __future__ import annotations

import gc
from pathlib import Path

import headrace as hr
import numpy as np
import torch

HERE = Path(__file__).resolve().parent
LONG = 400_000_000


def digits() -> tuple[hr.Model, np.ndarray, np.ndarray]:
    """The network on the device, images, and what the CPU makes of them."""
    model = hr.load(HERE / "digits.onnx")
    images = np.random.default_rng(0).random((6, 1, 8, 8), dtype=np.float32)
    return model.to("cuda"), images, model(images)


def close(found: object, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-4)


def refused(call, kind: type, text: str) -> None:
    try:
        call()
    except kind as error:
        assert text in str(error), str(error)
        return
    raise AssertionError(f"no {kind.__name__}")


def test_numpy_in_and_out() -> None:
    model, images, expected = digits()
    for _ in range(3):
        y = model(images)
        assert isinstance(y, np.ndarray)
        close(y, expected)


def test_tensors_in_and_out() -> None:
    model, images, expected = digits()
    x = torch.from_numpy(images).cuda()
    for _ in range(4):
        y = model(x)
        assert isinstance(y, torch.Tensor) and y.is_cuda
        close(y.cpu(), expected)
    close(model(x.transpose(2, 3).contiguous().transpose(2, 3)).cpu(), expected)
    flat = torch.empty(images.size + 1, device="cuda")
    flat[1:] = x.flatten()
    close(model(flat[1:].view(x.shape)).cpu(), expected)
    assert model(x[:0]).shape == (0, 10)
    assert model(x[:1]).shape == (1, 10)


def test_tensors_follow_streams() -> None:
    model, images, expected = digits()
    x = torch.from_numpy(images).cuda()
    model(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        late = torch.zeros_like(x)
        torch.cuda._sleep(LONG)
        late.copy_(x)
        y = model(late)
    assert not stream.query(), "the call waited for the device"
    torch.cuda.current_stream().wait_stream(stream)
    close((y + 0).cpu(), expected)


def test_results_outlive_the_model() -> None:
    model, images, expected = digits()
    x = torch.from_numpy(images).cuda()
    model(x)
    torch.cuda._sleep(LONG)
    y = model(x)
    there = model(hr.to_cuda(images))
    del model, x
    gc.collect()
    close(y.cpu(), expected)
    close(there, expected)


def test_device_arrays_and_tensors_share_memory() -> None:
    model, images, expected = digits()
    there = hr.to_cuda(images)
    y = model(there)
    assert isinstance(y, hr.DeviceArray)
    close(y, expected)
    tensor = torch.from_dlpack(y)
    assert tensor.is_cuda and tuple(tensor.shape) == y.shape
    close(tensor.cpu(), expected)
    del y
    gc.collect()
    close(tensor.cpu(), expected)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        other = torch.from_dlpack(model(there)) * 2
    stream.synchronize()
    close(other.cpu(), expected * 2)
    mixed = model(torch.from_dlpack(there))
    assert isinstance(mixed, torch.Tensor)
    close(mixed.cpu(), expected)


def test_tensors_of_main_memory_go_there_and_back() -> None:
    model, images, expected = digits()
    y = model(torch.from_numpy(images))
    assert isinstance(y, np.ndarray)
    close(y, expected)


def test_errors_name_the_input() -> None:
    model, images, expected = digits()
    x = torch.from_numpy(images).cuda()
    name = model.inputs[0].name
    refused(lambda: model(x.double()), hr.TypeMismatchError, f"input '{name}': expected float32")
    refused(lambda: model(x[0]), hr.ShapeMismatchError, f"'{name}'")
    refused(lambda: model(x[:, :, :4]), hr.ShapeMismatchError, f"'{name}'")
    cpu = hr.load(HERE / "digits.onnx")
    refused(lambda: cpu(x), hr.InvalidArgumentError, f"input '{name}': expected a tensor in host")
    close(model(x).cpu(), expected)


def test_graphs_of_pytorch_hold_models() -> None:
    model, images, expected = digits()
    x = torch.from_numpy(images).cuda()
    model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    x.zero_()
    graph.replay()
    assert not np.allclose(y.cpu().numpy(), expected)
    x.copy_(torch.from_numpy(images))
    graph.replay()
    close(y.cpu(), expected)


def test_memory_stays() -> str:
    model, images, _ = digits()
    x = torch.from_numpy(images).cuda()
    there = hr.to_cuda(images)
    for _ in range(100):
        model(x), model(there), model(images)
    torch.cuda.synchronize()
    free = torch.cuda.mem_get_info()[0]
    for _ in range(2000):
        model(x), model(there), model(images)
    torch.cuda.synchronize()
    lost = free - torch.cuda.mem_get_info()[0]
    assert lost <= 4 << 20, f"{lost} bytes"
    return f"{lost} bytes"
