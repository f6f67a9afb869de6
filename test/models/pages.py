"""Tables that commands write into pages."""

from __future__ import annotations

from pathlib import Path


def put_table(page: Path, begin: str, end: str, lines: list[str]) -> None:
    """Replaces what stands between two marks, each a line of the page."""
    before, first, rest = page.read_text().partition(begin)
    _, last, after = rest.partition(end)
    page.write_text(before + first + "\n".join(lines) + "\n" + last + after)
