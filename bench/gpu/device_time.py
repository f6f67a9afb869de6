"""Times by a device's clock."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

CYCLES_PER_MICROSECOND = 2000


def measure(call: Callable[[], object], calls: int, sleep: float) -> tuple[float, float]:
    """Microseconds per call, on the device and to submit it.

    The device sleeps for `sleep` microseconds first, while the queue fills.
    """
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(int(sleep * CYCLES_PER_MICROSECOND))
    start.record()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    submit = (time.perf_counter() - begin) * 1e6 / calls
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1000 / calls, submit
