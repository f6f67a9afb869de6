"""A connection to a Ray cluster: authentication, equal versions, the CPU level that all nodes have."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace._core import __version__
from headrace.errors import Error, InvalidArgumentError

#: How often work whose worker or node is lost is tried again.
RETRIES = 5
#: How long the first answer of a node may take.
_PROBE_SECONDS = 120


class ClusterError(Error):
    """The cluster cannot be used: it is gone, has another version, or asks for no token."""


@dataclass(frozen=True)
class Node:
    """What a worker on a node says of it."""

    name: str
    version: str
    level: str
    asks_for_token: bool


@dataclass(frozen=True)
class Cluster:
    """A connected cluster. `level` is the highest CPU level of which all of its nodes have code:
    every task uses it, so that results do not depend on the node that computes them."""

    ray: Any
    nodes: tuple[Node, ...]
    level: str

    @property
    def cpus(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))


@contextlib.contextmanager
def connect(address: str, insecure: bool) -> Iterator[Cluster]:
    """Connects to the cluster at `address`; with "auto" to that of RAY_ADDRESS if it is set, else to a
    new one on this machine. Disconnects at the end, which also ends a cluster it started.
    """
    ray = _import_ray()
    if ray.is_initialized():  # the user's own connection stays open
        yield _inspect(ray, insecure)
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # as later versions behave
    try:
        _join(ray, address)
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
        raise ClusterError(
            f"cluster '{address}': {_first_line(error)} (is it running, with the token that this "
            "process has, and the same version of Ray?)"
        ) from error
    try:
        yield _inspect(ray, insecure)
    finally:
        ray.shutdown()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")  # errors are raised, and shown once
    try:
        import ray
    except ImportError as error:
        raise InvalidArgumentError(
            "running on a cluster takes Ray: pip install headrace[ray]"
        ) from error
    return ray


def _join(ray: Any, address: str) -> None:
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    known = os.environ.get("RAY_ADDRESS") if address == "auto" else address
    if known:
        ray.init(known, **quiet)
    else:
        ray.init("local", include_dashboard=False, **quiet)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _inspect(ray: Any, insecure: bool) -> Cluster:
    """Asks every node, and rejects a cluster that cannot be trusted or has another version."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    from headrace.distributed import _worker

    describe = ray.remote(num_cpus=0, max_retries=2)(_worker.describe)
    asked = []
    for node in ray.nodes():
        if node["Alive"]:
            # Soft: a node that was lost a moment ago is still listed as alive.
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=True)
            asked.append(describe.options(scheduling_strategy=place).remote())
    try:
        nodes = tuple(Node(*answer) for answer in ray.get(asked, timeout=_PROBE_SECONDS))
    except ray.exceptions.RayError as error:
        raise ClusterError(f"a node of the cluster does not answer: {cause(error)}") from error
    for node in nodes:
        if node.version != __version__:
            raise ClusterError(
                f"node {node.name}: expected Headrace {__version__}, got {node.version}"
            )
        if not (node.asks_for_token or insecure):
            raise ClusterError(
                f"node {node.name} accepts tasks from anybody; start the cluster with "
                "RAY_AUTH_MODE=token, or pass --insecure (insecure=True)"
            )
    return Cluster(ray, nodes, min(node.level for node in nodes))


def cause(error: BaseException) -> str:
    """The line of an error of Ray that says what happened: the last one of a traceback."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
