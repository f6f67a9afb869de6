#!/usr/bin/env python3
"""Random scripts, compiled and not, over dense and sparse matrices, compared with NumPy.

PYTHONPATH=build/release/python python test/random/scripts.py --count 2000 --seed 1000
"""

from __future__ import annotations

import argparse
import sys

from cases.scripts.comparison import WAYS, differences
from cases.scripts.programs import random_program


def is_right(seed: int) -> bool:
    program = random_program(seed)
    wrong = {way: found for way in WAYS if (found := differences(program, *way))}
    if wrong:
        print(f"--- seed {seed}\n{program.text}")
    for way, found in wrong.items():
        print(" ", *way, *found, sep="\n  ", flush=True)
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    options = parser.parse_args()
    done = failed = 0
    try:
        for seed in range(options.seed, options.seed + options.count):
            failed += not is_right(seed)
            done += 1
    except KeyboardInterrupt:
        pass
    print(f"{done} programs in {len(WAYS)} ways each: {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
