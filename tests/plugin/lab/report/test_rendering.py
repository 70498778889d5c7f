"""One description of a report, several renderings; only this package writes HTML."""

import ast
import json
import math
import re
from pathlib import Path

import pytest

from mjrig.lab.report.content import (
    BAD,
    BLUE,
    ORANGE,
    Intervals,
    Item,
    Plots,
    Report,
    ReportColumn,
    ReportCurves,
    ReportFindings,
    ReportInterval,
    ReportTable,
    ReportText,
    Series,
    words,
)
from mjrig.lab.report.html_page import to_html, write_report
from mjrig.lab.report.svg import intervals_svg, standalone_svg
from mjrig.lab.report.text import to_text
from tests.places import ROOT

TAG = re.compile(
    r"</?(b|br|code|div|figure|h\d|html|img|li|ol|p|pre|span|svg|t[dhr]|table|ul)\b[^>]*>"
)
CURVES = ReportCurves("elbow", "rad", [Series("here", ORANGE, [0, 1], [0, 1])], spans=[(0.2, 0.4)])
REPORT = Report(
    "Tests of <arm>",
    "1 failed",
    BAD,
    [("scene", "arm.yaml")],
    [
        ReportTable(
            [*words("joint"), ReportColumn("rise", "s"), ReportColumn("share", "", ".0%")],
            [("elbow", 0.12345, 0.5), ("wrist", None, math.nan)],
            tones=["bad", ""],
            remarks=[["too slow", "too soft"], []],
            title="step",
        ),
        ReportFindings(
            [Item("kp < 3", code=["kp: 3"]), Item("second")], shown=1, title="diagnosis"
        ),
        Plots([CURVES], title="curves"),
        ReportText(["long"], title="details", page_only=True),
        ReportText([], title="empty"),
    ],
    {"value": math.inf},
    "mjrig tune test arm.yaml",
)


def test_text_has_tables_remarks_and_what_fits_a_terminal() -> None:
    assert to_text(REPORT).splitlines() == [
        "Tests of <arm>: 1 failed",
        "  scene: arm.yaml",
        "",
        "step:",
        "  joint  rise [s]  share",
        "  elbow     0.123  50%",
        "  wrist         -  -",
        "  elbow: too slow",
        "  elbow: too soft",
        "",
        "diagnosis:",
        "  1. kp < 3",
        "  … 1 more: --report writes all of them",
    ]


def test_a_page_has_the_header_and_all_sections() -> None:
    page = to_html(REPORT)
    assert "<h1>Tests of &lt;arm&gt;</h1>" in page
    assert '<p class="verdict bad">1 failed</p>' in page
    assert ">mjrig tune test arm.yaml</p>" in page and "MuJoCo" in page
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["Step", "Diagnosis", "Curves", "Details"]
    assert '<tr class="bad above"><td class="l">elbow</td><td>0.123</td><td>50%</td></tr>' in page
    assert "too slow<br>too soft" in page and "<pre>kp: 3</pre>" in page and "second" in page
    assert page.count("<polyline") == 1 and page.count('class="span"') == 1


def test_the_legend_names_every_curve_once() -> None:
    shaded = ReportCurves("a", "m", CURVES.series, spans=[(0, 1)], spans_label="held out")
    plots = Plots([CURVES, shaded], legend=[("more", BLUE)])
    assert plots.key == [("here", ORANGE), ("held out", "span"), ("more", BLUE)]


def test_data_is_written_next_to_the_page(tmp_path: Path) -> None:
    write_report(REPORT, tmp_path / "r.html", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == {"value": "inf"}
    assert (tmp_path / "r.html").read_text() == to_html(REPORT)


@pytest.mark.parametrize("names", [(), ("a", "b")])
def test_unknown_values_have_no_interval(names: tuple[str, ...]) -> None:
    known, unknown = (
        ReportInterval("k", 1.0, 0.5, 1.5, 0.8),
        ReportInterval("u", math.nan, 0.0, 9.0, 0.9),
    )
    svg = intervals_svg(Intervals("kp", {"hip": [known], "knee": [unknown]}, names))
    assert svg.count("<circle") == 1 + len(names)
    assert svg.count("not found") == 1
    assert "nan" not in svg
    alone = standalone_svg(Intervals("kp", {"hip": [known]}))
    assert alone.startswith("<svg ") and "xmlns=" in alone and "--blue" in alone


def sources() -> list[Path]:
    folders = [ROOT / "plugin" / "lab", ROOT / "components"]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def test_only_reports_write_html() -> None:
    assert len(sources()) > 100
    report, wrong = ROOT / "plugin" / "lab" / "report", []
    for path in sources():
        if path.is_relative_to(report):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_tag = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_tag and TAG.search(node.value):  # type: ignore[attr-defined]
                wrong.append(f"{path}:{node.lineno}")  # type: ignore[attr-defined]
            if isinstance(node, ast.ImportFrom) and node.module == "html":
                wrong.append(f"{path}:{node.lineno}")
    assert wrong == []
