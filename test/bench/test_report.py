"""Ratios, tables and the image, from outcomes written by hand; and the command as a whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench import chart, plot, report
from bench.measure import Missing, Timing
from bench.run import parse_arguments

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def timing(median: float, error: float | None = 1e-7) -> Timing:
    return Timing(median_ms=median, p95_ms=2 * median, first_s=0.25, calls=7, error=error)


@pytest.fixture
def run() -> report.Run:
    gone = Missing("Gone: not installed")
    return report.Run(
        facts={"cpu": "a & b"},
        peers=["Headrace", "Fast", "Slow", "Gone"],
        outcomes={
            "one": {
                "Headrace": timing(10),
                "Fast": timing(5),
                "Slow": timing(40, None),
                "Gone": gone,
            },
            "two": {"Headrace": timing(1), "Fast": timing(2), "Slow": timing(9), "Gone": gone},
            "three": {
                "Headrace": Missing("Headrace: no such operator"),
                "Fast": timing(3),
                "Gone": gone,
            },
        },
    )


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_ratio_is_peer_over_headrace(run: report.Run) -> None:
    assert run.ratio("one", "Fast") == 0.5
    assert run.ratio("one", "Slow") == 4.0
    assert run.ratio("three", "Fast") is None
    assert run.ratio("one", "Gone") is None


def test_mean_is_geometric_over_shared_models(run: report.Run) -> None:
    assert run.mean_ratio("Fast") == pytest.approx(1.0)
    assert run.mean_ratio("Slow") == pytest.approx(6.0)
    assert run.mean_ratio("Gone") is None


def test_ratio_table(run: report.Run) -> None:
    notes = report.Footnotes()
    rows = cells(report.ratio_table(run, notes))
    assert rows[0] == ["model", "Headrace", "Fast", "Slow", "Gone"]
    assert rows[2] == ["one", "10.0 ms", "0.50x (5.00 ms)", "4.00x (40.0 ms)", "- [1]"]
    assert rows[3] == ["two", "1.00 ms", "2.00x (2.00 ms)", "9.00x (9.00 ms)", "- [1]"]
    assert rows[4] == ["three", "- [2]", "3.00 ms", "- [3]", "- [1]"]
    assert rows[5] == ["geometric mean", "", "1.00x", "6.00x", ""]
    assert notes.reasons == ["Gone: not installed", "Headrace: no such operator", "Slow: not run"]


def test_table_without_headrace_has_times_and_no_mean(run: report.Run) -> None:
    for outcomes in run.outcomes.values():
        outcomes["Headrace"] = Missing("Headrace: not built")
    text = report.summary(run)
    assert "geometric" not in text
    assert "5.00 ms" in text and "x (" not in text
    assert "[1] Headrace: not built" in text


def test_detail_table(run: report.Run) -> None:
    rows = cells(report.detail_table(run))
    assert rows[2] == ["one", "Headrace", "10.0", "20.0", "0.250", "1.0e-07", "7"]
    assert ["one", "Slow", "40.0", "80.0", "0.250", "-", "7"] in rows
    assert len(rows) == 2 + 7


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00634, "0.0063"), (0.0635, "0.0635"), (1.234, "1.23"), (12.34, "12.3"), (1234.5, "1234")],
)
def test_milliseconds_are_rounded(value: float, text: str) -> None:
    assert report.milliseconds(value) == text


def test_json_holds_everything(run: report.Run) -> None:
    record = json.loads(report.to_json(run))
    assert record["models"]["one"]["Slow"]["ratio"] == 4.0
    assert record["models"]["one"]["Slow"]["error"] is None
    assert record["models"]["three"]["Headrace"] == {"missing": "Headrace: no such operator"}


def test_a_record_read_again_gives_the_same_report(run: report.Run) -> None:
    again = report.from_json(report.to_json(run))
    assert again == run
    assert plot.svg(again) == plot.svg(run)


def test_the_picture_shows_ratios_and_times(run: report.Run) -> None:
    words = [text.text for text in ElementTree.fromstring(plot.svg(run)).iter(f"{SVG}text")]
    assert words[words.index("one") + 1] == "10.0 ms"
    assert "0.50x (5.00 ms)" in words and "4.00x (40.0 ms)" in words


def test_a_quick_run_says_so_in_its_picture(run: report.Run) -> None:
    assert "roughly" not in plot.svg(run)
    run.facts["measuring"] = "quick"
    assert "a &amp; b, measured quickly, so roughly" in plot.svg(run)


def test_every_colour_but_those_of_bars_follows_the_page(run: report.Run) -> None:
    picture = plot.svg(run)
    drawn = picture[picture.index("</style>") :]
    classes = set(re.findall(r'class="(\w+)"', drawn))
    light, dark = plot.STYLE.split("@media")
    for name in classes:
        assert f".{name} {{" in light and f".{name} {{" in dark
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn))
    assert colours <= set(plot.COLOURS)


def test_bars_lie_on_the_side_of_the_faster(run: report.Run) -> None:
    root = ElementTree.fromstring(plot.svg(run))
    bars = {bar[0].text: bar for bar in root.iter(f"{SVG}rect") if len(bar)}
    assert sorted(bars) == [
        "one, Fast: 0.50x",
        "one, Slow: 4.00x",
        "two, Fast: 2.00x",
        "two, Slow: 9.00x",
    ]
    unit = plot.Axis([0.5, 4.0, 2.0, 9.0]).x(1.0)
    slower, faster = bars["one, Fast: 0.50x"], bars["one, Slow: 4.00x"]
    assert float(slower.get("x")) + float(slower.get("width")) == pytest.approx(unit, abs=0.2)
    assert float(faster.get("x")) == pytest.approx(unit, abs=0.2)


def test_picture_without_ratios_says_so() -> None:
    assert "no ratios" in plot.svg(report.Run({}, ["Headrace"], {"one": {"Headrace": timing(1)}}))


def test_the_chart_is_drawn_from_its_data(run: report.Run, tmp_path: Path) -> None:
    run.facts |= {"date": "2026-11-18 12:00:00+00:00", "threads": "2 threads", "Fast": "1.2"}
    data, picture = chart.write(run, tmp_path / "times.svg")
    assert picture.read_text() == plot.svg(run)
    assert chart.to_json(chart.from_json(data.read_text())) == data.read_text()
    for fact in ("a &amp; b, 2 threads, 2026-11-18", "Fast 1.2"):
        assert fact in picture.read_text()


def test_the_caption_names_machine_date_and_slower_models(run: report.Run) -> None:
    run.facts |= {"date": "2026-11-18 12:00:00+00:00", "threads": "2 threads"}
    said = " ".join(chart.caption(run).split())
    assert "in f32: a & b, 2 threads, 2026-11-18. Headrace is slower on one (0.50x Fast). " in said
    page = f"first\n{chart.BEGIN}old\n{chart.END}\nlast\n"
    written = f"first\n{chart.BEGIN}{chart.caption(run)}{chart.END}\nlast\n"
    assert chart.with_caption(page, run) == written


def test_a_page_without_markers_takes_no_caption(run: report.Run) -> None:
    with pytest.raises(ValueError, match="expected one '<!-- caption"):
        chart.with_caption("page", run)


def test_the_readme_shows_the_recorded_data() -> None:
    recorded = chart.from_json(chart.CHART.with_suffix(".json").read_text())
    assert chart.CHART.read_text() == plot.svg(recorded)
    readme = chart.README.read_text()
    assert readme == chart.with_caption(readme, recorded)


@pytest.mark.parametrize("ratio", [1e-4, 1.0, 1e4])
def test_axis_holds_any_ratio(ratio: float) -> None:
    assert plot.LEFT <= plot.Axis([ratio]).x(ratio) <= plot.WIDTH - plot.RIGHT + 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "nope"], "'nope' is neither a file nor one of lenet"),
        (["--threads", "0"], "--threads: expected 1 to"),
        (["--batch", "0"], "--batch: expected at least 1, got 0"),
        (["--record", "none.json"], "expected a results file, and there is no none.json"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(arguments)
    assert message in capsys.readouterr().err


def test_command_writes_all_results(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch makes the benchmark models")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a model")
    results = tmp_path / "results"
    command = [
        sys.executable,
        str(ROOT / "bench" / "run.py"),
        "--quick",
        "--small",
        "--out",
        str(results),
        "--chart",
        str(tmp_path / "images" / "times.svg"),
    ]
    models = ["--models", "mlp", str(ROOT / "examples" / "digits" / "digits.onnx"), str(broken)]
    done = subprocess.run(command + models, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert sorted(path.suffix for path in results.iterdir()) == [".json", ".md", ".svg"]
    (record,) = results.glob("*.json")
    measured = json.loads(record.read_text())["models"]
    assert measured["mlp"]["ONNX Runtime"]["calls"] > 0
    assert measured["mlp"]["PyTorch"]["error"] < 1e-5
    assert measured["digits"]["PyTorch"] == {
        "missing": "PyTorch: no PyTorch network for digits.onnx"
    }
    assert str(broken) in measured["broken"]["Headrace"]["missing"]
    assert "| mlp " in done.stdout
    (picture,) = results.glob("*.svg")
    assert (tmp_path / "images" / "times.svg").read_text() == picture.read_text()
    check_report_of_a_record(record, picture.read_text(), done.stdout, tmp_path / "again.svg")


def check_report_of_a_record(record: Path, picture: str, tables: str, again: Path) -> None:
    program = str(ROOT / "bench" / "run.py")
    command = [sys.executable, program, "--record", str(record), "--chart", str(again)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert again.read_text() == picture
    assert done.stdout == tables
