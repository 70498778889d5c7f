"""A replay on one screen."""

from mjrig.sim2sim.compare.result import Finding, Replay
from mjrig.terminal.table import format_table

#: Rows of the joint table, and findings, that fit on a screen.
WORST = 8
FINDINGS = 5
NOTES = 6
#: In tables, where there is no value.
NONE = "-"


def summary(replay: Replay) -> str:
    """Verdict, figures, findings and the worst joints."""
    lines = [f"{replay.source}: {replay.verdict}", f"  evidence: {replay.evidence}"]
    lines += [f"  {line}" for line in (*_figures(replay), *_trials(replay))]
    if replay.diagnosis:
        lines.append("diagnosis:")
        for i, finding in enumerate(replay.diagnosis[:FINDINGS], 1):
            lines.append(f"  {i}. {sentence(finding)}")
        if len(replay.diagnosis) > FINDINGS:
            lines.append(f"  … {len(replay.diagnosis) - FINDINGS} more in report.json")
    lines += _joints(replay)
    lines += [f"note: {n}" for n in replay.notes[:NOTES]]
    if len(replay.notes) > NOTES:
        lines.append(f"… {len(replay.notes) - NOTES} more notes in report.json")
    return "\n".join(lines)


def sentence(finding: Finding) -> str:
    """One finding in words: `kp of FL_calf is 48 here, 40 in the recording: undoing it …`."""
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
    """The worst joints; nothing to see where all is exact."""
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
