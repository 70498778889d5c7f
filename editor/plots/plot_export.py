"""Plots as files: CSV, and PNG through matplotlib (extra `plot`)."""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.editor.texts.texts import tr
from mjrig.errors import MissingExtraError

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
