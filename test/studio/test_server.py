"""The server of headrace studio: who may ask, what a client can take, and what a session keeps."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from studio_process import DIGITS, HEADRACE, Studio, started


def ask(studio: Studio, text: str | bytes, timeout: float = 30) -> bytes:
    """The answer to raw bytes, until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", studio.port), timeout=timeout) as connection:
        connection.sendall(text.encode() if isinstance(text, str) else text)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def request(studio: Studio, path: str = "api/state", headers: str = "", host: str = "") -> str:
    host = host or f"127.0.0.1:{studio.port}"
    return (
        f"GET /{studio.token}/{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"
    )


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:80]
    return int(answer.split()[1])


def test_the_page_and_its_files_are_there(digits: Studio) -> None:
    for path in ("", "index.html", "main.js", "studio.css", "data.js"):
        answer = ask(digits, request(digits, path))
        assert status(answer) == 200
        assert b"Content-Security-Policy: default-src 'none'" in answer
    assert status(ask(digits, request(digits, "none.js"))) == 404


def test_answers_are_not_compressed(digits: Studio) -> None:
    answer = ask(digits, request(digits, "base.js", headers="Accept-Encoding: gzip, br\r\n"))
    assert status(answer) == 200
    assert b"Content-Encoding" not in answer and b"const Studio" in answer


def test_only_loopback_is_listened_to(digits: Studio) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    listening = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    ours = [address for address in listening if int(address.split(":")[1], 16) == digits.port]
    assert ours == [f"0100007F:{digits.port:04X}"]


def test_other_hosts_origins_and_paths_are_refused(digits: Studio) -> None:
    assert status(ask(digits, request(digits, host="example.com"))) == 403
    assert status(ask(digits, request(digits, headers="Origin: http://example.com\r\n"))) == 403
    token = digits.token
    for path in ("/", "/api/state", f"/{token[:-1]}x/", f"/{token}/../../etc/passwd"):
        text = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{digits.port}\r\nConnection: close\r\n\r\n"
        assert status(ask(digits, text)) in {403, 404}, path
    assert status(ask(digits, request(digits, "%2e%2e/%2e%2e/etc/passwd"))) == 404
    assert status(ask(digits, request(digits, headers="Range: bytes=0-1,0-1\r\n"))) == 400
    assert digits.get("api/state")["model"] == "digits.onnx"


def test_a_large_body_is_not_read(digits: Studio) -> None:
    head = f"POST /{digits.token}/api/apply HTTP/1.1\r\nHost: 127.0.0.1:{digits.port}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n"
    assert status(ask(digits, head)) == 413
    assert status(ask(digits, b"GET /" + b"a" * 100_000)) == 431
    assert status(digits_post(digits, b"[1, 2")) == 400


def digits_post(studio: Studio, body: bytes) -> bytes:
    head = f"POST /{studio.token}/api/apply HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\n"
    head += f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return ask(studio, head.encode() + body)


def test_silent_connections_make_room(digits: Studio) -> None:
    silent = [socket.create_connection(("127.0.0.1", digits.port)) for _ in range(400)]
    try:
        assert digits.get("api/state")["model"] == "digits.onnx"
    finally:
        for connection in silent:
            connection.close()


def test_clients_that_never_read_do_not_stop_others(digits: Studio) -> None:
    asking = request(digits, "api/graph?phase=schedule").replace("Connection: close\r\n", "")
    greedy = []
    try:
        for _ in range(12):
            connection = socket.create_connection(("127.0.0.1", digits.port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.setblocking(False)
            greedy.append(connection)
            connection.send(asking.encode() * 30)
        slow = socket.create_connection(("127.0.0.1", digits.port))
        greedy.append(slow)
        slow.send(b"GET /")  # and nothing more
        assert digits.get("api/state")["model"] == "digits.onnx"
    finally:
        for connection in greedy:
            connection.close()


def test_noise_is_refused(digits: Studio) -> None:
    for text in (
        b"\r\n\r\n",
        b"\0\xff\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"A" * 50 + b"\r\n\r\n",
    ):
        assert status(ask(digits, text)) in {400, 403, 405}
    assert digits.get("api/state")["model"] == "digits.onnx"


def explained(*options: str) -> dict:
    command = [HEADRACE, "explain", str(DIGITS), "--size", "batch=16", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_steps_are_applied_undone_and_replayed(tmp_path: Path) -> None:
    with started(DIGITS, "--size", "batch=16") as studio:
        step = "separate /features/features.3/Conv/map"
        code, preview = studio.post("api/preview", {"step": step})
        assert code == 200 and preview["after"]["kernels"] == preview["before"]["kernels"] + 1
        code, applied = studio.post("api/apply", {"step": step})
        assert code == 200 and applied["summary"] == preview["after"]
        state = studio.get("api/state")
        assert [entry["step"] for entry in state["entries"][1:]] == [step]
        file = tmp_path / "saved.recipe"
        file.write_text(state["entries"][1]["recipe"])
        found, wanted = studio.get("api/report"), explained("--recipe", str(file))
        for report in (found, wanted):
            del report["phases"]
        assert found == wanted
        assert found["after"]["kernels"] == applied["summary"]["kernels"]
        assert studio.post("api/goto", {"entry": 0})[0] == 200
        before = studio.get("api/report")
        del before["phases"]
        plain = explained()
        del plain["phases"]
        assert before == plain != found


def test_a_refused_step_changes_nothing(digits: Studio) -> None:
    before = digits.get("api/state")
    code, answer = digits.post("api/apply", {"step": "fuse nothing into nowhere"})
    assert code == 422 and "nothing" in answer["error"]
    code, answer = digits.post(
        "api/apply", {"recipe": "nonsense\n", "revision": before["revision"]}
    )
    assert code == 422 and "nonsense" in answer["error"]
    assert digits.get("api/state") == before
    assert digits.post("api/goto", {"entry": 99})[0] == 404
    assert digits.post("api/none", {})[0] == 404


def test_two_pages_lose_no_step() -> None:
    steps = ["expand every pool as generated", "separate /features/features.3/Conv/map"]
    with started(DIGITS, "--size", "batch=16") as studio:
        old = studio.get("api/state")["revision"]
        threads = [
            threading.Thread(target=studio.post, args=("api/apply", {"step": step}))
            for step in steps
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        state = studio.get("api/state")
        assert sorted(state["entries"][2]["recipe"].splitlines()) == steps
        code, answer = studio.post("api/apply", {"recipe": "", "revision": old})
        assert code == 409 and "another page" in answer["error"]


def test_ctrl_c_ends_it_cleanly() -> None:
    with started(DIGITS) as studio:
        temporary = Path(os.environ.get("TMPDIR", "/tmp"))
        before = set(temporary.glob("headrace-studio-*"))

        def measure() -> None:
            with contextlib.suppress(OSError):  # the connection may end first
                assert studio.post("api/measure", {"entries": [0], "seconds": 50})[0] != 200

        measuring = threading.Thread(target=measure)
        measuring.start()
        time.sleep(0.5)
        assert studio.end() == 0
        measuring.join(timeout=30)
        assert not measuring.is_alive()
        assert len(set(temporary.glob("headrace-studio-*")) & before) < len(before)


def test_a_model_that_does_not_compile_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(DIGITS.read_bytes()[:500])
    with started(broken) as studio:
        assert studio.get("api/state")["model"] == "broken.onnx"
        answer = ask(studio, request(studio, "api/graph?phase=import"))
        assert status(answer) == 422
        assert b"broken.onnx" in answer


def test_a_page_without_server_has_its_data(models: Path, tmp_path: Path) -> None:
    command = [HEADRACE, "studio", models / "names.onnx", "--export", tmp_path / "page"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if "it is a separate program" in done.stderr:
        pytest.skip("headrace-studio is not built: libcpp-httplib-dev is not installed")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "page").iterdir()}
    assert {"index.html", "studio.css", "data.js", "main.js"} <= names
    data = (tmp_path / "page/data.js").read_text()
    assert "<" not in data
    saved = json.loads(data.removeprefix("window.headraceData = ").removesuffix(";\n"))
    assert set(saved["graphs"]) == {"import", "simplify", "layout", "kernels", "schedule"}
    kinds = [node["kind"] for node in saved["graphs"]["import"]["nodes"]]
    assert kinds.count("softmax") == 6
    assert all("code" in node for node in saved["graphs"]["kernels"]["nodes"] if node["operators"])


def test_a_package_shows_its_kernels(tmp_path: Path) -> None:
    package = tmp_path / "digits.hrpkg"
    subprocess.run([HEADRACE, "compile", DIGITS, "-o", package], check=True, capture_output=True)
    command = [HEADRACE, "explain", package, "--size", "batch=16", "--json"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    with started(package, "--size", "batch=16") as studio:
        state = studio.get("api/state")
        assert state["package"] and [phase["name"] for phase in state["phases"]] == ["schedule"]
        graph = studio.get("api/graph?phase=schedule")
        kernels = [node for node in graph["nodes"] if node["kind"] == "kernel"]
        assert [node["id"] for node in kernels] == [each["name"] for each in printed["kernels"]]
        assert [node["bytes_read"] for node in kernels] == [
            each["bytes_read"] for each in printed["kernels"]
        ]
        ends = [
            graph["nodes"][node]["kind"] for node in (graph["edges"][0][0], graph["edges"][-1][1])
        ]
        assert ends == ["input", "output"]


def test_a_saved_recipe_opens_its_model(tmp_path: Path) -> None:
    model = tmp_path / "a model's.onnx"
    model.write_bytes(DIGITS.read_bytes())
    recipe = tmp_path / "better.recipe"
    step = "separate /features/features.3/Conv/map\n"
    with started(model, "--size", "batch=16") as studio:
        recipe.write_text(studio.get("api/state")["heading"] + step)
    with started(recipe) as studio:
        state = studio.get("api/state")
        assert state["model"] == model.name and "--size batch=16" in state["command"]
        assert state["entries"][0]["recipe"].endswith(step)
    recipe.write_text(step)
    done = subprocess.run([HEADRACE, "studio", recipe], check=False, capture_output=True, text=True)
    assert done.returncode == 1 and "names no model" in done.stderr


def test_less_memory_for_the_gradient_takes_longer(digits: Studio) -> None:
    free = digits.get("api/gradient")
    none = digits.get("api/gradient?budget=0")
    assert none["kept_bytes"] == 0 and none["kept"] == []
    assert free["kept_bytes"] == sum(each["bytes"] for each in free["kept"]) > 0
    assert len(none["computed_again"]) > len(free["computed_again"])
    assert none["backward"]["predicted_us"] > free["backward"]["predicted_us"]


def test_errors_name_the_file(tmp_path: Path) -> None:
    command = [HEADRACE, "studio", tmp_path / "none.onnx", "--no-browser"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if "it is a separate program" in done.stderr:
        pytest.skip("headrace-studio is not built: libcpp-httplib-dev is not installed")
    assert done.returncode == 1
    assert "none.onnx: cannot be read" in done.stderr
