"""Batch inference over a cluster of three nodes on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close


def write_inputs(folder: Path, images: np.ndarray, files: int) -> np.ndarray:
    """Files of a few images each; all of their images in order."""
    folder.mkdir()
    parts = []
    for index in range(files):
        part = np.roll(images, index, axis=0)[: 3 + index % 5]
        np.save(folder / f"{index:03}.npy", part)
        parts.append(part)
    return np.concatenate(parts)


def read_outputs(folder: Path) -> np.ndarray:
    return np.concatenate([np.load(path) for path in sorted(folder.glob("*.npy"))])


def test_arrays(cluster, digits: hr.Model, digits_path: Path, images: np.ndarray) -> None:
    many = np.concatenate([images] * 700)
    expected = digits(many)
    for ordered in (True, False):
        results = [*hr.distributed.map(digits_path, many, cluster=cluster.address, ordered=ordered)]
        assert len(results) > 2
        starts = [result.start for result in results]
        assert not ordered or starts == sorted(starts)
        results.sort(key=lambda result: result.start)
        assert_close(np.concatenate([r.outputs["logits"] for r in results]), expected)
    (single,) = hr.distributed.map(digits_path, images[0], cluster=cluster.address)
    assert_close(single.outputs["logits"], digits(images[:1])[0])


def test_files_with_bad_ones_and_a_run_that_stops(
    cluster, digits: hr.Model, digits_path: Path, images: np.ndarray, tmp_path: Path
) -> None:
    given = write_inputs(tmp_path / "in", images, 40)
    (tmp_path / "in" / "bad.npy").write_bytes(b"no array")
    (tmp_path / "in" / "lines.csv").write_text("\n".join([",".join(["0"] * 64), "1,2"]))
    arguments = (digits_path, tmp_path / "in", tmp_path / "out")

    def stop_midway(done: int, known: int, seconds: float) -> None:
        if done > 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hr.distributed.map(*arguments, cluster=cluster.address, progress=stop_midway)
    report = hr.distributed.map(*arguments, cluster=cluster.address)
    assert report.resumed >= 1 and report.nodes == 3
    reasons = {Path(failure.origin).name: failure for failure in report.failures}
    assert {*reasons} == {"bad.npy", "lines.csv"}
    assert reasons["lines.csv"].row == 1 and reasons["bad.npy"].row is None
    lines = np.load(tmp_path / "out" / "lines.npy")
    assert np.isfinite(lines[0]).all() and np.isnan(lines[1]).all()
    (tmp_path / "out" / "lines.npy").unlink()
    assert_close(read_outputs(tmp_path / "out"), digits(given))
    done = [json.loads(line) for line in (tmp_path / "out" / "done.jsonl").open()]
    assert sorted(entry["source"] for entry in done) == sorted(
        [*(f"{index:03}" for index in range(40)), "lines"]
    )
    again = hr.distributed.map(*arguments, cluster=cluster.address)
    assert again.computed == 0 and again.resumed == 41


def test_a_node_that_is_killed_loses_nothing(
    cluster, digits: hr.Model, digits_path: Path, images: np.ndarray, tmp_path: Path
) -> None:
    np.save(tmp_path / "in.npy", np.concatenate([images] * 1250))  # 20,000
    node = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    seen = []

    def kill_midway(done: int, known: int, seconds: float) -> None:
        if done and not seen:
            seen.append(done)
            cluster.remove_node(node, allow_graceful=False)

    report = hr.distributed.map(
        digits_path, tmp_path / "in.npy", tmp_path / "out", cluster=cluster.address,
        progress=kill_midway,
    )  # fmt: skip
    assert seen and report.computed == 20_000 and not report.failures
    assert_close(np.load(tmp_path / "out" / "in.npy"), digits(np.load(tmp_path / "in.npy")))


def test_whole_files(cluster, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    text = "m (float[n,k] a, float[k,m] b) => (float[n,m] y) { y = MatMul(a, b) }"
    header = '<ir_version: 9, opset_import: ["" : 18]>\n'
    onnx.save(onnx.parser.parse_model(header + text), tmp_path / "m.onnx")
    (tmp_path / "in").mkdir()
    rng = np.random.default_rng(0)
    expected = {}
    for n, k, m in ((1, 2, 3), (4, 5, 6)):
        a, b = rng.normal(size=(n, k)).astype("f4"), rng.normal(size=(k, m)).astype("f4")
        np.savez(tmp_path / "in" / f"{n}.npz", a=a, b=b)
        expected[str(n)] = a @ b
    np.savez(tmp_path / "in" / "odd.npz", a=np.ones((2, 3), "f4"), b=np.ones((2, 3), "f4"))
    report = hr.distributed.map(
        tmp_path / "m.onnx", tmp_path / "in", tmp_path / "out", cluster=cluster.address, whole=True
    )
    assert [Path(failure.origin).name for failure in report.failures] == ["odd.npz"]
    for name, value in expected.items():
        assert_close(np.load(tmp_path / "out" / f"{name}.npy"), value)
    assert not (tmp_path / "out" / "odd.npy").exists()


def command(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headrace", "map", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **variables},
    )


def test_the_command(cluster, digits_path: Path, images: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", images)
    words = (digits_path, tmp_path / "in.npy", "--output", tmp_path / "out")
    done = command(*words, "--cluster", cluster.address)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{len(images)} inputs on 3 nodes"), done.stdout
    done = command(*words, "--cluster", cluster.address, RAY_AUTH_TOKEN="wrong")
    assert done.returncode == 0  # all results exist: no cluster is asked
    np.save(tmp_path / "in.npy", images[:2])
    done = command(*words, "--cluster", cluster.address, RAY_AUTH_TOKEN="wrong")
    (ours,) = [line for line in done.stderr.splitlines() if "gcs_client" not in line]  # Ray's own
    assert done.returncode == 1 and ours.startswith("headrace: error: cluster "), done.stderr
    assert "token" in ours


OPEN_CLUSTER = """if True:
    import sys
    import numpy as np, ray
    import headrace as hr

    ray.init("local", num_cpus=1, include_dashboard=False,
             object_store_memory=100 << 20, log_to_driver=False)
    images = np.load(sys.argv[2])
    try:
        next(hr.distributed.map(sys.argv[1], images))
    except hr.distributed.ClusterError as error:
        print(error)
    print(next(hr.distributed.map(sys.argv[1], images, insecure=True)).outputs["logits"].shape)
"""


def test_a_cluster_that_asks_for_no_token_is_refused(
    cluster, digits_path: Path, images: np.ndarray, tmp_path: Path
) -> None:
    np.save(tmp_path / "in.npy", images)
    done = subprocess.run(
        [sys.executable, "-c", OPEN_CLUSTER, digits_path, tmp_path / "in.npy"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"},
    )
    refused, shape = done.stdout.splitlines()
    assert "accepts tasks from anybody" in refused and shape == "(16, 10)", done.stderr
