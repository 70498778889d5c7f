"""Figures of a fit: every text lies inside its figure, whatever the joints are called."""

import random
import re
from collections.abc import Iterator
from html import unescape

import numpy as np
import pytest

from mjrig.lab.fit.estimates import Correlations, Curves, Estimate
from mjrig.lab.fit.report import correlation_matrix, interval_figures, motions, residual
from mjrig.lab.report.content import ReportColumn, ReportTable, words
from mjrig.lab.report.html_page import html_table
from mjrig.lab.report.svg import figure_svg

textpath = pytest.importorskip("matplotlib.textpath")
WORDS = ("left", "shoulder", "pitch", "joint", "wrist", "yaw", "motor", "0", "FR", "ankle", "mm")
TEXT = re.compile(r'<text x="([\d.-]+)"[^>]*?class="(\w)"([^>]*)>([^<]*)</text>')
#: Pixels that a text may be off by: browsers have other fonts.
ROUGHLY = 2.0


def _name(rng: random.Random) -> str:
    return "_".join(rng.choices(WORDS, k=rng.randint(1, 9)))


def _widths(text: str, size: float) -> float:
    return float(textpath.TextPath((0, 0), text, size=size).get_extents().width)


def _extents(svg: str) -> Iterator[tuple[str, float, float]]:
    """Texts, and where they begin and end; measured, not estimated."""
    for x, kind, more, said in TEXT.findall(svg):
        text = unescape(said)
        squeezed = re.search(r'textLength="(\d+)"', more)
        width = float(squeezed[1]) if squeezed else _widths(text, 12.0 if kind == "t" else 11.0)
        start = float(x) - width * {"t": 0.0, "m": 0.5, "y": 1.0}[kind]
        yield text, start, start + width


def _inside(svg: str) -> None:
    match = re.search(r'viewBox="0 0 (\d+)', svg)
    assert match
    texts = list(_extents(svg))
    assert texts
    for text, start, end in texts:
        assert start >= -ROUGHLY and end <= int(match[1]) + ROUGHLY, text


@pytest.mark.parametrize("seed", range(12))
def test_texts_lie_inside_their_figures(seed: int) -> None:
    rng = random.Random(seed)
    names = list(dict.fromkeys(_name(rng) for _ in range(6)))
    size = 10.0 ** rng.uniform(-4, 4)
    found = [
        Estimate(n, n, p, v, size, 0.8 * v, 1.2 * v)
        for n in names
        for p in ("kp", "armature", "frictionloss")
        for v in [size * rng.uniform(0.5, 2.0)]
    ]
    for figure in interval_figures(found):
        _inside(figure_svg(figure))
    time = np.linspace(0.0, 10.0 ** rng.uniform(0, 3), 50)
    recorded = size * np.random.default_rng(seed).standard_normal((50, len(names)))
    units = ("rad",) * len(names)
    before, after = 1.5 * recorded, 1.001 * recorded
    curves = Curves("a", False, time, tuple(names), units, recorded, before, after)
    for motion in motions([curves]):
        _inside(figure_svg(motion))
        _inside(figure_svg(residual(motion)))
    labels = tuple(f"{p} {n}" for n in names for p in ("kp", "kv"))
    matrix = correlation_matrix(Correlations(labels, np.eye(len(labels))))
    assert matrix is not None
    _inside(figure_svg(matrix))


def test_remarks_have_a_row_across_the_table() -> None:
    columns = [*words("joint"), ReportColumn("n"), *words("unit")]
    rows, remarks = [("a", 1, "x"), ("b", 2, "y")], [(), ["a < b"]]
    table = "\n".join(html_table(ReportTable(columns, rows, ("", "bad"), remarks)))
    assert '<tr class="bad above"><td class="l">b</td>' in table
    assert '<tr class="below"><td></td><td class="l" colspan="2">a &lt; b</td></tr>' in table
    assert table.count("below") == 1 and '<tr><td class="l">a</td>' in table


def test_long_names_in_tables_may_be_broken_and_others_not() -> None:
    rows = [("left_shoulder_pitch_joint", "too_long_for a remark, but words"), ("left_knee", "1")]
    table = "\n".join(html_table(ReportTable([ReportColumn(""), ReportColumn("n")], rows)))
    assert "<td>left_<wbr>shoulder_<wbr>pitch_<wbr>joint</td>" in table
    assert "<td>left_knee</td>" in table and "too_long_for a remark" in table
