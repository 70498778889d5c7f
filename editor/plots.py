"""Plots panel: signals over time, dropped onto plots or picked from a list."""

import threading
import traceback
from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path

from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.editor.curves import POINTS, thinned
from mjrig.editor.panel import Panel
from mjrig.editor.plot_export import clipped, free_name, write_csv, write_png
from mjrig.editor.plot_layouts import load_layout, save_layout
from mjrig.editor.plot_model import LONGEST, SHORTEST, Plot, PlotBoard, Reading
from mjrig.editor.session import Session
from mjrig.editor.state import EditorState
from mjrig.editor.words import matches
from mjrig.names import listed

PAYLOAD = "MJRIG"
LOWEST = 150.0
LEGEND_WIDTH = 250.0
GREY = ImVec4(0.6, 0.6, 0.6, 1.0)
_CURSORS = (("A", ImVec4(1.0, 0.8, 0.2, 1.0)), ("B", ImVec4(0.3, 0.9, 1.0, 1.0)))
_PLOTTED = ("signal", "property")


class PlotsPanel(Panel):
    """Several plots on top of each other; each can pause alone."""

    title = "Plots"
    place = "bottom"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self.board = PlotBoard(state.simulation)
        self._session: Session | None = None
        self._filter = ""
        self._file = ""
        self._only_seen = True
        #: What each plot shows of the time axis, by key.
        self._seen: dict[int, tuple[float, float]] = {}
        #: Exports that are being written.
        self.writers: list[threading.Thread] = []

    # Which plots there are ----------------------------------------------------------------------

    def _follow_session(self) -> None:
        """Another scene was opened: its own plots, if it had some, or the ones that are there."""
        session = self.state.session
        if session is self._session:
            return
        self._session = session
        missing = self.board.follow(session.simulation)
        kept = load_layout(self.state.scene.path)
        if kept:
            missing = self.board.apply(kept)
        if missing:
            self.state.console.warn(f"not plotted, since the scene has none: {listed(missing)}")
        if not self.board.plots:
            self.board.add_plot()
        self._kept = self.board.layout()

    def _keep_layout(self) -> None:
        """Remember the plots for this scene, once the mouse is let go."""
        layout = self.board.layout()
        if layout == self._kept or imgui.is_any_mouse_down():
            return
        self._kept = layout
        try:
            save_layout(self.state.scene.path, layout)
        except OSError as error:
            self.state.console.warn(f"the plot layout cannot be kept: {error}")

    def draw(self) -> None:
        self._follow_session()
        if imgui.button("Add plot"):
            self.board.add_plot()
        imgui.same_line()
        imgui.text_colored(GREY, "drop signals or properties onto a plot; wheel: time window")
        plots = list(self.board.plots)
        height = imgui.get_content_region_avail().y / max(len(plots), 1)
        for plot in plots:
            imgui.push_id(str(plot.key))
            self._draw_plot(plot, max(height, LOWEST))
            imgui.pop_id()
        self._keep_layout()

    def _draw_plot(self, plot: Plot, height: float) -> None:
        top = imgui.get_cursor_pos_y()
        self._header(plot)
        body = max(height - (imgui.get_cursor_pos_y() - top) - 6.0, 80.0)
        width = imgui.get_content_region_avail().x
        legend = min(LEGEND_WIDTH + (130.0 if plot.cursors else 0.0), 0.5 * width)
        self._curves(plot, ImVec2(width - legend - 8.0, body))
        imgui.same_line()
        if imgui.begin_child("legend", ImVec2(legend, body)):
            self._legend(plot)
        imgui.end_child()

    def _header(self, plot: Plot) -> None:
        if imgui.button(f"{'Follow' if plot.is_paused else 'Pause'}###pause"):
            (self.board.resume if plot.is_paused else self.board.pause)(plot)
        _tooltip("This plot only; the simulation goes on.\nPaused: wheel zooms, dragging pans.")
        imgui.same_line()
        imgui.set_next_item_width(80.0)
        changed, seconds = imgui.drag_float(
            "##window", plot.window, 0.05, SHORTEST, LONGEST, "%.2f s"
        )
        if changed:
            plot.set_window(seconds)
        _tooltip("Stretch of time that is shown")
        imgui.same_line()
        _, plot.autoscale = imgui.checkbox("Auto", plot.autoscale)
        _tooltip("Fit the value axis to what is seen")
        imgui.same_line()
        changed, wanted = imgui.checkbox("Cursors", plot.cursors is not None)
        if changed:
            self._set_cursors(plot, wanted)
        imgui.same_line()
        if imgui.button("Signals"):
            self._filter = ""
            imgui.open_popup("signals")
        imgui.same_line()
        if imgui.button("Export"):
            folder = self.state.scene.base if self.state.scene.path else Path.cwd()
            self._file = str(free_name(folder.resolve(), "plot", ".csv").with_suffix(""))
            imgui.open_popup("export")
        imgui.same_line()
        if imgui.button("x##remove"):
            self.board.remove_plot(plot)
        _tooltip("Remove this plot")
        self._picker(plot)
        self._exporter(plot)

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
        implot.setup_axes("", "", implot.AxisFlags_.no_label, implot.AxisFlags_.no_label | fit)
        now = self.state.simulation.frame.time
        when = imgui.Cond_.once if plot.is_paused else imgui.Cond_.always
        implot.setup_axis_limits(implot.ImAxis_.x1, now - plot.window, now, when)
        limits = implot.get_plot_limits()
        begin, end = limits.x.min, limits.x.max
        self._seen[plot.key] = (begin, end)
        points = min(POINTS, 2 * max(int(size.x), 50))
        samples = self.board.samples(plot, begin)
        for i, path in enumerate(plot.signals):
            if path in samples:
                time, values = thinned(samples[path], begin, end, points)
                spec = implot.Spec(line_color=implot.get_colormap_color(i), line_weight=1.5)
                implot.plot_line(path, time, values, spec)
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
        if imgui.is_mouse_dragging(0) and imgui.get_drag_drop_payload_py_id() is None:
            self.board.pause(plot)

    def _accept(self, plot: Plot) -> None:
        payload = imgui.accept_drag_drop_payload_py_id(PAYLOAD)
        if payload is not None and self.state.dragged is not None:
            self.drop(plot, *self.state.dragged)

    def drop(self, plot: Plot, kind: str, value: object) -> None:
        """Something was let go over a plot."""
        if kind not in _PLOTTED:
            text = f"a {kind} cannot be plotted; drop a signal or a numeric property"
            self.state.console.fail(text)
            return
        self.state.attempt(lambda: self.board.add(plot, str(value)))

    # Legend -------------------------------------------------------------------------------------

    def _legend(self, plot: Plot) -> None:
        if not plot.signals:
            imgui.text_colored(GREY, "no signals yet")
            return
        readings = self.board.readings(plot)
        latest = self.board.latest(plot)
        titles = ["A", "B", "B - A"] if plot.cursors else ["value"]
        flags = imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.row_bg
        if not imgui.begin_table("values", len(titles) + 2, flags):
            return
        imgui.table_setup_column("signal", imgui.TableColumnFlags_.width_stretch)
        for title in [*titles, ""]:
            imgui.table_setup_column(title)
        imgui.table_headers_row()
        for i, path in enumerate(list(plot.signals)):
            imgui.table_next_row()
            imgui.table_next_column()
            imgui.push_id(path)
            self._legend_name(plot, i, path)
            found = readings.get(path, Reading(nan, nan))
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

    def _legend_name(self, plot: Plot, index: int, path: str) -> None:
        imgui.color_button("##colour", implot.get_colormap_color(index), 0, ImVec2(10.0, 10.0))
        imgui.same_line()
        silent = self.board.is_silent(path)
        if silent:
            imgui.push_style_color(imgui.Col_.text, GREY)
        imgui.selectable(f"{short_names(plot.signals)[index]}##name", False)
        if silent:
            imgui.pop_style_color()
        about = self.board.about.get(path)
        unit = f" [{about.unit}]" if about and about.unit else ""
        gone = "\nnot in the world now: its robot is gone or renamed" if silent else ""
        _tooltip(f"{path}{unit}\n{about.doc if about else ''}{gone}")
        self._drag_source(path)
        if imgui.begin_popup_context_item("menu"):
            if imgui.menu_item_simple("Copy path"):
                imgui.set_clipboard_text(path)
            if imgui.menu_item_simple("Remove"):
                self.board.remove(plot, path)
            imgui.end_popup()

    def _drag_source(self, path: str) -> None:
        if imgui.begin_drag_drop_source():
            self.state.dragged = ("signal", path)
            imgui.set_drag_drop_payload_py_id(PAYLOAD, 1)
            imgui.text_unformatted(path)
            imgui.end_drag_drop_source()

    # Picking signals ----------------------------------------------------------------------------

    def _picker(self, plot: Plot) -> None:
        if not imgui.begin_popup("signals"):
            return
        if imgui.is_window_appearing():
            imgui.set_keyboard_focus_here()
        imgui.set_next_item_width(380.0)
        _, self._filter = imgui.input_text_with_hint(
            "##filter", "words to look for: hip effort", self._filter
        )
        offered = self.board.offered()
        found = [info for info in offered if matches(self._filter, info.path)]
        if imgui.button("All"):
            self.state.attempt(lambda: self.board.add(plot, *(info.path for info in found)))
        _tooltip("Show all that are listed")
        imgui.same_line()
        if imgui.button("None"):
            self.board.remove(plot, *(info.path for info in found))
        _tooltip("Hide all that are listed")
        imgui.same_line()
        imgui.text_colored(
            GREY, f"{len(found)} of {len(offered)} listed, {len(plot.signals)} plotted"
        )
        if imgui.begin_child("list", ImVec2(420.0, 260.0)):
            clipper = imgui.ListClipper()
            clipper.begin(len(found))
            while clipper.step():
                for info in found[clipper.display_start : clipper.display_end]:
                    self._offer(plot, info.path, info.unit, info.doc)
        imgui.end_child()
        imgui.end_popup()

    def _offer(self, plot: Plot, path: str, unit: str, doc: str) -> None:
        changed, wanted = imgui.checkbox(path, path in plot.signals)
        _tooltip(f"{doc} {f'[{unit}]' if unit else ''}")
        self._drag_source(path)
        if changed and wanted:
            self.state.attempt(lambda: self.board.add(plot, path))
        elif changed:
            self.board.remove(plot, path)

    # Export -------------------------------------------------------------------------------------

    def _exporter(self, plot: Plot) -> None:
        if not imgui.begin_popup("export"):
            return
        imgui.set_next_item_width(420.0)
        _, self._file = imgui.input_text("File", self._file)
        _, self._only_seen = imgui.checkbox("Only what is seen", self._only_seen)
        for suffix in (".csv", ".png"):
            path = Path(f"{self._file}{suffix}")
            if imgui.button(f"Save {suffix[1:].upper()}"):
                self.export(plot, path)
                imgui.close_current_popup()
            _tooltip(f"{path}{' (exists: it is replaced)' if path.exists() else ''}")
            imgui.same_line()
        imgui.new_line()
        imgui.end_popup()

    def export(self, plot: Plot, path: Path) -> None:
        """Write what a plot shows, in the background; the console tells how it went."""
        series = self.board.samples(plot)
        if self._only_seen and plot.key in self._seen:
            series = clipped(series, *self._seen[plot.key])
        units = {p: self.board.about[p].unit for p in series if p in self.board.about}
        console = self.state.console

        def write() -> None:
            try:
                if path.suffix == ".png":
                    write_png(path, series, units)
                    console.say(f"wrote {path}")
                else:
                    console.say(f"wrote {path} ({write_csv(path, series, units)} rows)")
            except (OSError, ImportError) as error:
                console.fail(f"the plot cannot be exported: {error}")
            except Exception as error:
                text = f"the plot cannot be exported: {type(error).__name__}: {error}"
                console.fail(text, traceback.format_exc())

        writer = threading.Thread(target=write, name="mjrig-export", daemon=True)
        self.writers = [w for w in self.writers if w.is_alive()] + [writer]
        writer.start()


def short_names(paths: Sequence[str]) -> list[str]:
    """The paths without the actor, where all are of one."""
    actors = {path.partition(".")[0] for path in paths}
    return [path.partition(".")[2] or path for path in paths] if len(actors) == 1 else list(paths)


def _tooltip(text: str) -> None:
    if imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip):
        imgui.set_tooltip(text.strip())
