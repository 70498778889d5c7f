"""Plots of sampled signals (extra `plot`)."""

from pathlib import Path
from typing import Any

import numpy as np

from mjrig.errors import MissingExtraError
from mjrig.readings.sampler import SampleLog
from mjrig.terminal.figures import save_figure

#: Curves per panel; more are unreadable.
MOST = 6


def plot_samples(logs: dict[str, SampleLog], path: Path) -> None:
    """Targets against positions, and efforts, one row per robot.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError("a plot", "plot", error) from error
    shown = {name: log for name, log in logs.items() if log.names and len(log)}
    rows = max(len(shown), 1)
    figure, axes = plt.subplots(rows, 2, figsize=(12, 3.6 * rows), squeeze=False)
    for row, (name, log) in zip(axes, shown.items(), strict=False):
        _draw(row, name, log)
    save_figure(figure, path)


def _draw(axes: Any, name: str, log: SampleLog) -> None:
    time, target = log.time, log.values("target")
    position, effort = log.values("position"), log.values("applied_effort")
    # The joints that move most are the most informative.
    busiest = np.argsort(-np.ptp(position, axis=0), kind="stable")[:MOST]
    for k, i in enumerate(sorted(busiest)):
        axes[0].plot(time, position[:, i], color=f"C{k}", label=log.names[i])
        axes[0].plot(time, target[:, i], color=f"C{k}", linestyle=":", linewidth=1)
        axes[1].plot(time, effort[:, i], color=f"C{k}", label=log.names[i])
    axes[0].set_title(f"{name}: position (dotted: target)")
    axes[0].set_ylabel("rad or m")
    axes[1].set_title(f"{name}: applied effort")
    axes[1].set_ylabel("N·m or N")
    for axis in axes:
        axis.set_xlabel("time [s]")
        axis.grid(alpha=0.3)
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small")
