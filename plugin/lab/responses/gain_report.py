"""Report of the gain test suite."""

from collections.abc import Sequence
from typing import Any

from mjrig.lab.report.content import (
    BAD,
    DASHED,
    DIM,
    GOOD,
    ORANGE,
    Plots,
    Report,
    ReportColumn,
    ReportCurves,
    ReportTable,
    ReportText,
    Series,
    words,
)
from mjrig.lab.report.text import to_text
from mjrig.lab.responses.gain_suite import GainReport
from mjrig.lab.responses.gain_test import ABOUT, GainResult, GainTest, GainVerdict, Measure

#: Name of the column that distinguishes the parts of a test.
CASES = {GainTest.LIMITS: "end", GainTest.TIMESTEP: "timestep"}
#: Curves on the page: those of failures first.
PLOTTED = 24
_TONES = {GainVerdict.PASS: "", GainVerdict.FAIL: BAD, GainVerdict.SKIPPED: DIM}


def gain_report(report: GainReport) -> str:
    """A table per test with the reasons of its failures, and how many passed, as text."""
    return to_text(described(report))


def described(report: GainReport) -> Report:
    """The results by test, and their curves."""
    groups = [[r for r in report.results if r.test is test] for test in GainTest]
    return Report(
        f"Gain tests of {report.scene}",
        summary(report),
        GOOD if report.is_passed else BAD,
        sections=[
            *(results_table(results) for results in groups if results),
            _curves(report),
            ReportText(title="not tested", lines=[str(skipped) for skipped in report.skipped]),
        ],
        data=report_data(report),
    )


def summary(report: GainReport) -> str:
    """`3 passed, 1 failed, 2 skipped`."""
    names = {GainVerdict.PASS: "passed", GainVerdict.FAIL: "failed", GainVerdict.SKIPPED: "skipped"}
    counts = [(report.count(verdict), name) for verdict, name in names.items()]
    text = ", ".join(f"{n} {name}" for n, name in counts if n) or "nothing was tested"
    nothing = report.count(GainVerdict.SKIPPED) and len(report.results) == counts[2][0]
    return f"{text}: nothing was tested" if nothing else text


def results_table(results: Sequence[GainResult]) -> ReportTable:
    """One row per result of one test, titled by the thresholds it is judged by."""
    test = results[0].test
    measures = [m for result in results for m in result.measures]
    bounds = dict.fromkeys(f"{m.name} {m.bounds} {m.unit}".strip() for m in measures if m.is_judged)
    names = list(dict.fromkeys(m.name for m in measures))
    case = [CASES[test]] if test in CASES else []
    return ReportTable(
        title=f"{test}: {ABOUT[test]}" + "".join(f", {text}" for text in bounds),
        columns=[
            *words("joint", *case),
            *(ReportColumn(name, _units(measures, name)) for name in names),
            ReportColumn("result"),
        ],
        rows=[
            [result.label, *([result.case or None] if case else []), *_values(result, names),
             str(result.verdict)]
            for result in results
        ],
        tones=[_TONES[result.verdict] for result in results],
        remarks=[_reasons(result) for result in results],
    )  # fmt: skip


def _units(measures: Sequence[Measure], name: str) -> str:
    return " or ".join(dict.fromkeys(m.unit for m in measures if m.name == name and m.unit))


def _values(result: GainResult, names: Sequence[str]) -> list[str | None]:
    values = {m.name: m.text for m in result.measures}
    return [values.get(name) for name in names]


def _reasons(result: GainResult) -> list[str]:
    skipped = "skipped: " if result.verdict is GainVerdict.SKIPPED else ""
    return [f"{skipped}{finding.text}" for finding in result.findings]


def curve(result: GainResult) -> ReportCurves | None:
    """The position of a joint and its target; None: it was not simulated."""
    trace = result.trace
    if trace is None:
        return None
    series = [
        Series("target", DASHED, trace.time, trace.target),
        Series("position", ORANGE, trace.time, trace.position),
    ]
    return ReportCurves(f"{result.label}: {result.test} {result.case}".strip(), "rad or m", series)


def _curves(report: GainReport) -> Plots:
    # Failures first, else in order.
    results = sorted(report.results, key=lambda r: r.verdict is not GainVerdict.FAIL)
    drawn = [figure for figure in map(curve, results) if figure is not None]
    note = f"{PLOTTED} of {len(drawn)} curves, failures first." if len(drawn) > PLOTTED else ""
    return Plots(title="curves", figures=drawn[:PLOTTED], note=note)


def report_data(report: GainReport) -> dict[str, Any]:
    """The same as plain data, without the curves."""
    return {
        "scene": report.scene,
        "passed": report.is_passed,
        "results": [
            {
                "actor": r.actor,
                "actuator": r.actuator,
                "test": str(r.test),
                "case": r.case,
                "verdict": str(r.verdict).lower(),
                "measures": {m.name: _measure_data(m) for m in r.measures},
                "findings": [finding.data() for finding in r.findings],
            }
            for r in report.results
        ],
        "not_tested": [vars(skipped) for skipped in report.skipped],
    }


def _measure_data(measure: Measure) -> dict[str, Any]:
    """In SI units and fractions of 1, whatever is shown."""
    unit = "" if measure.unit == "%" else measure.unit
    return {
        "value": measure.value,
        "unit": unit,
        "least": measure.low,
        "most": measure.high,
        "passed": measure.is_passed if measure.is_judged else None,
    }
