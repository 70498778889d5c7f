"""Many cases in a row, each logged as it ends, so that a run that is cut off still counts."""

import json
import random
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.places import ROOT
from tests.plugin.lab.replay.sabotage.drawn import draw
from tests.plugin.lab.replay.sabotage.fixtures import MAKERS, Fixture, available
from tests.plugin.lab.replay.sabotage.judging import Judged, judge, judged
from tests.plugin.lab.replay.sabotage.table import MISTAKES

#: A fixture and a mistake of the table.
Case = tuple[str, str]


def drawn_cases(fixtures: Sequence[str], share: float, seed: int) -> list[Case]:
    """Cases of the table in a random order, so that a run that is cut off is a fair draw too.

    A share of them is the first so many of that order: drawn at random, never by choice.
    """
    everything = [(f, m) for f in fixtures for m in MISTAKES]
    random.Random(f"sabotage {seed}").shuffle(everything)
    return everything[: round(share * len(everything))]


class CaseLog:
    """One line of JSON for every case; cases that were not counted are in it too."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.commit = commit()

    def add(self, case: Case, found: Judged | None) -> None:
        """Append one case."""
        if self._path is None:
            return
        row = {"fixture": case[0], "mistake": case[1], "commit": self.commit}
        row |= {"counted": found is not None} | (asdict(found) if found else {})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def done(self) -> set[Case]:
        """Cases of this commit that are in it."""
        rows = [r for r in _lines(self._path) if r["commit"] == self.commit]
        return {(str(r["fixture"]), str(r["mistake"])) for r in rows}


def _lines(path: Path | None) -> list[dict[str, object]]:
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_log(path: Path) -> list[Judged]:
    """The counted cases of a log."""
    kept = Judged.__dataclass_fields__
    return [
        Judged(**{n: v for n, v in row.items() if n in kept})  # type: ignore[arg-type]
        for row in _lines(path)
        if row["counted"]
    ]


def commit() -> str:
    """The commit of the checkout, with a + where files differ from it."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--dirty=+"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return found.stdout.strip()


class Run:
    """Makes and judges one case after the other, in a folder; fixtures are made once."""

    def __init__(self, folder: Path, log: CaseLog) -> None:
        self._folder, self._log = folder, log
        self._made: dict[str, Fixture] = {}
        self._count = 0

    def table(self, case: Case) -> Judged | None:
        """One case of the table; None: it cannot be made, or has no effect."""
        found = judge(self._fixture(case[0]), case[1], self._next())
        self._log.add(case, found)
        return found

    def drawn(self, number: int, seed: int) -> tuple[Case, Judged | None]:
        """One random case that the table does not have."""
        rng = random.Random(f"drawn {seed} {number}")
        fixture = self._fixture(rng.choice(available()))
        made, found, text = draw(fixture, rng, self._next()), None, "cannot be made"
        if made is not None:
            text, names, sabotaged = made
            found = judged(fixture, f"#{number} {text}", names, sabotaged)
        case = (fixture.name, f"#{number} {text}")
        self._log.add(case, found)
        return case, found

    def _fixture(self, name: str) -> Fixture:
        if name not in self._made:
            self._made[name] = MAKERS[name](self._folder)
        return self._made[name]

    def _next(self) -> Path:
        self._count += 1
        folder = self._folder / f"case{self._count}"
        folder.mkdir()
        return folder
