"""`python -m tests.plugin.sim2sim.sabotage --log out/sabotage.jsonl`: the table, case by case."""

import argparse
from pathlib import Path

from tests.plugin.sim2sim.sabotage.fixtures import available
from tests.plugin.sim2sim.sabotage.judging import table
from tests.plugin.sim2sim.sabotage.running import CaseLog, drawn_cases, read_log, run_cases


def main() -> None:
    """Run what the arguments choose, then print the figures of the whole log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True, help="JSON lines; what is in it is kept")
    parser.add_argument("--fixtures", nargs="*", default=available(), help="some of them (all)")
    parser.add_argument("--share", type=float, default=1.0, help="part of the cases (1)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of that part (0)")
    parser.add_argument("--part", default="1/1", help="for several processes: 1/2 and 2/2")
    parser.add_argument("--only-table", action="store_true", help="print the log, run nothing")
    told = parser.parse_args()
    if not told.only_table:
        log = CaseLog(told.log)
        done = log.done()
        part, parts = map(int, told.part.split("/"))
        cases = drawn_cases(told.fixtures, told.share, told.seed)[part - 1 :: parts]
        for case, found in run_cases([c for c in cases if c not in done], log):
            said = "not counted" if found is None else found.said
            place = "-" if found is None or found.place is None else found.place + 1
            print(*case, place, said, sep=" | ", flush=True)
    print(table(read_log(told.log)))


if __name__ == "__main__":
    main()
