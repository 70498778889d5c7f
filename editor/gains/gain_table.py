"""The gain table: every gain in force with its origin, editable singly, mirrored or in groups."""

import math
from collections.abc import Callable, Iterable, Sequence
from operator import is_
from pathlib import Path
from typing import Any

from imgui_bundle import ImVec2, ImVec4, imgui

from mjrig.editor.gains.gain_edits import mirror_row
from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.gains.response_panel import ResponsePanel
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY, RED, VIOLET
from mjrig.editor.ui.layout import px, seen_rows, size
from mjrig.editor.ui.number_cell import no_tab_stop, number_cell
from mjrig.editor.ui.panel import Panel, drag_source
from mjrig.lab.gains.gain_rows import LIMIT, GainRow, columns

# Gain columns -------------------------------------------------------------------------------------


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


# Gain toolbar -------------------------------------------------------------------------------------
# The line above the gain table: filter, what an edit applies to, inertia, presets.


class GainToolbar:
    """Changes what the tuning shows and how it edits."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self._preset = "gains"

    def draw(self, rows: Sequence[GainRow]) -> None:
        """Build it above the rows that are shown."""
        tuning = self.tuning
        imgui.set_next_item_width(px(110))
        _, tuning.filter = imgui.input_text_with_hint(
            "##filter", tr("filter (regex)"), tuning.filter
        )
        if tuning.filter_problem:
            imgui.set_item_tooltip(tuning.filter_problem)
            imgui.same_line()
            imgui.text_colored(RED, "!")
            imgui.set_item_tooltip(tuning.filter_problem)
        imgui.same_line()
        _, tuning.every = imgui.checkbox(
            tr("edit {count} shown###every", count=len(rows)), tuning.every
        )
        imgui.set_item_tooltip(tr("An edit of one cell applies to every row shown."))
        imgui.same_line()
        _, tuning.mirror = imgui.checkbox(tr("mirror"), tuning.mirror)
        imgui.set_item_tooltip(tr("The other side follows: FL and FR, left and right, L and R."))
        imgui.same_line()
        _, tuning.all_actors = imgui.checkbox(tr("all actors"), tuning.all_actors)
        imgui.same_line()
        self._inertia_choice()
        imgui.same_line()
        if imgui.button(tr("Presets")):
            imgui.open_popup("presets")
        self._presets_popup()

    def _inertia_choice(self) -> None:
        tuning = self.tuning
        if imgui.button(f"I: {which_inertia(tuning)}###inertia"):
            tuning.held_inertia = not tuning.held_inertia
        at = f"{tuning.inertias.time:.3f} s" if tuning.inertias else "never"
        imgui.set_item_tooltip(
            tr(
                "The inertia that f and ζ are computed with; click to change.\n"
                "free, 1 / inv(M)_ii: the other joints and the base are free to move.\n"
                "held, M_ii: they are locked. Evaluated in the pose at t = {time}.",
                time=at,
            )
        )
        imgui.same_line()
        if imgui.button(tr("pose")):
            tuning.update_inertias()
        imgui.set_item_tooltip(tr("Re-evaluate the inertias in the present pose."))

    def _presets_popup(self) -> None:
        if not imgui.begin_popup("presets"):
            return
        tuning = self.tuning
        problem = tuning.why_no_preset()
        if problem:
            imgui.text_disabled(problem)
        imgui.begin_disabled(bool(problem))
        _, self._preset = imgui.input_text("##name", self._preset)
        path = tuning.preset_folder() / f"{self._preset or 'gains'}.yaml"
        imgui.same_line()
        if imgui.button(tr("Save")):
            tuning.save(path)
            imgui.close_current_popup()
        imgui.set_item_tooltip(tr("Write the gains in force to {path}", path=path))
        imgui.separator_text(tr("Load"))
        for file in tuning.preset_files():
            imgui.push_id(str(file))
            if imgui.selectable(file.stem, False)[0]:
                self._load(file)
            imgui.set_item_tooltip(str(file))
            imgui.pop_id()
        imgui.end_disabled()
        imgui.end_popup()

    def _load(self, file: Path) -> None:
        self.tuning.load(file)
        imgui.close_current_popup()


def which_inertia(tuning: Tuning) -> str:
    """The inertia that frequencies are computed with, as a word."""
    return tr("held") if tuning.held_inertia else tr("free")


# Gain table ---------------------------------------------------------------------------------------


#: Colours of values by where they come from.
_COLOURS = {"default": GREY, "random": VIOLET, "outside": AMBER}
_FLAGS = (
    imgui.TableFlags_.sortable
    | imgui.TableFlags_.resizable
    | imgui.TableFlags_.hideable
    | imgui.TableFlags_.reorderable
    | imgui.TableFlags_.row_bg
    | imgui.TableFlags_.borders_inner_v
    | imgui.TableFlags_.scroll_y
    | imgui.TableFlags_.sizing_fixed_fit
)


class GainTable(Panel):
    """One row per actuator with gains: a controller's, or its own."""

    title = "Gains"
    place = "bottom"

    def __init__(self, state: EditorState, tuning: Tuning | None = None) -> None:
        super().__init__(state)
        self.tuning = tuning or Tuning(state)
        self._order: list[str] = []
        self._dragged = ""
        self._drawn = self._is_of_several = False
        #: Widths that columns of texts were given last, by their contents.
        self._fitted: dict[str, float] = {}
        self._columns = GainColumns()
        self._toolbar = GainToolbar(self.tuning)

    def draw(self) -> None:
        tuning = self.tuning
        tuning.refresh()
        rows = tuning.visible
        self._drawn = False
        self._is_of_several = len({row.actor for row in tuning.rows}) > 1
        self._toolbar.draw(rows)
        if not rows:
            imgui.text_disabled(self._why_empty())
        else:
            self._table(rows)
        if self._dragged and not self._drawn:
            self._let_go()  # its row is gone, by a filter or a selection

    def _why_empty(self) -> str:
        if self.tuning.rows:
            return tr("no row matches {filter!r}", filter=self.tuning.filter)
        if self.tuning.scope is not None:
            return tr(
                "{actor} has no actuator with gains; a controller gives motors some",
                actor=self.tuning.scope,
            )
        return tr("no actor of the scene has an actuator with gains")

    # Table --------------------------------------------------------------------------------------

    def _table(self, rows: Sequence[GainRow]) -> None:
        self._columns.fit(rows, self._label, self._origins)
        gains, names, widths = self._columns.gains, self._columns.names, self._columns.widths
        padding = 2.0 * imgui.get_style().cell_padding.x * len(names)
        is_wide = sum(widths.values()) + padding > imgui.get_content_region_avail().x
        # Without it columns that do not fit would be cut to nothing.
        flags = int(_FLAGS) | int(imgui.TableFlags_.scroll_x if is_wide else 0)
        # The id has the columns in it: imgui keeps widths and order by id.
        if not imgui.begin_table(f"gains {len(gains)}", len(names), flags, ImVec2(0, 0)):
            return
        self._headers()
        imgui.push_style_var(imgui.StyleVar_.frame_padding, size(4, 1))
        ordered = self._sorted(rows, names)
        held = next((i for i, r in enumerate(ordered) if self._dragged.startswith(r.key)), None)
        for row in seen_rows(ordered, held if self._dragged else None):
            imgui.table_next_row()
            imgui.push_id(row.key)
            self._row(row, gains)
            imgui.pop_id()
        imgui.pop_style_var()
        imgui.end_table()

    def _headers(self) -> None:
        """Names, and below them units; columns of texts are as wide as what is in them."""
        names, widths = self._columns.names, self._columns.widths
        imgui.table_setup_scroll_freeze(2, 2)
        for name in names:
            column = imgui.TableColumnFlags_
            off = column.no_sort if name in ("on", "from") else 0
            hidden = column.default_hide if name not in _SHOWN and name not in names[-5:] else 0
            header = HEADERS.get(name, name)
            imgui.table_setup_column(header, int(off) | int(hidden), widths[name])
        fitted = {name: widths[name] for name in ("actuator", "from")}
        is_new = imgui.internal.get_current_table().min_column_width == 0.0  # it has them anyway
        for name in fitted if fitted != self._fitted and not is_new else ():
            imgui.internal.table_set_column_width(names.index(name), fitted[name])
        self._fitted = fitted
        imgui.table_headers_row()
        imgui.table_next_row(imgui.TableRowFlags_.none)
        for name in names:
            imgui.table_next_column()
            imgui.text_disabled(self._columns.units[name])

    def _sorted(self, rows: Sequence[GainRow], names: Sequence[str]) -> list[GainRow]:
        """The rows in the order of the header; while a value is dragged the order stays."""
        if self._dragged:
            place = {key: i for i, key in enumerate(self._order)}
            return sorted(rows, key=lambda row: place.get(row.key, len(place)))
        specs = imgui.table_get_sort_specs()
        found = list(rows)
        if specs is not None and specs.specs_count:
            first = specs.get_specs(0)
            name = names[first.column_index]
            down = first.get_sort_direction() == imgui.SortDirection.descending
            found.sort(key=lambda row: self._sort_key(row, name), reverse=down)
        self._order = [row.key for row in found]
        return found

    def _sort_key(self, row: GainRow, name: str) -> Any:
        tuning = self.tuning
        numbers: dict[str, Callable[[], float | None]] = {
            "f": lambda: tuning.frequency(row),
            "ζ": lambda: tuning.damping(row),
            "sat": lambda: tuning.monitor.saturation(row),
            "error": lambda: abs(tuning.monitor.error(row)),
        }
        if name in row.values:
            return _shown(row, name)
        if name in numbers:
            return numbers[name]() or 0.0
        if name != "actuator":
            return 0.0
        return [r.actor for r in tuning.rows].index(row.actor), row.column, row.key

    def _row(self, row: GainRow, gains: Sequence[str]) -> None:
        tuning = self.tuning
        with no_tab_stop():
            imgui.table_next_column()
            self._switch(row)
            imgui.table_next_column()
            self._name(row)
        for gain in gains:
            imgui.table_next_column()
            if gain in row.values:
                self._gain_cell(row, gain)
        imgui.table_next_column()
        self._derived_cell(row, "f", tuning.frequency(row), "Hz", tuning.set_frequency)
        imgui.table_next_column()
        self._derived_cell(row, "ζ", tuning.damping(row), "", tuning.set_damping)
        imgui.table_next_column()
        self._light(row)
        imgui.table_next_column()
        imgui.text(f"{tuning.monitor.error(row):+.4f}")
        _tooltip(lambda: tr("Setpoint minus position, now [rad or m]."))
        imgui.table_next_column()
        imgui.text_disabled(self._origins(row))
        _tooltip(lambda: "\n".join(f"{gain}: {tuning.origin(row, gain)}" for gain in row.values))

    def _origins(self, row: GainRow) -> str:
        """Where its gains come from, in short: the tooltip names files and ranges."""
        found = (self.tuning.origin(row, gain).partition(" from ")[0] for gain in row.values)
        short = (o.split()[0] if o.startswith(("model ", "scene ")) else o for o in found)
        return ", ".join(dict.fromkeys(short))

    def _switch(self, row: GainRow) -> None:
        can = LIMIT in row.values and not row.locked and not row.is_native
        imgui.begin_disabled(not can)
        if imgui.checkbox("##on", row.is_on)[0]:
            self.tuning.switch(row)
        imgui.end_disabled()
        _tooltip(lambda: self._about_switch(row) if can else self._why_no_switch(row))

    def _about_switch(self, row: GainRow) -> str:
        text = tr("Off sets its effort limit to 0 and keeps the gains; on restores the limit.")
        if not row.is_on:
            live = self.state.live(f"{row.actor}.{row.component}")
            before = self.tuning.switches.limit_before(row, live)
            text += tr("\nThe limit was {before:g} {unit}.", before=before, unit=row.unit)
        return text

    @staticmethod
    def _why_no_switch(row: GainRow) -> str:
        if row.is_native:
            return tr("a native actuator has no switch: its forcerange cannot be 0")
        return row.locked or tr("its controller has no effort limit")

    def _name(self, row: GainRow) -> None:
        tuning = self.tuning
        if imgui.selectable(f"{self._label(row)}###name", row.key in tuning.chosen)[0]:
            tuning.choose(row, add=imgui.get_io().key_ctrl)
        if row.key == tuning.revealed:
            tuning.revealed = ""
            if not imgui.is_item_visible():
                imgui.set_scroll_here_y()
        drag_source(self.state, "actuator", f"{row.actor}.{row.actuator}", row.actuator)
        _tooltip(lambda: self._about_name(row))

    def _label(self, row: GainRow) -> str:
        """Its actuator, of several actors with the actor."""
        return f"{row.actor}.{row.actuator}" if self._is_of_several else row.actuator

    def _about_name(self, row: GainRow) -> str:
        other = mirror_row(row, self.tuning.rows)
        lines = [
            f"{row.actor}.{row.component}",
            tr("joint {joint}", joint=row.joint) if row.joint else tr("no joint"),
            tr("mirror: {actuator}", actuator=other.actuator) if other else tr("no mirror image"),
            tr("Click: select its joint, and choose it for response tests; Ctrl+click: add."),
            tr("Drag onto a plot: setpoint and position."),
        ]
        return "\n".join([*lines, row.locked] if row.locked else lines)

    def _gain_cell(self, row: GainRow, gain: str) -> None:
        value = _shown(row, gain)
        origin = self.tuning.origin(row, gain)
        key = f"{row.key}.{gain}"
        colour = RED if key in self.state.problems else _COLOURS.get(origin.partition(" from ")[0])
        new = self._cell(
            key, gain, value, bool(row.locked), lambda: self._about_gain(row, gain), colour
        )
        if new is not None:
            self.tuning.set_gain(row, gain, new, merge=True)

    def _about_gain(self, row: GainRow, gain: str) -> str:
        origin, key = self.tuning.origin(row, gain), f"{row.key}.{gain}"
        tip = tr(
            "{gain} in force: {value:g} {unit}\nfrom: {origin}\n{path}",
            gain=gain,
            value=_shown(row, gain),
            unit=unit_of(row, gain),
            origin=origin,
            path=row.paths.get(gain) or row.locked,
        )
        if gain == "kv" and "dampratio" in row.values:
            tip += "\n" + tr("made of dampratio {ratio:g}", ratio=row.values["dampratio"])
        if gain == LIMIT:
            tip = self._about_limit(row, origin)
        return f"{tip}\n{self.state.problems[key]}" if key in self.state.problems else tip

    def _about_limit(self, row: GainRow, origin: str) -> str:
        lines = [tr("Neither the law nor the model limits its effort.")]
        if row.limited_by:
            largest = tr("largest effort: {limit:g} {unit}", limit=row.limit, unit=row.unit)
            lines = [largest, tr("limited by: {origin}", origin=origin)]
        own = row.values[LIMIT]
        if own != row.limit and math.isfinite(own):
            name = "forcerange" if row.is_native else LIMIT
            lines.append(tr("its own {name}: {own:g} {unit}", name=name, own=own, unit=row.unit))
        return "\n".join(
            [*lines, tr("Sets {path}", path=row.paths[LIMIT]) if row.paths else row.locked]
        )

    def _derived_cell(
        self,
        row: GainRow,
        name: str,
        value: float | None,
        unit: str,
        apply: Callable[..., bool],
    ) -> None:
        if value is None or (name == "ζ" and not row.values.get("kp")):
            imgui.text_disabled("-")
            without = tr("its law does not act on a joint")
            _tooltip(lambda: without if row.dof < 0 else tr("its law has no kp and kv"))
            return
        new = self._cell(
            f"{row.key}.{name}",
            name,
            value,
            bool(row.locked),
            lambda: self._about_derived(row, name, value, unit),
            None,
        )
        if new is not None:
            apply(row, new, merge=True)

    def _about_derived(self, row: GainRow, name: str, value: float, unit: str) -> str:
        which = "M_ii" if self.tuning.held_inertia else "1 / inv(M)_ii"
        sets = (
            tr("Sets kp, and kv so that ζ stays.") if name == "f" else tr("Sets kv; 1 is critical.")
        )
        return tr(
            "{value:.4g} {unit} with the inertia {formula} = {inertia:.4g}\n{sets}",
            value=value,
            unit=unit,
            formula=which,
            inertia=self.tuning.inertia(row),
            sets=sets,
        )

    def _cell(
        self,
        key: str,
        name: str,
        value: float,
        locked: bool,
        tip: Callable[[], str],
        colour: ImVec4 | None,
    ) -> float | None:
        """A number that can be dragged or typed; returns the new one if it changed."""
        imgui.set_next_item_width(-1)
        imgui.begin_disabled(locked)
        if colour is not None:
            imgui.push_style_color(imgui.Col_.text, colour)
        speed = max(abs(value) * 0.005, 0.005) if abs(value) < 1e9 else 1.0
        shown = "%.4g" if math.isfinite(value) else tr("none")
        changed, new = number_cell(f"##{name}", value, speed, 0.0, 1e9, fmt=shown, clamps=True)
        if colour is not None:
            imgui.pop_style_color()
        imgui.end_disabled()
        _tooltip(tip)
        if imgui.is_item_active():
            self._dragged = key
        if self._dragged == key:
            self._drawn = True
            if not imgui.is_item_active():
                self._let_go()
        return new if changed else None

    def _let_go(self) -> None:
        self._dragged = ""
        self.tuning.seal()

    def _light(self, row: GainRow) -> None:
        share = self.tuning.monitor.saturation(row)
        colour = GREEN if share == 0.0 else AMBER if share < 0.5 else RED
        radius = imgui.get_text_line_height() * 0.35
        at = imgui.get_cursor_screen_pos()
        middle = ImVec2(at.x + radius + 2, at.y + imgui.get_text_line_height() * 0.6)
        imgui.get_window_draw_list().add_circle_filled(
            middle, radius, imgui.color_convert_float4_to_u32(colour)
        )
        imgui.dummy(ImVec2(2 * radius + px(4), imgui.get_text_line_height()))
        _tooltip(
            lambda: tr(
                "Saturated in {share:.0%} of the last second.\n"
                "Effort now {effort:.3g} of {limit:g} {unit}",
                share=share,
                effort=self.tuning.monitor.effort(row),
                limit=row.limit,
                unit=row.unit,
            )
        )


_SHOWN = ("on", "actuator", "kp", "kv", "ki", "dampratio", LIMIT)


def _shown(row: GainRow, gain: str) -> float:
    """The value of a cell: a limit is the one that acts, whatever sets it."""
    return row.limit if gain == LIMIT else row.values[gain]


def _tooltip(text: Callable[[], str]) -> None:
    """A tooltip that disabled items show too; made only where it is seen."""
    flags = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
    if imgui.is_item_hovered(flags):
        imgui.set_tooltip(text())


def gain_panels(state: EditorState) -> tuple["GainTable", ResponsePanel]:
    """The gain table and the response panel, which share what is chosen."""
    tuning = Tuning(state)
    return GainTable(state, tuning), ResponsePanel(state, tuning)
