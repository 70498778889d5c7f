"""Report: the result of a command as plain data, which text, JSON, pages and panels render.

A command describes its result once, as a `Report` of sections: `Table`, `Plots` (of `Curves`,
`Intervals` or a `Matrix`), `Findings`, `Images` and `Text`. `text.py`, `html_page.py` and
`output.py` render it; the editor has a renderer for its panels.
"""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import mujoco
import numpy as np
import numpy.typing as npt

#: What a verdict, a row or a line means; every renderer has one colour for each.
GOOD, FAIR, BAD, DIM = "good", "fair", "bad", "dim"
#: Looks of a curve: two colours, a target, and a wide band below the others.
BLUE, ORANGE, DASHED, WIDE = "blue", "orange", "dashed", "wide"
#: In tables, if there is no value.
NONE = "-"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A titled part of a report; pages also show the `note`.

    `page_only`: too long for a terminal.
    """

    title: str = ""
    note: str = ""
    page_only: bool = False


@dataclass(frozen=True)
class ReportColumn:
    """A column: its name, unit and number format; words begin on the left."""

    name: str
    unit: str = ""
    form: str = ".3g"
    is_words: bool = False

    @property
    def head(self) -> str:
        """`rise [s]`."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def cell(self, value: object) -> str:
        """A value as the table shows it."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return NONE
        return value if isinstance(value, str) else format(value, self.form)


def words(*names: str) -> tuple[ReportColumn, ...]:
    """Columns of words."""
    return tuple(ReportColumn(name, is_words=True) for name in names)


@dataclass(frozen=True)
class ReportTable(Section):
    """Rows of values.

    Attributes:
        columns: one for each value of a row.
        rows: numbers, texts, or None.
        tones: meaning of each row; empty: none has one.
        remarks: sentences about each row.
        shown: rows that fit on a terminal; None: all.
        labels: columns that name a row in its remarks; None: the words it begins with.
    """

    columns: Sequence[ReportColumn]
    rows: Sequence[Sequence[object]]
    tones: Sequence[str] = ()
    remarks: Sequence[Sequence[str]] = ()
    shown: int | None = None
    labels: int | None = None

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the columns, with their units."""
        return tuple(column.head for column in self.columns)

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The rows as texts."""
        return [
            tuple(c.cell(value) for c, value in zip(self.columns, row, strict=True))
            for row in self.rows
        ]

    def tone(self, row: int) -> str:
        """The meaning of a row, or nothing."""
        return self.tones[row] if self.tones else ""

    def remarks_on(self, row: int) -> Sequence[str]:
        """The sentences about a row."""
        return self.remarks[row] if self.remarks else ()

    @property
    def labelled_remarks(self) -> list[str]:
        """All remarks, each after the words its row begins with: `elbow kp: …`."""
        lines = []
        for i, cells in enumerate(self.cells):
            leading = []
            columns = self.columns[: self.labels]
            for column, cell in zip(columns, cells[: self.labels], strict=True):
                if not column.is_words:
                    break
                leading += [cell] if cell != NONE else []
            lines += [f"{' '.join(leading)}: {text}" for text in self.remarks_on(i)]
        return lines


@dataclass(frozen=True)
class Item:
    """A sentence in a list, with what to do about it, and code such as the edit that repairs it."""

    text: str
    tone: str = ""
    code: Sequence[str] = ()
    remedy: str = ""


@dataclass(frozen=True)
class ReportFindings(Section):
    """Numbered findings, the most important first; `shown`: as many fit on a terminal."""

    items: Sequence[Item]
    shown: int | None = None


@dataclass(frozen=True)
class ReportText(Section):
    """Lines of text; `shown`: as many fit on a terminal."""

    lines: Sequence[str]
    shown: int | None = None


@dataclass(frozen=True)
class Series:
    """One curve: its name in the legend, its look, and its points; NaN makes a gap."""

    label: str
    look: str
    x: npt.ArrayLike
    y: npt.ArrayLike


@dataclass(frozen=True)
class ReportCurves:
    """A plot of curves.

    Attributes:
        title: what is drawn.
        unit: of y.
        series: the curves, the last one on top.
        x_unit: of x.
        log: decades upwards.
        equal: one scale for both axes, as on a map.
        window: part of x that is shown; None: from 0, or all of it if x is not time.
        spans: parts of x with another background, and their meaning.
    """

    title: str
    unit: str
    series: Sequence[Series]
    x_unit: str = "s"
    log: bool = False
    equal: bool = False
    window: tuple[float, float] | None = None
    spans: Sequence[tuple[float, float]] = ()
    spans_label: str = ""


@dataclass(frozen=True)
class ReportInterval:
    """A value with its interval, and a mark to compare it with; a NaN value is unknown."""

    label: str
    value: float
    low: float
    high: float
    mark: float = math.nan


@dataclass(frozen=True)
class Intervals:
    """A plot of intervals, row by row; several names have a colour each, in the order of a row.

    `ends` are the ends of the axis; None: as the values need.
    """

    title: str
    rows: Mapping[str, Sequence[ReportInterval]]
    names: Sequence[str] = ()
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Matrix:
    """A square of correlations from -1 to 1, with the names of its rows."""

    labels: Sequence[str]
    values: npt.NDArray[np.float64]


Figure = ReportCurves | Intervals | Matrix


@dataclass(frozen=True)
class Plots(Section):
    """Figures side by side, with one legend for all of them."""

    figures: Sequence[Figure]
    #: Entries of the legend besides the names of the curves: (text, look).
    legend: Sequence[tuple[str, str]] = ()

    @property
    def key(self) -> list[tuple[str, str]]:
        """The legend: (text, look), each once."""
        curves = [figure for figure in self.figures if isinstance(figure, ReportCurves)]
        entries = [(one.label, one.look) for figure in curves for one in figure.series]
        entries += [(c.spans_label, "span") for c in curves if c.spans and c.spans_label]
        return list(dict.fromkeys([*entries, *self.legend]))


@dataclass(frozen=True)
class ReportImage:
    """An image or a video in a file next to the page."""

    file: str
    title: str
    caption: str
    outcome: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Images(Section):
    """Images in groups, by the title of the group."""

    groups: Mapping[str, Sequence[ReportImage]]


@dataclass(frozen=True)
class Report:
    """The result of a command.

    Attributes:
        title: what was examined.
        verdict: the result in a few words; empty: there is nothing to judge.
        tone: meaning of the verdict: `good`, `fair` or `bad`.
        facts: names and values that belong to the whole.
        sections: the rest, in the order of their importance.
        data: the result for programs; what JSON contains.
        command: the command line it was made by; empty: none.
    """

    title: str
    verdict: str = ""
    tone: str = ""
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = ()
    data: object = field(default_factory=dict)
    command: str = ""

    @property
    def headline(self) -> str:
        """`pendulum.yaml: 3 passed, 1 failed`."""
        return f"{self.title}: {self.verdict}" if self.verdict else self.title


def versions() -> dict[str, str]:
    """Of what the figures depend on."""
    return {
        "mjrig": version("mjrig"),
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
