"""Replay: the result of a replay, as fields, JSON and text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mjrig.core.attributes import CheckedAttributes
from mjrig.lab.replay.comparison import Comparison
from mjrig.lab.replay.finding import ReplayFinding
from mjrig.lab.replay.report import described
from mjrig.lab.report.content import BAD, FAIR, GOOD, versions
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
        return to_text(described(self))
