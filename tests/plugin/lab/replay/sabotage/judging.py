"""Whether a diagnosis names the mistake that was made, and the figures of many cases."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mjrig
from mjrig.core.errors import MjrigError
from tests.plugin.lab.replay.sabotage.fixtures import Fixture
from tests.plugin.lab.replay.sabotage.sabotaged import Sabotaged
from tests.plugin.lab.replay.sabotage.table import MISTAKES

#: The bars: the true cause is first, among the first three, and a wrong one is claimed.
FIRST, THREE, WRONG = 0.80, 0.90, 0.02


@dataclass(frozen=True)
class Judged:
    """One case: the place of the true cause among the findings, and claims that are wrong.

    `wrong` is a first finding that is claimed with confidence and is not the cause, `beside` every
    other confident claim that is not. `causes` counts the mistakes of which one of the first three
    findings names one each.
    """

    fixture: str
    mistake: str
    place: int | None
    wrong: str
    seconds: float
    said: str
    beside: tuple[str, ...] = ()
    causes: int = 1

    @property
    def first(self) -> bool:
        return self.place == 0

    @property
    def near(self) -> bool:
        return self.place is not None and self.place < 3


def _same_motion(result: mjrig.Replay) -> bool:
    """Whether nothing moved noticeably otherwise, and it is not called anything else."""
    return result.mode == "targets" and result.verdict == "matches within tolerance"


def judge(fixture: Fixture, mistake: str, folder: Path) -> Judged | None:
    """Make a mistake and look at the diagnosis; None: it cannot be made here, or has no effect."""
    names, make = MISTAKES[mistake]
    case = make(fixture, folder)
    return None if case is None else judged(fixture, mistake, [names], case)


def judged(
    fixture: Fixture, mistake: str, names: Sequence[Sequence[str]], case: Sabotaged
) -> Judged | None:
    """Look at the diagnosis of a case; `names` are what findings may call each mistake in it."""
    called = {n for one in names for n in one}
    began = time.process_time()
    try:
        result = case.run()
    except MjrigError as error:
        # Refused before anything ran, with the cause: that is the first thing the user reads.
        place = 0 if any(n in str(error) for n in called) else None
        return Judged(fixture.name, mistake, place, "", time.process_time() - began, str(error))
    seconds = time.process_time() - began
    found = result.diagnosis
    if not found and (result.bit_exact or _same_motion(result)):
        return None
    place = next((i for i, f in enumerate(found) if f.kind in called), None)
    false = tuple(f.kind for f in found if f.is_cause and f.kind not in called)
    wrong = found[0].kind if found and found[0].is_cause and place != 0 else ""
    said = "; ".join(f"{f.kind} {f.where} {f.share}" for f in found[:3])
    near = [f.kind for f in found[:3]]
    causes = sum(any(n in near for n in one) for one in names)
    return Judged(fixture.name, mistake, place, wrong, seconds, said, false, causes)


def figures(rows: Sequence[Judged]) -> tuple[float, float, float]:
    """Shares: first, among the first three, wrong with confidence."""
    count = max(len(rows), 1)
    return (
        sum(r.first for r in rows) / count,
        sum(r.near for r in rows) / count,
        sum(bool(r.wrong) for r in rows) / count,
    )


def table(rows: Sequence[Judged]) -> str:
    """The figures of each fixture and of all, and every case that was not named first."""
    names = list(dict.fromkeys(r.fixture for r in rows))
    lines = [f"{'':22}cases  first  three  wrong  CPU of one diagnosis: median, most [s]"]
    for name in [*names, "all"]:
        mine = [r for r in rows if name in (r.fixture, "all")]
        if not mine:
            continue
        first, near, wrong = figures(mine)
        seconds = sorted(r.seconds for r in mine)
        lines.append(
            f"{name:22}{len(mine):5}  {first:5.1%} {near:5.1%}  {wrong:5.1%}  "
            f"{seconds[len(mine) // 2]:.1f}, {seconds[-1]:.1f}"
        )
    lines += [f"{r.fixture:22}{r.mistake:32}{r.said[:90]}" for r in rows if not r.first or r.beside]
    return "\n".join(lines)
