"""Findings in the order they are shown, equal ones merged, counted, and as lines of text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mjrig.core.errors import ReaderKind
from mjrig.core.findings import Finding, Level, Remedy, combined
from mjrig.core.names import how_many
from mjrig.lab.findings.rendering import wording  # with it, findings have their sentences

_ORDER = tuple(Level)


def arrange(findings: Iterable[Finding]) -> list[Finding]:
    """Most severe first; equal findings about several names or actors are merged."""
    merged: dict[tuple[str, ...], Finding] = {}
    for finding in findings:
        key = (finding.severity, finding.kind, finding.actor, finding.text, finding.fix)
        before = merged.get(key)
        names = finding.names if before is None else (*before.names, *finding.names)
        remedies = _remedies([*([before] if before else []), finding])
        merged[key] = replace(finding, names=tuple(dict.fromkeys(names)), remedies=remedies)
    return sorted(_merge_copies(merged.values()), key=lambda f: (_ORDER.index(f.severity), f.kind))


def _merge_copies(findings: Iterable[Finding]) -> list[Finding]:
    """Equal findings about the same names on several actors, merged into one of the world."""
    alike: dict[object, list[Finding]] = {}
    for finding in findings:
        key = (finding.severity, finding.kind, finding.names, finding.text, finding.fix)
        alike.setdefault(key, []).append(finding)
    return [
        same[0]
        if len(same) == 1
        else replace(
            same[0],
            actor="",
            names=tuple(_paths(same)),
            spelled=False,
            remedies=_remedies(same),
        )
        for same in alike.values()
    ]


def _remedies(findings: Sequence[Finding]) -> tuple[Remedy, ...]:
    """The ways out of several findings with the same fix."""
    return tuple(combined(same) for same in zip(*(f.remedies for f in findings), strict=False))


def _paths(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        yield from [finding.actor] if finding.spelled else finding.paths


def count_by_severity(findings: Sequence[Finding]) -> str:
    """`1 error, 2 warnings`, or `none`."""
    counts = [(sum(f.severity is level for f in findings), level) for level in _ORDER]
    return ", ".join(how_many(n, level) for n, level in counts if n) or "none"


def lines(findings: Iterable[Finding], audience: ReaderKind = ReaderKind.COMMAND) -> Iterator[str]:
    """Findings as lines of text, the fix on a separate line."""
    for finding in findings:
        text, fix = (wording(finding, part, audience) for part in ("text", "fix"))
        yield f"  {finding.severity} [{finding.kind}] {finding.where}: {text}"
        if fix:
            yield f"    fix: {fix}"
