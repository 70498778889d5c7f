"""How much a test tries: little in `make test`, much in `make campaign`, and what it found."""

import json
import os
import random
import time
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

#: Whether this is `make campaign`.
CAMPAIGN = os.environ.get("MJRIG_CAMPAIGN", "") not in ("", "0")
#: The seed of every generator, from `make campaign SEED=7`.
SEED = int(os.environ.get("MJRIG_SEED", "0"))
#: Minutes after which every generator ends at the latest, from `make campaign MINUTES=1`.
MINUTES = float(os.environ.get("MJRIG_MINUTES") or "inf")
#: A folder of models to compare with MuJoCo, from `make campaign MODELS=folder`.
MODELS = os.environ.get("MJRIG_MODELS", "")
#: Where a campaign's row of the summary is kept in a test's report.
TALLY = "campaign"
#: The folder where campaigns note how far they are, for one that is ended from outside.
PROGRESS = "MJRIG_PROGRESS"
#: Minutes of a campaign whose test does not say another time.
USUAL_MINUTES = 8.0
#: Between two notes [s].
_APART = 1.0


#: For a test that takes seconds and whose like is tried in `make test` at a smaller scale.
campaign_only = pytest.mark.skipif(not CAMPAIGN, reason="takes long; runs in `make campaign`")


def several(names: Sequence[str], usual: int) -> list[Any]:
    """Parameters of a test: the first few in `make test`, all of them in `make campaign`."""
    return [pytest.param(n, marks=() if i < usual else campaign_only) for i, n in enumerate(names)]


def amount(usual: int, campaign: int) -> int:
    """The number of examples, edits or steps; a test that asks for it is marked `campaign`."""
    return campaign if CAMPAIGN else usual


class Note:
    """A file that says how far a campaign is: nobody else knows if its process is ended."""

    def __init__(self) -> None:
        folder, self._last = os.environ.get(PROGRESS), 0.0
        self._path = Path(folder, f"{os.getpid()} {id(self)}.json") if folder else None

    def keep(self, name: str, tried: int, findings: Sequence[str], *, now: bool = False) -> None:
        """Write it, at most once in a second."""
        if self._path is not None and (now or time.monotonic() - self._last > _APART):
            self._last = time.monotonic()
            self._path.write_text(json.dumps([name, tried, findings[:10]]))


class Tally:
    """Counts the cases of one campaign; `make campaign` prints all of them as a table.

    Use the fixture `tally`: `for rng in tally.cases("scene mutations", 300, 20_000): …`, and
    `tally.found("what is wrong, and with which input")` for whatever is wrong. The test fails at
    its end if anything was found; the first ones are shown.
    """

    #: Whether all of it was ended from outside: then findings are in the table alone.
    is_ended = False

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record
        self.name, self.tried, self.findings = "", 0, list[str]()
        self._note = Note()

    def cases(
        self, name: str, usual: int, campaign: int, *, minutes: float = USUAL_MINUTES
    ) -> Iterator[random.Random]:
        """A random generator for every case, seeded by its number; ends when time is over.

        Args:
            name: of the campaign, unique.
            usual: cases in `make test`.
            campaign: cases in `make campaign`.
            minutes: after which a campaign ends early, MINUTES at the latest; `make test` always
                runs all of its cases.
        """
        self.name, end = name, time.monotonic() + 60 * min(minutes, MINUTES)
        for number in range(amount(usual, campaign)):
            if CAMPAIGN and time.monotonic() > end:
                return
            self.tried += 1
            self._note.keep(name, self.tried, self.findings)
            yield random.Random(f"{name} {SEED} {number}")

    def found(self, what: str) -> None:
        """Note that a case went wrong."""
        self.findings.append(f"case {self.tried - 1}: {what}")
        self._note.keep(self.name, self.tried, self.findings, now=True)

    def close(self) -> None:
        """Pass the counts on to the summary; fails if anything was found."""
        if self.name:
            self._record(TALLY, (self.name, self.tried, len(self.findings)))
            self._note.keep(self.name, self.tried, self.findings, now=True)
        shown = "\n".join(self.findings[:10])
        assert not self.findings or self.is_ended, (
            f"{len(self.findings)} of {self.tried} cases:\n{shown}"
        )


def unfinished(folder: str, done: Container[str]) -> list[tuple[str, int, list[str]]]:
    """The campaigns that were ended from outside, and have no row: name, cases, findings."""
    notes = [json.loads(note.read_text()) for note in sorted(Path(folder).glob("*.json"))]
    return [(name, tried, found) for name, tried, found in notes if name not in done]


class Examples:
    """Counts the examples of a Hypothesis test, and lets those pass that come when time is over."""

    def __init__(self, name: str, test: Callable[..., object]) -> None:
        self.name, self._test, self.tried = name, test, 0
        self._end = time.monotonic() + 60.0 * min(USUAL_MINUTES, MINUTES)
        self.note = Note()

    def __call__(self, *given: object, **more: object) -> None:
        if time.monotonic() < self._end:
            self.tried += 1
            self.note.keep(self.name, self.tried, ())
            self._test(*given, **more)
