"""The compiler's report as a dict that prints as a table."""

from __future__ import annotations

from typing import Any

Amount = int | str  # an expression of dynamic dimensions where it is a str


class Explanation(dict[str, Any]):
    """The compiler's report on a program; see `Model.explain`.

    Keys: name, symbols; recipe, every choice of the compiler as text (docs/recipes.md); why_not,
    missed optimizations (each with step, reason, bytes that would be saved or None); planning, how
    kernels were planned, in a sentence; before and after (each with kernels, bytes_moved,
    operations, intermediate_bytes); kernels, a list (each with name, operators, kind, schedule,
    recipe, notes, where: the backend that runs it, why_not: why the target does not, bytes_read,
    bytes_written, bytes_saved, operations, intermediate_bytes, workspace_bytes); peak_bytes (None
    if a dimension is dynamic), constant_bytes; phase_milliseconds.
    """

    def __str__(self) -> str:
        parts = [self["name"], self._movement(), self._kernels()]
        return "\n\n".join(part for part in parts if part)

    def _movement(self) -> str:
        before, after = self["before"], self["after"]
        rows = [["", "operator by operator", "compiled"]]
        rows.append(["kernels", str(before["kernels"]), str(after["kernels"])])
        for title, key in [("bytes moved", "bytes_moved"), ("intermediates", "intermediate_bytes")]:
            rows.append([title, format_bytes(before[key]), format_bytes(after[key])])
        rows.append(
            ["operations", format_count(before["operations"]), format_count(after["operations"])]
        )
        if self["peak_bytes"] is not None:
            rows.append(["peak memory", "", format_bytes(self["peak_bytes"])])
        rows.append(["constants", "", format_bytes(self["constant_bytes"])])
        return format_table(rows)

    def _kernels(self) -> str:
        rows = [["kernel", "kind", "read", "written", "saved", "operations", "operators"]]
        for kernel in self["kernels"]:
            rows.append(
                [
                    kernel["name"],
                    kernel["kind"],
                    format_bytes(kernel["bytes_read"]),
                    format_bytes(kernel["bytes_written"]),
                    format_bytes(kernel["bytes_saved"]),
                    format_count(kernel["operations"]),
                    ", ".join(kernel["operators"]),
                ]
            )
        return format_table(rows, left=(0, 1, 6)) if self["kernels"] else ""


def format_bytes(amount: Amount) -> str:
    """12.3 KB; an expression stays as it is."""
    if isinstance(amount, str):
        return f"{amount} B"
    return scaled(amount, ["B", "KB", "MB", "GB", "TB"])


def format_count(amount: Amount) -> str:
    """12.3 M; an expression stays as it is."""
    return amount if isinstance(amount, str) else scaled(amount, ["", "k", "M", "G", "T"])


def scaled(amount: int, units: list[str]) -> str:
    value = float(amount)
    for unit in units:
        if abs(value) < 999.5 or unit == units[-1]:
            break
        value /= 1000
    digits = f"{value:.0f}" if value == int(value) or abs(value) >= 99.5 else f"{value:.1f}"
    return f"{digits} {unit}".rstrip()


def format_table(rows: list[list[str]], left: tuple[int, ...] = (0,)) -> str:
    """Columns as wide as their widest cell, the first row underlined."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
