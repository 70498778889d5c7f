"""Columns of the gain table: their heads, units and widths."""

from collections.abc import Callable, Iterable, Sequence
from operator import is_

from imgui_bundle import imgui

from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.scale import px
from mjrig.gains.gain_rows import LIMIT, GainRow, columns

#: Gains whose name is too long for a head.
HEADERS = {LIMIT: "limit", "integral_max": "I max"}
#: Units follow what an actuator acts on.
_UNITS = {
    "kp": "{effort}/{position}",
    "kv": "{effort}·s/{position}",
    "ki": "{effort}/({position}·s)",
    LIMIT: "{effort}",
    "integral_max": "{position}·s",
    "f": "Hz",
    "error": "{position}",
}
_TURNS = "N·m"
#: Widths of what is in columns of numbers [pixels at scale 1].
_WIDTHS = {"on": 22.0, "sat": 22.0, "f": 48.0, "ζ": 48.0, "error": 56.0}


def unit_of(row: GainRow, column: str) -> str:
    """The unit of a column in a row; empty where it has none, or none is known (tendons)."""
    if not row.unit and column != "f":
        return ""
    position = "rad" if row.unit == _TURNS else "m"
    return _UNITS.get(column, "").format(effort=row.unit, position=position)


def unit_of_column(rows: Sequence[GainRow], column: str) -> str:
    """The unit that all rows have in a column; `mixed` where hinges and slides differ."""
    units = {unit_of(row, column) for row in rows} - {""}
    return tr("mixed") if len(units) > 1 else next(iter(units), "")


def number_width(name: str, unit: str) -> float:
    """Width of a column of numbers: of what is in it, or of its head."""
    sorting = px(18.0) if name not in ("on", "sat") else 0.0  # the arrow of the sorted column
    title = imgui.calc_text_size(HEADERS.get(name, name)).x + sorting
    return max(px(_WIDTHS.get(name, 54.0)), title, imgui.calc_text_size(unit).x)


def widest(texts: Iterable[str]) -> float:
    """Width of a column of texts; no more than leaves room for the others."""
    width = max(imgui.calc_text_size(text).x for text in set(texts))
    return min(max(width, px(70.0)), px(200.0))


class GainColumns:
    """The columns of some rows; worked out when there are other rows, not in every frame."""

    def __init__(self) -> None:
        self._rows: Sequence[GainRow] = ()
        self._font = 0.0
        self.gains: list[str] = []
        self.names: list[str] = []
        self.units: dict[str, str] = {}
        self.widths: dict[str, float] = {}

    def fit(
        self,
        rows: Sequence[GainRow],
        label: Callable[[GainRow], str],
        origins: Callable[[GainRow], str],
    ) -> None:
        """Give every column the width of what is in it."""
        font = imgui.get_font_size()
        if font == self._font and len(rows) == len(self._rows) and all(map(is_, rows, self._rows)):
            return
        self._rows, self._font = rows, font
        self.gains = columns(rows)
        self.names = ["on", "actuator", *self.gains, "f", "ζ", "sat", "error", "from"]
        self.units = {name: unit_of_column(rows, name) for name in self.names}
        self.widths = {name: number_width(name, self.units[name]) for name in self.names}
        self.widths["actuator"] = widest(map(label, rows))
        self.widths["from"] = widest(map(origins, rows))
