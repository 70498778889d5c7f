"""Report of a response test, as a table, plain data, CSV and a plot."""

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import MissingExtraError
from mjrig.core.files.atomic_writes import whole_file
from mjrig.lab.report.content import Report, ReportColumn, ReportTable, ReportText, words
from mjrig.lab.report.output import save_figure
from mjrig.lab.report.text import to_text
from mjrig.lab.responses.frequency_response import FrequencyResponse, Margins
from mjrig.lab.responses.joint_response import JointResponse
from mjrig.lab.rollouts.signals import Kind, Metrics, Signal

NO_MARGINS = Margins()
#: Joints per panel; more are unreadable.
MOST = 8


def respond_report(found: Sequence[JointResponse], signal: Signal) -> str:
    """A table with one row per joint and the causes of steady-state errors, as text."""
    return to_text(described(found, signal))


def described(found: Sequence[JointResponse], signal: Signal) -> Report:
    """Metrics by joint, and why joints could not be tested."""
    problems = [f"{r.label}: {r.response.problem}" for r in found if r.response.problem]
    return Report(
        f"Response to a {signal.kind}",
        sections=[table(found, signal), ReportText(title="not tested", lines=problems)],
        data=report_data(found),
    )


def table(found: Iterable[JointResponse], signal: Signal) -> ReportTable:
    """One row per joint that was tested."""
    tested = [r for r in found if r.response.metrics is not None]
    shape = _of_frequencies if signal.kind in (Kind.SINE, Kind.CHIRP) else _of_time
    columns, values = shape(tested)
    return ReportTable(
        columns=[*words("joint"), *columns],
        rows=[(r.label, *row) for r, row in zip(tested, values, strict=True)],
        remarks=[[] if r.response.problem else [c.text for c in r.response.causes] for r in tested],
    )


Content = tuple[list[ReportColumn], list[tuple[object, ...]]]


def _of_time(tested: Sequence[JointResponse]) -> Content:
    columns = [
        ReportColumn("rise", "s"),
        ReportColumn("overshoot", "%"),
        ReportColumn("settling", "s"),
        ReportColumn("error"),
        ReportColumn("rmse"),
        ReportColumn("saturated", "%"),
    ]
    rows: list[tuple[object, ...]] = []
    for m in map(_metrics, tested):
        errors = m.steady_state_error, m.rmse
        rows.append(
            (m.rise_time, _scaled(m.overshoot), m.settling_time, *errors, _scaled(m.saturation))
        )
    return columns, rows


def _of_frequencies(tested: Sequence[JointResponse]) -> Content:
    """The gain at one frequency, or the bandwidth and peak of many; and the margins."""
    one_only = all(r.measured is None or len(r.measured.frequency) == 1 for r in tested)
    one = [ReportColumn("frequency", "Hz"), ReportColumn("gain"), ReportColumn("phase", "°")]
    many = [ReportColumn("bandwidth", "Hz"), ReportColumn("peak", "dB"), ReportColumn("at", "Hz")]
    columns = [
        *(one if one_only else many),
        ReportColumn("off linear", "%"),
        ReportColumn("margin", "°"),
        ReportColumn("crossover", "Hz"),
        ReportColumn("delay margin", "ms"),
        ReportColumn("gain margin"),
        ReportColumn("rmse"),
        ReportColumn("saturated", "%"),
    ]
    rows: list[tuple[object, ...]] = []
    for r in tested:
        m, metrics = r.margins or NO_MARGINS, _metrics(r)
        rows.append(
            (
                *(_at_one(r.measured) if one_only else _of_many(r.measured)),
                _scaled(r.nonlinearity),
                m.phase_margin if m.stable else "unstable",
                m.crossover,
                _scaled(m.delay_margin, 1000.0),
                m.gain_margin,
                metrics.rmse,
                _scaled(metrics.saturation),
            )
        )
    return columns, rows


def _at_one(response: FrequencyResponse | None) -> tuple[object, object, object]:
    if response is None:
        return None, None, None
    return response.frequency[0], response.gain[0], response.phase[0]


def _of_many(response: FrequencyResponse | None) -> tuple[object, object, object]:
    if response is None:
        return None, None, None
    at, height = response.peak or (None, None)
    peak = None if height is None else 20.0 * math.log10(height)
    return response.bandwidth, peak, at


def _metrics(one: JointResponse) -> Metrics:
    assert one.response.metrics is not None
    return one.response.metrics


def _scaled(value: float | None, scale: float = 100.0) -> float | None:
    return None if value is None else scale * value


# Data -------------------------------------------------------------------------------------------


def report_data(found: Sequence[JointResponse]) -> list[dict[str, Any]]:
    """The same as plain data, with the curves over frequency and without those over time."""
    return [
        {
            "actor": one.actor,
            "actuator": one.response.actuator,
            "joint": one.response.joint,
            "metrics": vars(one.response.metrics) if one.response.metrics else None,
            "causes": [cause.data() for cause in one.response.causes],
            "problem": one.response.problem,
            "measured": _curve(one.measured),
            "linear": _curve(one.linear),
            "nonlinearity": one.nonlinearity,
            "margins": vars(one.margins) if one.margins else None,
        }
        for one in found
    ]


def _curve(response: FrequencyResponse | None) -> dict[str, Any] | None:
    if response is None:
        return None
    return {
        "frequency": response.frequency.tolist(),
        "gain": response.gain.tolist(),
        "phase": response.phase.tolist(),
        "bandwidth": response.bandwidth,
        "peak": response.peak,
    }


COLUMNS = ("time", "target", "position", "effort", "raw_effort", "applied_effort")


def write_csv(found: Sequence[JointResponse], path: Path) -> None:
    """Write the traces: one row per joint and step.

    Raises:
        MjrigError: the file cannot be written.
    """
    with whole_file(path) as whole, whole.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("actor", "actuator", *COLUMNS))
        for one in found:
            if (trace := one.response.trace) is not None:
                name = one.actor, one.response.actuator
                values = np.column_stack([getattr(trace, c) for c in COLUMNS])
                writer.writerows((*name, *row) for row in values.tolist())


# Plot -------------------------------------------------------------------------------------------


def plot(found: Sequence[JointResponse], path: Path) -> None:
    """Targets, positions and efforts over time; gain and phase over frequency if measured.

    Raises:
        MissingExtraError: matplotlib is not installed.
        MjrigError: the file cannot be written.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError("a plot", "plot", error) from error
    shown = [one for one in found if one.response.trace is not None][:MOST]
    many = [one for one in shown if one.measured is not None and len(one.measured.frequency) > 1]
    figure, axes = plt.subplots(2, 2 if many else 1, figsize=(12, 7), squeeze=False)
    _draw_time(axes[:, 0], shown)
    if many:
        _draw_frequency(axes[:, 1], many)
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    save_figure(figure, path)


def _draw_time(axes: Any, shown: Sequence[JointResponse]) -> None:
    for k, one in enumerate(shown):
        trace = one.response.trace
        assert trace is not None
        style = {"color": f"C{k}"}
        axes[0].plot(trace.time, trace.position - trace.start, **style, label=one.label)
        axes[0].plot(trace.time, trace.target - trace.target[0], "k:", linewidth=1)
        axes[1].plot(trace.time, trace.applied_effort, **style)
    axes[0].set(title="position (dotted: target)", ylabel="rad or m", xlabel="time [s]")
    axes[1].set(title="effort", ylabel="N·m or N", xlabel="time [s]")


def _draw_frequency(axes: Any, shown: Sequence[JointResponse]) -> None:
    for k, one in enumerate(shown):
        for response, style, label in ((one.measured, "-", one.label), (one.linear, ":", None)):
            if response is not None:
                at, look = response.frequency, {"color": f"C{k}", "linestyle": style}
                axes[0].semilogx(at, 20.0 * np.log10(response.gain), **look, label=label)
                axes[1].semilogx(at, response.phase, **look)
    axes[0].axhline(-3.0, color="grey", linewidth=0.5)
    axes[0].set(title="position / target (dotted: linear)", ylabel="gain [dB]")
    axes[1].set(ylabel="phase [°]", xlabel="frequency [Hz]")
