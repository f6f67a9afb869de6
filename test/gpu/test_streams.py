"""The order of work on a CUDA device, memory, threads, and graphs that PyTorch records."""

from __future__ import annotations

import copy
import gc
import threading

import headrace as hr
import torch
from checks import cases
from compare import BertLayer, compiled, encoder

from cases.torch_models import mlp

LONG = 400_000_000  # cycles, about 0.2 s


def network(train: bool = False) -> tuple[torch.nn.Module, torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    net = BertLayer(64).cuda().train(train)
    return net, copy.deepcopy(net), torch.randn(2, 9, 64, device="cuda")


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


@cases("inference", "training")
def test_calls_do_not_wait(kind: str) -> None:
    net, _, x = network()
    call = compiled(net)

    def run() -> torch.Tensor:
        if kind == "training":
            y = call(x)
            y.sum().backward()
            return y
        with torch.no_grad():
            return call(x)

    for _ in range(4):
        run()
    torch.cuda.synchronize()
    busy = torch.cuda.Event()
    torch.cuda._sleep(LONG)
    busy.record()
    run()
    assert not busy.query(), "the call waited for the device"
    torch.cuda.synchronize()


def test_work_follows_the_current_stream() -> None:
    net, twin, x = network()
    call = compiled(net)
    expected = [twin(x * i) for i in range(8)]
    call(x)
    stream = torch.cuda.Stream()
    found = []
    for i in range(8):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LONG // 20)
            y = call(x * i)  # what it reads is not there yet
            z = y * 1
        torch.cuda.current_stream().wait_stream(stream)
        found.append(z)
    for one, other in zip(found, expected):
        close(one, other)


def test_gradients_follow_the_stream_of_the_forward_pass() -> None:
    net, twin, x = network(train=True)
    call = compiled(net)
    twin(x).square().sum().backward()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    for _ in range(4):
        net.zero_grad()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LONG // 20)
            call(x).square().sum().backward()
    torch.cuda.current_stream().wait_stream(stream)
    for one, other in zip(net.parameters(), twin.parameters()):
        close(one.grad, other.grad)


def test_many_streams_share_a_program() -> None:
    net, twin, _ = network()
    call = compiled(net)
    inputs = [torch.randn(2, 9, 64, device="cuda") for _ in range(6)]
    expected = [twin(x) for x in inputs]
    streams = [torch.cuda.Stream() for _ in inputs]
    torch.cuda.synchronize()
    with torch.no_grad():
        for _ in range(20):
            found = []
            for stream, x in zip(streams, inputs):
                with torch.cuda.stream(stream):
                    found.append(call(x))
            torch.cuda.synchronize()
            for one, other in zip(found, expected):
                close(one, other)


@cases("one stream", "own streams")
def test_threads_share_a_module(kind: str) -> None:
    net, twin, _ = network()
    hr.module(net)
    inputs = [torch.randn(2, 9, 64, device="cuda") for _ in range(8)]
    with torch.no_grad():  # compiled now: PyTorch traces in one thread at a time
        net(inputs[0])
    expected = [twin(x) for x in inputs]
    torch.cuda.synchronize()
    wrong: list[str] = []

    def run(i: int) -> None:
        stream = torch.cuda.current_stream() if kind == "one stream" else torch.cuda.Stream()
        try:
            with torch.cuda.stream(stream), torch.no_grad():
                for _ in range(50):
                    y = net(inputs[i])
                stream.synchronize()
            close(y, expected[i])
        except BaseException as error:
            wrong.append(f"thread {i}: {error!r}"[:300])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_graphs_of_pytorch_hold_inference() -> None:
    net, twin, x = network()
    call = compiled(net)
    side = torch.cuda.Stream()
    with torch.no_grad():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = call(x) + 1
        for scale in (1.0, -2.0, 0.5):
            x.copy_(torch.randn_like(x) * scale)
            graph.replay()
            close(y, twin(x) + 1)
            close(call(x), twin(x))  # between replays, by itself


def test_graphs_of_pytorch_hold_programs_not_called_before() -> None:
    net, twin, x = network()
    call = compiled(net)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        torch.mm(x[0], x[0].T)  # PyTorch's own libraries are to be there
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            y = call(x)
        x.mul_(2)
        graph.replay()
        close(y, twin(x))


def test_graphs_of_pytorch_hold_training() -> None:
    net, twin, x = network(train=True)
    call = compiled(net)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            net.zero_grad(set_to_none=True)
            call(x).square().sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    net.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(x).square().sum().backward()
    x.copy_(torch.randn_like(x))
    graph.replay()
    twin(x).square().sum().backward()
    for one, other in zip(net.parameters(), twin.parameters()):
        close(one.grad, other.grad)


def test_results_outlive_their_program() -> None:
    net, twin, x = network()
    call = compiled(net)
    with torch.no_grad():
        y = call(x)
        z = call(x * 2)
        del call, net
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.synchronize()
        torch.randn(1 << 22, device="cuda")  # memory that was freed is used again
        close(y, twin(x))
        close(z, twin(x * 2))


def test_gradients_outlive_their_module() -> None:
    net, twin, x = network(train=True)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    y = compiled(net)(ours)
    del net
    torch._dynamo.reset()
    gc.collect()
    y.square().sum().backward()
    twin(theirs).square().sum().backward()
    close(ours.grad, theirs.grad)


@cases("inference", "training", "changing sizes")
def test_memory_stays(kind: str) -> str:
    net = mlp().cuda() if kind != "training" else encoder().cuda()
    call = compiled(net, dynamic=True if kind == "changing sizes" else None)

    def run(i: int) -> None:
        if kind == "training":
            net.zero_grad()
            call(torch.randn(4, 24, 64, device="cuda")).sum().backward()
            return
        with torch.no_grad():
            call(torch.randn(8 if kind == "inference" else 2 + i % 97, 20, device="cuda"))

    for i in range(200):
        run(i)
    torch.cuda.synchronize()
    free, kept = torch.cuda.mem_get_info()[0], torch.cuda.memory_allocated()
    for i in range(1500):
        run(i)
    torch.cuda.synchronize()
    lost = free - torch.cuda.mem_get_info()[0]
    more = torch.cuda.memory_allocated() - kept
    assert lost <= 4 << 20 and more <= 1 << 20, f"{lost} bytes of the device, {more} of PyTorch's"
    return f"{lost} bytes of the device, {more} of PyTorch's"
