"""`python -m tests.plugin.lab.replay.sabotage --log out/sabotage.jsonl`: the table by case."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.plugin.lab.replay.sabotage.fixtures import available
from tests.plugin.lab.replay.sabotage.judging import Judged, table
from tests.plugin.lab.replay.sabotage.running import Case, CaseLog, Run, drawn_cases, read_log


def main() -> None:
    """Run what the arguments choose, then print the figures of the whole log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True, help="JSON lines; what is in it is kept")
    parser.add_argument("--fixtures", nargs="*", default=available(), help="some of them (all)")
    parser.add_argument("--share", type=float, default=1.0, help="part of the cases (1)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the draws (0)")
    parser.add_argument("--part", default="1/1", help="for several processes: 1/2 and 2/2")
    parser.add_argument("--drawn", type=int, default=0, help="so many random cases, not the table")
    parser.add_argument("--only-table", action="store_true", help="print the log, run nothing")
    told = parser.parse_args()
    if not told.only_table:
        with TemporaryDirectory() as folder:
            for case, found in run(told, CaseLog(told.log), Path(folder)):
                said = "not counted" if found is None else found.said
                place = "-" if found is None or found.place is None else found.place + 1
                print(*case, place, said, sep=" | ", flush=True)
    print(table(read_log(told.log)))


def run(
    told: argparse.Namespace, log: CaseLog, folder: Path
) -> Iterator[tuple[Case, Judged | None]]:
    """What the arguments choose, except what is in the log."""
    part, parts = map(int, told.part.split("/"))
    cases, done = Run(folder, log), log.done()
    if told.drawn:
        numbers = {int(mistake[1:].split()[0]) for _, mistake in done if mistake.startswith("#")}
        for number in range(part - 1, told.drawn, parts):
            if number not in numbers:
                yield cases.drawn(number, told.seed)
        return
    for case in drawn_cases(told.fixtures, told.share, told.seed)[part - 1 :: parts]:
        if case not in done:
            yield case, cases.table(case)


if __name__ == "__main__":
    main()
