"""Finding: one result of the pre-flight, its severity, and the fix."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mjrig.check.remedy import Remedy, combined
from mjrig.names import how_many


class Level(StrEnum):
    """Severity of a finding, in the order they are shown."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_ORDER = tuple(Level)
#: How many names are shown.
SHOWN = 8


@dataclass(frozen=True)
class Finding:
    """One finding.

    `code` is a short, stable name to filter by. `names` are what it is about on
    `actor`: actuators, joints, bodies or a component; empty: the actor itself, and without an
    actor the world. `fix` is what would be right; empty: evident from the text. `spelled`:
    the text has the names already, each with its own numbers. `remedies` are the ways out that
    are edits of the scene; `by_hand` is why none of them is.
    """

    level: Level
    code: str
    actor: str
    names: tuple[str, ...]
    text: str
    fix: str = ""
    spelled: bool = False
    remedies: tuple[Remedy, ...] = ()
    by_hand: str = ""

    @property
    def where(self) -> str:
        """`dog.FL_hip`; several names are `dog.(FL_hip, FR_hip)`."""
        if not self.names or self.spelled:
            return self.actor or "world"
        if len(self.names) == 1:
            return self.paths[0]
        names = ", ".join(self.names[:SHOWN])
        if len(self.names) > SHOWN:
            names += f", … {len(self.names)} in all"
        return f"{self.actor}.({names})" if self.actor else names

    @property
    def paths(self) -> list[str]:
        """Full path of everything it is about."""
        prefix = f"{self.actor}." if self.actor else ""
        return [prefix + name for name in self.names] or [self.actor or "world"]

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" + (f"; {self.fix}" if self.fix else "")

    def data(self) -> dict[str, object]:
        """The finding as plain data."""
        remedies = [
            {"text": r.text, "edits": [str(edit) for edit in r.edits]} for r in self.remedies
        ]
        return {
            "level": str(self.level),
            "code": self.code,
            "where": self.paths,
            "text": self.text,
            "fix": self.fix,
            **({"remedies": remedies} if remedies else {}),
        }


def error(
    code: str, actor: str, names: Iterable[str], text: str, fix: str = "", **more: Any
) -> Finding:
    """A finding that makes the simulation meaningless."""
    return Finding(Level.ERROR, code, actor, tuple(names), text, fix, **more)


def warning(
    code: str, actor: str, names: Iterable[str], text: str, fix: str = "", **more: Any
) -> Finding:
    """A finding that is probably a mistake."""
    return Finding(Level.WARNING, code, actor, tuple(names), text, fix, **more)


def note(
    code: str, actor: str, names: Iterable[str], text: str, fix: str = "", **more: Any
) -> Finding:
    """A finding for information."""
    return Finding(Level.NOTE, code, actor, tuple(names), text, fix, **more)


def arranged(found: Iterable[Finding]) -> list[Finding]:
    """Most severe first; equal findings about several names or actors are merged."""
    merged: dict[tuple[str, ...], Finding] = {}
    for finding in found:
        key = (finding.level, finding.code, finding.actor, finding.text, finding.fix)
        before = merged.get(key)
        names = finding.names if before is None else (*before.names, *finding.names)
        remedies = _remedies([*([before] if before else []), finding])
        merged[key] = replace(finding, names=tuple(dict.fromkeys(names)), remedies=remedies)
    return sorted(_of_copies(merged.values()), key=lambda f: (_ORDER.index(f.level), f.code))


def _of_copies(found: Iterable[Finding]) -> list[Finding]:
    """Equal findings about the same names on several actors, merged into one of the world."""
    alike: dict[Finding, list[Finding]] = {}
    for finding in found:
        alike.setdefault(replace(finding, actor="", remedies=()), []).append(finding)
    return [
        same[0]
        if len(same) == 1
        else replace(one, names=tuple(_paths(same)), spelled=False, remedies=_remedies(same))
        for one, same in alike.items()
    ]


def _remedies(found: Sequence[Finding]) -> tuple[Remedy, ...]:
    """The ways out of several findings with the same fix."""
    return tuple(combined(same) for same in zip(*(f.remedies for f in found), strict=False))


def _paths(found: Iterable[Finding]) -> Iterator[str]:
    for finding in found:
        yield from [finding.actor] if finding.spelled else finding.paths


def counted(found: Sequence[Finding]) -> str:
    """`1 error, 2 warnings`, or `none`."""
    counts = [(sum(f.level is level for f in found), level) for level in _ORDER]
    return ", ".join(how_many(n, level) for n, level in counts if n) or "none"


def lines_of(found: Iterable[Finding]) -> list[str]:
    """Findings as lines of text, the fix on a line of its own."""
    lines = []
    for finding in found:
        lines.append(f"  {finding.level} [{finding.code}] {finding.where}: {finding.text}")
        if finding.fix:
            lines.append(f"    fix: {finding.fix}")
    return lines


def either(ways: Sequence[str]) -> str:
    """Alternatives as one sentence: `a, or b, or c`."""
    return ", or ".join(ways)
