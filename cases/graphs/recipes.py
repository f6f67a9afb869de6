"""Random parts of a program's recipe, changed: what a user might write, legal or not."""

from __future__ import annotations

import random

LAYOUTS = ("channels-last", "channels-first", "channels-middle")
EXPANSIONS = ("generated", "openblas", "nobody")
SIZES = (1, 2, 3, 4, 8, 16, 0, -1)
AXES = ("d0", "d1", "d2", "nothing", "q")


def operators_of(recipe: str) -> list[str]:
    """The operators that the recipe names."""
    named: dict[str, None] = {}
    for line in recipe.splitlines():
        words = line.split()
        if line.startswith(" "):
            continue
        named[words[1].rstrip(":")] = None
        if words[0] in ("fuse", "merge"):
            named[words[3]] = None
    return list(named)


def changed(line: str, operators: list[str], draw: random.Random) -> str:
    """The step with another object; a kernel's schedule loses a line or two."""
    words = line.split()
    other = draw.choice([*operators, "nobody"])
    match words[0]:
        case "fuse" | "merge" | "fold":
            return f"{words[0]} {words[1]} into {other}"
        case "layout":
            return f"layout {words[1]} {draw.choice(LAYOUTS)}"
        case "expand":
            return f"expand {words[1]} as {draw.choice(EXPANSIONS)}"
        case "walk":
            return f"walk {words[1]} along {draw.choice(AXES)}"
        case "pack":
            return f"pack {words[1]} by {draw.choice(SIZES)}"
    return line


def invented(operators: list[str], draw: random.Random) -> str:
    one, other = draw.choice(operators), draw.choice(operators)
    return draw.choice(
        [
            f"separate {one}",
            f"fuse {one} into {other}",
            f"merge {one} into {other}",
            f"walk {one} along {draw.choice(AXES)}",
            f"layout {one} {draw.choice(LAYOUTS)}",
            f"pack {one} by {draw.choice(SIZES)}",
            f"kernel {one}:",
        ]
    )


def partial(recipe: str, draw: random.Random) -> str:
    """Some of the recipe's steps, some of them changed, and some that it does not have."""
    operators = operators_of(recipe)
    if not operators:
        return "separate nobody\n"
    kept, share = [], draw.random()
    skipped = False
    for line in recipe.splitlines():
        if not line.startswith(" "):
            skipped = draw.random() > share
        if not skipped and (not line.startswith(" ") or draw.random() < 0.97):
            kept.append(changed(line, operators, draw) if draw.random() < 0.1 else line)
    for _ in range(draw.randrange(3)):
        kept.insert(0, invented(operators, draw))
    return "\n".join(kept) + "\n"
