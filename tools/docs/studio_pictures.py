"""Makes the pictures of docs/studio.md and the animation of README.md: python tools/docs/studio_pictures.py [--out DIR]

Needs Debian's chromium and the packages of requirements/studio.txt, and a build (HEADRACE_BIN or build/release).
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
MODEL = "mbconv.onnx"
RECIPE = ROOT / "examples/mbconv/unfused.recipe"
IDLE = "Studio.app.reportNow() !== undefined && document.getElementById('busy').textContent === ''"


def until(page: Page, condition: str) -> None:
    """The page's policy forbids to evaluate texts within it, as wait_for_function does."""
    end = time.monotonic() + 120
    while not page.evaluate(condition):
        if time.monotonic() > end:
            raise SystemExit(f"expected in time: {condition}")
        page.wait_for_timeout(50)


def idle(page: Page) -> None:
    page.wait_for_timeout(150)
    until(page, IDLE)
    page.wait_for_timeout(150)


def take(page: Page, path: Path) -> None:
    idle(page)
    page.mouse.move(700, 60)
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size / 1000:.0f} kB")


def choose(page: Page, phase: str, overlay: str, node: str) -> None:
    page.evaluate(f"Studio.app.setPhase('{phase}')")
    idle(page)
    page.evaluate(f"Studio.graph.setOverlay('{overlay}')")
    if node:
        page.evaluate(f"Studio.graph.revealName('{node}')")


def preview_all(page: Page, words: str) -> None:
    page.click("#tab-steps")
    page.fill("#steps input", words)
    page.click("text=Preview all")
    idle(page)


def apply_best(page: Page) -> None:
    """The first step of the list."""
    entry = page.evaluate("Studio.app.entry()")
    page.locator("#steps .step >> text=Apply").first.click()
    until(page, f"Studio.app.entry() > {entry}")
    idle(page)


def apply_what_gains(page: Page) -> None:
    while page.locator("#steps .step .gain .less").count():
        apply_best(page)
        preview_all(page, "compiler would")


def pictures(page: Page, folder: Path) -> None:
    choose(page, "layout", "predicted", "depthwise/silu/mul")
    take(page, folder / "studio-program.png")
    preview_all(page, "compiler would")
    take(page, folder / "studio-steps.png")
    apply_what_gains(page)
    page.click("#tab-history")
    take(page, folder / "studio-history.png")
    page.click("#tab-machine")
    page.click("text=Measure a call")
    take(page, folder / "studio-machine.png")
    page.click("text=Try budgets")
    until(page, "document.querySelector('input[type=range]') !== null")
    page.fill("input[type=range]", "1")
    page.evaluate("document.getElementById('machine').scrollTo(0, 1e6)")
    take(page, folder / "studio-training.png")


def animation(page: Page, path: Path) -> None:
    """Phases, time as colour, previews, steps and the history."""
    shots: list[tuple[Image.Image, int]] = []

    def shot(milliseconds: int) -> None:
        idle(page)
        page.mouse.move(620, 60)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        shots.append((picture.resize((960, 570), Image.Resampling.LANCZOS), milliseconds))

    page.evaluate("Studio.app.goTo(0)")
    until(page, "Studio.app.entry() === 0")
    page.click("#tab-program")
    page.click("#tab-node")
    page.evaluate("Studio.graph.choose(-1)")
    for phase in ("import", "simplify", "layout"):
        choose(page, phase, "kind", "")
        page.evaluate("Studio.graph.fitReadable()")
        shot(900)
    choose(page, "layout", "predicted", "depthwise/silu/mul")
    shot(1500)
    preview_all(page, "compiler would")
    shot(2000)
    for _ in range(3):
        apply_best(page)
        preview_all(page, "compiler would")
        shot(1300)
    choose(page, "schedule", "predicted", "")
    shot(1500)
    page.click("#tab-history")
    shot(2000)
    page.click("#tab-machine")
    page.evaluate("document.getElementById('machine').scrollTo(0, 0)")
    shot(2000)
    first, *rest = [picture for picture, _ in shots]
    times = [milliseconds for _, milliseconds in shots]
    first.save(
        path, save_all=True, append_images=rest, duration=times, loop=0, quality=72, method=6
    )
    print(f"{path}  {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images")
    folder = parser.parse_args().out
    headrace = os.environ.get("HEADRACE_BIN", str(ROOT / "build/release/bin/headrace"))
    models = Path(tempfile.mkdtemp())
    make = [sys.executable, str(ROOT / "examples/mbconv/make.py"), MODEL]
    subprocess.run(make, check=True, cwd=models, stdout=subprocess.DEVNULL)
    command = [
        headrace,
        "studio",
        MODEL,
        "--size",
        "batch=8",
        "--recipe",
        str(RECIPE),
        "--no-browser",
    ]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=models)
    try:
        address = studio.stdout.readline().strip()
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            context = browser.new_context(viewport={"width": 1280, "height": 760})
            context.add_init_script("localStorage.setItem('headrace-guide', 'seen')")
            page = context.new_page()
            page.goto(address)
            until(page, "Studio.graph.scene.placed !== null")
            pictures(page, folder)
            animation(page, folder / "studio.webp")
            browser.close()
    finally:
        studio.terminate()
        studio.wait()
        shutil.rmtree(models)


if __name__ == "__main__":
    main()
