"""Report of assigned gains, as a table and as plain data."""

import math
from typing import Any

from mjrig.gains.gain_rows import rounded
from mjrig.names import listed
from mjrig.terminal.table import format_table
from mjrig.tuning.assignment.assign import Assignment, AssignmentPlan

HEADER = (
    "joint", "M", "min M", "max M", "kp", "kv", "alone Hz", "Hz", "ζ", "saturates at", "bounds",
)  # fmt: skip


def assign_report(plan: AssignmentPlan) -> str:
    """A table with one row per joint, then the actuators that get no gains."""
    lines = format_table(HEADER, [row(a) for a in plan.assignments])
    lines += [f"skipped {skipped}" for skipped in plan.skipped]
    lines += [f"note: {note}" for note in plan.notes]
    if plan.unstable:
        names = listed(plan.unstable)
        lines.append(f"{names}: unstable in some pose due to other gains; see `mjrig check`")
    return "\n".join(lines)


def row(a: Assignment) -> tuple[str, ...]:
    """One line of the table."""
    seen, old = a.seen, a.row.values
    ends = seen.largest, seen.smallest
    hertz, ratio = (a.mode.frequency, a.mode.damping) if a.mode else (math.nan, math.nan)
    return (
        f"{a.row.actor}.{a.row.actuator}",
        f"{seen.inertia:.3g}",
        f"{seen.smallest:.3g}",
        f"{seen.largest:.3g}",
        f"{old['kp']:g} → {rounded(a.kp):g}",
        f"{old['kv']:g} → {rounded(a.kv):g}",
        _span(*(a.frequency(m) for m in ends)),
        _known(hertz),
        _known(ratio),
        f"{a.saturating_step:.3g}" if math.isfinite(a.saturating_step) else "never",
        "; ".join(a.notes),
    )


def _known(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def _span(low: float, high: float) -> str:
    """A range over the poses, or one value if they agree."""
    texts = f"{low:.3g}", f"{high:.3g}"
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def report_data(plan: AssignmentPlan) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "poses": plan.poses,
        "joints": [
            {
                "actor": a.row.actor,
                "actuator": a.row.actuator,
                "joint": a.row.joint,
                **vars(a.seen),
                "frequency": a.hertz,
                "damping_ratio": finite(a.damping(plan.wish.inertia_of(a.basis))),
                "coupled_frequency": None if a.mode is None else finite(a.mode.frequency),
                "coupled_damping_ratio": None if a.mode is None else finite(a.mode.damping),
                "kp": {"old": a.row.values["kp"], "new": rounded(a.kp)},
                "kv": {"old": a.row.values["kv"], "new": rounded(a.kv)},
                "saturating_step": finite(a.saturating_step),
                "bounds": list(a.notes),
            }
            for a in plan.assignments
        ],
        "skipped": [vars(s) for s in plan.skipped],
        "unstable": list(plan.unstable),
        "notes": list(plan.notes),
    }


def finite(value: float) -> float | None:
    """JSON knows no infinity."""
    return value if math.isfinite(value) else None
