"""Findings of a replay: differences between a recording and a world, with their repairs."""

from collections.abc import Sequence
from typing import Any

from mjrig.core.findings import Finding, Level, Remedy, RepairEdit

#: Its name before findings of all commands were of one class.
ReplayFinding = Finding


def repair(file: str, path: str, value: object, changed: str = "") -> RepairEdit:
    """One value that repairs a difference: in the `scene`, or in the `policy` file."""
    return RepairEdit(path, value, file=file, changed=changed)


def replay_finding(
    kind: str,
    where: str,
    recorded: object,
    here: object,
    form: str,
    share: float | None = None,
    edits: Sequence[RepairEdit] = (),
    unit: str = "",
    **evidence: Any,
) -> Finding:
    """A difference, and its effect.

    Args:
        kind: the property: `kp`, `joint order`, `observation scale`, …
        where: joints or the observation term; empty: the entire robot.
        recorded: its value in the recording.
        here: its value here.
        form: its sentence in `mjrig.lab.findings.texts`.
        share: the fraction of the divergence that it explains, None: that was not tried.
        edits: the repair; none: there is no single value to change.
        unit: of both values.
        evidence: the numbers of the sentence.
    """
    return Finding(
        kind,
        Level.WARNING,
        names=(where,) if where else (),
        here=here,
        expected=recorded,
        unit=unit,
        evidence=evidence,
        share=share,
        remedies=(Remedy(kind, tuple(edits)),) if edits else (),
        form=form,
    )
