"""How fast the page of headrace studio opens and moves: python -m bench.studio_page [--blocks 200]

A chain of equal blocks of 50 operators is opened in a headless Chromium: as one group, and with every group open.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from playwright.sync_api import Page, sync_playwright

KINDS = ["Relu", "Sigmoid", "Tanh", "Add", "Neg", "Abs", "Mul", "Exp", "Softmax", "Sub"]
NODES_PER_BLOCK = 50

# Moves the picture in every frame, counts the frames and the longest pause between two, and times the drawing.
MOVE = """
(seconds) => new Promise((done) => {
  const { camera } = Studio.graph.scene;
  Studio.graph.openAll(true);
  const stops = [0.02, 0.1, 0.5, 1], draws = [];
  let frames = 0, longest = 0, before = performance.now();
  const start = before;
  const step = (now) => {
    const share = (now - start) / 1000 / seconds;
    if (now > before) { longest = Math.max(longest, now - before); ++frames; }
    before = now;
    if (share >= 1) {
      draws.sort((a, b) => a - b);
      return done({ frames_per_second: frames / seconds, longest_ms: longest,
        draw_ms: draws[draws.length >> 1] });
    }
    const scale = stops[Math.min(3, Math.floor(share * 4))];
    Studio.graph.zoom(scale / camera.scale);
    Studio.graph.pan(7, -13);
    const begin = performance.now();
    Studio.draw.paint(document.getElementById("canvas"), Studio.graph.scene);
    draws.push(performance.now() - begin);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""


def chain(blocks: int, path: Path) -> None:
    nodes, value = [], "x"
    for block in range(blocks):
        values = [value]
        for i in range(NODES_PER_BLOCK):
            kind = KINDS[(i * 7 + i // 10) % 10]
            operands = [values[-1]]
            if kind in {"Add", "Mul", "Sub"}:
                operands.append(values[max(0, len(values) - 3)])
            number = block * NODES_PER_BLOCK + i
            nodes.append(helper.make_node(kind, operands, [f"v{number}"], name=f"n{number}"))
            values.append(f"v{number}")
        value = values[-1]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in ("x", value)
    ]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def measured(page: Page, address: str, seconds: float) -> dict:
    page.goto(address)
    while not page.evaluate("Studio.graph.paintedAt() !== null"):
        page.wait_for_timeout(10)
    result = {
        "open_ms": page.evaluate("Studio.graph.paintedAt()"),
        "boxes_at_first": page.evaluate("Studio.graph.scene.placed.boxes.length"),
    }
    result |= page.evaluate(MOVE, seconds)
    result["boxes_open"] = page.evaluate("Studio.graph.scene.placed.boxes.length")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=200, help="of 50 operators each")
    parser.add_argument("--seconds", type=float, default=4, help="time to move the picture")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    headrace = os.environ.get("HEADRACE_BIN", "build/release/bin/headrace")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        model = Path(folder) / "chain.onnx"
        chain(options.blocks, model)
        command = [headrace, "studio", str(model), "--no-browser"]
        studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = studio.stdout.readline().strip()
            chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_init_script("localStorage.setItem('headrace-guide', 'seen')")
            result = measured(context.new_page(), address, options.seconds)
            browser.close()
        finally:
            studio.terminate()
            studio.wait()
    if options.json:
        print(json.dumps(result))
        return
    print(
        f"{options.blocks * NODES_PER_BLOCK} operators, first shown as {result['boxes_at_first']} boxes"
    )
    print(f"opens in {result['open_ms']:.0f} ms, from the request of the page to its first picture")
    print(
        f"moves {result['boxes_open']} open boxes at {result['frames_per_second']:.0f} frames a second; "
        f"longest pause {result['longest_ms']:.0f} ms, drawing {result['draw_ms']:.1f} ms (median)"
    )


if __name__ == "__main__":
    main()
