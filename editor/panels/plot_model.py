"""The plots of a window: signals, pause, cursors, and curves thinned out for the screen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.core.sim.world import World
from mjrig.editor.session.ring_buffer import Ring
from mjrig.editor.session.signals import SignalInfo, catalogue, expand
from mjrig.editor.session.simulation import Simulation

# Curves -------------------------------------------------------------------------------------------


Indices = npt.NDArray[np.intp]
#: Most points drawn per line; software OpenGL pays for each.
POINTS = 2000


def thinned(samples: FloatArray, begin: float, end: float, points: int = POINTS) -> FloatArray:
    """The part of (2, n) samples between two times, with at most about that many points.

    Where there are more samples than points, each stretch of time keeps its least and its greatest
    sample, each at its own time, so that no peak is lost and a slope stays a slope. The stretches
    lie at multiples of their length: a curve that moves through the window does not flicker.
    """
    time = samples[0]
    first = max(int(np.searchsorted(time, begin)) - 1, 0)
    last = min(int(np.searchsorted(time, end, side="right")) + 1, time.size)
    seen = samples[:, first:last]
    if seen.shape[1] <= points or not end > begin:
        return np.ascontiguousarray(seen)
    number = np.floor(seen[0] / (2.0 * (end - begin) / points))
    starts = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    values = seen[1]
    # fmin and fmax: one NaN does not hide its neighbours
    kept = [
        _first_of(values, starts, np.fmin.reduceat(values, starts)),
        _first_of(values, starts, np.fmax.reduceat(values, starts)),
    ]
    return np.ascontiguousarray(seen[:, np.sort(np.stack(kept), axis=0).T.ravel()])


def _first_of(values: FloatArray, starts: Indices, wanted: FloatArray) -> Indices:
    """Where each stretch has its wanted value first; where it begins if that is NaN."""
    counts = np.diff(np.r_[starts, values.size])
    at = np.flatnonzero(values == np.repeat(wanted, counts))
    place = np.searchsorted(at, starts)
    found = at[np.minimum(place, at.size - 1)] if at.size else starts
    return np.where(np.isnan(wanted), starts, found)


def value_at(samples: FloatArray, moment: float) -> float:
    """The sample nearest to a time; NaN where there is none around it."""
    time = samples[0]
    if not time.size or not time[0] <= moment <= time[-1]:
        return nan
    right = int(np.searchsorted(time, moment))
    left = max(right - 1, 0)
    nearer = left if moment - time[left] < time[right] - moment else right
    return float(samples[1, nearer])


# Plot model ---------------------------------------------------------------------------------------
# The plots of a window: which signals each shows, paused or following, with two cursors.


#: Shortest and longest time span that a plot follows [s].
SHORTEST, LONGEST = 0.05, 30.0


@dataclass
class Plot:
    """One plot; `key` never changes."""

    key: int
    signals: list[str] = field(default_factory=list)
    window: float = 5.0
    autoscale: bool = True
    #: What was sampled up to the pause, by signal; None while it follows.
    frozen: dict[str, FloatArray] | None = None
    #: Times of the cursors A and B.
    cursors: tuple[float, float] | None = None

    @property
    def is_paused(self) -> bool:
        """Whether it is frozen while the simulation runs."""
        return self.frozen is not None

    def set_window(self, seconds: float) -> None:
        """Choose the time span it follows."""
        self.window = min(max(seconds, SHORTEST), LONGEST)


def tracking(actuator: str) -> tuple[str, ...]:
    """The signals that show how well an actuator (`dog.FL_hip`) follows."""
    return (f"{actuator}.setpoint", f"{actuator}.position")


@dataclass(frozen=True)
class CursorReading:
    """One signal under the cursors."""

    a: float
    b: float

    @property
    def delta(self) -> float:
        """How much it changes from A to B."""
        return self.b - self.a


class PlotBoard:
    """The plots, fed by a simulation: what some plot shows is sampled, nothing else."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._key = 0
        self._offered: tuple[int, list[SignalInfo]] = (-1, [])
        self.about: dict[str, SignalInfo] = {}
        self.plots: list[Plot] = []

    # Plots --------------------------------------------------------------------------------------

    def add_plot(self) -> Plot:
        """Put an empty plot below the others."""
        self._key += 1
        self.plots.append(Plot(self._key))
        return self.plots[-1]

    def remove_plot(self, plot: Plot) -> None:
        """Remove a plot; signals that no other plot shows are no longer sampled."""
        self.plots.remove(plot)
        self._forget(plot.signals)

    # Signals ------------------------------------------------------------------------------------

    def add(self, plot: Plot, *paths: str) -> list[str]:
        """Show signals, or every number of a property, and sample them from now on.

        Returns:
            The paths of the signals.

        Raises:
            BindingError: there is no such signal; nothing was changed.
        """
        signals = self._simulation.signals

        def run(world: World) -> list[SignalInfo]:
            infos = [info for path in paths for info in expand(world, path)]
            signals.watch_all(info.path for info in infos)
            return infos

        infos = self._simulation.call(run)
        for info in infos:
            self.about[info.path] = info
            if info.path not in plot.signals:
                plot.signals.append(info.path)
            if plot.frozen is not None:  # what another plot had sampled of it until now
                plot.frozen.setdefault(info.path, signals.watched[info.path].ordered())
        return [info.path for info in infos]

    def remove(self, plot: Plot, *paths: str) -> None:
        """Show signals no longer; one that is not shown is fine."""
        plot.signals = [path for path in plot.signals if path not in paths]
        self._forget(paths)

    def _forget(self, paths: Iterable[str]) -> None:
        shown = {path for plot in self.plots for path in plot.signals}
        gone = [path for path in paths if path not in shown]
        signals = self._simulation.signals

        if gone:
            self._simulation.call(lambda world: signals.unwatch(*gone))

    def offered(self) -> list[SignalInfo]:
        """Everything that can be plotted now."""
        generation = self._simulation.generation
        if self._offered[0] != generation:
            found = self._simulation.call(lambda world: list(catalogue(world)))
            unique = {info.path: info for info in found}
            self._offered = (generation, list(unique.values()))
        return self._offered[1]

    def first_signals(self) -> tuple[str, ...]:
        """How well the first actuator follows; nothing where none has a setpoint."""
        paths = {info.path for info in self.offered()}
        for info in self.offered():
            pair = tracking(info.path.removesuffix(".setpoint"))
            if info.path.endswith(".setpoint") and paths.issuperset(pair):
                return pair
        return ()

    def is_silent(self, path: str) -> bool:
        """Whether a signal is not in the running world: its robot is gone or renamed."""
        return path in self._simulation.signals.silent

    def follow(self, simulation: Simulation) -> list[str]:
        """Another scene was opened: the same plots, of what the new world has.

        Returns:
            The signals that it does not have.
        """
        if simulation is self._simulation:
            return []
        layout, self.plots = self.layout(), []
        self._simulation, self._offered = simulation, (-1, [])
        return self.apply(layout)

    # Samples ------------------------------------------------------------------------------------

    def pause(self, plot: Plot) -> None:
        """Freeze a plot; the simulation keeps running."""
        plot.frozen = {path: ring.ordered() for path, ring in self._rings(plot)}

    def resume(self, plot: Plot) -> None:
        """Make a plot follow the simulation again."""
        plot.frozen = None

    def _rings(self, plot: Plot) -> list[tuple[str, Ring]]:
        watched = self._simulation.signals.watched
        return [(path, watched[path]) for path in plot.signals if path in watched]

    def samples(self, plot: Plot, begin: float = float("-inf")) -> dict[str, FloatArray]:
        """(2, n) samples by signal, of what a plot shows, from a time on."""
        if plot.frozen is not None:
            return {p: plot.frozen[p] for p in plot.signals if p in plot.frozen}
        return {path: ring.since(begin) for path, ring in self._rings(plot)}

    def former(self, plot: Plot) -> dict[str, FloatArray]:
        """The samples by signal that time travel left behind: the future of the run before."""
        if plot.frozen is not None:
            return {}
        return {path: ring.former for path, ring in self._rings(plot) if ring.former.size}

    def end(self, plot: Plot, now: float) -> float:
        """Where the time axis of a plot that follows ends.

        After going back in time what came later stays in the plot: up to half a window of it.
        """
        newest = max((ring.newest_time for _, ring in self._rings(plot)), default=now)
        return max(now, min(newest, now + 0.5 * plot.window))

    def unit(self, plot: Plot) -> str:
        """The units of a plot's signals, each once."""
        units = [self.about[path].unit for path in plot.signals if path in self.about]
        return ", ".join(dict.fromkeys(filter(None, units)))

    def latest(self, plot: Plot, now: float = inf) -> dict[str, float]:
        """The value of each signal now, of a paused plot the newest it shows."""
        if plot.frozen is None:
            return {path: _value_now(ring, now) for path, ring in self._rings(plot)}
        kept = plot.frozen
        return {
            p: float(kept[p][1, -1]) if kept[p].size else nan for p in plot.signals if p in kept
        }

    def readings(self, plot: Plot) -> dict[str, CursorReading]:
        """What the cursors of a plot stand on, by signal."""
        if plot.cursors is None:
            return {}
        a, b = plot.cursors
        found = self.samples(plot, min(a, b))
        return {path: CursorReading(value_at(s, a), value_at(s, b)) for path, s in found.items()}

    # Layout -------------------------------------------------------------------------------------

    def layout(self) -> list[dict[str, Any]]:
        """Which plots there are and what they show, as plain data."""
        return [
            {"signals": list(p.signals), "window": p.window, "autoscale": p.autoscale}
            for p in self.plots
        ]

    def apply(self, layout: Sequence[Any]) -> list[str]:
        """Make the plots a layout describes.

        Returns:
            The signals that the world does not have.
        """
        missing: list[str] = []
        for plot in list(self.plots):
            self.remove_plot(plot)
        for entry in layout:
            plot = self.add_plot()
            if not isinstance(entry, dict):
                continue
            window = entry.get("window")
            if isinstance(window, int | float):
                plot.set_window(float(window))
            plot.autoscale = bool(entry.get("autoscale", True))
            for path in entry.get("signals", ()):
                try:
                    self.add(plot, str(path))
                except MjrigError:
                    missing.append(str(path))
        return missing


def _value_now(ring: Ring, now: float) -> float:
    """The newest value, or after going back in time the one sampled then."""
    return ring.latest if ring.newest_time <= now else value_at(ring.ordered(), now)
