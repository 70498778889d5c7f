"""Report of the gain test suite: on the terminal, as JSON and as one HTML page."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from mjrig.core.files.atomic_writes import whole_file
from mjrig.lab.report.html_page import html_page, html_table
from mjrig.lab.report.output import format_table, plain
from mjrig.lab.report.svg import plot
from mjrig.lab.responses.gain_suite import GainReport
from mjrig.lab.responses.gain_test import ABOUT, GainResult, GainTest, GainVerdict, Measure

#: Name of the column that tells the parts of a test apart.
CASES = {GainTest.LIMITS: "end", GainTest.TIMESTEP: "timestep"}
#: Curves on the page: those of failures first.
PLOTTED = 24
_TONES = {GainVerdict.PASS: "", GainVerdict.FAIL: "bad", GainVerdict.SKIPPED: "dim"}
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def gain_report(report: GainReport) -> str:
    """A table per test, the reasons of its failures below it, and how many passed."""
    lines: list[str] = []
    for test in GainTest:
        results = of_test(report, test)
        if results:
            header, rows = table(results)
            lines += [heading(results), *format_table(header, rows)]
            lines += [f"{name}: {text}" for name, text in reasons(results)]
            lines.append("")
    lines += [f"not tested {skipped}" for skipped in report.skipped]
    return "\n".join([*lines, summary(report)])


def summary(report: GainReport) -> str:
    """`3 passed, 1 failed, 2 skipped`."""
    words = {GainVerdict.PASS: "passed", GainVerdict.FAIL: "failed", GainVerdict.SKIPPED: "skipped"}
    counts = [(report.count(verdict), word) for verdict, word in words.items()]
    said = ", ".join(f"{n} {word}" for n, word in counts if n) or "nothing was tested"
    nothing = report.count(GainVerdict.SKIPPED) and len(report.results) == counts[2][0]
    return f"{said}: nothing was tested" if nothing else said


def of_test(report: GainReport, test: GainTest) -> list[GainResult]:
    """The results of one test."""
    return [result for result in report.results if result.test is test]


def heading(results: Sequence[GainResult]) -> str:
    """What one test is, and the thresholds it is judged by."""
    test = results[0].test
    judged = [m for result in results for m in result.measures if m.is_judged]
    bounds = dict.fromkeys(f"{m.name} {m.bounds} {m.unit}".strip() for m in judged)
    return f"{test}: {ABOUT[test]}" + "".join(f", {text}" for text in bounds)


def table(results: Sequence[GainResult]) -> Table:
    """The header, and one row per result of one test."""
    case = CASES.get(results[0].test)
    names = list(dict.fromkeys(m.name for result in results for m in result.measures))
    columns = [_column([m for r in results for m in r.measures if m.name == n]) for n in names]
    header: tuple[str, ...] = ("joint", *([case] if case else []), *columns, "result")
    rows: list[tuple[str, ...]] = []
    for result in results:
        values = {m.name: m.text for m in result.measures}
        cells = [values.get(name, "-") for name in names]
        rows.append(
            (result.label, *([result.case or "-"] if case else []), *cells, str(result.verdict))
        )
    return header, rows


def _column(measures: Sequence[Measure]) -> str:
    units = dict.fromkeys(m.unit for m in measures if m.unit)
    return f"{measures[0].name} {' or '.join(units)}".strip()


def reasons(results: Sequence[GainResult]) -> Iterator[tuple[str, str]]:
    """(joint, text) for everything that did not pass."""
    for result in results:
        name = f"{result.label} {result.case}".strip()
        skipped = "skipped: " if result.verdict is GainVerdict.SKIPPED else ""
        yield from ((name, f"{skipped}{text}") for text in result.reasons)


# Data -------------------------------------------------------------------------------------------


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
                "reasons": r.reasons,
            }
            for r in report.results
        ],
        "not_tested": [vars(skipped) for skipped in report.skipped],
    }


def _measure_data(measure: Measure) -> dict[str, Any]:
    """In SI units and shares of 1, whatever is shown."""
    unit = "" if measure.unit == "%" else measure.unit
    return {
        "value": measure.value,
        "unit": unit,
        "least": measure.low,
        "most": measure.high,
        "passed": measure.is_passed if measure.is_judged else None,
    }


def data_text(report: GainReport) -> str:
    """The data as JSON."""
    return json.dumps(plain(report_data(report)), indent=2, ensure_ascii=False, allow_nan=False)


def write_report(report: GainReport, path: Path) -> None:
    """Write the page, and the data as JSON beside it.

    Raises:
        MjrigError: a file cannot be written.
    """
    with whole_file(path) as shown, whole_file(path.with_suffix(".json")) as data:
        shown.write_text(page(report), encoding="utf-8")
        data.write_text(f"{data_text(report)}\n", encoding="utf-8")


# Page -------------------------------------------------------------------------------------------


def page(report: GainReport) -> str:
    """The report as one HTML file."""
    return html_page(f"{report.scene}: gain tests, {summary(report)}", _page_lines(report))


def _page_lines(report: GainReport) -> Iterator[str]:
    tone = "good" if report.is_passed else "bad"
    yield f'<h1 class="{tone}">{escape(summary(report))}</h1>'
    yield f'<p class="dim">Gain tests of {escape(report.scene)}</p>'
    for test in GainTest:
        results = of_test(report, test)
        if not results:
            continue
        said = heading(results)
        yield f"<h2>{escape(said[0].upper() + said[1:])}</h2>"
        yield from html_table(*table(results), [_TONES[r.verdict] for r in results])
        texts = [f"{name}: {text}" for name, text in reasons(results)]
        if texts:
            yield "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
    yield from _curves(report)
    if report.skipped:
        yield "<h2>Not tested</h2><ul>"
        yield from (f"<li>{escape(str(skipped))}</li>" for skipped in report.skipped)
        yield "</ul>"


def _curves(report: GainReport) -> Iterator[str]:
    drawn = [r for r in report.results if r.trace is not None]
    drawn.sort(key=lambda r: r.verdict is not GainVerdict.FAIL)  # failures first, else in order
    if not drawn:
        return
    yield '<h2>Curves</h2><p><b class="key rec">target</b> <b class="key here">position</b></p>'
    yield '<div class="plots">'
    for result in drawn[:PLOTTED]:
        trace = result.trace
        assert trace is not None
        lines = [
            ("target", "rec", trace.time, trace.target),
            ("position", "here", trace.time, trace.position),
        ]
        title = f"{result.label}: {result.test} {result.case}".strip()
        yield plot(title, "rad or m", lines)
    yield "</div>"
    if len(drawn) > PLOTTED:
        yield f'<p class="dim">{PLOTTED} of {len(drawn)} curves, failures first.</p>'
