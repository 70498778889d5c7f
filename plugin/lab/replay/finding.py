"""ReplayFinding: one difference between a recording and a world, its evidence and its repair."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

#: From this share of the error on, a finding is a claim, not a suspicion.
CONFIDENT = 0.8
#: Joints whose values are said one by one.
EACH = 4
#: What is known of a limit that the recording does not state.
LARGEST_EFFORT = "largest recorded effort"


@dataclass(frozen=True)
class RepairEdit:
    """One value that repairs a finding: in the `scene`, or in the `policy` file.

    `path` is as `Scene.set` takes it (`robot.PDController.kp`), in a policy file the same from its
    top (`observation.terms[2].scale`). `changed` says what of a longer value changes:
    `FL_calf 60 → 45`; empty: the whole value.
    """

    file: str
    path: str
    value: object
    changed: str = ""

    def to_data(self) -> dict[str, object]:
        """For report.json."""
        return dict(vars(self))


@dataclass(frozen=True)
class ReplayFinding:
    """One difference, and its effect.

    Attributes:
        what: the property: `kp`, `joint order`, `observation scale`, …
        where: joints or the observation term; empty: the whole robot.
        recorded, here: its two values.
        effect: the evidence, with numbers.
        share: the part of the divergence it explains, None where it was not tried.
        fix: the edits that repair it; none: there is no single value to change.
        unit: of both values; empty: they have none, or joints of different kinds have others.
        recorded_as: what `recorded` is, as `largest recorded effort`; empty: the property itself.
    """

    what: str
    where: str
    recorded: object
    here: object
    effect: str
    share: float | None = None
    fix: tuple[RepairEdit, ...] = ()
    unit: str = ""
    recorded_as: str = ""

    @property
    def confident(self) -> bool:
        """Whether it is claimed as the cause: it explains nearly everything."""
        return self.share is not None and self.share >= CONFIDENT

    def to_data(self) -> dict[str, object]:
        """For report.json."""
        return {
            "what": self.what,
            "where": self.where,
            "recorded": self.recorded,
            "recorded_as": self.recorded_as,
            "here": self.here,
            "effect": self.effect,
            "unit": self.unit,
            "share": self.share,
            "confident": self.confident,
            "fix": [edit.to_data() for edit in self.fix],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """From report.json."""
        known = {n: data[n] for n in ("what", "where", "recorded", "here", "effect", "share")}
        return cls(
            **known,
            fix=tuple(RepairEdit(**edit) for edit in data.get("fix", ())),
            unit=str(data.get("unit", "")),
            recorded_as=str(data.get("recorded_as", "")),
        )


def sentence(finding: ReplayFinding, origin: str = "recording") -> str:
    """One finding as text: `kp of FL_calf is 48 here, 40 in the recording: undoing it …`.

    `origin` is what the other value comes from.
    """
    where = f" of {finding.where}" if finding.where else ""
    if finding.recorded == "as recorded":
        return f"{finding.what}{where}: {finding.effect}"
    unit = f" {finding.unit}" if finding.unit else ""
    there = f"{short(finding.recorded)}{unit}"
    there = (
        f"the {finding.recorded_as} is {there}"
        if finding.recorded_as
        else (f"{there} in the {origin}")
    )
    return f"{finding.what}{where} is {short(finding.here)}{unit} here, {there}: {finding.effect}"


def short(value: object) -> str:
    """A value for a sentence; of several joints each, in their order; of many, their range."""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, dict) and value:
        numbers = [float(v) for v in value.values()]
        low, high = (f"{n:g}" for n in (min(numbers), max(numbers)))
        if low == high:
            return low
        return f"{low} to {high}" if len(numbers) > EACH else ", ".join(f"{n:g}" for n in numbers)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
