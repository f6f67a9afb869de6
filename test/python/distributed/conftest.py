"""One cluster of three nodes on this machine for all tests of a process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator:
    """A `ray.cluster_utils.Cluster` with token authentication and a core per node."""
    if os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1") != "1":
        pytest.skip("./dev test-cluster runs it: clusters of two processes would find each other")
    os.environ["RAY_AUTH_MODE"] = "token"  # read when ray is imported
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(16)
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # listens on the loopback interface alone
    pytest.importorskip("ray", reason="Ray is not installed: pip install headrace[ray]")
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 << 20}
    made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        for _ in range(2):
            made.add_node(**node)
        yield made
    finally:
        made.shutdown()
