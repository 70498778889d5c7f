"""Plots as files: CSV, and PNG through matplotlib (extra `plot`), written in the background."""

import csv
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from imgui_bundle import imgui

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MissingExtraError
from mjrig.editor.panels.plot_model import Plot, PlotBoard
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.layout import px

# Plot export --------------------------------------------------------------------------------------


Series = Mapping[str, FloatArray]


def clipped(series: Series, begin: float, end: float) -> dict[str, FloatArray]:
    """The samples between two times, both included."""
    return {p: s[:, (s[0] >= begin) & (s[0] <= end)] for p, s in series.items()}


def header(path: str, unit: str) -> str:
    """Name of a column: `dog.FL_hip.position [rad or m]`."""
    return f"{path} [{unit}]" if unit else path


def write_csv(path: Path, series: Series, units: Mapping[str, str]) -> int:
    """Write samples, one column per signal; a cell is empty where a signal has no sample.

    Returns:
        How many rows there are.

    Raises:
        OSError: the file cannot be written.
    """
    times = np.unique(np.concatenate([np.zeros(0), *(s[0] for s in series.values())]))
    columns = []
    for samples in series.values():
        column = [""] * times.size
        for row, value in zip(np.searchsorted(times, samples[0]), samples[1], strict=True):
            column[row] = repr(float(value))
        columns.append(column)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["time [s]", *(header(p, units.get(p, "")) for p in series)])
        writer.writerows(zip([repr(float(t)) for t in times], *columns, strict=True))
    return int(times.size)


def write_png(path: Path, series: Series, units: Mapping[str, str]) -> None:
    """Draw samples over time.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(tr("a picture of a plot"), "plot", error) from error
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, samples in series.items():
        axes.plot(samples[0], samples[1], linewidth=1.2, label=header(name, units.get(name, "")))
    axes.set_xlabel("time [s]")
    axes.grid(alpha=0.3)
    if series:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small")
    figure.savefig(path, dpi=110, format="png")


def free_name(folder: Path, stem: str, suffix: str) -> Path:
    """A file of that name that does not exist yet: `plot.csv`, `plot_2.csv`, …"""
    path, number = folder / f"{stem}{suffix}", 2
    while path.exists():
        path, number = folder / f"{stem}_{number}{suffix}", number + 1
    return path


# Plot exporter ------------------------------------------------------------------------------------
# Plot exporter: asks for a file, writes it in the background, logs the result.


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
