"""Report of a fit: estimates, errors, and figures of motion, intervals and correlations."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import at_joint
from mjrig.core.errors import MissingExtraError
from mjrig.core.findings import Finding, Level, error, note, warning
from mjrig.core.names import how_many
from mjrig.lab.fit import estimates
from mjrig.lab.fit.estimates import Correlations, Estimate
from mjrig.lab.fit.identification import Fit
from mjrig.lab.fit.plant import CREEP, ENCODER, TORQUE_GAIN
from mjrig.lab.report import html_page
from mjrig.lab.report.content import (
    BAD,
    BLUE,
    DIM,
    FAIR,
    GOOD,
    ORANGE,
    WIDE,
    Intervals,
    Matrix,
    Plots,
    Report,
    ReportColumn,
    ReportCurves,
    ReportInterval,
    ReportTable,
    ReportText,
    Section,
    Series,
    words,
)
from mjrig.lab.report.output import prepare_folder, save_figure
from mjrig.lab.report.text import to_text

#: The error after a fit is drawn this many times larger at most, in powers of ten.
MOST_MAGNIFIED = 3
#: Correlations of more parameters than this are listed, not drawn.
MOST_CELLS = 90
#: Most numbers of a curve in the data.
POINTS = 2000
#: Most pairs of correlated parameters that are listed.
LISTED = 40


def fit_report(found: Fit) -> str:
    """A table of all estimates, errors and notes, as text."""
    return to_text(described(found))


def write_report(found: Fit, folder: Path, command: str = "") -> None:
    """Write `report.html` and `report.json` into a folder; it is created if needed.

    Raises:
        MjrigError: it cannot be written there.
    """
    prepare_folder(folder)
    data = {**report_data(found), "correlations": _matrix_data(found), "curves": _curve_data(found)}
    report = replace(described(found), data=data, command=command)
    html_page.write_report(report, folder / "report.html", folder / "report.json")


def described(found: Fit) -> Report:
    """Estimates, what they are worth, and the figures that show it."""
    verdict, tone = _verdict(found)
    shown = {found.rejection, *map(str, found.correlated)}
    return Report(
        f"Fit of {found.actor}",
        verdict,
        tone,
        [("recordings", ", ".join(found.recordings)), *error_facts(found)],
        [
            estimates_table(found),
            ReportText(title="for other files", lines=elsewhere(found)),
            ReportText(title="notes", lines=[note for note in found.notes if note not in shown]),
            _errors_table(found),
            Plots(
                title="intervals",
                figures=[] if found.rejection else list(interval_figures(found.estimates)),
                legend=[("fitted, with its 95 % interval", BLUE), ("| the scene before", DIM)],
            ),
            *_motion(found),
            *_correlations(found),
        ],
        report_data(found),
    )


def findings(found: Fit) -> list[Finding]:
    """The verdicts on the whole fit, then on its estimates, then the correlated pairs."""
    verdicts = []
    if found.rejection:
        verdicts.append(error("fit-rejected", found.actor, reason=found.rejection))
    elif not found.converged:
        verdicts.append(error("not-converged", found.actor))
    for e in found.estimates:
        if e.reason:
            make, kind = (note, "conditional") if e.identifiable else (warning, "not-identified")
            values = {"here": e.old, "expected": e.value} if e.identifiable else {"here": e.old}
            interval = {"low": _finite(e.low), "high": _finite(e.high), "reason": e.reason}
            evidence = {"parameter": e.parameter, **interval}
            verdicts.append(make(kind, found.actor, (e.joint,), unit=e.unit, **values, **evidence))
    pairs = [replace(pair.finding, actor=found.actor) for pair in found.correlated]
    return [*verdicts, *pairs]


def _verdict(found: Fit) -> tuple[str, str]:
    for finding in findings(found):
        if finding.severity is Level.ERROR:
            return finding.text, BAD
    count = sum(e.identifiable for e in found.estimates)
    tone = GOOD if count == len(found.estimates) else FAIR if count else BAD
    return f"{count} of {how_many(len(found.estimates), 'parameter')} identified", tone


def estimates_table(found: Fit) -> ReportTable:
    """Values before and after with their intervals; remarks on those that are not identified."""
    numbers = (ReportColumn(name, "", ".5g") for name in ("was", "is", "95 % from", "to"))
    wrong = "values of the rejected model, which make up for what is wrong elsewhere"
    return ReportTable(
        title=wrong if found.rejection else "parameters",
        columns=[*words("joint", "parameter"), *numbers, *words("unit", "by")],
        rows=[
            (e.joint, e.parameter, e.old, e.value if e.identifiable else "?", e.low, e.high,
             e.unit, e.evidence)
            for e in found.estimates
        ],
        tones=["" if e.identifiable else FAIR for e in found.estimates],
        remarks=[[e.reason] if e.reason else [] for e in found.estimates],
    )  # fmt: skip


def _errors_table(found: Fit) -> ReportTable:
    parts = [("fitted to", found.rms_before, found.rms_after)]
    if found.held_after:
        parts.append(("held out", found.held_before, found.held_after))
    units = position_units(found)
    names = (f"{name}, {when}" for name, *_ in parts for when in ("before", "after"))
    return ReportTable(
        title="error of the positions, root mean square",
        columns=[*words("joint"), *map(ReportColumn, names), *words("unit")],
        rows=[
            (joint, *(values[joint] for _, *both in parts for values in both), units[joint])
            for joint in found.rms_after
        ],
        page_only=True,
    )


# Motion -------------------------------------------------------------------------------------------


def _motion(found: Fit) -> Iterator[Plots]:
    """One section for each recording: each has its time."""
    for name in dict.fromkeys(c.recording for c in found.curves):
        curves = [c for c in found.curves if c.recording == name]
        figures = [figure for motion in motions(curves) for figure in (motion, residual(motion))]
        yield Plots(title=f"motion in {name}", figures=figures)


def motions(curves: Sequence[estimates.Curves]) -> Iterator[ReportCurves]:
    """Positions in a recording joint by joint: recorded, before and fitted; shaded: held out."""
    curves = sorted(curves, key=lambda c: float(c.time[0]))
    time = _joined(c.time for c in curves)
    held = [(float(c.time[0]), float(c.time[-1])) for c in curves if c.is_held_out]
    for k, (joint, unit) in enumerate(zip(curves[0].joints, curves[0].units, strict=True)):
        recorded, before, after = (
            _joined(getattr(c, name)[:, k] for c in curves)
            for name in ("recorded", "before", "after")
        )
        series = [
            Series("recorded", WIDE, time, recorded),
            Series("scene before", ORANGE, time, before),
            Series("fitted", BLUE, time, after),
        ]
        window = float(np.nanmin(time)), float(np.nanmax(time))
        yield ReportCurves(joint, unit, series, window=window, spans=held, spans_label="held out")


def residual(motion: ReportCurves) -> ReportCurves:
    """What remains of a motion, the fitted error magnified if it is small."""
    recorded, before, after = (np.asarray(one.y, float) for one in motion.series)
    time, old, new = motion.series[0].x, before - recorded, after - recorded
    times = magnified(old, new)
    factor = "" if times == 1 else f" (fitted: ×{times})"
    series = [Series("fitted", BLUE, time, times * new), Series("scene before", ORANGE, time, old)]
    return replace(motion, title=f"{motion.title}: simulated − recorded{factor}", series=series)


def magnified(before: FloatArray, after: FloatArray) -> int:
    """The power of ten that makes what is left as visible as what was."""
    old, new = (float(np.nanmax(np.abs(x))) for x in (before, after))
    if not 0.0 < new < old:
        return 1
    return int(10 ** min(math.floor(math.log10(old / new)), MOST_MAGNIFIED))


def _joined(parts: Iterable[FloatArray]) -> FloatArray:
    """One after the other, with a gap between."""
    return np.concatenate([p for part in parts for p in (part, [np.nan])][:-1])


# Intervals ----------------------------------------------------------------------------------------


def interval_figures(found: Sequence[Estimate]) -> Iterator[Intervals]:
    """Values with their intervals next to the scene's, one figure per parameter and unit."""
    groups: dict[tuple[str, str], dict[str, list[ReportInterval]]] = {}
    for e in found:
        tip = f"{e.joint}: {e.value:.5g}, 95 % from {e.low:.5g} to {e.high:.5g}, was {e.old:.5g}"
        value = e.value if e.identifiable else math.nan
        group = groups.setdefault((e.parameter, e.unit), {})
        group[e.joint] = [ReportInterval(tip, value, e.low, e.high, e.old)]
    for (name, unit), rows in groups.items():
        if any(not math.isnan(row[0].value) for row in rows.values()):
            yield Intervals(f"{name} [{unit}]" if unit else name, rows)


# Correlations -------------------------------------------------------------------------------------


def _correlations(found: Fit) -> Iterator[Section]:
    labels = found.correlations.labels
    pairs = [str(pair) for pair in found.correlated]
    yield ReportText(title="hardly distinguishable by this motion", lines=pairs, shown=LISTED)
    figure = correlation_matrix(found.correlations)
    if figure is None:
        if labels:
            text = f"All {len(labels)} parameters are in report.json."
            yield ReportText(title="correlation of the parameters", lines=[text], page_only=True)
        return
    creep = any(label.startswith(f"{CREEP} ") for label in labels)
    also = "; creep: how much a joint creeps while friction holds it, estimated with the others"
    yield Plots(
        title="correlation of the parameters",
        figures=[figure],
        legend=[
            ("blue: if one value is too large, the other is too", BLUE),
            ("orange: the other is too small", ORANGE),
        ],
        note=f"The fuller, the closer to ±1{also if creep else ''}.",
    )


def correlation_matrix(found: Correlations) -> Matrix | None:
    """One cell per pair, joint by joint; None: there is none, or it is too large to draw."""
    if not 0 < len(found.labels) <= MOST_CELLS:
        return None
    joints = [label.split(" ", 1)[-1] for label in found.labels]
    places = {joint: i for i, joint in enumerate(dict.fromkeys(joints))}
    order = sorted(range(len(joints)), key=lambda i: places[joints[i]])
    names = [" ".join(reversed(found.labels[i].split(" ", 1))) for i in order]
    return Matrix(names, found.matrix[np.ix_(order, order)])


# Data ---------------------------------------------------------------------------------------------


def error_facts(found: Fit) -> list[tuple[str, str]]:
    """The largest errors of joints, in what was fitted to and in what was held out."""
    where, how = position_units(found), effort_units(found)
    errors = [
        _errors("motion", found.rms_before, found.rms_after, where),
        _errors("efforts", found.effort_before, found.effort_after, how),
    ]
    held = _errors("held out", found.held_before, found.held_after, where)
    text = "; ".join([*filter(None, errors), f"{found.seconds:.1f} s"])
    return [
        ("largest rms error of a joint", text),
        *([("not seen by the fit", held)] if held else []),
    ]


def position_units(found: Fit) -> dict[str, str]:
    """Joint → unit of its position, of those that were simulated."""
    return {
        joint: unit for c in found.curves for joint, unit in zip(c.joints, c.units, strict=True)
    }


def effort_units(found: Fit) -> dict[str, str]:
    """Joint → unit of its effort, of those that something was estimated for."""
    return {e.joint: at_joint("N·m", slides=e.slides) for e in found.estimates if e.actuator}


def _errors(
    what: str,
    before: Mapping[str, float],
    after: Mapping[str, float],
    units: Mapping[str, str],
) -> str:
    """The largest error before and after, of joints that turn and of those that slide."""
    parts = []
    for unit in dict.fromkeys(units[joint] for joint in after):
        own = [joint for joint in after if units[joint] == unit]
        old, new = (max(values[joint] for joint in own) for values in (before, after))
        parts.append(f"{old:.3g} before, {new:.3g} now [{unit}]")
    return f"{what} {', '.join(parts)}" if parts else ""


def report_data(found: Fit) -> dict[str, object]:
    """The same as plain data; null stands for infinite, and for an interval that is withheld."""
    return {
        "actor": found.actor,
        "recordings": list(found.recordings),
        "estimates": [
            {
                "joint": e.joint,
                "actuator": e.actuator,
                "parameter": e.parameter,
                "unit": e.unit,
                "value": _finite(e.value),
                "old": _finite(e.old),
                "low": _finite(e.low),
                "high": _finite(e.high),
                "identifiable": e.identifiable,
                "reason": e.reason,
                "evidence": e.evidence,
            }
            for e in found.estimates
        ],
        "units": {"position": position_units(found), "effort": effort_units(found)},
        "rms_before": found.rms_before,
        "rms_after": found.rms_after,
        "held_out": {
            "rms_before": found.held_before,
            "rms_after": found.held_after,
            "recordings": list(found.held_out),
        },
        "correlated": [
            {"first": c.first, "second": c.second, "correlation": c.correlation, "apart": c.remedy}
            for c in found.correlated
        ],
        "effort_before": found.effort_before,
        "effort_after": found.effort_after,
        "converged": found.converged,
        "rejection": found.rejection or None,
        "findings": [finding.data() for finding in findings(found)],
        "notes": list(found.notes),
        "seconds": found.seconds,
    }


def elsewhere(found: Fit) -> list[str]:
    """What was found that a scene has no place for, as lines for the file that has one."""
    lines = []
    for e in _identified(found, ENCODER):
        lines.append(f"log.yaml: joints: {e.joint}: {{offset: {-e.value:.5g}}}")
    for e in _identified(found, TORQUE_GAIN):
        lines.append(
            f"log.yaml: efforts of {e.joint} are to be divided by {e.value:.5g}: its "
            "torque_constant, or the unit of its effort"
        )
    return lines


def _identified(found: Fit, parameter: str) -> list[Estimate]:
    return [e for e in found.estimates if e.identifiable and e.parameter == parameter]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _matrix_data(found: Fit) -> dict[str, object]:
    return {
        "labels": list(found.correlations.labels),
        "matrix": np.round(found.correlations.matrix, 4).tolist(),
    }


def _curve_data(found: Fit) -> list[dict[str, object]]:
    rows = []
    for c in found.curves:
        every = slice(None, None, max(1, math.ceil(len(c.time) / POINTS)))
        rows.append(
            {
                "recording": c.recording,
                "held_out": c.is_held_out,
                "joints": list(c.joints),
                "units": list(c.units),
                "time": c.time[every].tolist(),
                "recorded": c.recorded[every].tolist(),
                "before": c.before[every].tolist(),
                "after": c.after[every].tolist(),
            }
        )
    return rows


def plot(found: Fit, path: Path) -> None:
    """The values with their intervals against the scene's, one panel per parameter.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError("a plot", "plot", error) from error
    names = list(dict.fromkeys(e.parameter for e in found.estimates))
    figure, axes = plt.subplots(len(names), 1, figsize=(9, 2.6 * len(names)), squeeze=False)
    for axis, name in zip(axes[:, 0], names, strict=True):
        own = [e for e in found.estimates if e.parameter == name]
        for i, e in enumerate(own):
            axis.plot(i, e.old, "_", color="grey", markersize=14)
            high = e.high if math.isfinite(e.high) else e.value
            spread = [[max(e.value - e.low, 0.0)], [max(high - e.value, 0.0)]]
            colour = "C0" if e.identifiable else "C3"
            axis.errorbar(i, e.value, yerr=spread, fmt="o", color=colour, capsize=3)
        units = list(dict.fromkeys(e.unit for e in own if e.unit))
        joints = [f"{e.joint} [{e.unit}]" if len(units) > 1 else e.joint for e in own]
        axis.set_xticks(range(len(own)), joints, rotation=30, ha="right")
        axis.set_ylabel(f"{name} [{units[0]}]" if len(units) == 1 else name)
        axis.grid(alpha=0.3)
    axes[0, 0].set_title(f"{found.actor}: fitted (red: not identifiable), grey: the scene")
    save_figure(figure, path)
