"""Plots of a sweep (extra `plot`): parallel coordinates, and a heat map of two parameters."""

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MissingExtraError, MjrigError
from mjrig.core.properties.declaration import number
from mjrig.lab.report.output import save_figure
from mjrig.lab.rollouts.results import Ranked

#: Samples of a range are put into so many cells of a heat map at most.
CELLS = 16


def parallel_coordinates(
    path: Path, ranking: Sequence[Ranked], names: Sequence[str], objective: str
) -> None:
    """One line per point through its values and its objective; the better, the more in front.

    Raises:
        MjrigError: no point succeeded.
        MissingExtraError: matplotlib is not installed.
    """
    plt = _pyplot()
    shown = worked(ranking)
    scores = np.array([r.score for r in shown])
    axes_ = [*((name, [r.values[name] for r in shown]) for name in names), (objective, scores)]
    ranks = np.argsort(np.argsort(scores)) / max(1, len(scores) - 1)
    heights = np.column_stack([PlotAxis(values).heights for _, values in axes_])
    figure, axis = plt.subplots(figsize=(2.2 + 2.2 * len(axes_), 5.0))
    colours = plt.get_cmap("viridis")
    for i in np.argsort(-scores, kind="stable"):  # the best are drawn last
        best = i == int(scores.argmin())
        axis.plot(
            range(len(axes_)),
            heights[i],
            color="crimson" if best else colours(0.95 * ranks[i]),
            linewidth=2.2 if best else 0.9,
            alpha=1.0 if best else 0.7,
            zorder=3 if best else 2,
        )
    for x, (_, values) in enumerate(axes_):
        axis.axvline(x, color="0.6", linewidth=1, zorder=1)
        for text, height in PlotAxis(values).marks:
            axis.annotate(
                text, (x, height), xytext=(4, 0), textcoords="offset points",
                fontsize=8, va="center", zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8},
            )  # fmt: skip
    axis.set_xticks(range(len(axes_)), [*map(short, names), wrapped(objective)])
    axis.set_xlim(-0.2, len(axes_) - 0.6)
    axis.set_yticks([])
    for side in ("top", "left", "right", "bottom"):
        axis.spines[side].set_visible(False)
    axis.set_title(f"{len(shown)} points; red: the best, dark: good", fontsize=10)
    save_figure(figure, path)


def heat_map(path: Path, ranking: Sequence[Ranked], names: Sequence[str], objective: str) -> None:
    """The objective over two parameters; each cell shows the best of the points in it.

    Raises:
        MjrigError: there are not two parameters with numbers, or no point succeeded.
        MissingExtraError: matplotlib is not installed.
    """
    plt = _pyplot()
    heat = Heat.of(ranking, names)
    x, y, varied = heat.x, heat.y, heat.names
    figure, axis = plt.subplots(
        figsize=(1.8 + 0.55 * max(x.cells, 6), 1.6 + 0.45 * max(y.cells, 6))
    )
    image = axis.imshow(heat.grid, origin="lower", aspect="auto", cmap="viridis")
    axis.plot(*heat.best, "o", mfc="none", mec="crimson", mew=2, ms=12)
    axis.set_xticks(range(x.cells), x.labels, rotation=45, ha="right", fontsize=8)
    axis.set_yticks(range(y.cells), y.labels, fontsize=8)
    axis.set_xlabel(varied[0])
    axis.set_ylabel(varied[1])
    others = "" if len(varied) == 2 else f", best over {', '.join(map(short, varied[2:]))}"
    axis.set_title(f"{objective}{others}; circle: the best", fontsize=10)
    figure.colorbar(image, ax=axis)
    save_figure(figure, path)


def varying(ranking: Sequence[Ranked], names: Sequence[str]) -> tuple[str, ...]:
    """The parameters that have several values among the points that succeeded.

    Raises:
        MjrigError: no point succeeded.
    """
    shown = worked(ranking)
    return tuple(n for n in names if PlotAxis([r.values[n] for r in shown]).cells > 1)


@dataclass(frozen=True)
class Heat:
    """The objective over two parameters; each cell has the best of the points in it.

    Attributes:
        names: the parameters that vary; the first two are those of the axes.
        x, y: the axes.
        grid: (rows, columns); NaN where there is no point.
        best: column and row of the best point.
    """

    names: tuple[str, ...]
    x: "PlotAxis"
    y: "PlotAxis"
    grid: FloatArray
    best: tuple[int, int]

    @classmethod
    def of(cls, ranking: Sequence[Ranked], names: Sequence[str]) -> "Heat":
        """Put points into cells.

        Raises:
            MjrigError: there are not two parameters that vary, or no point succeeded.
        """
        shown, varied = worked(ranking), varying(ranking, names)
        if len(varied) < 2:
            raise MjrigError("a heat map needs two parameters that vary")
        x, y = (PlotAxis([r.values[n] for r in shown]) for n in varied[:2])
        grid = np.full((y.cells, x.cells), np.nan)
        for column, row, ranked in zip(x.places, y.places, shown, strict=True):
            grid[row, column] = np.nanmin([grid[row, column], ranked.score])
        best = int(np.argmin([r.score for r in shown]))
        return cls(varied, x, y, grid, (x.places[best], y.places[best]))


class PlotAxis:
    """Where values stand on an axis: numbers to scale, other values side by side."""

    def __init__(self, values: Any) -> None:
        self._numbers = [number(v) for v in values]
        self._texts = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]
        self._numeric = all(v is not None and math.isfinite(v) for v in self._numbers)
        known = sorted(set(self._numbers)) if self._numeric else []  # type: ignore[type-var]
        self._few = not self._numeric or len(known) <= CELLS
        self._bins = max(4, min(CELLS, math.isqrt(len(self._numbers))))
        self._order = (
            list(dict.fromkeys(f"{v:.4g}" for v in known))
            if self._numeric
            else list(dict.fromkeys(self._texts))
        )

    @property
    def _array(self) -> FloatArray:
        return np.array(self._numbers, dtype=float)

    @property
    def heights(self) -> FloatArray:
        """Heights of the values, 0 to 1."""
        if not self._numeric:
            return np.array(self.places) / max(1, len(self._order) - 1)
        low, spread = self._array.min(), float(np.ptp(self._array))
        return (self._array - low) / spread if spread else np.full(len(self._array), 0.5)

    @property
    def marks(self) -> list[tuple[str, float]]:
        """(text, height) of what stands beside the axis."""
        if not self._numeric:
            size = max(1, len(self._order) - 1)
            return [(text, i / size) for i, text in enumerate(self._order)]
        low, high = float(self._array.min()), float(self._array.max())
        if low == high:
            return [(f"{low:.4g}", 0.5)]
        return [
            (f"{low + share * (high - low):.4g}", share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)
        ]

    @property
    def cells(self) -> int:
        """How many cells a heat map has along it."""
        return len(self._order) if self._few else self._bins

    @property
    def labels(self) -> list[str]:
        """The names of the cells."""
        if self._few:
            return self._order
        edges = np.linspace(self._array.min(), self._array.max(), self._bins + 1)
        return [f"{(a + b) / 2:.3g}" for a, b in itertools.pairwise(edges)]

    @property
    def places(self) -> list[int]:
        """The cell of every value."""
        if not self._numeric:
            return [self._order.index(text) for text in self._texts]
        if self._few:
            return [self._order.index(f"{v:.4g}") for v in self._array]
        share = (self._array - self._array.min()) / np.ptp(self._array)
        return [min(self._bins - 1, int(s * self._bins)) for s in share]


def worked(ranking: Sequence[Ranked]) -> list[Ranked]:
    """The points that succeeded.

    Raises:
        MjrigError: none did.
    """
    found = [r for r in ranking if math.isfinite(r.score)]
    if not found:
        raise MjrigError("no point succeeded: nothing to plot")
    return found


def short(name: str) -> str:
    """The last words of a path: `PDController.kp`."""
    path, bracket, pattern = name.partition("[")
    return "\n".join(path.rsplit(".", 2)[-2:]) + bracket + pattern


def wrapped(objective: str) -> str:
    """An objective in lines, broken between its terms."""
    return "\n".join(textwrap.wrap(objective, 24, break_long_words=False))


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("a plot", "plot", error) from error
    return pyplot
