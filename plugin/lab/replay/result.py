"""Replay: the result of a replay, as fields, JSON and text."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import mujoco
import numpy as np

from mjrig.core.attributes import CheckedAttributes
from mjrig.lab.replay.comparison import Comparison
from mjrig.lab.replay.finding import ReplayFinding, sentence
from mjrig.lab.report.output import format_table

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
#: What the verdicts mean; every other one is bad.
_GOOD, _FAIR = (MATCHES, WITHIN, TRANSFERS, SHOWN), (REMARKS, STAYS_UP)


def tone(verdict: str) -> str:
    """Whether a verdict is `good`, `fair` (it holds with a caveat, or says little) or `bad`."""
    return "good" if verdict in _GOOD else "fair" if verdict in _FAIR else "bad"


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
    diagnosis: list[ReplayFinding] = field(default_factory=list)
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
    def origin(self) -> str:
        """What values here were compared with."""
        return "policy file" if self.bit_exact is None and self.mode == "policy" else "recording"

    def diagnosed(self, findings: list[ReplayFinding], notes: list[str]) -> None:
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
        found["diagnosis"] = [f.to_data() for f in self.diagnosis]
        found["trials"] = [t.to_data() for t in self.trials]
        found["notes"] = list(self.notes)
        found["command"], found["versions"] = self.command, versions()
        found["schedule"] = [[t, *values] for t, values in self.schedule]
        return found

    def __str__(self) -> str:
        return summary(self)


def versions() -> dict[str, str]:
    """Of what the figures depend on."""
    return {
        "mjrig": version("mjrig"),
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


# On one screen -----------------------------------------------------------------------------------

#: Rows of the joint table, and findings, that fit on a screen.
WORST = 8
FINDINGS = 5
NOTES = 6
#: Where the rest is.
ALL = "--report DIR writes all of them"
#: In tables, where there is no value.
NONE = "-"


def summary(replay: Replay) -> str:
    """Verdict, figures, findings and the worst joints."""
    lines = [f"{replay.source}: {replay.verdict}", f"  evidence: {replay.evidence}"]
    lines += [f"  {line}" for line in (*_figures(replay), *_trials(replay))]
    if replay.diagnosis:
        lines.append("diagnosis:")
        for i, finding in enumerate(replay.diagnosis[:FINDINGS], 1):
            lines.append(f"  {i}. {sentence(finding, replay.origin)}")
        if len(replay.diagnosis) > FINDINGS:
            lines.append(f"  … {len(replay.diagnosis) - FINDINGS} more: {ALL}")
    lines += _joints(replay)
    lines += [f"note: {n}" for n in replay.notes[:NOTES]]
    if len(replay.notes) > NOTES:
        lines.append(f"… {len(replay.notes) - NOTES} more notes: {ALL}")
    return "\n".join(lines)


def _figures(replay: Replay) -> list[str]:
    lines = []
    if replay.bit_exact:
        lines.append(f"bit-exact over {replay.duration:g} s")
    elif replay.max_abs_position_error is not None:
        tolerance = f" (tolerance {replay.tolerance:g})" if replay.tolerance is not None else ""
        lines.append(f"largest position error {replay.max_abs_position_error:.3g}{tolerance}")
    first = replay.first_divergence
    if first is not None:
        lines.append(f"first beyond it: {first['joint']} at {first['time']:.3f} s")
    base = ""
    if replay.base_start is not None and replay.base_end is not None:
        place = [", ".join(f"{x:.3f}" for x in p) for p in (replay.base_start, replay.base_end)]
        base = f", base from ({place[0]}) to ({place[1]}) m"
    fell = f"fell at {replay.fell_at:.2f} s" if replay.fell_at is not None else "did not fall"
    lines.append(f"{replay.duration:g} s, {fell}{base}")
    if replay.base_drift is not None and not replay.bit_exact:
        lines.append(f"base ends {replay.base_drift:.3g} m from where it was recorded")
    return lines


def _trials(replay: Replay) -> list[str]:
    if len(replay.trials) < 2:
        return []
    rows = [
        (
            t.name,
            "fell" if t.fell else "upright",
            f"{t.duration:.1f}",
            f"{t.upright:.2f}",
            NONE if t.tracking_error is None else f"{t.tracking_error:.2f}",
            f"{t.saturation:.1%}",
        )
        for t in replay.trials
    ]
    head = ("trial", "", "s", "least upright", "tracking error", "saturated")
    return format_table(head, rows)


def _joints(replay: Replay) -> list[str]:
    """The worst joints; empty if the replay is exact."""
    if not replay.joints or replay.bit_exact:
        return []
    compared = replay.comparison is not None
    key = "rmse_position" if compared else "saturation"
    worst = sorted(replay.joints.items(), key=lambda item: -(item[1].get(key) or 0.0))[:WORST]
    head = ("joint", "rmse position", "velocity", "effort", "saturated", "recorded")
    rows = [
        (
            name,
            *(_number(j.get(f"rmse_{n}")) for n in ("position", "velocity", "effort")),
            _percent(j.get("saturation")),
            _percent(j.get("saturation_recorded")),
        )
        for name, j in worst
    ]
    return ["worst joints:", *(f"  {line}" for line in format_table(head, rows))]


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.1%}"
