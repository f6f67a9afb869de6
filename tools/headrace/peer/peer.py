"""Times another system for `headrace bench --against`, in its own process.

Requests come in on stdin, answers go out on stdout: a line of JSON each, followed by the bytes of
the tensors it lists.
  {"peer", "model", "threads", "inputs": [{"name", "dtype", "shape", "bytes"}]}
      -> {"version", "load_us", "first_run_us", "outputs": [{"dtype", "shape", "bytes"}]}
  {"seconds"} -> {"times_us": [...]}
Any answer may be {"error": "..."} instead.
"""

import sys

sys.path = [folder for folder in sys.path if folder]  # the current directory may hold anything

import json
import os
import signal
import time

signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side closes the channel when it ends
requests = os.fdopen(os.dup(0), "rb")
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what a library prints must not get among the answers

NUMPY_NAMES = {
    "bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32",
    "u32": "uint32", "i64": "int64", "u64": "uint64", "f16": "float16", "f32": "float32",
    "f64": "float64",
}  # fmt: skip


class OnnxRuntime:
    def __init__(self, model, threads):
        import onnxruntime

        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.load = lambda: onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

    def run(self, session, feeds):
        return session.run(None, feeds)


class OpenVino:
    def __init__(self, model, threads):
        import openvino

        self.version = openvino.__version__
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }
        self.load = lambda: openvino.Core().compile_model(model, "CPU", settings)

    def run(self, compiled, feeds):
        answer = compiled(feeds, share_inputs=True)
        return [answer[output] for output in compiled.outputs]


PEERS = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}


def receive():
    line = requests.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def send(answer, tensors=()):
    answers.write(json.dumps(answer).encode() + b"\n")
    for tensor in tensors:
        answers.write(tensor.tobytes())
    answers.flush()


def as_tensor(about, content):
    import numpy

    name = NUMPY_NAMES.get(about["dtype"])
    if name is None:
        raise TypeError(f"input '{about['name']}': NumPy has no type {about['dtype']}")
    return numpy.frombuffer(content, name).reshape(about["shape"])


def describe(tensor):
    dtype = next((ours for ours, name in NUMPY_NAMES.items() if name == tensor.dtype.name), None)
    if dtype is None:
        raise TypeError(f"an output has the type {tensor.dtype}")
    return {"dtype": dtype, "shape": list(tensor.shape), "bytes": tensor.nbytes}


def microseconds_since(begin):
    return (time.perf_counter() - begin) * 1e6


def turn(call, seconds):
    """The same as timedTurn in Timing.cpp."""
    time.sleep(0.005)
    call()
    times = []
    begin = time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append(microseconds_since(start))
    return times


def serve():
    request = receive()
    # Read to the end before anything can fail: unread bytes would reset the channel.
    contents = [requests.read(about["bytes"]) for about in request["inputs"]]
    peer = PEERS[request["peer"]](request["model"], request["threads"])
    feeds = {i["name"]: as_tensor(i, content) for i, content in zip(request["inputs"], contents)}
    begin = time.perf_counter()
    session = peer.load()
    load = microseconds_since(begin)
    begin = time.perf_counter()
    outputs = peer.run(session, feeds)
    first = microseconds_since(begin)
    about = [describe(output) for output in outputs]
    ready = {"version": peer.version, "load_us": load, "first_run_us": first, "outputs": about}
    send(ready, outputs)
    while True:
        send({"times_us": turn(lambda: peer.run(session, feeds), receive()["seconds"])})


try:
    serve()
except ImportError as error:
    send({"error": f"not installed for this Python: {error}"})
except Exception as error:  # a peer may raise anything; the other side reports it
    send({"error": " ".join(str(error).split())[:300] or type(error).__name__})
