#!/usr/bin/env python3
"""Time Headrace against the peers that are installed, on the same cores, turn by turn.

Missing models are made first. Writes bench/results/DATE.json, .md and .svg, and prints the tables;
--chart also writes the chart of README.md, the chart's data and its caption, with --record from the
results of an earlier run. A peer that is not installed, or fails on a model, leaves a footnote with
the reason.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from pathlib import Path

from bench import chart, plot, report, workload
from bench.measure import Missing, Outcome, Plan, measure, one_line
from bench.peers import INDUCTOR, PEERS, Peer

ROOT = Path(__file__).resolve().parents[1]
MODEL_NAMES = (
    "lenet",
    "mlp",
    "resnet18",
    "mobilenet_v2",
    "bert_layer",
    "mish",
    "softmax",
    "layernorm",
)
QUICK = Plan(rounds=3, turn_s=0.05)


class Progress:
    """One line on stderr that changes in a terminal; elsewhere one line per model."""

    def __init__(self, count: int) -> None:
        self.count, self.number, self.model = count, 0, ""
        self.live = sys.stderr.isatty()

    def start(self, model: str) -> None:
        self.number, self.model = self.number + 1, model
        if not self.live:
            print(f"[{self.number}/{self.count}] {model}", file=sys.stderr, flush=True)

    def step(self, what: str) -> None:
        if self.live:
            line = f"[{self.number}/{self.count}] {self.model}: {what}"
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"models: {', '.join(MODEL_NAMES)}, or the path of any .onnx file",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    cores = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--models", nargs="+", metavar="MODEL", default=list(MODEL_NAMES), help="default: all"
    )
    parser.add_argument(
        "--threads", type=int, default=cores, help=f"threads and cores (default: {cores})"
    )
    parser.add_argument("--batch", type=int, default=1, help="size of free dimensions (default: 1)")
    parser.add_argument("--quick", action="store_true", help="few short rounds: a rough picture")
    parser.add_argument("--small", action="store_true", help="the models' small variants")
    parser.add_argument(
        "--inductor", action="store_true", help="also torch.compile (slow to start)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "bench" / "results",
        help="folder for results",
    )
    parser.add_argument(
        "--chart",
        type=Path,
        metavar="FILE",
        nargs="?",
        const=chart.CHART,
        help="also draw the ratios there, with their data in a .json file next to it "
        f"(default: {chart.CHART.relative_to(ROOT)})",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="JSON",
        help="report an earlier run's results, measure nothing",
    )
    options = parser.parse_args(arguments)
    check(parser, options, cores)
    return options


def check(parser: argparse.ArgumentParser, options: argparse.Namespace, cores: int) -> None:
    if not 1 <= options.threads <= cores:
        parser.error(f"--threads: expected 1 to {cores}, got {options.threads}")
    if options.batch < 1:
        parser.error(f"--batch: expected at least 1, got {options.batch}")
    if options.record and not options.record.is_file():
        parser.error(f"--record: expected a results file, and there is no {options.record}")
    for model in options.models:
        if model not in MODEL_NAMES and not Path(model).is_file():
            parser.error(
                f"--models: '{model}' is neither a file nor one of {', '.join(MODEL_NAMES)}"
            )


def pin(threads: int) -> None:
    """Confine this process, and every pool a peer will start, to as many cores as threads."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def start_peers(kinds: list[type[Peer]], threads: int) -> tuple[list[Peer], dict[str, Missing]]:
    peers: list[Peer] = []
    missing: dict[str, Missing] = {}
    for kind in kinds:
        try:
            peers.append(kind(threads))
        except Exception as error:  # a broken package may raise anything while it is imported
            missing[kind.name] = Missing(f"{kind.name}: {one_line(error)}")
    return peers, missing


def load_workload(model: str, options: argparse.Namespace) -> workload.Workload:
    if model in MODEL_NAMES:
        return workload.from_name(model, options.small, options.batch)
    return workload.from_file(Path(model), options.batch)


def measure_all(
    run: report.Run, peers: list[Peer], missing: dict[str, Missing], options: argparse.Namespace
) -> None:
    """Fills the run model by model, so that what is done survives an interruption."""
    plan = QUICK if options.quick else Plan()
    progress = Progress(len(options.models))
    try:
        for model in options.models:
            progress.start(model)
            progress.step("making the model and its inputs")
            name = model if model in MODEL_NAMES else Path(model).stem
            try:
                load = load_workload(model, options)
            except Exception as error:  # no file, or not a model: the others can still be timed
                outcomes: dict[str, Outcome] = dict.fromkeys(
                    run.peers, Missing(f"{model}: {one_line(error)}")
                )
            else:
                outcomes = {**missing, **measure(load, peers, plan, progress.step)}
            run.outcomes[model if name in run.outcomes else name] = outcomes
    finally:
        progress.end()


def facts(peers: list[Peer], options: argparse.Namespace) -> dict[str, str]:
    models = "small variants" if options.small else "full size"
    return {
        "date": datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
        "cpu": cpu_name(),
        "threads": f"{options.threads} thread{'s' if options.threads > 1 else ''}",
        "models": f"{models}, free dimensions of {options.batch}",
        "measuring": "quick" if options.quick else "full",
        "python": platform.python_version(),
        **{peer.name: peer.version for peer in peers},
    }


VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2"}  # by the flag of the kernel, widest first


def cpu_name() -> str:
    """The model as the kernel names it, with its widest vectors: virtual machines name families."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    values = {line.partition("\t")[0]: line.partition(":")[2].strip() for line in lines}
    flags = values.get("flags", "").split()
    vectors = next((f" ({name})" for flag, name in VECTORS.items() if flag in flags), "")
    return values.get("model name", platform.machine()) + vectors


def write(run: report.Run, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S")
    picture = stem.with_suffix(".svg")
    picture.write_text(plot.svg(run), encoding="utf-8")
    stem.with_suffix(".json").write_text(report.to_json(run), encoding="utf-8")
    stem.with_suffix(".md").write_text(report.markdown(run, picture.name), encoding="utf-8")
    return stem


def draw(run: report.Run, picture: Path) -> None:
    written = chart.write(run, picture)
    print(f"wrote {', '.join(map(str, written))}", file=sys.stderr)


def report_again(options: argparse.Namespace) -> int:
    run = report.from_json(options.record.read_text(encoding="utf-8"))
    print(report.summary(run))
    if options.chart:
        draw(run, options.chart)
    return 0


def main() -> int:
    options = parse_arguments()
    if options.record:
        return report_again(options)
    pin(options.threads)
    kinds = [*PEERS, INDUCTOR] if options.inductor else list(PEERS)
    peers, missing = start_peers(kinds, options.threads)
    run = report.Run(facts(peers, options), [kind.name for kind in kinds], {})
    status = 0
    try:
        measure_all(run, peers, missing, options)
    except KeyboardInterrupt:
        print("interrupted: reporting the models that were finished", file=sys.stderr)
        status = 130
    if run.outcomes:
        stem = write(run, options.out)
        print(report.summary(run))
        print(f"\nwrote {stem}.json, .md and .svg", file=sys.stderr)
        if options.chart and status == 0:
            draw(run, options.chart)
    return status


if __name__ == "__main__":
    sys.exit(main())
