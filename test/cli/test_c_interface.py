"""Packages as C programs run them: by the runtime library alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx writes the models")
from c_interface import BIN, CProgram
from coarse_models import classic, good, machine
from vta_networks import Network

pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")


def test_a_package_for_vta_runs(tmp_path: Path) -> None:
    network = Network()
    network.output(network.conv(network.input(1, 16, 8, 8), 16))
    model = network.write(tmp_path / "model.onnx")
    good("compile", model, "--target", "vta", "-o", tmp_path / "model.hrpkg")
    got = CProgram(tmp_path / "model.hrpkg").run(network.feeds)
    for name, expected in network.expected.items():
        np.testing.assert_array_equal(got[name], expected)


def test_a_package_for_coarse_operators_runs(tmp_path: Path) -> None:
    model, file = classic(tmp_path), machine(tmp_path, 32, 32)
    good("compile", model, "--target", f"coarse:{file}", "-o", tmp_path / "mlp.hrpkg")
    x = np.random.default_rng(0).standard_normal((3, 1, 12, 12)).astype(np.float32)
    (got,) = CProgram(tmp_path / "mlp.hrpkg").run({"x": x}).values()
    np.save(tmp_path / "x.npy", x)
    good("run", model, "--input", f"x=@{tmp_path}/x.npy", "--output", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*.npy")
    np.testing.assert_allclose(got, np.load(path), rtol=1e-4, atol=1e-5)
