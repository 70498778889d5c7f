"""`python -m tests.oracles [NAME …]` compares results with the frozen ones, or replaces these."""

import argparse
import sys
import time

from tests.oracles.case import Case
from tests.oracles.cases import CASES
from tests.places import SHARED

#: Differences of a case that are shown.
SHOWN = 12


def main() -> int:
    """Compare or write; 1 if anything differs, or differs still."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracles", description=__doc__)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="replace all expected results")
    action.add_argument(
        "--write-texts",
        action="store_true",
        help="replace expected texts that contain the same figures; data must be the same",
    )
    parser.add_argument("--exact", action="store_true", help="compare all numbers bit by bit")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases (all)")
    options = parser.parse_args()
    if unknown := [n for n in options.names if n not in CASES]:
        parser.error(f"unknown case {', '.join(unknown)}; choose from {', '.join(CASES)}")
    failed = 0
    for case in CASES.values():
        if options.names and case.name not in options.names:
            continue
        if case.shared and not SHARED.is_dir():
            print(f"{case.name}: skipped, ../shared is absent")
            continue
        start = time.process_time()
        state, lines = process(case, options)
        failed += bool(lines)
        print(f"{case.name}: {state} ({time.process_time() - start:.2f} s CPU)", flush=True)
        for line in lines[:SHOWN]:
            print("  " + line.replace("\n", "\n  "))
        if len(lines) > SHOWN:
            print(f"  … {len(lines)} differences")
    return int(failed > 0)


def process(case: Case, options: argparse.Namespace) -> tuple[str, list[str]]:
    """What happened to a case, and the differences that remain."""
    result = case.result()
    if options.write:
        case.write_data(result.data)
        case.write_texts(result.texts)
        return "written", []
    differences = case.compare(result, exact=options.exact)
    remaining = [*differences.data, *differences.figures]
    if options.write_texts and not remaining:
        case.write_texts(result.texts)
        return "texts written" if differences.wording else "same", []
    remaining += differences.wording
    return "differs" if remaining else "same", remaining


if __name__ == "__main__":
    sys.exit(main())
