"""The page of headrace studio in a headless Chromium: what it shows is what the command line prints."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from studio_process import DIGITS, HEADRACE, Studio, started

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="requirements/studio.txt has playwright"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-headless-shell")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="Debian's package chromium is not installed")


@pytest.fixture(scope="session")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Page:
    """A page that is open, the errors in it, and the addresses that it asked for."""

    def __init__(self, browser: sync_api.Browser, address: str, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": 1280, "height": 800}, color_scheme=scheme
        )
        self.context.add_init_script("localStorage.setItem('headrace-guide', 'seen')")
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda line: self.errors.append(line.text) if line.type == "error" else None,
        )
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.goto(address)
        self.until("Studio.graph.scene.placed !== null")
        self.idle()

    def until(self, condition: str) -> None:
        """The page's policy forbids to evaluate texts within it, as wait_for_function does."""
        end = time.monotonic() + 120
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"expected in time: {condition}"
            self.page.wait_for_timeout(40)

    def idle(self) -> None:
        """The report has come, and nothing runs any more."""
        self.until("Studio.app.reportNow() !== undefined")
        self.page.wait_for_timeout(60)
        self.until("document.getElementById('busy').textContent === ''")

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def close(self) -> None:
        self.context.close()


def explained(*options: str) -> dict:
    command = [HEADRACE, "explain", str(DIGITS), "--size", "batch=16", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_it_shows_what_explain_prints_and_asks_nobody_else(
    browser: sync_api.Browser, digits: Studio
) -> None:
    page = Page(browser, digits.address + "#phase=layout")
    conv = "/features/features.3/Conv/conv"
    page.page.evaluate(f"Studio.graph.revealName('{conv}')")
    node = next(n for n in explained("--to=layout")["nodes"] if n["id"] == conv)
    found = page.page.evaluate("Studio.graph.chosenNode()")
    assert {key: found[key] for key in node} == node
    assert conv in page.text("#node h2")
    assert f"{node['bytes_written'] / 1000:.1f} kB" in page.text("#node .facts")
    kernels = explained()["after"]["kernels"]
    assert page.text("#totals div:first-child dd") == str(kernels)
    page.until("document.querySelector('#node pre').textContent.includes('hr.conv')")
    assert page.errors == []
    assert [url for url in page.asked if not url.startswith((digits.address, "data:"))] == []
    page.close()


def test_a_step_is_applied_undone_saved_and_replayed(
    browser: sync_api.Browser, tmp_path: Path
) -> None:
    with started(DIGITS, "--size", "batch=16") as studio:
        page = Page(browser, studio.address)
        before = page.text("#totals div:first-child dd")
        page.page.click("#tab-recipe")
        page.page.fill("#recipe textarea", "separate /features/features.3/Conv/map")
        page.page.click("text=Apply the text")
        page.until("Studio.app.entry() === 1")
        page.idle()
        assert page.text("#totals div:first-child dd") != before
        with page.page.expect_download() as download:
            page.page.click("text=Save digits.recipe")
        saved = tmp_path / "digits.recipe"
        download.value.save_as(saved)
        shown = page.page.evaluate("Studio.app.reportNow()")
        printed = explained("--recipe", str(saved))
        for report in (shown, printed):
            del report["phases"]
        assert shown == printed
        page.page.click("#undo")
        page.until("Studio.app.entry() === 0")
        page.idle()
        assert page.text("#totals div:first-child dd") == before
        page.page.click("#redo")
        page.until("Studio.app.entry() === 1")
        page.idle()
        page.page.click("#tab-recipe")
        page.page.fill("#recipe textarea", "separate nothing")
        page.page.click("text=Apply the text")
        page.until("document.querySelector('#recipe .fault').textContent.includes('nothing')")
        assert page.page.evaluate("Studio.app.entry()") == 1
        page.close()


def test_a_preview_says_what_a_step_changes(browser: sync_api.Browser) -> None:
    with started(DIGITS, "--size", "batch=16") as studio:
        page = Page(browser, studio.address)
        page.page.click("#tab-steps")
        page.page.fill("#steps input", "separate /features/features.3/Conv/map")
        card = page.page.locator("#steps .step").first
        card.locator("text=Preview").click()
        card.locator(".gain:not(:has(.spin))").wait_for()
        assert "kernels" in card.locator(".gain").inner_text()
        page.page.fill("#steps input", "cannot iterate over the same rows")
        refused = page.page.locator("#steps .step").first
        refused.locator("text=Apply").click()
        refused.locator(".fault").wait_for()
        assert "refused" in refused.inner_text()
        assert page.page.evaluate("Studio.app.entry()") == 0
        page.close()


def test_the_compilers_own_choice_is_a_step_against_the_recipe(
    browser: sync_api.Browser, tmp_path: Path
) -> None:
    name = "/features/features.3/Conv/map"
    recipe = tmp_path / "apart.recipe"
    recipe.write_text(f"separate {name}\n")
    with started(DIGITS, "--size", "batch=16", "--recipe", recipe) as studio:
        page = Page(browser, studio.address)
        assert page.page.evaluate("Studio.app.reportNow().after.kernels") == 9
        page.page.click("#tab-steps")
        page.page.fill("#steps input", f"compiler would {name}")
        card = page.page.locator("#steps .step").first
        assert f"fuse {name} into" in card.inner_text()
        card.locator("text=Apply").click()
        page.until("Studio.app.entry() === 1")
        page.idle()
        kernels = explained()["after"]["kernels"]
        assert page.page.evaluate("Studio.app.reportNow().after.kernels") == kernels
        page.close()


def test_equal_blocks_are_one_group_that_opens(browser: sync_api.Browser, models: Path) -> None:
    with started(models / "blocks.onnx") as studio:
        page = Page.__new__(Page)
        open_without_report(page, browser, studio.address)
        boxes = "Studio.graph.scene.placed.boxes"
        assert page.page.evaluate(f"{boxes}.length") < 20
        blocks = "Studio.graph.scene.graph.frames.map((f) => f.blocks)"
        assert page.page.evaluate(f"Math.max(...{blocks})") == 200
        page.page.evaluate("Studio.graph.openAll(true)")
        assert page.page.evaluate(f"{boxes}.length") > 10_000
        page.page.evaluate("Studio.graph.reveal(5000)")
        assert page.page.evaluate("Studio.graph.chosenNode().id") == "n4999"
        assert page.errors == []
        page.close()


def open_without_report(page: Page, browser: sync_api.Browser, address: str) -> None:
    """Opens the page; compiling the whole program may take long."""
    idle = Page.idle
    try:
        Page.idle = lambda self: None
        page.__init__(browser, address)
    finally:
        Page.idle = idle


def test_hostile_names_are_text(browser: sync_api.Browser, models: Path, tmp_path: Path) -> None:
    with started(models / "names.onnx") as studio:
        page = Page(browser, studio.address)
        check_names(page)
        page.close()
    command = [HEADRACE, "studio", models / "names.onnx", "--export", tmp_path / "page"]
    subprocess.run(command, check=True, capture_output=True)
    page = Page(browser, (tmp_path / "page/index.html").as_uri() + "#phase=import")
    check_names(page)
    page.close()


def check_names(page: Page) -> None:
    scripts = page.page.evaluate("document.scripts.length")
    for number in range(6):
        page.page.evaluate(
            "(n) => Studio.graph.reveal(Studio.graph.scene.graph.nodes.map((x, i) => "
            "x.kind === 'softmax' ? i : -1).filter((i) => i >= 0)[n])",
            number,
        )
    page.page.click("#tab-steps")
    page.page.click("#tab-history")
    assert page.page.evaluate("document.scripts.length") == scripts
    assert page.page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.page.title() == "names.onnx · Headrace Studio"
    assert page.errors == []


def test_a_package_is_shown_without_steps(browser: sync_api.Browser, tmp_path: Path) -> None:
    package = tmp_path / "digits.hrpkg"
    subprocess.run([HEADRACE, "compile", DIGITS, "-o", package], check=True, capture_output=True)
    with started(package, "--size", "batch=16") as studio:
        page = Page(browser, studio.address)
        assert page.page.evaluate("Studio.graph.scene.graph.phase") == "schedule"
        page.page.click("#tab-steps")
        assert "every choice is made" in page.text("#steps")
        page.page.click("#tab-machine")
        page.page.locator("#machine .card").nth(2).wait_for()
        assert page.errors == []
        page.close()


def test_an_exported_page_needs_no_server(browser: sync_api.Browser, tmp_path: Path) -> None:
    command = [HEADRACE, "studio", DIGITS, "--size", "batch=16", "--export", tmp_path / "page"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if "it is a separate program" in done.stderr:
        pytest.skip("headrace-studio is not built: libcpp-httplib-dev is not installed")
    page = Page(browser, (tmp_path / "page/index.html").as_uri())
    for key in ("5", "1", "4"):
        page.page.keyboard.press(key)
        page.page.wait_for_timeout(50)
    assert page.page.evaluate("Studio.app.phase()") == "kernels"
    page.page.click("#tab-machine")
    page.page.locator("#machine .card").nth(2).wait_for()
    assert all(url.startswith(("file:", "data:")) for url in page.asked)
    assert page.errors == []
    page.close()


def test_the_keyboard_does_everything(browser: sync_api.Browser, digits: Studio) -> None:
    page = Page(browser, digits.address)
    press = page.page.keyboard.press
    press("3")
    page.until("Studio.graph.scene.graph.phase === 'layout'")
    press("g")
    press("ArrowDown")
    assert page.page.evaluate("Studio.graph.scene.chosen") >= 0
    first = page.page.evaluate("Studio.graph.scene.chosen")
    press("ArrowDown")
    assert page.page.evaluate("Studio.graph.scene.chosen") != first
    press("/")
    page.page.keyboard.type("classifier.3 contract")
    press("Enter")
    assert "classifier.3" in page.page.evaluate("Studio.graph.chosenNode().id")
    before = page.page.evaluate("Studio.graph.scene.placed.boxes.length")
    press("c")
    assert page.page.evaluate("Studio.graph.scene.placed.boxes.length") < before
    press("e")
    press("o")
    assert page.page.evaluate("Studio.graph.overlay()") == "predicted"
    for key, panel in (("s", "steps"), ("y", "recipe"), ("h", "history"), ("n", "node")):
        press(key)
        assert page.page.evaluate(f"!document.getElementById('{panel}').hidden")
    press("m")
    page.page.locator("#machine .card").nth(2).wait_for()
    press("p")
    press("?")
    assert page.page.evaluate("document.getElementById('guide').open")
    press("Escape")
    assert not page.page.evaluate("document.getElementById('guide').open")
    theme = page.page.evaluate("Studio.theme()")
    press("t")
    assert page.page.evaluate("Studio.theme()") != theme
    assert page.errors == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: sync_api.Browser, digits: Studio, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = Page(browser, digits.address, scheme)
    page.page.evaluate("Studio.graph.revealName('/features/features.3/Conv/conv')")
    for view in ("#tab-node", "#tab-steps", "#tab-recipe", "#tab-history", "#tab-machine"):
        page.page.click(view)
        page.page.wait_for_timeout(300)
        found = axe.run(page.page).response["violations"]
        serious = [each for each in found if each["impact"] in {"serious", "critical"}]
        told = [
            (each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in serious
        ]
        assert told == [], view
    page.close()


def test_phases_keep_the_chosen_operator_in_place(
    browser: sync_api.Browser, digits: Studio
) -> None:
    page = Page(browser, digits.address + "#phase=import")
    page.page.evaluate("Studio.graph.revealName('/features/features.3/Conv/conv')")
    where = (
        "(() => { const s = Studio.graph.scene, b = s.placed.boxes[s.chosen];"
        " return [b.x * s.camera.scale + s.camera.x, b.y * s.camera.scale + s.camera.y]; })()"
    )
    before = page.page.evaluate(where)
    for name in ("simplify", "layout", "kernels", "schedule"):
        page.page.evaluate(f"Studio.app.setPhase('{name}')")
        page.until(f"Studio.graph.scene.graph.phase === '{name}'")
        after = page.page.evaluate(where)
        assert abs(after[0] - before[0]) < 128 and abs(after[1] - before[1]) < 80, name
        assert "features.3" in page.page.evaluate("Studio.graph.chosenNode().id")
    page.close()


def test_a_call_is_saved_as_a_trace(
    browser: sync_api.Browser, digits: Studio, tmp_path: Path
) -> None:
    page = Page(browser, digits.address)
    page.page.click("#tab-machine")
    with page.page.expect_download() as download:
        page.page.click("text=Save a trace for Perfetto")
    saved = tmp_path / "trace.json"
    download.value.save_as(saved)
    events = json.loads(saved.read_text())["traceEvents"]
    report = explained()
    kernels = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert [event["name"] for event in kernels] == [each["name"] for each in report["kernels"]]
    for before, event in zip(kernels, kernels[1:], strict=False):
        assert event["ts"] == pytest.approx(before["ts"] + before["dur"])
    counters = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
    lives_at = [
        sum(each["bytes"] for each in report["buffers"] if each["first"] <= step <= each["last"])
        for step in range(len(report["kernels"]))
    ]
    assert counters == lives_at
    lives = {event["name"] for event in events if event["ph"] == "X" and event["pid"] == 4}
    temporaries = {each["name"] for each in report["buffers"] if each["kind"] == "temporary"}
    assert lives == temporaries
    assert {event["ph"] for event in events} == {"M", "X", "C"}
    page.close()


def test_a_slider_goes_over_budgets_of_memory(browser: sync_api.Browser, digits: Studio) -> None:
    page = Page(browser, digits.address)
    page.page.click("#tab-machine")
    page.page.click("text=Try budgets")
    page.until("document.querySelector('input[type=range]') !== null")
    page.page.locator("input[type=range]").focus()
    page.page.keyboard.press("Home")
    free = digits.get("api/gradient")
    assert page.page.locator("input[type=range]").get_attribute("aria-valuetext") == "0 B"
    assert "--memory-budget 0" in page.text("#machine .card:last-child")
    page.page.keyboard.press("End")
    assert "--memory-budget" not in page.text("#machine .card:last-child")
    assert free["kept"][0]["name"].removeprefix("kept ") in page.text("#machine .card:last-child")
    assert page.errors == []
    page.close()


def test_the_first_picture_waits_for_no_report(browser: sync_api.Browser, digits: Studio) -> None:
    page = Page(browser, digits.address)
    asked = [url.split("/api/")[1] for url in page.asked if "/api/" in url]
    assert [each.split("?")[0] for each in asked[:2]] == ["state", "graph"]
    page.close()


def test_a_broken_model_shows_its_error(browser: sync_api.Browser, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(DIGITS.read_bytes()[:500])
    with started(broken) as studio:
        context = browser.new_context()
        page = context.new_page()
        page.goto(studio.address)
        page.locator("#notice:visible").wait_for()
        assert "broken.onnx" in page.inner_text("#notice")
        context.close()
