"""Plot exporter: asks for a file, writes it in the background, logs the result."""

import threading
import traceback
from collections.abc import Mapping
from pathlib import Path

from imgui_bundle import imgui

from mjrig.editor.plots.plot_export import Series, clipped, free_name, write_csv, write_png
from mjrig.editor.plots.plot_model import Plot, PlotBoard
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.scale import px

POPUP = "export"


class PlotExporter:
    """A popup that writes a plot to a file."""

    def __init__(self, state: EditorState, board: PlotBoard) -> None:
        self._state, self._board = state, board
        self._file = ""
        self._only_seen = True
        self._writers: list[threading.Thread] = []

    def open(self) -> None:
        """Show the popup, with the name of a file that does not exist yet."""
        folder = self._state.scene.base if self._state.scene.path else Path.cwd()
        self._file = str(free_name(folder.resolve(), "plot", ".csv").with_suffix(""))
        imgui.open_popup(POPUP)

    def draw(self, plot: Plot, seen: tuple[float, float] | None) -> None:
        """The popup, if it is open; `seen` are the ends of the time axis."""
        if not imgui.begin_popup(POPUP):
            return
        imgui.set_next_item_width(px(420.0))
        _, self._file = imgui.input_text(tr("File"), self._file)
        _, self._only_seen = imgui.checkbox(tr("Visible range only"), self._only_seen)
        for suffix in (".csv", ".png"):
            path = Path(f"{self._file}{suffix}")
            imgui.same_line()
            if imgui.button(tr("Save {suffix}", suffix=suffix[1:].upper())):
                self.write(plot, path, seen if self._only_seen else None)
                imgui.close_current_popup()
            imgui.set_item_tooltip(f"{path}{', which exists' if path.exists() else ''}")
        imgui.end_popup()

    def write(self, plot: Plot, path: Path, seen: tuple[float, float] | None = None) -> None:
        """Write what a plot shows, all of it or what is seen."""
        series = self._board.samples(plot)
        if seen is not None:
            series = clipped(series, *seen)
        units = {p: self._board.about[p].unit for p in series if p in self._board.about}
        arguments = (self._state, path, series, units)
        writer = threading.Thread(target=_write, args=arguments, name="mjrig-export", daemon=True)
        self._writers = [w for w in self._writers if w.is_alive()] + [writer]
        writer.start()

    def wait(self) -> None:
        """Until everything is written."""
        for writer in self._writers:
            writer.join()


def _write(state: EditorState, path: Path, series: Series, units: Mapping[str, str]) -> None:
    console = state.console
    try:
        if path.suffix == ".png":
            write_png(path, series, units)
            console.say(tr("wrote {path}", path=path))
        else:
            console.say(
                tr("wrote {path} ({count} rows)", path=path, count=write_csv(path, series, units))
            )
        state.offer_file(path)
    except (OSError, ImportError) as error:
        console.fail(tr("the plot cannot be exported: {error}", error=error))
    except Exception as error:
        text = tr(
            "the plot cannot be exported: {kind}: {error}", kind=type(error).__name__, error=error
        )
        console.fail(text, traceback.format_exc())
