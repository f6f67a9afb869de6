"""Makes the pictures of docs/studio.md: python tools/docs/studio_pictures.py [--out DIR]

Needs Debian's chromium and the packages of requirements/studio.txt, and a build (HEADRACE_BIN or build/release).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
MODEL = "examples/digits/digits.onnx"
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


def pictures(page: Page, folder: Path) -> None:
    page.evaluate("Studio.app.setPhase('layout')")
    idle(page)
    page.evaluate("Studio.graph.setOverlay('predicted')")
    page.evaluate("Studio.graph.revealName('/features/features.3/Conv/conv')")
    take(page, folder / "studio-program.png")
    page.click("#tab-steps")
    page.fill("#steps input", "separate")
    page.click("text=Preview all")
    take(page, folder / "studio-steps.png")
    page.click("#tab-machine")
    page.click("text=Measure a call")
    take(page, folder / "studio-machine.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images")
    folder = parser.parse_args().out
    headrace = os.environ.get("HEADRACE_BIN", str(ROOT / "build/release/bin/headrace"))
    command = [headrace, "studio", MODEL, "--size", "batch=16", "--no-browser"]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
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
            browser.close()
    finally:
        studio.terminate()
        studio.wait()


if __name__ == "__main__":
    main()
