"""Replay: the result of a replay, and its report: findings, trials, joints and curves."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.findings import Finding
from mjrig.lab.replay.comparison import BaseCurves, Comparison, Curve, yaw
from mjrig.lab.report import html_page
from mjrig.lab.report.content import (
    BAD,
    BLUE,
    DASHED,
    FAIR,
    GOOD,
    ORANGE,
    Item,
    Plots,
    Report,
    ReportColumn,
    ReportCurves,
    ReportFindings,
    ReportTable,
    ReportText,
    Series,
    versions,
    words,
)
from mjrig.lab.report.output import plain, prepare_folder
from mjrig.lab.report.text import to_text

#: Verdicts on recorded setpoints …
MATCHES = "matches"
WITHIN = "matches within tolerance"
DIFFERS = "differs"
#: … on a policy in the loop …
TRANSFERS = "transfers"
REMARKS = "transfers with caveats"
FAILS = "does not transfer"
#: … on one that does something else than was recorded, for no reason that was found …
UNKNOWN = "differs, cause unknown"
#: … the verdict on a single run of it …
STAYS_UP = "stays up"
#: … and on poses that were only shown.
SHOWN = "shown"
#: How notes begin that say what could not be judged.
UNCLEAR = "not judged: "
#: Verdicts that are good and fair; every other one is bad.
_GOOD, _FAIR = (MATCHES, WITHIN, TRANSFERS, SHOWN), (REMARKS, STAYS_UP)


@dataclass(frozen=True)
class Trial:
    """One run of a policy: the perturbation and the outcome."""

    name: str
    fell: bool
    duration: float
    base_end: list[float] | None
    tracking_error: float | None
    upright: float
    saturation: float

    def to_data(self) -> dict[str, object]:
        """For report.json."""
        return dict(vars(self))


@dataclass
class Replay(CheckedAttributes):
    """Result of a replay: a verdict, its evidence, and the figures behind it.

    Attributes:
        mode: `targets`, `kinematic` or `policy`.
        verdict: one of the verdicts above.
        evidence: the kind of evidence: what the verdict does and does not cover.
        bit_exact: every compared position and velocity is the same; None: nothing to compare.
        max_abs_position_error: of any position, rad or m; None: nothing to compare.
        first_divergence: `time`, `joint` and `error` where the tolerance is first exceeded.
        diagnosis: findings, the most important first.
        fell: whether a floating base fell.
        fell_at: when [s].
        duration: simulated seconds.
        base_start, base_end: of the first robot with a floating base [m].
        joints: by name: `rmse_position`, `rmse_velocity`, `rmse_effort`, `saturation`, …
        trials: runs of a policy, the nominal one first.
        notes: assumptions, what could not be judged, and differences without effect.
        unknown_memory: components whose memory at the start is unknown, and why; then no cause of
            a difference is sought.
        command: the command line it was made by; empty: none.
        schedule: recorded commands of the policy, by time [s].
    """

    mode: str
    source: str
    scene: str
    verdict: str = ""
    evidence: str = ""
    bit_exact: bool | None = None
    max_abs_position_error: float | None = None
    tolerance: float | None = None
    first_divergence: dict[str, object] | None = None
    diagnosis: list[Finding] = field(default_factory=list)
    fell: bool = False
    fell_at: float | None = None
    duration: float = 0.0
    base_start: list[float] | None = None
    base_end: list[float] | None = None
    base_drift: float | None = None
    joints: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown_memory: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    schedule: list[tuple[float, list[float]]] = field(default_factory=list)
    comparison: Comparison | None = None
    #: Further curves for the report: name → (time, values, unit).
    series: dict[str, tuple[Any, Any, str]] = field(default_factory=dict)

    @property
    def tone(self) -> str:
        """Meaning of the verdict: `fair` holds with a caveat, or shows little."""
        return GOOD if self.verdict in _GOOD else FAIR if self.verdict in _FAIR else BAD

    @property
    def unjudged(self) -> list[str]:
        """What could not be judged, and why."""
        return [n.removeprefix(UNCLEAR) for n in self.notes if n.startswith(UNCLEAR)]

    @property
    def remarks(self) -> list[str]:
        """The other notes."""
        return [n for n in self.notes if not n.startswith(UNCLEAR)]

    def diagnosed(self, findings: list[Finding], notes: list[str]) -> None:
        """Add the diagnosis of a recording; a policy that has a cause has a caveat."""
        self.diagnosis = [*findings, *self.diagnosis]
        self.notes += notes
        if self.verdict == TRANSFERS and any(f.share for f in findings):
            self.verdict = REMARKS

    def to_data(self) -> dict[str, object]:
        """The content of report.json."""
        plain = (
            "mode", "source", "scene", "verdict", "evidence", "bit_exact",
            "max_abs_position_error", "tolerance", "first_divergence", "fell", "fell_at",
            "duration", "base_start", "base_end", "base_drift",
        )  # fmt: skip
        found: dict[str, object] = {name: getattr(self, name) for name in plain}
        found["joints"] = {name: dict(values) for name, values in self.joints.items()}
        found["diagnosis"] = [f.data() for f in self.diagnosis]
        found["trials"] = [t.to_data() for t in self.trials]
        found["notes"] = list(self.notes)
        found["command"], found["versions"] = self.command, versions()
        found["schedule"] = [[t, *values] for t, values in self.schedule]
        return found

    def __str__(self) -> str:
        return to_text(described(self))


# Report -------------------------------------------------------------------------------------------


#: Rows of the joint table, findings and notes that fit on a screen.
WORST, FINDINGS, NOTES = 8, 5, 6
#: Joints that are plotted: the worst ones, and of these some with efforts.
PLOTTED, EFFORTS = 8, 4
#: Around the first divergence this much is shown [s].
BEFORE, AFTER = 0.1, 0.3
#: Speeds are means over this time: a gait sways [s].
MEAN = 0.5


def write_report(replay: Replay, folder: Path) -> None:
    """Write `report.json` and `report.html` into a folder; it is created if needed.

    Raises:
        MjrigError: it cannot be written there.
    """
    prepare_folder(folder)
    html_page.write_report(described(replay), folder / "report.html", folder / "report.json")


def described(replay: Replay) -> Report:
    """The verdict and what it rests on."""
    return Report(
        replay.source,
        replay.verdict,
        replay.tone,
        list(_facts(replay)),
        [
            ReportFindings(
                title="diagnosis",
                items=[_item(f) for f in replay.diagnosis],
                shown=FINDINGS,
            ),
            _trials(replay),
            Plots(title="plots", figures=list(_figures(replay, replay.comparison))),
            _joints(replay),
            ReportText(title="not judged", lines=replay.unjudged),
            ReportText(title="notes", lines=replay.remarks, shown=NOTES),
            ReportText(
                title="recorded commands",
                lines=[
                    f"{t:g} s: {', '.join(f'{v:g}' for v in row)}" for t, row in replay.schedule
                ],
                page_only=True,
            ),
        ],
        replay.to_data(),
        replay.command,
    )


def _facts(replay: Replay) -> Iterator[tuple[str, str]]:
    yield "scene", f"{replay.scene}, mode {replay.mode}"
    yield "evidence", replay.evidence
    if replay.bit_exact:
        yield "bit-exact", f"over {replay.duration:g} s"
    elif replay.max_abs_position_error is not None:
        tolerance = f" (tolerance {replay.tolerance:g})" if replay.tolerance is not None else ""
        error = f"{replay.max_abs_position_error:.3g} rad or m{tolerance}"
        yield "largest position error", error
    first = replay.first_divergence
    if first is not None:
        yield "first beyond it", f"{first['joint']} at {first['time']:.3f} s"
    fell = f"fell at {replay.fell_at:.2f} s" if replay.fell_at is not None else "did not fall"
    yield "duration", f"{replay.duration:g} s, {fell}"
    if replay.base_start is not None and replay.base_end is not None:
        start, end = (
            ", ".join(f"{x:.3f}" for x in place) for place in (replay.base_start, replay.base_end)
        )
        yield "base", f"from ({start}) to ({end}) m"
    if replay.base_drift is not None and not replay.bit_exact:
        yield "base drift", f"ends {replay.base_drift:.3g} m from where it was recorded"


def _item(finding: Finding) -> Item:
    """The sentence, and the edit that repairs it, to paste."""
    suspicion = "" if finding.share is None or finding.is_cause else " (a suspicion)"
    code = [json.dumps(finding.expected)] if isinstance(finding.expected, list) else []
    for edit in finding.edits:
        value = json.dumps(plain(edit.value), ensure_ascii=False)
        changed = f"  # {edit.changed}" if edit.changed else ""
        code.append(f"{edit.file}: {edit.path}{changed}\n{value}")
    return Item(f"{finding.text}{suspicion}", code=code)


def _trials(replay: Replay) -> ReportTable:
    columns = [
        *words("trial"), ReportColumn("result"), ReportColumn("duration", "s", ".1f"),
        ReportColumn("least upright", "", ".2f"), ReportColumn("tracking error", "", ".2f"),
        ReportColumn("saturated", "", ".1%"),
    ]  # fmt: skip
    rows = [
        (t.name, "fell" if t.fell else "upright", t.duration, t.upright, t.tracking_error,
         t.saturation)
        for t in replay.trials
    ]  # fmt: skip
    return ReportTable(columns, rows if len(rows) > 1 else (), title="trials")


def _joints(replay: Replay) -> ReportTable:
    """The joints, worst first; a replay that is exact has none to list on a terminal."""
    key = "rmse_position" if replay.comparison is not None else "saturation"
    order = sorted(replay.joints.items(), key=lambda item: -(item[1].get(key) or 0.0))
    columns = [
        *words("joint"), ReportColumn("rmse position", "rad, m"),
        ReportColumn("velocity", "rad/s, m/s"),
        ReportColumn("effort", "N·m, N"), ReportColumn("largest error", "rad, m"),
        ReportColumn("saturated", "", ".1%"), ReportColumn("recorded", "", ".1%"),
    ]  # fmt: skip
    keys = ("rmse_position", "rmse_velocity", "rmse_effort", "max_position_error", "saturation",
            "saturation_recorded")  # fmt: skip
    rows = [(name, *(joint.get(key) for key in keys)) for name, joint in order]
    return ReportTable(
        columns, rows, title="joints, worst first", shown=WORST, page_only=bool(replay.bit_exact)
    )


# Plots --------------------------------------------------------------------------------------------


def _figures(replay: Replay, found: Comparison | None) -> Iterator[ReportCurves]:
    if found is not None and (found.error > 0.0).any():
        series = [Series("here", ORANGE, found.time, found.error)]
        yield ReportCurves("largest position error", "rad, m", series, log=True)
    if found is not None and found.base is not None:
        yield from _base(found.base, replay)
    for name, (time, values, unit) in replay.series.items():
        yield ReportCurves(name, unit, [Series("here", ORANGE, time, values)])
    if found is None:
        return
    worst = sorted(found.curves, key=lambda n: -found.joints[n].rmse_position)[:PLOTTED]
    first = replay.first_divergence
    if first is not None and isinstance(first["time"], float):
        name = str(first["joint"])
        if name in found.curves:
            window = max(0.0, first["time"] - BEFORE), first["time"] + AFTER
            series = _positions(found.curves[name])
            yield ReportCurves(f"{name} where it diverges", "rad, m", series, window=window)
    for i, name in enumerate(worst):
        curve = found.curves[name]
        yield ReportCurves(f"{name}: position", "rad, m", _positions(curve))
        if i < EFFORTS and curve.effort is not None:
            yield ReportCurves(f"{name}: effort", "N·m, N", _efforts(curve))


def _positions(curve: Curve) -> list[Series]:
    target = [] if curve.target is None else [Series("target", DASHED, curve.time, curve.target)]
    recorded = Series("recorded", BLUE, curve.time, curve.recorded)
    return [*target, recorded, Series("here", ORANGE, curve.time, curve.here)]


def _efforts(curve: Curve) -> list[Series]:
    pairs = (("recorded", BLUE, curve.effort_recorded), ("here", ORANGE, curve.effort))
    return [Series(name, look, *effort) for name, look, effort in pairs if effort is not None]


def _base(base: BaseCurves, replay: Replay) -> Iterator[ReportCurves]:
    """The path over ground, and forward speed and turning rate against the command."""
    poses = (("recorded", BLUE, base.recorded), ("here", ORANGE, base.here))
    path = [Series(name, look, p[:, 0], p[:, 1]) for name, look, p in poses]
    yield ReportCurves("path over ground: y over x", "m", path, x_unit="m", equal=True)
    speeds = [(name, look, _speeds(base.time, p)) for name, look, p in poses]
    for k, (title, unit) in enumerate((("forward speed", "m/s"), ("turning rate", "rad/s"))):
        series = [Series(name, look, t, v[k]) for name, look, (t, v) in speeds if len(t)]
        command = _command(replay, float(base.time[-1]), (0, 2)[k])
        if command is not None:
            series.insert(0, Series("command", DASHED, *command))
        if series:
            yield ReportCurves(title, unit, series)


def _speeds(
    time: FloatArray, poses: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Forward speed and turning rate, as means over some time, at their middles."""
    ends = np.searchsorted(time, time + MEAN)
    rows = np.flatnonzero(ends < len(time))
    rows = rows[:: max(1, len(rows) // 300)]
    last = ends[rows]
    span = time[last] - time[rows]
    heading = yaw(poses[:, 3:7])
    middle = heading[(rows + last) // 2]
    moved = (poses[last, :2] - poses[rows, :2]) / span[:, None]
    forward = moved[:, 0] * np.cos(middle) + moved[:, 1] * np.sin(middle)
    return time[rows] + span / 2, (forward, (heading[last] - heading[rows]) / span)


def _command(replay: Replay, end: float, column: int) -> tuple[FloatArray, FloatArray] | None:
    """A recorded command as steps; None: it is not a velocity of three values."""
    rows = [(t, v[column]) for t, v in replay.schedule if len(v) == 3]
    if not rows:
        return None
    time, values = [], []
    for (t, v), following in zip(rows, [*(t for t, _ in rows[1:]), end], strict=True):
        time += [t, following]
        values += [v, v]
    return np.array(time), np.array(values)
