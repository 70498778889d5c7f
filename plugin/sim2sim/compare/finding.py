"""ReplayFinding: one difference between a recording and a world, and its text."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReplayFinding:
    """One difference, and its effect.

    `share` is the part of the divergence it explains, None where it was not tried.
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


def sentence(finding: ReplayFinding) -> str:
    """One finding as text: `kp of FL_calf is 48 here, 40 in the recording: undoing it …`."""
    where = f" of {finding.where}" if finding.where else ""
    if finding.recorded == "as recorded":
        return f"{finding.what}{where}: {finding.effect}"
    return (
        f"{finding.what}{where} is {short(finding.here)} here, {short(finding.recorded)} in the "
        f"{'recording' if finding.what else 'file'}: {finding.effect}"
    )


def short(value: object) -> str:
    """A value for a sentence; of many values, their range."""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, dict) and value:
        numbers = [float(v) for v in value.values()]
        return f"{min(numbers):g} to {max(numbers):g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
