"""Plots panel: signals over time, dropped onto plots or picked from a searchable list.

The layout of a scene's plots is kept with the user's settings, never in the scene.
"""

import re
from collections.abc import Sequence
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.core.names import listed
from mjrig.editor.panels.plot_export import PlotExporter
from mjrig.editor.panels.plot_model import (
    LONGEST,
    POINTS,
    SHORTEST,
    CursorReading,
    Plot,
    PlotBoard,
    thinned,
    tracking,
)
from mjrig.editor.session.elements import Elements
from mjrig.editor.session.session import Session
from mjrig.editor.session.signals import PART, SignalInfo
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import config_folder, read_settings, write_settings
from mjrig.editor.text import deferred, matches, tr
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.layout import px, size
from mjrig.editor.ui.number_cell import number_cell
from mjrig.editor.ui.panel import PAYLOAD, Panel, drag_source, is_dragging

# Signal elements ----------------------------------------------------------------------------------


_IN_BRACKETS = re.compile(r".*\[([^\[\]]*)\]")


def element_of(elements: Elements, signal: str) -> str | None:
    """The path of what a signal is about; None: of no joint and no actuator.

    `dog.FL_hip.position` and `dog.PDController.kp[FL_hip]` are about the joint of FL_hip,
    `dog.sensor:knee_angle[0]` about what the sensor measures.
    """
    actor, _, rest = signal.partition(".")
    if rest.startswith(PART):
        return elements.for_sensor(actor, rest.removeprefix(PART).partition("[")[0])
    match = _IN_BRACKETS.fullmatch(rest)
    name = match[1] if match else rest.rpartition(".")[0]
    return elements.for_actuator(actor, name)


# Plot layouts -------------------------------------------------------------------------------------
# Plot layouts, one per scene file, kept with the user's settings and never in the scene.


#: Scenes whose layout is remembered; the oldest go.
KEPT = 100


def layouts_file() -> Path:
    """Where they are kept."""
    return config_folder() / "plots.json"


def load_layout(scene: Path | None) -> list[Any]:
    """The layout of a scene; empty if none was kept."""
    if scene is None:
        return []
    found = read_settings(layouts_file()).get(_key(scene), [])
    return found if isinstance(found, list) else []


def save_layout(scene: Path | None, layout: list[dict[str, Any]]) -> None:
    """Keep the layout of a scene; one without a file has none.

    Raises:
        OSError: the settings cannot be written.
    """
    if scene is None:
        return
    kept = read_settings(layouts_file())
    kept.pop(_key(scene), None)
    kept[_key(scene)] = layout
    write_settings(layouts_file(), dict(list(kept.items())[-KEPT:]))


def _key(scene: Path) -> str:
    return str(scene.resolve())


# Signal picker ------------------------------------------------------------------------------------
# Signal picker: a searchable list of everything that can be plotted.


POPUP = "signals"


class SignalPicker:
    """A popup that shows and hides signals of a plot."""

    def __init__(self, state: EditorState, board: PlotBoard) -> None:
        self._state, self._board = state, board
        self._words = ""

    def open(self) -> None:
        """Show the popup, with nothing filtered out."""
        self._words = ""
        imgui.open_popup(POPUP)

    def draw(self, plot: Plot) -> None:
        """The popup, if it is open."""
        if not imgui.begin_popup(POPUP):
            return
        if imgui.is_window_appearing():
            imgui.set_keyboard_focus_here()
        imgui.set_next_item_width(px(420.0))
        _, self._words = imgui.input_text_with_hint(
            "##filter", tr("words to look for: hip effort"), self._words
        )
        offered = self._board.offered()
        found = [info for info in offered if matches(self._words, info.path)]
        self._all_or_none(plot, found)
        imgui.same_line()
        imgui.text_disabled(
            tr(
                "{listed} of {offered} listed, {plotted} plotted",
                listed=len(found),
                offered=len(offered),
                plotted=len(plot.signals),
            )
        )
        if imgui.begin_child("list", size(420, 260)):
            clipper = imgui.ListClipper()
            clipper.begin(len(found))
            while clipper.step():
                for info in found[clipper.display_start : clipper.display_end]:
                    self._offer(plot, info)
        imgui.end_child()
        imgui.end_popup()

    def _all_or_none(self, plot: Plot, found: list[SignalInfo]) -> None:
        paths = [info.path for info in found]
        if imgui.button(tr("All")):
            self._state.attempt(lambda: self._board.add(plot, *paths))
        imgui.set_item_tooltip(tr("Show all that are listed"))
        imgui.same_line()
        if imgui.button(tr("None")):
            self._board.remove(plot, *paths)
        imgui.set_item_tooltip(tr("Hide all that are listed"))

    def _offer(self, plot: Plot, info: SignalInfo) -> None:
        changed, wanted = imgui.checkbox(info.path, info.path in plot.signals)
        imgui.set_item_tooltip(f"{tr(info.doc)} {f'[{info.unit}]' if info.unit else ''}".strip())
        drag_source(self._state, "signal", info.path, info.path)
        if changed and wanted:
            self._state.attempt(lambda: self._board.add(plot, info.path))
        elif changed:
            self._board.remove(plot, info.path)


# Plots --------------------------------------------------------------------------------------------


LOWEST = 150.0
LEGEND_WIDTH = 200.0
NUMBER_WIDTH = 62.0
#: Widths of curves; those of what is selected are thicker.
THIN, MARKED = 1.5, 3.5
#: Values that differ by less are drawn as a flat line: rounding errors are not a curve.
SMALLEST_SPAN = 1e-5
_CURSORS = (("A", ImVec4(1.0, 0.8, 0.2, 1.0)), ("B", ImVec4(0.3, 0.9, 1.0, 1.0)))
_PLOTTED = ("signal", "property", "actuator")
_EMPTY = deferred("Drop signals, properties or actuators here, or choose them under Signals.")


class PlotsPanel(Panel):
    """Several plots on top of each other; each can pause alone.

    Args:
        state: state of the editor.
        starts_filled: a scene without saved plots begins with one of its first actuator.
    """

    title = "Plots"
    place = "bottom right"

    def __init__(self, state: EditorState, *, starts_filled: bool = False) -> None:
        super().__init__(state)
        self._starts_filled = starts_filled
        self.board = PlotBoard(state.simulation)
        self._session: Session | None = None
        #: Whether nothing could be plotted yet, and the generation that was tried last.
        self._awaits_signals, self._filled_for = False, -1
        self._picker = SignalPicker(state, self.board)
        self.exporter = PlotExporter(state, self.board)
        #: Left edge and width of each plot's canvas in pixels, by key.
        self.inside: dict[int, tuple[float, float]] = {}
        #: What each plot shows of the time axis, by key.
        self._seen: dict[int, tuple[float, float]] = {}

    # Which plots there are ----------------------------------------------------------------------

    def _follow_session(self) -> None:
        """Another scene was opened: its own plots, if it had some, or the ones that are there."""
        session = self.state.session
        if session is self._session:
            return
        self._session, self._filled_for = session, -1
        missing = self.board.follow(session.simulation)
        kept = load_layout(self.state.scene.path)
        if kept:
            missing = self.board.apply(kept)
        if missing:
            self.state.console.warn(
                tr("not plotted, not in this scene: {missing}", missing=listed(missing))
            )
        if not self.board.plots:
            self.board.add_plot()
        self._awaits_signals = self._starts_filled and not kept
        self._kept = self.board.layout()

    def _fill_once(self) -> None:
        """As soon as there is something to plot: a scene may begin empty."""
        generation = self.state.simulation.generation
        if not self._awaits_signals or generation == self._filled_for:
            return
        self._filled_for = generation
        self._fill()
        self._awaits_signals = not any(plot.signals for plot in self.board.plots)
        self._kept = self.board.layout()

    def _fill(self) -> None:
        """Show something of this scene, in place of what only the one before had."""
        for plot in self.board.plots:
            gone = [path for path in plot.signals if self.board.is_silent(path)]
            self.board.remove(plot, *gone)
        if self.board.plots and not any(plot.signals for plot in self.board.plots):
            self.board.add(self.board.plots[0], *self.board.first_signals())

    def _keep_layout(self) -> None:
        """Remember the plots for this scene, once the mouse button is released."""
        layout = self.board.layout()
        if layout == self._kept or imgui.is_any_mouse_down():
            return
        self._kept = layout
        try:
            save_layout(self.state.scene.path, layout)
        except OSError as error:
            self.state.console.warn(tr("the plot layout cannot be kept: {error}", error=error))

    def draw(self) -> None:
        self._follow_session()
        self._fill_once()
        if imgui.button(tr("Add plot")):
            self.board.add_plot()
        imgui.set_item_tooltip(tr("Another plot below"))
        plots = list(self.board.plots)
        if plots:
            imgui.same_line()  # the head of the first plot: height is precious
        height = imgui.get_content_region_avail().y / max(len(plots), 1)
        for plot in plots:
            imgui.push_id(str(plot.key))
            self._draw_plot(plot, max(height, LOWEST))
            imgui.pop_id()
        self._keep_layout()

    def _draw_plot(self, plot: Plot, height: float) -> None:
        top = imgui.get_cursor_pos_y()
        self._header(plot)
        body = max(height - (imgui.get_cursor_pos_y() - top) - px(6), px(80))
        width = imgui.get_content_region_avail().x
        legend = min(self._legend_width(plot), 0.5 * width)
        self._curves(plot, ImVec2(width - legend - 8.0, body))
        imgui.same_line()
        if imgui.begin_child("legend", ImVec2(legend, body)):
            self._legend(plot)
        imgui.end_child()

    @staticmethod
    def _legend_width(plot: Plot) -> float:
        """Room for the longest name and the numbers beside it."""
        names = short_names(plot.signals)
        longest = max((imgui.calc_text_size(name).x for name in names), default=0.0)
        numbers = px(NUMBER_WIDTH) * (3 if plot.cursors else 1)
        return max(px(LEGEND_WIDTH), longest + numbers + px(72))

    def _header(self, plot: Plot) -> None:
        if imgui.button(f"{'Follow' if plot.is_paused else 'Pause'}###pause"):
            (self.board.resume if plot.is_paused else self.board.pause)(plot)
        imgui.set_item_tooltip(
            tr("This plot only; the simulation keeps running.\nPaused: wheel zooms, dragging pans.")
        )
        imgui.same_line()
        imgui.set_next_item_width(px(80.0))
        changed, seconds = number_cell(
            "##window", plot.window, 0.05, SHORTEST, LONGEST, fmt="%.2f s", clamps=True
        )
        if changed:
            plot.set_window(seconds)
        imgui.set_item_tooltip(tr("Time span shown; the wheel changes it too"))
        imgui.same_line()
        _, plot.autoscale = imgui.checkbox(tr("Auto"), plot.autoscale)
        imgui.set_item_tooltip(tr("Fit the value axis to the visible samples"))
        imgui.same_line()
        changed, wanted = imgui.checkbox(tr("Cursors"), plot.cursors is not None)
        if changed:
            self._set_cursors(plot, wanted)
        imgui.same_line()
        if imgui.button(tr("Signals")):
            self._picker.open()
        imgui.same_line()
        if imgui.button(tr("Export")):
            self.exporter.open()
        imgui.same_line()
        if imgui.button("x##remove"):
            self.board.remove_plot(plot)
        imgui.set_item_tooltip(tr("Remove this plot"))
        self._picker.draw(plot)
        self.exporter.draw(plot, self._seen.get(plot.key))

    def _set_cursors(self, plot: Plot, wanted: bool) -> None:
        """Cursors stand still, so the plot does too."""
        if not wanted:
            plot.cursors = None
            return
        if not plot.is_paused:
            self.board.pause(plot)
        begin, end = self._seen.get(plot.key, (0.0, plot.window))
        plot.cursors = (begin + (end - begin) / 3.0, begin + 2.0 * (end - begin) / 3.0)

    # Curves -------------------------------------------------------------------------------------

    def _curves(self, plot: Plot, size: ImVec2) -> None:
        flags = implot.Flags_.no_legend | implot.Flags_.no_title | implot.Flags_.no_menus
        if not implot.begin_plot("##plot", size, flags):
            return
        fit = implot.AxisFlags_.auto_fit if plot.autoscale else implot.AxisFlags_.none
        unit = self.board.unit(plot)
        bare = implot.AxisFlags_.none if unit else implot.AxisFlags_.no_label
        implot.setup_axes("", f"[{unit}]", implot.AxisFlags_.no_label, bare | fit)
        implot.setup_axis_format(implot.ImAxis_.x1, "%g s")  # a label would cost a line of height
        implot.setup_axis_zoom_constraints(implot.ImAxis_.y1, SMALLEST_SPAN, inf)
        now = self.state.simulation.frame.time
        when = imgui.Cond_.once if plot.is_paused else imgui.Cond_.always
        last = self.board.end(plot, now)
        implot.setup_axis_limits(implot.ImAxis_.x1, last - plot.window, last, when)
        limits = implot.get_plot_limits()
        begin, end = limits.x.min, limits.x.max
        self._seen[plot.key] = (begin, end)
        self.inside[plot.key] = (implot.get_plot_pos().x, implot.get_plot_size().x)
        points = min(POINTS, max(int(size.x), 100))  # least and greatest of every two pixels
        samples, former = self.board.samples(plot, begin), self.board.former(plot)
        for i, path in enumerate(plot.signals):
            colour = implot.get_colormap_color(i)
            if path in former:  # the run before, from the time on to which the user went back
                time, values = thinned(former[path], begin, end, points)
                faint = implot.Spec(line_color=ImVec4(colour.x, colour.y, colour.z, 0.35))
                implot.plot_line(f"##former {path}", time, values, faint)
            if path in samples:
                time, values = thinned(samples[path], begin, end, points)
                weight = px(MARKED if self.is_marked(path) else THIN)
                spec = implot.Spec(line_color=colour, line_weight=weight)
                implot.plot_line(path, time, values, spec)
        if last > now and not plot.is_paused:
            implot.plot_inf_lines("##now", np.array([now]), implot.Spec(line_color=GREY))
        self._draw_cursors(plot)
        self._mouse(plot)
        if implot.begin_drag_drop_target_plot():
            self._accept(plot)
            implot.end_drag_drop_target()
        implot.end_plot()

    def _draw_cursors(self, plot: Plot) -> None:
        if plot.cursors is None:
            return
        moved = list(plot.cursors)
        for i, (name, colour) in enumerate(_CURSORS):
            moved[i] = implot.drag_line_x(i, moved[i], colour)[1]
            implot.tag_x(moved[i], colour, name)
        plot.cursors = (moved[0], moved[1])

    def _mouse(self, plot: Plot) -> None:
        """A plot that follows: the wheel chooses the window, dragging stops it."""
        if plot.is_paused or not implot.is_plot_hovered():
            return
        wheel = imgui.get_io().mouse_wheel
        if wheel:
            plot.set_window(plot.window * 0.85**wheel)
        if imgui.is_mouse_dragging(0) and not is_dragging():
            self.board.pause(plot)

    def _accept(self, plot: Plot) -> None:
        payload = imgui.accept_drag_drop_payload_py_id(PAYLOAD)
        if payload is not None and self.state.dragged is not None:
            self.drop(plot, *self.state.dragged)

    def drop(self, plot: Plot, kind: str, value: object) -> None:
        """Something was dropped on a plot."""
        if kind not in _PLOTTED:
            text = tr(
                "a {kind} cannot be plotted; drop a signal, an actuator or a numeric property",
                kind=kind,
            )
            self.state.console.fail(text)
            return
        paths = tracking(str(value)) if kind == "actuator" else (str(value),)
        self.state.attempt(lambda: self.board.add(plot, *paths))

    # Legend -------------------------------------------------------------------------------------

    def _legend(self, plot: Plot) -> None:
        if not plot.signals:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(tr(_EMPTY))
            imgui.pop_style_color()
            return
        readings = self.board.readings(plot)
        latest = self.board.latest(plot, self.state.simulation.frame.time)
        titles = ["A", "B", "B - A"] if plot.cursors else ["value"]
        flags = imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.row_bg
        if not imgui.begin_table("values", len(titles) + 2, flags):
            return
        imgui.table_setup_column(tr("signal"), imgui.TableColumnFlags_.width_stretch)
        for title in titles:  # columns of constant width
            imgui.table_setup_column(title, imgui.TableColumnFlags_.width_fixed, px(NUMBER_WIDTH))
        imgui.table_setup_column("")
        imgui.table_headers_row()
        names = short_names(plot.signals)  # the list may get shorter on the way
        for i, (path, name) in enumerate(list(zip(plot.signals, names, strict=True))):
            imgui.table_next_row()
            imgui.table_next_column()
            imgui.push_id(path)
            self._legend_name(plot, i, path, name)
            found = readings.get(path, CursorReading(nan, nan))
            numbers = [found.a, found.b, found.delta] if plot.cursors else [latest.get(path, nan)]
            for number in numbers:
                imgui.table_next_column()
                imgui.text("-" if isnan(number) else f"{number:.4g}")
            imgui.table_next_column()
            if imgui.small_button("x##out"):
                self.board.remove(plot, path)
            imgui.pop_id()
        imgui.end_table()
        if plot.cursors is not None:
            imgui.text_colored(GREY, f"B - A = {plot.cursors[1] - plot.cursors[0]:.4f} s")

    def is_marked(self, signal: str) -> bool:
        """Whether a signal is of a joint or an actuator that is selected."""
        found = element_of(self.state.elements, signal)
        return found is not None and found in self.state.elements.related(
            self.state.selection.paths
        )

    def _select(self, signal: str) -> None:
        found = element_of(self.state.elements, signal)
        if found is not None:
            self.state.selection.only(found)

    def _legend_name(self, plot: Plot, index: int, path: str, name: str) -> None:
        imgui.color_button("##colour", implot.get_colormap_color(index), 0, size(10, 10))
        imgui.same_line()
        silent = self.board.is_silent(path)
        if silent:
            imgui.push_style_color(imgui.Col_.text, GREY)
        if imgui.selectable(f"{name}##name", self.is_marked(path))[0]:
            self._select(path)
        if silent:
            imgui.pop_style_color()
        about = self.board.about.get(path)
        unit = f" [{about.unit}]" if about and about.unit else ""
        gone = tr("\nnot in the world now: its robot is gone or renamed") if silent else ""
        imgui.set_item_tooltip(f"{path}{unit}\n{tr(about.doc) if about else ''}{gone}".strip())
        drag_source(self.state, "signal", path, path)
        if imgui.begin_popup_context_item("menu"):
            if imgui.menu_item_simple(tr("Copy path")):
                imgui.set_clipboard_text(path)
            if imgui.menu_item_simple(tr("Remove")):
                self.board.remove(plot, path)
            imgui.end_popup()


def short_names(paths: Sequence[str]) -> list[str]:
    """The paths without the actor, where all are of one."""
    actors = {path.partition(".")[0] for path in paths}
    return [path.partition(".")[2] or path for path in paths] if len(actors) == 1 else list(paths)
