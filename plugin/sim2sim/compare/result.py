"""Replay: what came out, as fields, as JSON and in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from mjrig.sim2sim.compare.comparison import Comparison

#: Verdicts on recorded setpoints …
MATCHES = "matches"
WITHIN = "matches within tolerance"
DIFFERS = "differs"
#: … on a policy in the loop …
TRANSFERS = "transfers"
REMARKS = "transfers with remarks"
FAILS = "does not transfer"
#: … of which one run alone says only this …
STAYS_UP = "stays up"
#: … and on poses that were only shown.
SHOWN = "shown"


@dataclass(frozen=True)
class Finding:
    """One difference, and what it does.

    `share` is the part of the divergence that goes away without it, None where it was not tried.
    """

    what: str
    where: str
    recorded: object
    here: object
    effect: str
    share: float | None = None

    def to_data(self) -> dict[str, object]:
        """For report.json."""
        return {
            "what": self.what,
            "where": self.where,
            "recorded": self.recorded,
            "here": self.here,
            "effect": self.effect,
            "share": self.share,
        }


@dataclass(frozen=True)
class Trial:
    """One run of a policy: what was done to it, and what became of it."""

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
class Replay:
    """The answer: a verdict, the evidence it rests on, and the figures behind it.

    Attributes:
        mode: `targets`, `kinematic` or `policy`.
        verdict: one of the words above.
        evidence: the kind of evidence, in words: what the verdict can and cannot say.
        bit_exact: every compared position and velocity is the same; None: nothing to compare.
        max_abs_position_error: of any position, rad or m; None: nothing to compare.
        first_divergence: `time`, `joint` and `error` of the first excess; None: there is none.
        diagnosis: what differs, the most important first.
        fell: whether a floating base fell.
        fell_at: when [s].
        duration: simulated seconds.
        base_start, base_end: of the first robot with a floating base [m].
        joints: by name: `rmse_position`, `rmse_velocity`, `rmse_effort`, `saturation`, …
        trials: runs of a policy, the nominal one first.
        notes: what was assumed, left out or found to be no finding.
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
    comparison: Comparison | None = None
    #: Further curves for the report: name → (time, values, unit).
    series: dict[str, tuple[Any, Any, str]] = field(default_factory=dict)

    @property
    def is_fine(self) -> bool:
        """Whether it matches or transfers."""
        return self.verdict in (MATCHES, WITHIN, TRANSFERS, REMARKS, SHOWN)

    def to_data(self) -> dict[str, object]:
        """What report.json holds."""
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
        return found

    def __str__(self) -> str:
        # Not an import: the words know the result, not the other way round.
        summary: Any = import_module("mjrig.sim2sim.report.summary")
        return str(summary.summary(self))
