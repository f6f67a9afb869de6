"""A running `headrace studio`, and requests to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

HEADRACE = os.environ.get("HEADRACE_BIN", "headrace")
DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"


class Studio:
    """The command, its address, and requests to it."""

    def __init__(self, process: subprocess.Popen, address: str) -> None:
        self.process, self.address = process, address
        self.port = int(address.split(":")[2].split("/")[0])
        self.token = address.split("/")[3]

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(self.address + path, timeout=120) as answer:
            return json.load(answer)

    def post(self, path: str, body: dict) -> tuple[int, dict]:
        request = urllib.request.Request(
            self.address + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


@contextlib.contextmanager
def started(*arguments: str | Path) -> Iterator[Studio]:
    command = [HEADRACE, "studio", "--no-browser", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        if not address.startswith("http://127.0.0.1:"):
            error = process.stderr.read()
            if "it is a separate program" in error:
                pytest.skip("headrace-studio is not built: libcpp-httplib-dev is not installed")
            raise AssertionError(error)
        yield Studio(process, address)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
