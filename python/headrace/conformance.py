"""The cases of the `onnx` package: each compiled, run, and compared with the results that it comes with.

    headrace conformance onnx [--group GROUP] [--filter TEXT] [--json [FILE]] [--jobs N]
    headrace conformance dml ...          scripts, compared with SystemDS: headrace.script_conformance

Every case runs in a child process, so that a crash or a hang costs one case. A case passes, is wrong, is
rejected (with the reason in words) or crashes; the table counts them per operator.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from headrace.children import answers

KINDS = ("pass", "wrong", "refused", "crash")
GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted")


def load_cases(group: str) -> dict:
    """By name. Node cases and their data are made in memory, by Python code of the package; it has those of the
    other groups as files."""
    from onnx.backend.test.loader import load_model_tests

    with np.errstate(all="ignore"):
        cases = {case.name: case for case in load_model_tests(kind=group)}
    for case in cases.values():
        if case.model is None:
            read_files(case)
    return cases


def read_files(case) -> None:
    import onnx

    folder = Path(case.model_dir)
    case.model = onnx.load(folder / "model.onnx")

    def read(data_set: Path, role: str, values) -> list:
        return [
            read_value(data_set / f"{role}_{i}.pb", value.type) for i, value in enumerate(values)
        ]

    graph = case.model.graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    case.data_sets = [
        (read(data_set, "input", inputs), read(data_set, "output", graph.output))
        for data_set in sorted(folder.glob("test_data_set_*"))
    ]


def read_value(path: Path, declared):
    """A tensor, or a list of them where a sequence is declared."""
    import onnx

    kinds = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}
    proto = kinds.get(declared.WhichOneof("value"), onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    if isinstance(proto, onnx.TensorProto):
        return onnx.numpy_helper.to_array(proto)
    to_python = {
        onnx.SequenceProto: onnx.numpy_helper.to_list,
        onnx.OptionalProto: onnx.numpy_helper.to_optional,
    }
    return to_python[type(proto)](proto)


def operator_of(name: str, cases: dict) -> str:
    """Cases of functions that are written out have the name of the case with the operator itself."""
    nodes = cases.get(name.partition("_expanded")[0], cases[name]).model.graph.node
    return nodes[0].op_type if nodes else "(none)"


def verdict(case) -> tuple[str, str]:
    import headrace

    try:
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(case.model.SerializeToString())
            file.flush()
            model = headrace.load(file.name)
            for inputs, expected in case.data_sets:
                inputs, expected = (list(map(unpacked, part)) for part in (inputs, expected))
                results = as_tuple(model(*inputs))
                if len(results) != len(expected):
                    return "wrong", f"{len(results)} outputs instead of {len(expected)}"
                compare = difference_of_random if is_random(case) else difference
                for found, wanted in zip(results, expected):
                    if reason := compare(case, found, wanted):
                        return "wrong", reason
    except headrace.InternalError as error:
        return "crash", str(error)
    except headrace.Error as error:
        return "refused", str(error).partition(": ")[2]
    return "pass", ""


def unpacked(value):
    """Arrays, lists of them for sequences, None for an empty optional. Some cases hold their tensors
    as they stand in files."""
    import onnx

    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, onnx.SequenceProto):
        return list(map(unpacked, onnx.numpy_helper.to_list(value)))
    if isinstance(value, onnx.OptionalProto):
        return unpacked(onnx.numpy_helper.to_optional(value))
    if isinstance(value, (list, tuple)):
        return list(map(unpacked, value))
    return value if value is None else np.asarray(value)


def as_tuple(results) -> tuple:
    return results if isinstance(results, tuple) else (results,)


def difference(case, found, wanted) -> str:
    """In what a result differs from what was expected; "" where it does not."""
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return "another sequence"
        return next(filter(None, (difference(case, *pair) for pair in zip(found, wanted))), "")
    if wanted is None or found is None or isinstance(found, list):
        return "" if found is None and wanted is None else "a value of another kind"
    if wanted.dtype.kind in "OSU":
        same = found.dtype == object and found.shape == wanted.shape
        return "" if same and found.tolist() == wanted.tolist() else "other strings"
    return difference_of_numbers(case, found, wanted)


def difference_of_numbers(case, found: np.ndarray, wanted: np.ndarray) -> str:
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    if not is_float(wanted.dtype):
        return "" if np.array_equal(found, wanted) else "different values"
    if wanted.dtype.itemsize == 1:  # nothing is computed in these types, only converted
        same = np.array_equal(found.astype(np.float32), wanted.astype(np.float32), equal_nan=True)
        return "" if same else "different values"
    # Expected data was computed in the type itself, which loses more than we do where it is narrow.
    narrow = 1e-2 if wanted.dtype.itemsize <= 2 else 0.0
    if case.model.graph.node[0].op_type in ("DFT", "STFT") and wanted.size:
        # A transform leaves the rounding errors of its largest numbers everywhere.
        narrow = float(np.finfo(wanted.dtype).eps * np.abs(wanted).max())
    close = np.allclose(
        found.astype(np.float64),
        wanted.astype(np.float64),
        rtol=max(case.rtol, narrow),
        atol=max(case.atol, narrow),
        equal_nan=True,
    )
    return "" if close else "values beyond the tolerance"


def is_random(case) -> bool:
    """Whether the expected data are NumPy's random numbers, which no other generator gives."""
    drops = case.name.startswith("test_training_dropout") and "zero_ratio" not in case.name
    return drops or case.name.startswith("test_bernoulli")


def difference_of_random(case, found: np.ndarray, wanted: np.ndarray) -> str:
    """Type and shape are compared, and numbers by what they can be: those that are expected, or 0."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    if "bernoulli" in case.name or wanted.dtype == bool:
        return "" if np.isin(found, (0, 1)).all() else "values other than 0 and 1"
    both = (found != 0) & (wanted != 0)
    return "" if np.allclose(found[both], wanted[both], rtol=1e-3) else "values that did not grow"


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def run_all(names: list[str], cases: dict, jobs: int) -> dict[str, tuple[str, str]]:
    """Making the node cases takes seconds: children get copies of them."""

    def answer(name: str) -> str:
        os.environ["HEADRACE_THREADS"] = "1"
        return json.dumps(verdict(cases[name]))

    found = {}
    for name, line, why in answers(names, answer, jobs):
        found[name] = tuple(json.loads(line)) if line else ("crash", why)
    return {name: found[name] for name in names}


def counted(verdicts: dict[str, tuple[str, str]], cases: dict) -> list[tuple]:
    """A row for each operator, then one for all."""
    counts = collections.defaultdict(collections.Counter)
    for name, (kind, _) in verdicts.items():
        counts[operator_of(name, cases)][kind] += 1
    rows = sorted(counts.items()) + [("all", sum(counts.values(), collections.Counter()))]
    return [(operator, *(count[kind] for kind in KINDS)) for operator, count in rows]


def as_text(rows: list[tuple]) -> str:
    width = max(len(operator) for operator, *_ in rows)
    lines = [("operator", *KINDS), *rows]
    return "\n".join(f"{name:{width}}" + "".join(f"{n:>9}" for n in rest) for name, *rest in lines)


def write_page(path: Path, rows: list[tuple]) -> None:
    """Puts the table between the page's two marks."""
    lines = ["| operator | " + " | ".join(KINDS) + " |", "|---|" + "---|" * len(KINDS)]
    for name, *numbers in rows:
        cells = [str(number or "") for number in numbers]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    before, begin, rest = path.read_text().partition("<!-- table: ./dev conformance --write -->\n")
    _, end, after = rest.partition("<!-- end of table -->\n")
    path.write_text(before + begin + "\n".join(lines) + "\n" + end + after)


def main(given: list[str] | None = None) -> int:
    words = sys.argv[1:] if given is None else given
    if words[:1] == ["dml"]:
        from headrace import script_conformance

        return script_conformance.main(words[1:])
    parser = argparse.ArgumentParser("headrace conformance", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "suite",
        nargs="?",
        default="onnx",
        choices=["onnx", "dml"],
        help="the cases: of the onnx package, or scripts",
    )
    parser.add_argument(
        "--group", default="node", choices=GROUPS, help="the group of cases (default: node)"
    )
    parser.add_argument(
        "--filter", default="", metavar="TEXT", help="run the cases whose names contain this"
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="print the result of every case with its reason, or write them to FILE",
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table into a page")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args(words)
    try:
        import onnx  # noqa: F401
    except ImportError:
        parser.error("expected the Python package onnx, whose cases these are; pip install onnx")
    warnings.simplefilter("ignore")
    cases = load_cases(arguments.group)
    names = [name for name in cases if arguments.filter in name]
    if not names:
        parser.error(f"no case's name holds '{arguments.filter}'")
    verdicts = run_all(names, cases, min(arguments.jobs, len(names)))
    rows = counted(verdicts, cases)
    as_json = json.dumps({name: {"verdict": k, "reason": r} for name, (k, r) in verdicts.items()})
    if arguments.json == "-":
        print(as_json)
    else:
        print(as_text(rows))
        for name, (kind, reason) in verdicts.items():
            if kind in ("wrong", "crash"):
                print(f"{kind}: {name}: {reason}")
    if arguments.write:
        write_page(arguments.write, rows)
    if arguments.json and arguments.json != "-":
        Path(arguments.json).write_text(as_json)
    return any(kind in ("wrong", "crash") for kind, _ in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
